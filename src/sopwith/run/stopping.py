"""Stopping a run that somebody drives: its driver is told, and waited for."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sopwith.errors import RunBusy
from sopwith.guard.redact import Redactor
from sopwith.ir.event import CancelAsked, RunStarted
from sopwith.ir.procedure import Input, Procedure
from sopwith.log.port import Log
from sopwith.run.heart import Heart
from sopwith.run.inbox import send
from sopwith.run.journal import Clock
from sopwith.run.lease import holder
from sopwith.run.state import State
from sopwith.run.stored_run import read_state

STOP_SECONDS = 30.0
"""How long a driver is given to stop."""

POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Stopping:
    """Stops what is driven on one log; `heart` knows the drivers of this engine."""

    log: Log
    heart: Heart
    clock: Clock
    redactor: Callable[[str, Mapping[str, Input], RunStarted], Redactor]

    async def stop(self, run: str, by: str, why: str | None) -> bool:
        """See that nobody drives the run; whether its driver had to be told.

        Raises `UserError` for an unknown run, `RunBusy` where the driver does not stop.
        """
        deadline = time.monotonic() + STOP_SECONDS
        told: str | None = None
        while True:
            events, state = await read_state(self.log, run)
            driver = holder(state, self.clock())
            if state.outcome is not None or driver is None:
                return told is not None
            if driver != told:  # another one may have taken it meanwhile
                await self._tell(events[0].body, state, by, why)
                told = driver
            elif time.monotonic() > deadline:
                raise RunBusy(run, driver)
            await asyncio.sleep(POLL_SECONDS)

    async def _tell(self, started: RunStarted, state: State, by: str, why: str | None) -> None:
        ours = self.heart.driver_of(state.run)
        if ours is not None:
            ours.cancel(by, why)
            return
        procedure = Procedure.from_data(json.loads(await self.log.blob(started.procedure)))
        redactor = self.redactor(state.run, procedure.inputs, started)
        safe = redactor.redact_reply(by), None if why is None else redactor.redact_reply(why)
        await send(self.log, state.run, state.task, CancelAsked(by=safe[0], why=safe[1]), self.clock())
