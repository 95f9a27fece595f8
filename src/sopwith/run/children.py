"""Runs that call runs: children are driven while their parent waits, and parents when their children have ended.

Everything that is done follows from the log, so it does not matter who does it: a parent that waits looks at its
children, and whoever ends a child looks at its parent. Each looks after its own last event is on disk, so one of the
two sees the other. The id of a child is made of its message, and its first event is compare-and-append: a child is
made once. That it has ended is appended to its parent in the same way: it comes back once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from sopwith.errors import ExpressionError, RunBusy, Text, UserError, ValueErased
from sopwith.ir.event import Body, Event, Principal, RunStarted, RunTakenOver
from sopwith.ir.place import step_id
from sopwith.ir.spoken import spoken
from sopwith.run.arrival import comes_back
from sopwith.run.calling import CALLER, DEADLINE, error_of, never_began, received, wrote
from sopwith.run.decide_call import calls_again
from sopwith.run.decision import VERSION as DECISIONS
from sopwith.run.drive import Driver
from sopwith.run.driving import Driving, News
from sopwith.run.fold import fold_all
from sopwith.run.inbox import TRIES, messages
from sopwith.run.lease import holder
from sopwith.run.operator import TAKEN_FROM
from sopwith.run.pausing import answer_missed, wait_ended
from sopwith.run.prompt_file import prompts_digest
from sopwith.run.route import catching_edge
from sopwith.run.run import Run
from sopwith.run.state import Child, State
from sopwith.run.stopping import Stopping
from sopwith.run.stored_run import StoredRun, open_run, pinned_book, read_state
from sopwith.tools.catalogue import Catalogue

KEPT = 1024
"""So many runs that wait for a person are known at a time."""


@dataclass(frozen=True, slots=True)
class Children:
    """The families of runs in one log: what a run waits for is looked after, and then it goes on."""

    driving: Driving
    catalogue: Catalogue
    stopping: Stopping
    _asleep: dict[str, Run] = field(default_factory=dict[str, Run])
    """Runs that were looked at and wait for a person: nothing comes of them until their log has grown."""

    async def open(self, run: str, read: tuple[list[Event], State] | None = None) -> StoredRun:
        """A stored run, held to its tools; what `read_state` gave is not read again. Raises `UserError` as
        `open_run`."""
        return await open_run(self.driving.log, run, self.driving.driver, self.catalogue, read)

    async def drive(self, driver: Driver, earlier: Sequence[Event] = ()) -> Run:
        """Drive a run that is one's own, with all that it calls, until it has ended or waits for somebody else."""
        return await self._follow(StoredRun(list(earlier), driver), await self.driving.drive(driver, earlier))

    async def go_on(self, stored: StoredRun, by: Principal | str) -> Run:
        """Drive a stored run that waits for nothing, as `drive`."""
        return await self._follow(stored, await self.driving.go_on(stored, by))

    async def look(self, stored: StoredRun) -> Run:
        """See whether what a stored run waits for has come, and go on with it then."""
        run = self.driving.run(stored.driver, stored.events)
        return await self._follow(stored, run)

    async def up(self, run: Run) -> Run:
        """Give what a run came to to the run that has called it, and go on there, up to the first of all.

        Returns `run`, with the runs above it that have gone on.
        """
        parent = run.state.parent
        if parent is None or run.outcome is None:
            return run
        read = await self.driving.callers.read(parent)
        state = read[1]
        if state.outcome is not None or run.id not in state.children:
            return run
        if holder(state, self.driving.clock()) is not None:
            return run  # its driver looks itself, before it leaves
        before = state.seq
        try:
            stored = await self.open(parent, read)
            above = await (
                self.look(stored) if state.suspended_at is not None else self.go_on(stored, "driver")
            )
        except RunBusy:
            return run  # whoever drives it, or what it waits to stop, goes on with it
        except UserError as error:
            raise _done_below(run, parent, error) from error
        return run if above.state.seq == before else replace(run, called_by=await self.up(above))

    async def hold_above(self, stored: StoredRun) -> None:
        """See that the runs above one can go on when it has ended. Raises `UserError` where one cannot be opened."""
        parent = stored.state.parent
        while parent is not None:
            read = await self.driving.callers.read(parent)
            if read[1].outcome is not None:
                return
            try:
                await self.open(parent, read)
            except UserError as error:
                raise UserError(_above(parent, error), error.hint) from error
            parent = read[1].parent

    async def cancel(self, run: str, by: str, why: str | None) -> Run:
        """End a run as cancelled, with all that it has called.

        Raises `UserError` for an unknown or ended one, `RunBusy` where its driver does not stop, or that of a run that
        it has called: then it ends when that one has.
        """
        told = False
        for _ in range(TRIES):
            told = await self.stopping.stop(run, by, why) or told
            stored = await open_run(self.driving.log, run, self.driving.driver)
            if told and stored.state.outcome is not None:
                return self.driving.run(stored.driver, stored.events)
            stored.must_be_open()
            ended = await self._cancelled(stored, by, why)
            if ended is not None:
                return ended
        raise RunBusy(run, None)

    async def _cancelled(self, stored: StoredRun, by: str, why: str | None) -> Run | None:
        """A run that nobody drives, cancelled; None where somebody was faster."""
        driver = stored.driver
        if driver.journal.state.outcome is not None:
            driver.journal.emit(RunTakenOver(by=driver.redact_mixed(by)))
        driver.cancel(by, why)
        self.driving.take_lease(driver.journal)
        try:
            await self.driving.append_first(driver.journal)
        except RunBusy:
            return None
        return await self._follow(stored, await self.driving.drive(driver, stored.events))

    async def _stopped(self, run: str, by: str, why: str | None) -> StoredRun | None:
        """A child that can do nothing any more: cancelled now, also where a person could take it over, or ended before;
        None where it never began. Raises `RunBusy` where it does not stop."""
        for _ in range(TRIES):
            if not await self.driving.log.read(run):
                return None
            await self.stopping.stop(run, by, why)
            stored = await open_run(self.driving.log, run, self.driving.driver)
            outcome = stored.state.outcome
            if outcome is not None and outcome.kind not in TAKEN_FROM:
                return stored
            await self._cancelled(stored, by, why)
        raise RunBusy(run, None)

    async def _settled(self, stored: StoredRun) -> list[News]:
        """What comes back from the children of a run that is about to end: they are stopped. Raises `RunBusy` where one
        does not stop; the run stays as it is then, and ends when that one has."""
        by, why = CALLER, None
        if stored.state.cancelled_by is not None:
            with suppress(ValueErased):
                by, why = stored.driver.values.true(list(stored.state.cancelled_by))
        children = stored.state.children
        ended = await asyncio.gather(
            *(self._stopped(name, by, why) for name in children), return_exceptions=True
        )
        news: list[News] = []
        for (name, child), one in zip(children.items(), ended, strict=True):
            if isinstance(one, BaseException):
                raise one
            caller = stored.driver
            news.append(
                (
                    never_began(caller, name, child) if one is None else received(caller, one.driver, child),
                    child.step,
                )
            )
        return news

    async def _follow(self, stored: StoredRun, run: Run) -> Run:
        """Go on with a run as long as what it waits for has come. Where somebody else does, that is left to them."""
        while run.state.suspended_at is not None and run.outcome is None:
            if run.state.stopping:
                news = await self._settled(stored)
            elif run.state.taken_by is not None:
                break
            else:
                news, waits = await self._news(stored)
                if not news:
                    return replace(run, waits_for=waits)
            try:
                run = await self.driving.go_on(stored, "driver", news)
            except RunBusy:
                stored = await self.open(run.id)
                return self.driving.run(stored.driver, stored.events)
        return run

    async def _news(self, stored: StoredRun) -> tuple[list[News], Run | None]:
        """What has come of that which a run waits for, and a run that it still waits for."""
        driver = stored.driver
        state = driver.journal.state
        looked = await asyncio.gather(*(self._child(stored, child) for child in state.children.values()))
        news = [(body, step) for body, step in (*(one[0] for one in looked),) if body is not None]
        waits = next((one[1] for one in looked if one[1] is not None), None)
        now = max(self.driving.clock(), state.at)
        for cursor in state.cursors:
            inbox = await messages(self.driving.log, state.run) if cursor.paused is not None else ()
            ended = wait_ended(driver, cursor, inbox, now)
            if ended is not None:
                news.append((ended, cursor.instance))
        if state.cursor is not None and state.cursor.question is not None:
            missed = answer_missed(state, stored.all_events, now)
            news += [] if missed is None else [(missed, None)]
        return news, waits

    async def _child(
        self, parent: StoredRun, child: Child
    ) -> tuple[tuple[Body | None, str | None], Run | None]:
        """What has come back from a child, which is begun or gone on with first; or the child as it waits."""
        nothing: tuple[Body | None, str | None] = (None, None)
        sent = child.sent
        asleep = self._asleep.pop(sent.receiver, None)
        if asleep is not None and not await self.driving.log.read(sent.receiver, asleep.state.seq):
            self._asleep[sent.receiver] = asleep
            return nothing, asleep
        late = sent.deadline is not None and self.driving.clock() >= sent.deadline
        try:
            if late and await self._open(sent.receiver):
                await self._stopped(sent.receiver, DEADLINE, None)
            stored, run = await self._driven(parent, child)
            has_way_on = partial(_has_way_on, parent.driver, stored.driver, child)
            back = await comes_back(parent.state, stored.state, has_way_on)
            if late and not back:  # whoever could take it over was waited for as long as it was said
                stopped = await self._stopped(sent.receiver, DEADLINE, None)
                stored, back = stopped or stored, True
        except RunBusy:
            return nothing, None  # whoever drives it looks at its parent in the end
        if not back:
            if sent.deadline is None and _waits_for_a_person(run.state):
                self._asleep[sent.receiver] = run
                if len(self._asleep) > KEPT:
                    del self._asleep[next(iter(self._asleep))]
            return nothing, run
        return (received(parent.driver, stored.driver, child), child.step), None

    async def _open(self, run: str) -> bool:
        events = await self.driving.log.read(run)
        return bool(events) and (await read_state(self.driving.log, run))[1].outcome is None

    async def _driven(self, parent: StoredRun, child: Child) -> tuple[StoredRun, Run]:
        """A child, as far as it can be driven now. Raises `RunBusy` where somebody else drives it."""
        events = list(await self.driving.log.read(child.sent.receiver))
        if not events:
            stored = await self._begun(parent, child)
            return stored, await self.drive(stored.driver)
        stored = await self.open(child.sent.receiver, (events, fold_all(events)))
        state = stored.state
        if state.outcome is not None or state.taken_by is not None:
            return stored, self.driving.run(stored.driver, stored.events)
        stored.must_be_free(self.driving.clock())
        if state.suspended_at is not None:
            return stored, await self.look(stored)
        return stored, await self.go_on(stored, "driver")

    async def _begun(self, parent: StoredRun, child: Child) -> StoredRun:
        """A child that begins: for the principal and on the day of its parent, under the rules in force."""
        driving, above, sent = self.driving, parent.started, child.sent
        caller = parent.driver
        given = dict(caller.values.true(sent.payload))
        principal = caller.principal(caller.journal.state)
        request = str(caller.values.true(above.request))
        pinned = above.model_copy(
            update={"procedure": sent.procedure, "procedure_id": sent.procedure_id, "grip": None}
        )
        book = await pinned_book(driving.log, pinned)
        driver = driving.driver(book, sent.receiver, sent.task_id)
        journal, redactor = driver.journal, driver.around.redactor
        redactor.learn(driving.redaction.rules.names_in(book.procedure.inputs, principal.id, given))
        redactor.learn_secrets(caller.around.redactor.hidden([dict(sent.payload), above.request]))
        started = RunStarted(
            procedure_id=sent.procedure_id,
            procedure=sent.procedure,
            tools=above.tools,
            policy=journal.keep(*driving.rules),
            prompts=prompts_digest(book.language, driving.models.shapes),
            model=above.model,
            models=above.models,
            decisions=DECISIONS,
            principal=principal.model_copy(update={"id": redactor.redact(principal.id)}),
            request=redactor.redact(request),
            inputs=driving.redaction.inputs(redactor, given),
            date=above.date,
            language=book.language,
            budget=sent.budget,
            dry_run=above.dry_run,
            step_budget=above.step_budget,
            step_budgets=above.step_budgets,
            children=above.children,
            parent=sent.sender,
            parent_step=child.step or None,
            depth=above.depth + 1,
            deadline=sent.deadline,
            tools_shown=above.tools_shown,
        )
        await driving.begin(driver, started)
        await driving.append_first(journal)
        return StoredRun([], driver)


async def _has_way_on(caller: Driver, ended: Driver, call: Child) -> bool:
    """Whether a run goes on without one that it has called, and that a person can still take over."""
    state = caller.journal.state
    node = caller.book.machine.nodes[step_id(call.step)]
    error = error_of(caller, ended, call)
    cursor = next((c for c in state.cursors if c.child == ended.journal.run), None)
    if cursor is not None and calls_again(node, cursor, error, wrote=wrote(ended.journal.state)):
        return True
    try:
        return catching_edge(caller.book, node, state, error, caller.values) is not None
    except ExpressionError:
        return True


def _above(parent: str, error: UserError) -> Text:
    """That a run, which has called another one, cannot go on."""
    return Text(
        f"the run {parent}, which waits for this one, cannot go on: {error.message.en}",
        f"等待该运行的运行 {parent} 无法继续：{error.message.zh}",
    )


def _done_below(run: Run, parent: str, error: UserError) -> UserError:
    """That a run has ended, and the one that has called it could not go on."""
    said, hint = _above(parent, error), error.hint or Text("", "")
    return UserError(
        Text(
            f"the run {run.id} has ended ({run.status}); {said.en}",
            f"运行 {run.id} 已结束（{spoken(run.status).zh}）；{said.zh}",
        ),
        Text(
            f"{hint.en}; then: sopwith resume {parent}".removeprefix("; "),
            f"{hint.zh}；然后：sopwith resume {parent}".removeprefix("；"),
        ),
    )


def _waits_for_a_person(state: State) -> bool:
    """Whether nothing but an event in its own log lets a run go on: no time, no outside event and no other run."""
    cursor = state.cursor
    asked = cursor is not None and cursor.question is not None and cursor.expires_at is None
    waits = asked and state.suspended_at is not None and state.taken_by is None
    return waits and not state.children and all(one.paused is None for one in state.cursors)
