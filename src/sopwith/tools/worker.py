"""Threads for functions that block. A call that outlasts its time is given up and never waited for."""

from __future__ import annotations

import asyncio
import contextvars
import ctypes
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

from sopwith.tools.bounded import Outcome, OutOfTime


class Interrupt(BaseException):
    """Raised inside a thread whose call was given up."""


class _Job:
    """One call: what to run, and the future of the loop that waits for its value or its error."""

    def __init__(self, run: Callable[[], Any], loop: asyncio.AbstractEventLoop) -> None:
        self.run = run
        self.context = contextvars.copy_context()
        self.future: asyncio.Future[Outcome] = loop.create_future()
        self.late: asyncio.Future[Outcome] = loop.create_future()
        """Gets the outcome once `future` is given up."""

    def perform(self) -> None:
        try:
            outcome = self.context.run(self.run), None
        except BaseException as error:
            outcome = None, error
        with suppress(RuntimeError):  # the loop has been closed: nobody waits any more
            self.future.get_loop().call_soon_threadsafe(self._settle, outcome)

    def _settle(self, outcome: Outcome) -> None:
        waiting = self.late if self.future.done() else self.future
        if not waiting.done():
            waiting.set_result(outcome)


class NotStarted(Exception):
    """No thread was free in time: the function was not called."""


class Workers:
    """Daemon threads that are started when needed, kept for the next call, and dropped when given up.

    At most `most` calls run side by side, the others wait for their turn. Threads that were given up and do not
    end are not among them, so that one tool that hangs does not hold up the others; but once there are `lost` of
    those, nothing is started any more.
    """

    def __init__(self, most: int = 64, lost: int = 256) -> None:
        self._idle: list[_Worker] = []
        self._lost: list[_Worker] = []
        self._most_lost = lost
        self._free = most
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._turn = threading.Lock()  # calls may come from several event loops

    async def run(self, function: Callable[[], Any], seconds: float | None, *, interrupt: bool) -> Any:
        """The result of `function`, run in a thread. Past `seconds` `OutOfTime`, or `NotStarted` before it began.

        A thread that was given up is not used again. With `interrupt` it is also interrupted at its next
        Python instruction, so that an endless loop ends; without, it goes on to its own end.
        """
        loop = asyncio.get_running_loop()
        began = loop.time()
        await self._wait(seconds)
        left = None if seconds is None else began + seconds - loop.time()
        try:
            return await self._perform(function, left, interrupt=interrupt)
        finally:
            self._pass_on()

    async def _perform(self, function: Callable[[], Any], seconds: float | None, *, interrupt: bool) -> Any:
        if len(self._lost) >= self._most_lost:
            self._lost = [worker for worker in self._lost if worker.alive]
            if len(self._lost) >= self._most_lost:
                raise NotStarted
        worker = self._idle.pop() if self._idle else _Worker()
        job = _Job(function, asyncio.get_running_loop())
        worker.jobs.put(job)
        try:
            await asyncio.wait((job.future,), timeout=seconds)
        finally:
            if job.future.done():
                self._idle.append(worker)
            else:
                job.future.cancel()
                worker.give_up(interrupt=interrupt)
                self._lost.append(worker)
        if job.future.cancelled():
            raise OutOfTime(job.late)
        value, error = job.future.result()
        if error is not None:
            raise error
        return value

    async def _wait(self, seconds: float | None) -> None:
        """Take a turn, or raise `NotStarted`."""
        with self._turn:
            if self._free:
                self._free -= 1
                return
            mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(mine)
        taken = False
        try:
            await asyncio.wait((mine,), timeout=seconds)
            taken = mine.done()
        finally:
            if not taken and not self._withdraw(mine):
                self._pass_on()  # it came at the last moment
        if not taken:
            raise NotStarted

    def _withdraw(self, waiting: asyncio.Future[None]) -> bool:
        with self._turn:
            found = waiting in self._waiting
            if found:
                self._waiting.remove(waiting)
            return found

    def _pass_on(self) -> None:
        """Give a turn back: to the one who waits longest, if anybody does."""
        with self._turn:
            while self._waiting:
                longest = self._waiting.popleft()
                with suppress(RuntimeError):  # its loop has been closed: nobody waits any more
                    longest.get_loop().call_soon_threadsafe(_wake, longest)
                    return
            self._free += 1

    def close(self) -> None:
        """End the idle threads."""
        while self._idle:
            self._idle.pop().jobs.put(None)


def _wake(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)


class _Worker:
    def __init__(self) -> None:
        self.jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="sopwith-tool", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def _serve(self) -> None:
        with suppress(Interrupt):
            while (job := self.jobs.get()) is not None:
                job.perform()
                del job

    def give_up(self, *, interrupt: bool) -> None:
        self.jobs.put(None)
        ident = self._thread.ident
        if interrupt and ident is not None and self._thread.is_alive():
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(Interrupt))
