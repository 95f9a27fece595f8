"""Text in columns. Chinese characters take two cells; rich knows which do."""

from __future__ import annotations

from collections.abc import Sequence


def width(text: str) -> int:
    """How many cells of a terminal `text` takes."""
    from rich.cells import cell_len

    return cell_len(text)


def pad(text: str, cells: int, *, right: bool = False) -> str:
    """`text` filled up with spaces to `cells`; on the left of it with `right`."""
    space = " " * max(0, cells - width(text))
    return space + text if right else text + space


def cut(text: str, cells: int) -> str:
    """`text` in one line of at most `cells`, with … where something was left out."""
    flat = " ".join(text.split())
    if width(flat) <= cells:
        return flat
    kept = ""
    used = 0
    for character in flat:
        used += width(character)
        if used > cells - 1:
            break
        kept += character
    return kept.rstrip() + "…"


def cut_right(line: str, cells: int) -> str:
    """`line` as far as `cells` go, its spaces kept."""
    if width(line) <= cells:
        return line
    kept = line[:cells]
    while width(kept) > cells - 1:
        kept = kept[:-1]
    return kept + "…"


def table(rows: Sequence[Sequence[str]], *, gap: int = 2, indent: int = 0) -> list[str]:
    """Rows of equal length as lines; every column as wide as its widest cell."""
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    space = " " * gap
    return [
        (
            " " * indent + space.join(pad(cell, cells) for cell, cells in zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
