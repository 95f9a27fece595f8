"""Whether what a run waits for has come: said here for who drives it, and for who only reads its log.

They differ in what they know. Whoever drives a run reads hidden values, and can tell which event fits and which way a
run takes on an error; whoever reads the log takes what may be so for a reason to look. Each passes in what it knows.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from sopwith.errors import ValueErased
from sopwith.ir.event import Event
from sopwith.ir.pause import SignalSent
from sopwith.ir.value import Json
from sopwith.run.operator import TAKEN_FROM
from sopwith.run.state import Paused, State


@dataclass(frozen=True, slots=True)
class Arrival:
    """What has ended a wait: its time, an event in the inbox (`message`), or that none came in time. `passed_over` are
    the seqs of events whose payload was erased."""

    by: Literal["time", "event", "timeout"]
    message: Event | None = None
    passed_over: tuple[int, ...] = ()


def next_time(state: State) -> int | None:
    """When a run that waits is due at the latest, whatever else comes (µs since 1970); None where that has no end."""
    if state.outcome is not None or state.suspended_at is None or state.taken_by is not None:
        return None
    found = [child.sent.deadline for child in state.children.values()]
    for cursor in state.cursors:
        if cursor.paused is not None:
            found += [cursor.paused.until, cursor.paused.deadline]
        if cursor.question == "ask":
            found.append(cursor.expires_at)
    return min((at for at in found if at is not None), default=None)


def arrived(
    paused: Paused, inbox: Sequence[Event], taken: frozenset[int], now: int, fits: Callable[[Json], bool]
) -> Arrival | None:
    """What has ended a wait at `now` (µs since 1970); None where it goes on.

    `inbox` are the messages to the run, without those that were `taken` before. An event that came before the deadline
    counts also where it is only seen after; one that does not fit, or whose payload was erased (`fits` raises
    `ValueErased`), is passed over.
    """
    if paused.until is not None:
        return Arrival("time") if now >= paused.until else None
    erased: list[int] = []
    for message in inbox:
        body = message.body
        if not isinstance(body, SignalSent) or body.event != paused.event:
            continue
        late = paused.deadline is not None and message.at > paused.deadline
        if late or message.seq in taken:
            continue
        try:
            fit = fits(body.payload)
        except ValueErased:
            erased.append(message.seq)
            continue
        if fit:
            return Arrival("event", message, tuple(erased))
    if paused.deadline is not None and now >= paused.deadline:
        return Arrival("timeout", None, tuple(erased))
    return None


async def comes_back(caller: State, called: State, has_way_on: Callable[[], Awaitable[bool]]) -> bool:
    """Whether the end of a called run is the end of the call: not where a person can still take that run over, and the
    caller has no way on without it."""
    if called.outcome is None:
        return False
    if called.outcome.kind not in TAKEN_FROM or caller.dry_run:
        return True
    return await has_way_on()
