"""A coroutine with a limit of time that holds also when the coroutine does not let itself be cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar, cast

T = TypeVar("T")
_CLOSE_SECONDS = 1.0
_LAST_SECONDS = 0.1


Outcome = tuple[Any, BaseException | None]
"""How something ended: its value, or the error that it raised."""


class OutOfTime(Exception):
    """A call took longer than it may. Not a `TimeoutError`: a tool may raise that by itself.

    `late` gets the outcome where the call ends after all; it may never come.
    """

    def __init__(self, late: asyncio.Future[Outcome]) -> None:
        super().__init__("out of time")
        self.late = late


class Bounded:
    """Runs coroutines within limits, and keeps hold of those that go on after theirs."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    async def run(
        self, coroutine: Coroutine[Any, Any, T], seconds: float | None, *, patience: float = 0.0
    ) -> T:
        """The result of `coroutine`. Past `seconds` it is not waited for: `OutOfTime`.

        It is cancelled then, or `patience` seconds later.
        """
        if seconds is None:
            return await coroutine
        # Not asyncio.timeout: that waits for a coroutine that catches its own cancellation.
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[Outcome | None] = loop.create_future()
        deadline = loop.time() + seconds
        task = loop.create_task(_run(coroutine, ended))
        self._tasks.add(task)
        timer: asyncio.TimerHandle | None = None
        outcome: Outcome | None = None
        try:
            await asyncio.sleep(0)  # what does not wait has ended by then, and needs no timer
            if not ended.done():
                timer = loop.call_at(deadline, _end, ended, None)
            outcome = await ended
        finally:
            if timer is not None:
                timer.cancel()
            if outcome is not None:
                self._tasks.discard(task)
            elif not ended.done() or not patience:
                task.cancel()
            if outcome is None:
                task.add_done_callback(self._tasks.discard)
        if outcome is None:
            raise OutOfTime(_late(task, patience))
        value, error = outcome
        if error is not None:
            raise error
        return cast("T", value)

    async def close(self) -> None:
        """Cancel what goes on, and wait a moment for it."""
        here = asyncio.get_running_loop()
        left = {task for task in self._tasks if task.get_loop() is here}
        for task in left:
            if not task.cancelling():  # a second one would cut short what it does about the first
                task.cancel()
        if left:
            _, left = await asyncio.wait(left, timeout=_CLOSE_SECONDS)
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=_LAST_SECONDS)


async def _run(coroutine: Coroutine[Any, Any, Any], ended: asyncio.Future[Outcome | None]) -> Outcome:
    # As data: a task that raises SystemExit ends the loop, one that fails late complains that nobody asked.
    try:
        outcome = await coroutine, None
    except (Exception, SystemExit, asyncio.CancelledError) as error:
        outcome = None, error
    _end(ended, outcome)
    return outcome


def _late(task: asyncio.Task[Outcome], patience: float) -> asyncio.Future[Outcome]:
    """The outcome of a task that is not waited for any more; after `patience` seconds it is cancelled."""
    loop = asyncio.get_running_loop()
    late: asyncio.Future[Outcome] = loop.create_future()
    timer = loop.call_later(patience, task.cancel) if patience else None

    def settle(ended: asyncio.Task[Outcome]) -> None:
        if timer is not None:
            timer.cancel()
        if not ended.cancelled():
            _end(late, ended.result())

    task.add_done_callback(settle)
    return late


def _end(ended: asyncio.Future[Any], outcome: Outcome | None) -> None:
    if not ended.done():
        ended.set_result(outcome)
