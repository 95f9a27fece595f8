"""The heartbeat of an engine: while runs are driven, their leases are renewed and their inboxes are read."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Generator
from contextlib import contextmanager

from sopwith.errors import LogError
from sopwith.ir.event import CancelAsked, LeaseTaken
from sopwith.log.port import Log
from sopwith.run.drive import Driver
from sopwith.run.inbox import messages
from sopwith.run.journal import Clock
from sopwith.run.lease import DRIVEN, LEASE_SECONDS, RENEW_SECONDS

_LOGGER = logging.getLogger("sopwith")

BEAT_SECONDS = 0.5
"""How often an inbox is read: a run that is to be cancelled is stopped within that time."""


class Heart:
    """The drivers at work in one engine, by run. `name` is what their leases say."""

    def __init__(self, log: Log, clock: Clock, name: str) -> None:
        self.name = name
        self._log = log
        self._clock = clock
        self._drivers: dict[str, Driver] = {}
        self._read: dict[str, int] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._beat: asyncio.Task[None] | None = None

    def driver_of(self, run: str) -> Driver | None:
        """Who drives `run` in this engine."""
        return self._drivers.get(run)

    async def skip(self, run: str) -> None:
        """What is in the inbox of a run before it is taken was for the drivers it had before."""
        for message in await messages(self._log, run):
            self._read[run] = message.seq

    @contextmanager
    def driving(self, driver: Driver) -> Generator[None]:
        """`driver` is at work."""
        run = driver.journal.run
        self._drivers[run] = driver
        DRIVEN.add((self.name, run))
        self._wait()
        try:
            yield
        finally:
            del self._drivers[run]
            DRIVEN.discard((self.name, run))
            self._read.pop(run, None)
            if not self._drivers and self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def _wait(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(BEAT_SECONDS, self._start)

    def _start(self) -> None:
        self._timer = None
        self._beat = asyncio.get_running_loop().create_task(self._all())

    async def _all(self) -> None:
        for run, driver in list(self._drivers.items()):
            try:
                await self._one(run, driver)
            except LogError as error:  # the driver itself meets it when it appends
                _LOGGER.warning("the inbox of run %s cannot be read: %s", run, error.message.en)
        if self._drivers:
            self._wait()

    async def _one(self, run: str, driver: Driver) -> None:
        if self._drivers.get(run) is not driver:
            return
        if self._clock() - driver.journal.state.at > RENEW_SECONDS * 1e6:
            driver.journal.emit(LeaseTaken(driver=self.name, seconds=LEASE_SECONDS))
        for message in await messages(self._log, run, self._read.get(run, 0)):
            self._read[run] = message.seq
            if isinstance(message.body, CancelAsked) and self._drivers.get(run) is driver:
                driver.cancel(message.body.by, message.body.why)
