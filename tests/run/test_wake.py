"""Runs that a process left in the middle of a call are found, and gone on with, by whoever wakes what is due."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tests.run.family import Family

from sopwith import MemoryLog
from sopwith.ir.event import Event

ESCALATES = """
  first:
    next:
      - {to: person, when: inputs.amount > 1.0}
      - otherwise: pay
"""


class _Gone(Exception):
    """The process is not there any more."""


class _Dying(MemoryLog):
    """A log whose process dies at an event, and writes nothing more until it lives again."""

    def __init__(self, at: Callable[[str, Event], bool]) -> None:
        super().__init__()
        self._at = at
        self.lives = True
        self.armed = True

    async def append(self, run: str, events: Any, *more: Any, **named: Any) -> str:
        if self.armed and any(self._at(run, event) for event in events):
            self.lives = self.armed = False
        if not self.lives:
            raise _Gone
        return await super().append(run, events, *more, **named)


async def left_at(at: Callable[[str, Event], bool], **options: Any) -> Family:
    """What is left when the process dies as it is about to write such an event of a run."""
    log = _Dying(at)
    family = Family(log=log, **options)
    with suppress(Exception):
        await family.run()
    assert not log.lives
    log.lives = True
    family.clock.pass_(1000.0)
    return family


async def test_a_caller_with_another_way_goes_on_where_its_call_ended_at_a_person() -> None:
    family = await left_at(
        lambda run, event: run == "root" and event.body.kind == "message.received",
        pay="    on_error: other",
        steps=ESCALATES,
        start="first",
    )
    assert [(run.id, run.status) for run in await family.engine().wake()] == [("root", "completed")]
    assert await family.engine().wake() == []
