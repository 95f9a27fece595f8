"""Previews of long values: whole items, parseable, saying how much of the whole is shown."""

from __future__ import annotations

import json
from typing import cast

from sopwith.ir.value import Json

THRESHOLD = 1000
"""Characters of one field above which a value is stored apart and shown as a preview."""

WHOLE = 4 * THRESHOLD
"""Characters of a value as JSON above which it is stored apart, however short its fields."""


def is_long(value: Json, threshold: int = THRESHOLD) -> bool:
    """Whether a value is stored apart: one of its texts, or the whole of it, is longer than it may be."""
    if isinstance(value, str):
        return len(value) > threshold
    if isinstance(value, dict | list):
        return _weight(cast("Json", value), threshold, WHOLE) > WHOLE
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


def preview(value: Json, threshold: int = THRESHOLD) -> Json:
    """`value` with every long text cut in the middle and every long list shown by its first whole items.

    What is cut is an object `{"preview": …, "shown": n, "total": m, "unit": "characters" | "items"}`.
    """
    return _preview(value, threshold, threshold)


def _preview(value: Json, threshold: int, room: int) -> Json:
    if isinstance(value, str) and len(value) > threshold:
        shown = max(1, min(threshold, room))
        last = shown // 4  # who writes at length often says what matters at the end
        told = f"{value[: shown - last]} … {value[len(value) - last :]}"
        return {"preview": told, "shown": shown, "total": len(value), "unit": "characters"}
    if isinstance(value, list):
        items = cast("list[Json]", value)
        kept: list[Json] = []
        used = 0
        for item in items:
            small = _preview(item, threshold, max(80, room // 4))
            used += len(json.dumps(small, ensure_ascii=False))
            if kept and used > room:
                return {"preview": kept, "shown": len(kept), "total": len(items), "unit": "items"}
            kept.append(small)
        return kept
    if isinstance(value, dict):
        pairs = cast("dict[str, Json]", value)
        share = max(80, room // max(1, len(pairs)))
        return {
            key: _preview(item, threshold, share if len(pairs) > 4 else room) for key, item in pairs.items()
        }
    return value


def as_text(value: Json) -> str:
    """A value as a reader of a prompt or a terminal expects it: text as it is, everything else as compact JSON."""
    if isinstance(value, str):
        return value
    return _READABLE(value)


_READABLE = json.JSONEncoder(ensure_ascii=False).encode
