"""Parts of long values on demand: for a model that looks at one, and for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from sopwith.errors import Text
from sopwith.ir.procedure import Input
from sopwith.ir.reference import ValueRead
from sopwith.ir.value import Json
from sopwith.models.reply import Refused
from sopwith.run.preview import fitting
from sopwith.run.references import References
from sopwith.run.state import State
from sopwith.run.value_path import spell
from sopwith.run.values import Values

ROOM = 1500
"""Columns of a value that a model is shown at one look."""

_PLAIN = Text("is shown whole, and has no parts", "已完整显示，没有可选取的部分")


def value_read(arguments: Json) -> ValueRead:
    """The look that a model asks for, from the arguments of its action."""
    given = cast("dict[str, Json]", arguments)
    return ValueRead(value=given["value"], start=given.get("start", 0), end=given.get("end"))


def shown_slice(
    read: ValueRead, state: State, inputs: Mapping[str, Input], values: Values, language: str
) -> Json:
    """What a model is shown of a look: whole members from `start` on, as many as fit, with `from`, `to` and `total`; or
    an error as data, that lists what there is."""
    told = Values(values.load, lambda value: value)
    try:
        name, parts, value = References(state, inputs, told).look_up(read.value)
    except Refused as refused:
        return {"error": {"code": refused.code, "message": refused.message.in_(language)}}
    return {"value": spell(name, parts), **part_of(value, read.start, read.end, ROOM)}


def part_of(value: Json, start: int, end: int | None, room: int | None = None) -> dict[str, Json]:
    """The members of `value` from `start` to before `end`: `{"part", "from", "to", "total", "unit"}`.

    With `room` only as many of them as take so many columns, each shortened where it is long itself.
    """
    if not isinstance(value, str | list | dict):
        return {"part": value}
    total = len(cast("str | list[Json] | dict[str, Json]", value))
    stop = total if end is None else min(end, total)
    start = min(start, stop)
    if isinstance(value, str):
        stop = stop if room is None else min(stop, start + room)
        return {"part": value[start:stop], "from": start, "to": stop, "total": total, "unit": "characters"}
    if isinstance(value, list):
        items = cast("list[Json]", value)[start:stop]
        fit = items if room is None else [item for _, item in fitting((("", i) for i in items), room)]
        return {"part": fit, "from": start, "to": start + len(fit), "total": total, "unit": "items"}
    pairs = list(cast("dict[str, Json]", value).items())[start:stop]
    fields = dict(pairs if room is None else fitting(pairs, room))
    return {"part": fields, "from": start, "to": start + len(fields), "total": total, "unit": "keys"}
