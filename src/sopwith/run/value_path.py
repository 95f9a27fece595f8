"""The way to a part of a value as people and models write it: `orders[3].id`, `emp.address.city`, `table['a b']`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import cast

from sopwith.ir.value import Json

Part = str | int
"""A key of an object, or a place in a list (from 0)."""

_NAME = re.compile(r"[^\W\d]\w*")
_PART = re.compile(r"\.([^\W\d]\w*)|\[(\d{1,9})\]|\['((?:[^'\\]|\\.)*)'\]", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def is_name(key: str) -> bool:
    """Whether a key is written behind a dot, and not in brackets."""
    return _NAME.fullmatch(key) is not None


def parse_path(text: str) -> tuple[str, tuple[Part, ...]] | None:
    """The name that `text` begins with and the way from there, or None where it is no path."""
    head = _NAME.match(text)
    if head is None:
        return None
    rest = parse_parts(text[head.end() :])
    return None if rest is None else (head[0], rest)


def parse_parts(text: str) -> tuple[Part, ...] | None:
    """The parts of `text` (`.a[3]['b c']`), none for an empty one; None where it is no path."""
    parts: list[Part] = []
    at = 0
    while at < len(text):
        found = _PART.match(text, at)
        if found is None:
            return None
        key, place, quoted = found.groups()
        if place is not None:
            parts.append(int(place))
        else:
            parts.append(_ESCAPED.sub(r"\1", quoted) if key is None else key)
        at = found.end()
    return tuple(parts)


def spell(name: str, parts: Iterable[Part] = ()) -> str:
    """The path that `parse_path` reads as `name` and `parts`."""
    return name + "".join(map(_spelled, parts))


def _spelled(part: Part) -> str:
    if isinstance(part, int):
        return f"[{part}]"
    if is_name(part):
        return f".{part}"
    quoted = part.replace("\\", "\\\\").replace("'", "\\'")
    return f"['{quoted}']"


def walk(value: Json, parts: Iterable[Part]) -> Json:
    """The part of `value` that is there. Raises `LookupError` where there is none."""
    for part in parts:
        if isinstance(value, dict) and isinstance(part, str):
            value = cast("dict[str, Json]", value)[part]
        elif isinstance(value, list) and isinstance(part, int):
            value = cast("list[Json]", value)[part]
        else:
            raise LookupError(part)
    return value


def replaced(value: Json, parts: tuple[Part, ...], new: Json) -> Json:
    """A copy of `value` with `new` in one place. Raises `LookupError` where there is no such place."""
    if not parts:
        return new
    first, rest = parts[0], parts[1:]
    inside = replaced(walk(value, (first,)), rest, new)
    if isinstance(first, str):
        return {**cast("dict[str, Json]", value), first: inside}
    items = list(cast("list[Json]", value))
    items[first] = inside
    return items
