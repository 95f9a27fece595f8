"""Canonical YAML: the keys in a fixed order, block style, small schemas and lists in brackets on one line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from sopwith.ir.value import Json
from sopwith.lang.comments import BLANK, Comments
from sopwith.lang.document import Path
from sopwith.lang.scalar import block_text, spell_scalar, spell_text

WIDTH = 100
LONGEST_KEY = 500
"""A longer key is written with `? `, since readers look for the colon only so far."""

_LISTED = frozenset({"next", "on_error", "examples", "pitfalls"})
_SPREAD = frozenset({"with", "result"})


def lay_out(value: Json, comments: Comments | None = None) -> str:
    """`value`, a mapping in canonical order, as YAML text."""
    written = _Layout(comments or Comments())
    return "\n".join((*written.comments.head, *written.collection(value, (), 0))) + "\n"


class _Layout:
    """One text that is written."""

    def __init__(self, comments: Comments) -> None:
        self.comments = comments

    def collection(self, value: Json, path: Path, indent: int) -> list[str]:
        """The rows of a collection that is not empty, and the comments at its end."""
        lines: list[str] = []
        if isinstance(value, dict):
            for key, item in cast("dict[str, Json]", value).items():
                where = (*path, key)
                lines += self._above(where, indent, first=not lines)
                lines += self._entry(key, item, where, indent)
        else:
            for i, item in enumerate(cast("list[Json]", value)):
                where = (*path, i)
                lines += self._above(where, indent, first=not lines)
                lines += self._item(item, where, indent)
        return lines + _indented(self.comments.foot.get(path, ()), indent)

    def _above(self, path: Path, indent: int, first: bool) -> list[str]:
        held = list(self.comments.before.get(path, ()))
        if first and held[:1] == [BLANK]:
            held = held[1:]
        return _indented(held, indent)

    def _entry(self, key: str, value: Json, path: Path, indent: int) -> list[str]:
        spelled = spell_text(key)
        if len(spelled) > LONGEST_KEY:
            return [" " * indent + "? " + spelled, *self._value(" " * indent + ":", value, path, indent + 2)]
        return self._value(" " * indent + spelled + ":", value, path, indent + 2)

    def _value(self, head: str, value: Json, path: Path, indent: int) -> list[str]:
        """`head value`, on one line where it can be."""
        note = self.comments.beside.get(path, "")
        beside = f"  {note}" if note else ""
        text = block_text(value) if isinstance(value, str) else None
        if text is not None:
            return [f"{head} {text[0]}{beside}", *_indented(text[1], indent)]
        line = self._one_line(value, path, WIDTH - len(head) - 1)
        if line is not None:
            return [f"{head} {line}{beside}"]
        return [f"{head}{beside}", *self.collection(value, path, indent)]

    def _item(self, value: Json, path: Path, indent: int) -> list[str]:
        dash = " " * indent + "-"
        if not isinstance(value, dict) or self._one_line(value, path, WIDTH - len(dash) - 1) is not None:
            return self._value(dash, value, path, indent + 2)
        rows = self.collection(cast("dict[str, Json]", value), path, indent + 2)
        start = next(i for i, row in enumerate(rows) if row.strip() and not row.lstrip().startswith("#"))
        above = _indented((row.strip() for row in rows[:start]), indent)
        note = self.comments.beside.get(path)
        if note:
            above.append(" " * indent + note)
        return [*above, dash + rows[start][indent + 1 :], *rows[start + 1 :]]

    def _one_line(self, value: Json, path: Path, width: int) -> str | None:
        """`value` on one line, or None for what has rows of its own."""
        if not isinstance(value, dict | list):
            return spell_scalar(value)
        if self.comments.inside(path):
            return None
        if value and _is_spread(path, value):
            return None
        line = _in_brackets(value)
        return line if line is not None and (len(line) <= width or not value) else None


def _is_spread(path: Path, value: Json) -> bool:
    """Whether a collection always has rows of its own: the parts of a procedure, and schemas of objects."""
    if path in ((), ("inputs",), ("examples",)):
        return True
    if path[:1] == ("steps",) and (len(path) < 3 or _is_spread_in_step(path[2:])):
        return True
    return isinstance(value, dict) and ("properties" in value or path[-1:] == ("properties",))


def _is_spread_in_step(path: Path) -> bool:
    head, *rest = path
    return (head in _LISTED and len(rest) < 2) or (head in _SPREAD and not rest) or path[-1:] == ("pitfalls",)


def _in_brackets(value: Json) -> str | None:
    """`value` in flow style, or None where a text needs several lines or a key is long."""
    if isinstance(value, dict):
        parts: list[str] = []
        for key, item in cast("dict[str, Json]", value).items():
            spelled, inner = spell_text(key, flow=True), _in_brackets(item)
            if inner is None or len(spelled) > LONGEST_KEY:
                return None
            parts.append(f"{spelled}: {inner}")
        return "{" + ", ".join(parts) + "}"
    if isinstance(value, list):
        items = [_in_brackets(item) for item in cast("list[Json]", value)]
        return None if None in items else "[" + ", ".join(cast("list[str]", items)) + "]"
    if isinstance(value, str) and block_text(value) is not None:
        return None
    return spell_scalar(value, flow=True)


def _indented(lines: Iterable[str], indent: int) -> list[str]:
    return [" " * indent + line if line else "" for line in lines]
