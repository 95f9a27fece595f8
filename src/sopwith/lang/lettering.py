"""Text where nobody can measure it: how wide a browser will draw it, and how it fits into a few lines."""

from __future__ import annotations

from unicodedata import east_asian_width

_NARROW = frozenset("iljtfrI.,:;'|!()[]{} ")
_BROAD = frozenset("mwMW@%")
_WIDTHS = {"narrow": 0.36, "broad": 0.9, "upper": 0.7, "other": 0.57, "wide": 1.0}


def width(text: str, size: float) -> float:
    """About how wide `text` is in a sans-serif font of `size` px; rather too wide than too narrow."""
    return size * sum(_em(character) for character in text)


def _em(character: str) -> float:
    if east_asian_width(character) in ("W", "F"):
        return _WIDTHS["wide"]
    if character in _NARROW:
        return _WIDTHS["narrow"]
    if character in _BROAD:
        return _WIDTHS["broad"]
    return _WIDTHS["upper" if character.isupper() else "other"]


def wrap(text: str, size: float, room: float, lines: int) -> list[str]:
    """`text` in at most `lines` lines of at most `room` px, broken at spaces or between wide characters; … stands
    for what is left out."""
    words = _words(" ".join(text.split()))
    found: list[str] = []
    line = ""
    for i, word in enumerate(words):
        if width((line + word).rstrip(), size) <= room:
            line += word
            continue
        if line.strip():
            found.append(line.rstrip())
        if len(found) == lines:
            return [*found[:-1], _cut(found[-1] + "…", size, room)]
        line = word.lstrip()
        if width(line.rstrip(), size) > room:
            rest = "".join(words[i + 1 :])
            found.append(_cut(line + rest, size, room))
            return found
    return [*found, line.rstrip()] if line.strip() else found


def _words(text: str) -> list[str]:
    """The parts between which a line may be broken; the spaces between two belong to the first."""
    parts: list[str] = []
    for character in text:
        wide = east_asian_width(character) in ("W", "F")
        joins = bool(parts) and not wide and not parts[-1].endswith(" ") and not _wide_end(parts[-1])
        if joins or (parts and character == " "):
            parts[-1] += character
        else:
            parts.append(character)
    return parts


def _wide_end(part: str) -> bool:
    return east_asian_width(part[-1]) in ("W", "F")


def _cut(text: str, size: float, room: float) -> str:
    """`text` as far as it fits, ending in … where it was cut."""
    text = text.rstrip()
    if width(text, size) <= room:
        return text
    kept = text.removesuffix("…")
    while kept and width(kept + "…", size) > room:
        kept = kept[:-1]
    return kept.rstrip() + "…"
