"""The driver: performs decisions until the run ends or waits. The only place with side effects."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from sopwith.errors import ModelError, SopwithError, ValueErased
from sopwith.guard.price import counted
from sopwith.ir.approval import NO_TERMS
from sopwith.ir.event import (
    AlertRaised,
    CancelAsked,
    CheckRan,
    EdgeTaken,
    HumanAsked,
    InputsBound,
    LeaseTaken,
    ModelReplied,
    ModelRequested,
    Outcome,
    PhaseEntered,
    ProcedureSelected,
    RegionLeft,
    ReplyRepaired,
    RequestScreened,
    RunFinished,
    RunSuspended,
    StepEntered,
    StepFailed,
    ValueStored,
)
from sopwith.ir.finding import EntryDescribed
from sopwith.ir.outcome import OutcomeKind
from sopwith.ir.tool import ErrorData
from sopwith.run.actor import Actor
from sopwith.run.call_input import continue_call
from sopwith.run.calling import DEADLINE, send_message
from sopwith.run.connected import role_of
from sopwith.run.decide import decide
from sopwith.run.decide_guided import unset_in_region
from sopwith.run.decision import (
    AskModel,
    AskPerson,
    BeginItems,
    BeginWait,
    BindInputs,
    ContinueCall,
    Decision,
    DescribeEntry,
    EndItems,
    EnterPhase,
    EnterStep,
    FailStep,
    FindEntries,
    Finish,
    LeaveRegion,
    NoteDeviation,
    PerformCall,
    ReadValue,
    Reconcile,
    RejectReply,
    RunCheck,
    RunItems,
    ScreenRequest,
    SelectProcedure,
    SendMessage,
    StartCall,
    StoreValue,
    Suspend,
    TakeEdge,
    Wait,
)
from sopwith.run.effects import perform_call, reconcile, start_call
from sopwith.run.items import begin_items, end_items, run_items
from sopwith.run.limits import model_seconds, outlasted
from sopwith.run.packet import packet
from sopwith.run.pausing import begin_wait, suspend
from sopwith.run.redaction import written_text
from sopwith.run.screening import screen_output
from sopwith.run.state import State
from sopwith.run.time_limit import within

_LOGGER = logging.getLogger("sopwith")

Perform = Callable[[Any, Any], Awaitable[None]]


class Driver(Actor):
    """Drives one run from its state to its end, or to a point where it waits."""

    _task: asyncio.Task[Any] | None = None
    _stopping = False

    def cancel(self, by: str, why: str | None) -> None:
        """End the run as cancelled as soon as it can be done; whatever is at work is interrupted."""
        if self.journal.state.cancelled_by is not None or self.journal.state.outcome is not None:
            return
        self.journal.emit(CancelAsked(by=self.redact_mixed(by), why=why and self.redact_mixed(why)))
        if self._task is not None and self._task is not asyncio.current_task():
            self._stopping = self._task.cancel()

    def _stopped(self) -> bool:
        """Whether the interruption is our own, and nobody else's."""
        ours, self._stopping = self._stopping, False
        return ours and self._task is not None and self._task.uncancel() == 0

    async def drive(self, lease: str | None = None) -> State:
        """Perform decisions until the run has ended or waits for somebody; returns the state.

        What happened is appended also when this is cancelled, so that the run can be taken up again; the lease that is
        held in the name `lease` is then given up.
        """
        journal = self.journal
        self._task = asyncio.current_task()
        self.late.driving = True
        timer = self._until_deadline()
        try:
            while await self._advance():
                pass
        except ValueErased as error:
            # What was to be done with it is a person's to do.
            self._end("escalated", "erased", error.message.in_(self.book.language))
        except SopwithError:
            raise
        except Exception as error:
            self._fail(error)
        finally:
            self._task = None
            self.late.driving = False
            if timer is not None:
                timer.cancel()
            if lease is not None and journal.state.lease is not None:
                journal.emit(LeaseTaken(driver=lease, seconds=0.0))
            await journal.flush()
        return journal.state

    def _until_deadline(self) -> asyncio.TimerHandle | None:
        """A timer that ends a run whose caller waits no longer, whatever it is doing then."""
        state = self.journal.state
        if state.deadline is None or state.outcome is not None:
            return None
        seconds = max(0.0, (state.deadline - self.around.clock()) / 1e6)
        return asyncio.get_running_loop().call_later(seconds, self.cancel, DEADLINE, None)

    async def _advance(self) -> bool:
        """Perform decisions; whether there may be more to do after an interruption."""
        journal = self.journal
        try:
            while True:
                now = max(self.around.clock(), journal.state.at)
                for scope, limit in outlasted(self.book, journal.state, now):
                    self.pass_limit(scope, limit)
                state = journal.state
                if state.deadline is not None and now >= state.deadline:
                    self.cancel(DEADLINE, None)
                    state = journal.state
                decision = decide(self.book, state, self.values)
                if state.outcome is not None or isinstance(decision, Wait):
                    return False
                await _perform(self, decision)
        except asyncio.CancelledError:
            if not self._stopped():
                raise
            return True

    def _fail(self, error: Exception) -> None:
        """Something broke that is nobody's decision."""
        if self.journal.state.outcome is None:
            message = self.redact_mixed(f"{type(error).__name__}: {error}")
            _LOGGER.error("run %s failed: %s", self.journal.run, message)
            self._end("failed", "internal", message)

    def _end(self, kind: OutcomeKind, code: str, reason: str) -> None:
        """End the run where no decision does, with an alert and a packet; what it has called is stopped first."""
        found = packet(self.book, self.journal.state)
        error = ErrorData(code=code, message=reason, step=found.step)
        left = found.model_copy(update={"reason": reason, "error": error})
        outcome = Outcome(kind=kind, packet=left)
        self.journal.emit(AlertRaised(code=f"outcome.{kind}", message=reason))
        if self.journal.state.children:
            self.journal.emit(RunSuspended(waiting_for="stop", ending=outcome))
        else:
            self.journal.emit(RunFinished(outcome=outcome))


def _perform(actor: Actor, decision: Decision) -> Awaitable[None]:
    """Perform one decision for the run, or for one item of a list; to be awaited at once."""
    repairs = getattr(decision, "repairs", ())
    if repairs:
        actor.emit(ReplyRepaired(repairs=tuple(actor.redact_mixed(repair) for repair in repairs)))
    return _PERFORM[type(decision)](actor, decision)


async def _run_items(driver: Driver, decision: RunItems) -> None:
    await run_items(driver, decision, _perform)


async def _enter_phase(driver: Driver, decision: EnterPhase) -> None:
    driver.journal.emit(PhaseEntered(name=decision.name))


async def _screen_request(driver: Driver, decision: ScreenRequest) -> None:
    text = driver.values.true(driver.journal.state.request)
    screened = await driver.around.screen.judge("request", str(text))
    driver.journal.emit(RequestScreened(verdict=screened.verdict, rule=screened.rule))


async def _select(driver: Driver, decision: SelectProcedure) -> None:
    driver.journal.emit(ProcedureSelected(procedure_id=driver.book.procedure.id))


async def _bind_inputs(driver: Driver, decision: BindInputs) -> None:
    driver.journal.emit(InputsBound(values={**decision.given, **driver.redact(decision.found)}))


async def _enter_step(driver: Driver, decision: EnterStep) -> None:
    visit = driver.journal.state.visits.get(decision.step, 0) + 1
    _enter(driver, decision.step, visit, None, goes_on=decision.goes_on)


def _enter(driver: Driver, step: str, visit: int, cause: int | None, *, goes_on: bool) -> None:
    instance = step if visit == 1 else f"{step}#{visit}"
    unset = () if goes_on else unset_in_region(driver.book, driver.journal.state, step)
    driver.journal.emit(StepEntered(visit=visit, goes_on=goes_on, unset=unset), cause, instance)


async def _ask_model(driver: Actor, decision: AskModel) -> None:
    journal = driver.journal
    role = role_of(decision.purpose, choice=decision.request.form == "choice")
    model = driver.around.models(decision.model, role)
    profile = driver.around.profiles.of(model.id)
    prompt = decision.request.prompt
    turns = None
    open_ = decision.purpose in ("free", "guide")
    if prompt.turns and not open_:
        turns = journal.keep(*driver.book.turns_blob(prompt.turns))
    if decision.guidance is not None:
        driver.emit(decision.guidance)
    requested = driver.emit(
        ModelRequested(
            purpose=decision.purpose,
            model=model.id,
            prefix=journal.keep(*driver.book.stable(prompt.prefix)),
            turns=turns,
            tail=prompt.tail,
            legal=decision.request.legal,
        )
    )
    seconds = model_seconds(driver.book, driver.state)
    began = time.perf_counter()
    try:
        reply = await within(seconds, model.complete(decision.request))
    except TimeoutError:
        driver.pass_limit("step", round(seconds, 3))
        return
    except ModelError as error:
        text = driver.redact_mixed(error.message.in_(driver.book.language))
        failed = ErrorData(
            code="model", message=text, step=driver.state.cursor.step if driver.state.cursor else None
        )
        seq = driver.emit(StepFailed(error=failed), requested)
        driver.emit(AlertRaised(code="model", message=text), seq)
        return
    driver.emit(
        ModelReplied(
            text=written_text(driver.around.redactor, reply.text),
            name=None if reply.name is None else driver.redact_mixed(reply.name),
            extra=tuple(driver.redact_mixed(name) for name in reply.extra) if reply.extra else (),
            confidence=_rounded(profile.sure(reply.confidence)),
            raw_confidence=None if profile.calibration is None else _rounded(reply.confidence),
            usage=counted(model.id, reply.usage),
            cost=driver.around.prices.cost(model.id, reply.usage, driver.state.at),
            ms=int((time.perf_counter() - began) * 1000),
            model=None if reply.model in ("", model.id) else reply.model,
            finish=reply.finish,
        ),
        requested,
    )
    if reply.repairs:
        driver.emit(ReplyRepaired(repairs=tuple(driver.redact_mixed(repair) for repair in reply.repairs)))


def _rounded(confidence: float | None) -> float | None:
    return None if confidence is None else round(confidence, 6)


async def _reject(driver: Actor, decision: RejectReply) -> None:
    driver.reject(decision)


async def _read_value(driver: Actor, decision: ReadValue) -> None:
    told = driver.redact_mixed(decision.read.value)
    driver.emit(decision.read.model_copy(update={"value": told}))


async def _find_entries(driver: Actor, decision: FindEntries) -> None:
    asked = decision.search
    node = driver.book.machine.nodes[driver.state.cursor.step if driver.state.cursor else ""]
    found = await driver.around.finder.find(asked, driver.book, driver.book.block.open_tools(node))
    told = {
        "context": driver.redact_mixed(asked.context),
        "tools": tuple(map(driver.redact_mixed, asked.tools)),
        "procedures": tuple(map(driver.redact_mixed, asked.procedures)),
    }
    driver.emit(asked.model_copy(update={**told, "found": found}))


async def _describe_entry(driver: Actor, decision: DescribeEntry) -> None:
    text = ""
    if decision.entry == "procedure":
        text = driver.around.finder.describe(decision.name, driver.book.language)
    driver.emit(EntryDescribed(entry=decision.entry, name=decision.name, text=text))


async def _store_value(driver: Actor, decision: StoreValue) -> None:
    safe = driver.redact(decision.value) if decision.by == "model" else decision.value
    stored = driver.journal.stored(safe)
    driver.emit(ValueStored(name=decision.name, by=decision.by, **stored))


async def _run_check(driver: Actor, decision: RunCheck) -> None:
    why = None if decision.why is None else driver.redact_mixed(decision.why)
    driver.emit(CheckRan(scope=decision.scope, ok=decision.ok, expression=decision.expression, why=why))


async def _take_edge(driver: Driver, decision: TakeEdge) -> None:
    journal = driver.journal
    cause = journal.emit(
        EdgeTaken(
            to=decision.edge.edge.to,
            by=decision.by,
            fills=decision.fills,
            label=decision.label,
            confidence=decision.confidence,
        )
    )
    await journal.end_step()
    _enter(driver, decision.edge.edge.to, decision.visit, cause, goes_on=decision.by == "guide")


async def _note_deviation(driver: Driver, decision: NoteDeviation) -> None:
    driver.journal.emit(decision.noted)


async def _leave_region(driver: Driver, decision: LeaveRegion) -> None:
    driver.journal.emit(RegionLeft())


async def _fail_step(driver: Actor, decision: FailStep) -> None:
    driver.fail_step(decision)


async def _ask_person(driver: Driver, decision: AskPerson) -> None:
    terms = decision.terms or NO_TERMS
    now = max(driver.around.clock(), driver.journal.state.at)
    asked = driver.journal.emit(
        HumanAsked(
            question=driver.redact_mixed(decision.question),
            what=decision.what,
            answer_schema=decision.answer_schema,
            arguments=decision.arguments,
            rule=decision.rule,
            roles=terms.roles,
            count=terms.count,
            four_eyes=terms.four_eyes,
            expires_at=None if terms.expires is None else now + int(terms.expires * 1_000_000),
            items=decision.items,
            hashes=decision.hashes,
        )
    )
    driver.journal.emit(RunSuspended(), asked)


async def _finish(driver: Driver, decision: Finish) -> None:
    """The end. What leaves is held against the rules for outputs before; where one is met, the run goes another way."""
    outcome = decision.outcome
    if outcome.kind == "completed" and driver.around.screen.covers_output:
        screened = await screen_output(driver.around.screen, outcome, driver.values)
        driver.journal.emit(RequestScreened(where="output", verdict=screened.verdict, rule=screened.rule))
        if screened.verdict != "pass":
            return
    if outcome.packet is not None:
        driver.journal.emit(AlertRaised(code=f"outcome.{outcome.kind}", message=outcome.packet.reason))
    driver.journal.emit(RunFinished(outcome=outcome))


_PERFORM: Mapping[type[Decision], Perform] = {
    EnterPhase: _enter_phase,
    ScreenRequest: _screen_request,
    SelectProcedure: _select,
    BindInputs: _bind_inputs,
    EnterStep: _enter_step,
    AskModel: _ask_model,
    RejectReply: _reject,
    StartCall: start_call,
    PerformCall: perform_call,
    ContinueCall: continue_call,
    Reconcile: reconcile,
    ReadValue: _read_value,
    FindEntries: _find_entries,
    DescribeEntry: _describe_entry,
    StoreValue: _store_value,
    RunCheck: _run_check,
    TakeEdge: _take_edge,
    NoteDeviation: _note_deviation,
    LeaveRegion: _leave_region,
    FailStep: _fail_step,
    AskPerson: _ask_person,
    SendMessage: send_message,
    BeginWait: begin_wait,
    Suspend: suspend,
    Finish: _finish,
    BeginItems: begin_items,
    RunItems: _run_items,
    EndItems: end_items,
}
