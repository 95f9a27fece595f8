"""What leaves a run, held against the rules for outputs: the answer, and every text in the output."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from sopwith.guard.screen import Screen, Screened
from sopwith.ir.event import Outcome
from sopwith.ir.value import Json
from sopwith.run.values import Values


async def screen_output(screen: Screen, outcome: Outcome, values: Values) -> Screened:
    """The first verdict on the true texts that does not let them pass."""
    for value in (values.true(outcome.answer), values.true(outcome.output)):
        if value is None:
            continue
        screened = await screen.judge("output", *_texts(value))
        if screened.verdict != "pass":
            return screened
    return Screened("pass", None)


def _texts(value: Json) -> Iterator[str]:
    """Every text and number in a value, and every key, from first to last."""
    if isinstance(value, dict):
        for key, item in cast("dict[str, Json]", value).items():
            yield key
            yield from _texts(item)
    elif isinstance(value, list):
        for item in cast("list[Json]", value):
            yield from _texts(item)
    elif value is not None:
        yield value if isinstance(value, str) else str(value)
