"""Long values: when one is stored apart, and what is shown of it: whole items, parseable, with how much that is."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import cast

from sopwith.ir.cut import cut
from sopwith.ir.value import Json
from sopwith.run.sketch import sketch

THRESHOLD = 1000
"""Characters of one field above which a value is stored apart and shown as a preview, where its tool says no other."""

FIELDS = 4
"""A value is stored apart too where the whole of it, as JSON, is so many times longer than a field may be."""

ROOM = 600
"""Columns of a long value that are shown. A character of Chinese takes two, since it is about as many tokens.

Of a text that is not yet `FIELDS` times too long as many characters are shown as a field may have.
"""

SHAPE_ROOM = 240
LEAST = 40
"""Columns that a part of a part is shown in, at least."""

MARK = "$value"
"""The one key of an object that stands for a value of the run: `{"$value": "orders[3].id"}`."""


PREVIEW_KEYS = frozenset({"preview", "shown", "total", "unit"})
"""The keys of an object that shows a part of something."""

DESCRIBED_KEYS = PREVIEW_KEYS | {"bytes", "shape"}
"""What stands beside `MARK` where a long value is shown."""


def is_long(value: Json, threshold: int = THRESHOLD) -> bool:
    """Whether a value is stored apart: one of its texts, or the whole of it, is longer than it may be."""
    if isinstance(value, str):
        return len(value) > threshold
    if isinstance(value, dict | list):
        limit = FIELDS * threshold
        return _weight(cast("Json", value), threshold, limit) > limit
    return False


def _weight(value: Json, threshold: int, limit: int) -> int:
    """About the length of `value` as JSON, or more than `limit` as soon as it is known to be long."""
    if isinstance(value, str):
        return limit + 1 if len(value) > threshold else len(value) + 3
    if isinstance(value, dict):
        pairs = cast("dict[str, Json]", value)
        total = 2
        for key, item in pairs.items():
            total += len(key) + 4 + _weight(item, threshold, limit)
            if total > limit:
                return total
        return total
    if isinstance(value, list):
        total = 2
        for item in cast("list[Json]", value):
            total += 1 + _weight(item, threshold, limit)
            if total > limit:
                return total
        return total
    return 6


def as_stored(value: Json) -> str:
    """A long value as its blob holds it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def described(name: str, value: Json, threshold: int = THRESHOLD) -> Json:
    """A value as a model is shown it: itself, or where it is long its name as a reference, its size in bytes, its
    shape, and a preview: `{"$value": …, "bytes": …, "shape": …, "preview": …, "shown": …, "total": …, "unit": …}`."""
    if not is_long(value, threshold):
        return value
    told: dict[str, Json] = {MARK: name, "bytes": len(as_stored(value).encode())}
    if not isinstance(value, str):
        shape = sketch(value)
        told["shape"] = shape if _columns(shape) <= SHAPE_ROOM else cut(shape, SHAPE_ROOM // 2)
    return {**told, **_preview(value, threshold)}


def preview(value: Json, threshold: int = THRESHOLD) -> Json:
    """What a long value shows of itself; one that is not long is shown as it is.

    What is cut is an object `{"preview": …, "shown": n, "total": m, "unit": "characters" | "items" | "keys"}`, at the
    top and inside. A preview holds whole items only.
    """
    return _preview(value, threshold) if is_long(value, threshold) else value


def _preview(value: Json, threshold: int) -> dict[str, Json]:
    """What is shown of a long text, list or object."""
    if isinstance(value, str):
        kept = max(1, min(threshold, THRESHOLD))
        near = len(value) <= FIELDS * threshold
        return _cut_text(value, kept - kept // 4, kept // 4) if near else _short_text(value, min(ROOM, kept))
    return _short(value, min(ROOM, max(LEAST, threshold)))


def shortened(value: Json, room: int) -> Json:
    """`value` in about `room` columns: whole items from its beginning, of a text also its end."""
    if isinstance(value, str):
        return value if _columns(value) <= room else _short_text(value, room)
    if not isinstance(value, dict | list):
        return value
    if _width(cast("Json", value), room) <= room:
        return cast("Json", value)
    told = _short(value, room)
    return told if told["shown"] < told["total"] else told["preview"]


def _short(value: Json, room: int) -> dict[str, Json]:
    if isinstance(value, list):
        items = cast("list[Json]", value)
        kept = [item for _, item in fitting((("", item) for item in items), room)]
        return {"preview": kept, "shown": len(kept), "total": len(items), "unit": "items"}
    pairs = cast("dict[str, Json]", value)
    fields = dict(fitting(pairs.items(), room))
    return {"preview": fields, "shown": len(fields), "total": len(pairs), "unit": "keys"}


def fitting(members: Iterable[tuple[str, Json]], room: int) -> list[tuple[str, Json]]:
    """The first members, each in a share of the room, that fit in it."""
    kept: list[tuple[str, Json]] = []
    used = 2
    for key, item in members:
        small = shortened(item, max(LEAST, room // 4))
        used += _width(small, room) + 2 + (_columns(key) + 4 if key else 0)
        if used > room:
            break
        kept.append((key, small))
    return kept


def _short_text(text: str, room: int) -> dict[str, Json]:
    last = room // 4
    return _cut_text(text, len(_within(text, room - last)), len(_within(text[: -last - 1 : -1], last)))


def _cut_text(text: str, first: int, last: int) -> dict[str, Json]:
    """The beginning and the end of a text: who writes at length often says what matters at the end."""
    told = f"{text[:first]} … {text[len(text) - last :]}"
    return {"preview": told, "shown": first + last, "total": len(text), "unit": "characters"}


def _within(text: str, room: int) -> str:
    """The beginning of `text` that fits."""
    used = 0
    for at, character in enumerate(text[: room + 1]):
        used += 1 if character < "\u0300" else 2
        if used > room:
            return text[:at]
    return text[:room]


def _columns(text: str) -> int:
    return len(text) if text.isascii() else sum(1 if character < "\u0300" else 2 for character in text)


def _width(value: Json, limit: int) -> int:
    """About how many columns `value` takes as JSON, or more than `limit` as soon as it is known to be wider."""
    if isinstance(value, str):
        return limit + 1 if len(value) > limit else _columns(value) + 2
    if isinstance(value, dict):
        total = 2
        for key, item in cast("dict[str, Json]", value).items():
            total += _width(key, limit) + 4 + _width(item, limit)
            if total > limit:
                break
        return total
    if isinstance(value, list):
        total = 2
        for item in cast("list[Json]", value):
            total += 2 + _width(item, limit)
            if total > limit:
                break
        return total
    return len(json.dumps(value))


def as_text(value: Json) -> str:
    """A value as a reader of a prompt or a terminal expects it: text as it is, everything else as compact JSON."""
    if isinstance(value, str):
        return value
    return _READABLE(value)


_READABLE = json.JSONEncoder(ensure_ascii=False).encode
