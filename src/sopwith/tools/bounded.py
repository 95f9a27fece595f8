"""A coroutine with a limit of time that holds also when the coroutine does not let itself be cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar, cast

T = TypeVar("T")
_CLOSE_SECONDS = 1.0


class OutOfTime(Exception):
    """A call took longer than it may. Not a `TimeoutError`: a tool may raise that by itself."""


class Bounded:
    """Runs coroutines within limits, and keeps hold of those that go on after theirs."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    async def run(self, coroutine: Coroutine[Any, Any, T], seconds: float | None) -> T:
        """The result of `coroutine`. Past `seconds` it is cancelled but not waited for: `OutOfTime`."""
        if seconds is None:
            return await coroutine
        # Not asyncio.timeout: that waits for a coroutine that catches its own cancellation.
        task = asyncio.create_task(_outcome(coroutine))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            await asyncio.wait((task,), timeout=seconds)
        finally:
            if not task.done():
                task.cancel()
        if not task.done():
            raise OutOfTime
        value, error = task.result()
        if error is not None:
            raise error
        return cast("T", value)

    async def close(self) -> None:
        """Cancel what goes on, and wait a moment for it."""
        here = asyncio.get_running_loop()
        left = [task for task in self._tasks if task.get_loop() is here]
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=_CLOSE_SECONDS)


async def _outcome(coroutine: Coroutine[Any, Any, T]) -> tuple[T | None, BaseException | None]:
    # As data: a task that raises SystemExit ends the loop, one that fails late complains that nobody asked.
    try:
        return await coroutine, None
    except (Exception, SystemExit) as error:
        return None, error
