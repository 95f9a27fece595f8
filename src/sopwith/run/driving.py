"""How the runs of an engine are driven: begun, gone on with, parked, and ended, each by one driver at a time."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sopwith.errors import LogConflict, LogError, RunBusy
from sopwith.guard.redact import Redactor
from sopwith.ir.event import Body, Event, LeaseTaken, Outcome, Principal, RunResumed, RunStarted
from sopwith.ir.value import storable
from sopwith.log.head import Head, Heads
from sopwith.log.port import Log
from sopwith.run.account import Accounts
from sopwith.run.actor import Surroundings
from sopwith.run.book import Book
from sopwith.run.callers import Callers
from sopwith.run.calling import CALLER
from sopwith.run.connected import ConnectedModels
from sopwith.run.drive import Driver
from sopwith.run.heart import Heart
from sopwith.run.journal import Clock, Journal, Subscriber
from sopwith.run.lease import LEASE_SECONDS, holder
from sopwith.run.pinned import Blob
from sopwith.run.prompt_file import prompts_digest
from sopwith.run.redaction import Redaction, revealed
from sopwith.run.run import Run
from sopwith.run.stored_run import StoredRun, read_state
from sopwith.run.values import input_values

News = tuple[Body, str | None]
"""Something that a run has waited for, and the step instance that did; None for the one at hand."""

_LOGGER = logging.getLogger("sopwith")


@dataclass(slots=True)
class Driving:
    """What every run of an engine is driven with. `around` makes the surroundings of a run from its redactor; `rules`
    are those in force; `subscribers` may still grow."""

    log: Log
    clock: Clock
    heart: Heart
    accounts: Accounts
    redaction: Redaction
    rules: Blob
    heads: Heads | None
    subscribers: Sequence[Subscriber]
    around: Callable[[Redactor], Surroundings]
    models: ConnectedModels
    callers: Callers

    def driver(self, book: Book, run: str, task: str, started: RunStarted | None = None) -> Driver:
        """A driver of `run`, which was `started` before or is about to be."""
        journal = Journal(self.log, self.clock, self.subscribers, run, task)
        redactor = self.redaction.of(run, book.procedure.inputs, started)
        book.shape = self.models.shape
        return Driver(book, journal, self.around(redactor))

    async def begin(self, driver: Driver, started: RunStarted) -> None:
        """Write down that a run begins. Raises `RunBusy` where somebody has begun it already."""
        journal = driver.journal
        journal.emit(started)
        self.take_lease(journal)
        if started.account is not None:
            await journal.flush()
            await self._renew(journal)

    def take_lease(self, journal: Journal) -> None:
        """Have the run to oneself, as soon as it is appended."""
        journal.emit(LeaseTaken(driver=self.heart.name, seconds=LEASE_SECONDS))

    async def go_on(self, stored: StoredRun, by: Principal | str, news: Sequence[News] = ()) -> Run:
        """Drive a stored run that is free; `news` is what it has waited for. Who goes on with it, and under which other
        rules and prompts, is written down before anything is done: of two that try, one gets `RunBusy`."""
        driver, started = stored.driver, stored.started
        journal = driver.journal
        for body, step in news:
            journal.emit(body, None, step)
        rules, prompts = journal.keep(*self.rules), prompts_digest(started.language, self.models.shapes)
        journal.emit(
            RunResumed(
                by=str(driver.redact(storable(by.id if isinstance(by, Principal) else by))),
                policy=None if rules == started.policy else rules,
                prompts=None if prompts == started.prompts else prompts,
            )
        )
        self.take_lease(journal)
        await self.heart.skip(journal.run)
        await self.append_first(journal)
        await self._renew(journal)
        return await self.drive(driver, stored.events)

    async def _renew(self, journal: Journal) -> None:
        """Hold what the run may use, once it is in the log that it begins or goes on, and before anything is done."""
        budget = await self.accounts.renew(journal.state)
        if budget != journal.state.budget:
            journal.emit(LeaseTaken(driver=self.heart.name, seconds=LEASE_SECONDS, budget=budget))

    async def park(self, stored: StoredRun) -> Run:
        """Leave a run waiting, after what a person has said to it."""
        journal = stored.driver.journal
        await self.append_first(journal)
        await self._sign(journal)
        return self.run(stored.driver, [*stored.events, *journal.events])

    async def append_first(self, journal: Journal) -> None:
        """Append before anybody else does. Raises `RunBusy` where somebody was faster; then nothing was written."""
        try:
            await journal.flush(durable=True)
        except LogConflict:
            journal.drop()
            _, state = await read_state(self.log, journal.run)
            raise RunBusy(journal.run, holder(state, self.clock())) from None

    async def drive(self, driver: Driver, earlier: Sequence[Event]) -> Run:
        """Drive a run until it has ended or waits; `earlier` are its events before those of the driver's journal.

        That it is driven is in the log. One that its caller does not wait for any more is cancelled.
        """
        with self.heart.driving(driver):
            if not await self.callers.wait_for(driver.journal.state):
                driver.cancel(CALLER, None)
            state = await driver.drive(self.heart.name)
        await self.accounts.settle(state)
        await self._sign(driver.journal)
        return self.run(driver, [*earlier, *driver.journal.events])

    async def _sign(self, journal: Journal) -> None:
        """Keep the signed head of a run that has ended or waits."""
        if self.heads is None or not journal.head:
            return
        try:
            await self.heads.add([Head(journal.run, journal.state.seq, journal.head, self.clock())])
        except LogError as error:
            _LOGGER.warning("%s", error.render(journal.state.language))

    def run(self, driver: Driver, events: Sequence[Event]) -> Run:
        """A run as its caller sees it, with true values."""
        state = driver.journal.state
        outcome = None
        if state.outcome is not None:
            told = state.outcome.model_dump(mode="json")
            true = revealed(driver.around.redactor, told)
            outcome = state.outcome if true is told else Outcome.model_validate(true)
        question = None
        if state.cursor is not None and state.cursor.question is not None:
            asked = next(e for e in reversed(events) if e.body.kind == "human.asked")
            question = str(revealed(driver.around.redactor, asked.body.question))
        return Run(state, events, outcome, question, input_values(state, driver.book.procedure.inputs))
