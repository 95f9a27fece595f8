"""Which waiting runs may go on: their time has come, or what they wait for has happened."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping

from sopwith.errors import SopwithError
from sopwith.ir.event import RunStarted
from sopwith.ir.place import step_id
from sopwith.ir.value import Json
from sopwith.lang.machine import Node
from sopwith.log.port import Log
from sopwith.run.arrival import arrived, comes_back, next_time
from sopwith.run.inbox import messages
from sopwith.run.lease import holder
from sopwith.run.pausing import fits
from sopwith.run.state import Child, State
from sopwith.run.stored_run import pinned_book, read_state

_LOGGER = logging.getLogger("sopwith")


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
            elif await _may_go_on(log, stored[0].body, state, now):
                found.append((now, row.run))
        except SopwithError as error:
            _LOGGER.warning("run %s cannot be read: %s", row.run, error.message.en)
    return [run for _, run in sorted(found)]


async def waiting_caller(log: Log, run: str, now: int) -> str | None:
    """The run that has called `run` and waits for what has come of it, where nobody drives it; None where there is
    none."""
    _, called = await read_state(log, run)
    if called.parent is None:
        return None
    events, caller = await read_state(log, called.parent)
    if run not in caller.children or holder(caller, now) is not None:
        return None
    return caller.run if await _may_go_on(log, events[0].body, caller, now) else None


async def _may_go_on(log: Log, started: RunStarted, state: State, now: int) -> bool:
    """Whether what a run waits for may have come, or a run that it called has to be looked after: never begun, or left
    by its driver. Whoever goes on finds out."""
    if state.stopping:
        return True
    if state.outcome is not None or state.suspended_at is None or state.taken_by is not None:
        return False
    if await _has_arrived(log, started, state, now):
        return True
    for name, child in state.children.items():
        if not await log.read(name):
            return True
        _, called = await read_state(log, name)
        if called.outcome is None and called.suspended_at is None and holder(called, now) is None:
            return True
        if await comes_back(state, called, _WayOn(log, started, child)):
            return True
    return False


class _WayOn:
    """Whether a step may have another way on where the run that it called did not complete."""

    def __init__(self, log: Log, started: RunStarted, child: Child) -> None:
        self._log = log
        self._started = started
        self._step = step_id(child.step)

    async def __call__(self) -> bool:
        step = (await pinned_book(self._log, self._started)).machine.nodes[self._step].step
        return bool(step.on_error) or step.retry is not None


async def _has_arrived(log: Log, started: RunStarted, state: State, now: int) -> bool:
    """Whether an event lies in the inbox that a waiting step may take."""
    paused = [(cursor.step, cursor.paused) for cursor in state.cursors if cursor.paused is not None]
    if all(each.event is None for _, each in paused):
        return False
    nodes = (await pinned_book(log, started)).machine.nodes
    inbox = await messages(log, state.run)
    return any(arrived(each, inbox, state.taken, now, _Fits(nodes, step)) for step, each in paused)


class _Fits:
    """Whether a step may take a payload. What is hidden in it is not looked up here: then it may fit."""

    def __init__(self, nodes: Mapping[str, Node], step: str) -> None:
        self._node = nodes[step]

    def __call__(self, payload: Json) -> bool:
        return "<" in json.dumps(payload) or not fits(self._node, payload)
