"""The shape of a value in one line: `[12000 × {id: integer, name: string, tags?: [2 × string]}]`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from sopwith.ir.schema_problem import type_name
from sopwith.ir.value import Json

SAMPLE = 40
"""So many members of a list tell its shape: from its whole length, at even distances."""

KEYS = 12
"""So many keys of one object are named."""

DEPTH = 4
LONGEST_KEY = 32


def sketch(value: Json) -> str:
    """Types, keys and counts. A key that not every sampled object has is marked by `?`; what is left out by `…`."""
    return _shape([value], DEPTH)


def sampled(items: list[Json]) -> list[Json]:
    """Members of a list that stand for all of it."""
    if len(items) <= SAMPLE:
        return items
    return [items[i * (len(items) - 1) // (SAMPLE - 1)] for i in range(SAMPLE)]


def _shape(values: list[Json], depth: int) -> str:
    """The shapes of values that stand in the same place."""
    objects = [cast("dict[str, Json]", value) for value in values if isinstance(value, dict)]
    lists = [cast("list[Json]", value) for value in values if isinstance(value, list)]
    plain = dict.fromkeys(type_name(value) for value in values if not isinstance(value, dict | list))
    shapes = list(plain)
    if objects:
        shapes.insert(0, _object(objects, depth))
    if lists:
        shapes.insert(0, _list(lists, depth))
    return " | ".join(shapes)


def _list(lists: list[list[Json]], depth: int) -> str:
    lengths = {len(items) for items in lists}
    count = str(min(lengths)) if len(lengths) == 1 else f"{min(lengths)}–{max(lengths)}"
    if max(lengths) == 0:
        return "[]"
    inside = "…" if depth == 0 else _shape([item for items in lists for item in sampled(items)], depth - 1)
    return f"[{count} × {inside}]"


def _object(objects: list[dict[str, Json]], depth: int) -> str:
    keys = dict.fromkeys(key for each in objects for key in each)
    if not keys:
        return "{}"
    if depth == 0:
        return "{…}"
    named = [_field(key, objects, depth) for key in list(keys)[:KEYS]]
    more = [f"… {len(keys) - KEYS} more"] if len(keys) > KEYS else []
    return "{" + ", ".join([*named, *more]) + "}"


def _field(key: str, objects: list[dict[str, Json]], depth: int) -> str:
    found: Iterable[Json] = [each[key] for each in objects if key in each]
    name = key if len(key) <= LONGEST_KEY else f"{key[:LONGEST_KEY]}…"
    mark = "" if all(key in each for each in objects) else "?"
    return f"{name}{mark}: {_shape(list(found), depth - 1)}"
