"""Threads for functions that block. A call that outlasts its time is given up and never waited for."""

from __future__ import annotations

import asyncio
import contextvars
import ctypes
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

from sopwith.tools.bounded import OutOfTime


class _Interrupt(BaseException):
    """Raised inside a thread whose call was given up."""


class _Job:
    """One call: what to run, and the future of the loop that waits for its value or its error."""

    def __init__(self, run: Callable[[], Any], loop: asyncio.AbstractEventLoop) -> None:
        self.run = run
        self.context = contextvars.copy_context()
        self.future: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()

    def perform(self) -> None:
        try:
            outcome = self.context.run(self.run), None
        except BaseException as error:
            outcome = None, error
        with suppress(RuntimeError):  # the loop has been closed: nobody waits any more
            self.future.get_loop().call_soon_threadsafe(self._settle, outcome)

    def _settle(self, outcome: tuple[Any, BaseException | None]) -> None:
        if not self.future.done():
            self.future.set_result(outcome)


class Workers:
    """Daemon threads that are started when needed, kept for the next call, and dropped when given up."""

    def __init__(self) -> None:
        self._idle: list[_Worker] = []

    async def run(self, function: Callable[[], Any], seconds: float | None, *, interrupt: bool) -> Any:
        """The result of `function`, run in a thread. `OutOfTime` past `seconds`.

        A thread that was given up is not used again. With `interrupt` it is also interrupted at its next
        Python instruction, so that an endless loop ends; without, it goes on to its own end.
        """
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
        if job.future.cancelled():
            raise OutOfTime
        value, error = job.future.result()
        if error is not None:
            raise error
        return value

    def close(self) -> None:
        """End the idle threads."""
        while self._idle:
            self._idle.pop().jobs.put(None)


class _Worker:
    def __init__(self) -> None:
        self.jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="sopwith-tool", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        with suppress(_Interrupt):
            while (job := self.jobs.get()) is not None:
                job.perform()
                del job

    def give_up(self, *, interrupt: bool) -> None:
        self.jobs.put(None)
        ident = self._thread.ident
        if interrupt and ident is not None and self._thread.is_alive():
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(_Interrupt))
