"""Results that come after their call was given up: written down, and nothing else."""

from __future__ import annotations

import asyncio
import logging
from functools import partial

from sopwith.guard.redact import Redactor
from sopwith.ir.event import ResultLate
from sopwith.run.journal import Journal
from sopwith.tools.port import Late
from sopwith.tools.refusal import in_language

_LOGGER = logging.getLogger("sopwith")


class LateResults:
    """The late results of one run. `driving` says whether its driver is at work.

    One that comes then is an event like others; one that comes after the end is appended unless somebody else has
    appended. While the run waits or is interrupted, whoever takes it up next owns its log: then it is dropped.
    """

    def __init__(self, journal: Journal, redactor: Redactor, language: str) -> None:
        self.driving = False
        self._journal = journal
        self._redactor = redactor
        self._language = language
        self._running: set[int] = set()
        self._appending: set[asyncio.Task[None]] = set()

    def expect(self, late: Late, started: int, step: str | None) -> None:
        """Write the result of the call that `started` tells of, made at `step`, when it comes."""
        self._running.add(started)
        late.add_done_callback(partial(self._came, started, step))

    def may_come(self, started: int) -> bool:
        """Whether the call that `started` tells of was given up, and is still at work in this process."""
        return started in self._running

    def _came(self, started: int, step: str | None, late: Late) -> None:
        self._running.discard(started)
        if late.cancelled():
            return
        ended = self._journal.state.outcome is not None
        if not (self.driving or ended):
            self._drop(started, "the run is not driven here any more")
            return
        result = late.result()
        if result.error is not None:
            body = ResultLate(
                started=started, error=self._redactor.redact_error(in_language(result.error, self._language))
            )
        else:
            body = ResultLate(started=started, **self._journal.stored(self._redactor.redact(result.value)))
        self._journal.emit(body, started, step)
        if not self.driving:
            task = asyncio.get_running_loop().create_task(self._append(started))
            self._appending.add(task)
            task.add_done_callback(self._appending.discard)

    async def _append(self, started: int) -> None:
        try:
            await self._journal.flush()
        except Exception as error:
            self._drop(started, f"{type(error).__name__}: {error}")

    def _drop(self, started: int, why: str) -> None:
        _LOGGER.warning("run %s: the late result of call %d is dropped: %s", self._journal.run, started, why)
