"""What differs between the ways on of one step in two versions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, cast

from sopwith.ir.value import Json

WayAct = Literal["added", "removed", "changed", "reordered"]
_CONDITIONS = ("when", "judge", "otherwise")


def ways_differ(
    was: Sequence[Json], followed: Sequence[Json], now: Sequence[Json]
) -> Iterator[tuple[WayAct, Json, Json]]:
    """How the ways `was` have become `now`, each way as data; `followed` are those of `was` with the new ids in them.

    Ways are matched where they are alike; else where they have the same condition (they lead elsewhere), else where
    they lead to the same step (under another condition). Their order counts: the first that holds is taken.
    """
    matched: dict[int, int] = {}
    for key in (_spelled, _condition, _target):
        _match(followed, now, matched, key)
    for i, j in matched.items():
        if _spelled(followed[i]) != _spelled(now[j]):
            yield "changed", was[i], now[j]
    for i, way in enumerate(was):
        if i not in matched:
            yield "removed", way, None
    for j, way in enumerate(now):
        if j not in matched.values():
            yield "added", None, way
    order = [matched[i] for i in sorted(matched)]
    if order != sorted(order):
        yield "reordered", list(was), list(now)


def _match(
    was: Sequence[Json], now: Sequence[Json], matched: dict[int, int], key: Callable[[Json], str]
) -> None:
    """Match what is left and has the same `key`, each once and in order."""
    taken = set(matched.values())
    free: dict[str, list[int]] = {}
    for j, way in enumerate(now):
        if j not in taken:
            free.setdefault(key(way), []).append(j)
    for i, way in enumerate(was):
        if i not in matched and free.get(key(way)):
            matched[i] = free[key(way)].pop(0)


def _spelled(way: Json) -> str:
    return json.dumps(way, ensure_ascii=False)


def _condition(way: Json) -> str:
    found = cast("dict[str, Any]", way)
    return json.dumps([found.get(key) for key in _CONDITIONS], ensure_ascii=False)


def _target(way: Json) -> str:
    return str(cast("dict[str, Any]", way).get("to"))
