"""Which waiting runs may go on: their time has come, or what they wait for has happened."""

from __future__ import annotations

import json
import logging
import sys

from sopwith.errors import SopwithError
from sopwith.ir.event import RunStarted
from sopwith.ir.pause import SignalSent
from sopwith.ir.place import step_id
from sopwith.log.port import Log
from sopwith.run.inbox import messages
from sopwith.run.lease import holder
from sopwith.run.operator import TAKEN_FROM
from sopwith.run.pausing import fits
from sopwith.run.state import State
from sopwith.run.stored_run import pinned_book, read_state

_LOGGER = logging.getLogger("sopwith")


def next_time(state: State) -> int | None:
    """When a run that waits is due at the latest, whatever else comes (µs since 1970); None where that has no end."""
    if state.outcome is not None or state.suspended_at is None or state.taken_by is not None:
        return None
    found = [child.deadline for child in state.children.values()]
    for cursor in state.cursors:
        if cursor.paused is not None:
            found += [cursor.paused.until, cursor.paused.deadline]
        if cursor.question == "ask":
            found.append(cursor.expires_at)
    return min((at for at in found if at is not None), default=None)


async def due(log: Log, now: int) -> list[str]:
    """The runs of a log that wait and may go on at `now` (µs since 1970), those that were due first coming first."""
    found: list[tuple[int, str]] = []
    for row in await log.runs(sys.maxsize):
        if row.status != "suspended":
            continue
        try:
            stored, state = await read_state(log, row.run)
            at = next_time(state)
            if at is not None and at <= now:
                found.append((at, row.run))
            elif await _has_come(log, stored[0].body, state, now):
                found.append((now, row.run))
        except SopwithError as error:
            _LOGGER.warning("run %s cannot be read: %s", row.run, error.message.en)
    return [run for _, run in sorted(found)]


async def _has_come(log: Log, started: RunStarted, state: State, now: int) -> bool:
    """Whether an event that fits lies in the inbox of a run, or a run that it called has ended or lost its driver.

    A called run that a person can still take over counts where the call may have another way on: whoever goes on finds
    out.
    """
    if state.stopping:
        return True
    if state.outcome is not None or state.suspended_at is None or state.taken_by is not None:
        return False
    waits = any(cursor.paused is not None and cursor.paused.event is not None for cursor in state.cursors)
    if waits and await _event_has_come(log, started, state):
        return True
    for name, child in state.children.items():
        if not await log.read(name):
            return True
        _, called = await read_state(log, name)
        if called.outcome is None:
            if called.suspended_at is None and holder(called, now) is None:
                return True
        elif called.outcome.kind not in TAKEN_FROM or state.dry_run:
            return True
        else:
            step = (await pinned_book(log, started)).machine.nodes[step_id(child.step)].step
            if step.on_error or step.retry is not None:
                return True
    return False


async def _event_has_come(log: Log, started: RunStarted, state: State) -> bool:
    """Whether an event lies in the inbox that a waiting step takes. What is hidden in a payload is not looked up here:
    then it may fit."""
    nodes = (await pinned_book(log, started)).machine.nodes
    inbox = await messages(log, state.run)
    for cursor in state.cursors:
        paused = cursor.paused
        for message in inbox if paused is not None and paused.event is not None else ():
            body = message.body
            if not isinstance(body, SignalSent) or paused is None or body.event != paused.event:
                continue
            late = paused.deadline is not None and message.at > paused.deadline
            if late or message.seq in state.taken:
                continue
            if "<" in json.dumps(body.payload) or not fits(nodes[cursor.step], body.payload):
                return True
    return False
