"""The driver: performs decisions until the run ends or waits. The only place with side effects."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sopwith.errors import ModelError, SopwithError
from sopwith.guard.approval import Given, voided
from sopwith.guard.permit import CallFacts, Policy
from sopwith.guard.redact import Redactor
from sopwith.guard.screen import Screen
from sopwith.ir.approval import NO_TERMS
from sopwith.ir.event import (
    AlertRaised,
    CallFinished,
    CallJudged,
    CallProposed,
    CallStarted,
    CheckRan,
    EdgeTaken,
    HumanAsked,
    InputsBound,
    ModelReplied,
    ModelRequested,
    Outcome,
    PhaseEntered,
    Principal,
    ProcedureSelected,
    ReplyRejected,
    ReplyRepaired,
    RequestScreened,
    RunFinished,
    RunSuspended,
    StepEntered,
    StepFailed,
    TimeoutPassed,
    ValueStored,
)
from sopwith.ir.tool import Effect, ErrorData
from sopwith.ir.value import Json, canonical, digest
from sopwith.models.port import Model
from sopwith.run.book import Book
from sopwith.run.decide import decide
from sopwith.run.decision import (
    AskModel,
    AskPerson,
    BindInputs,
    Decision,
    EnterPhase,
    EnterStep,
    FailStep,
    Finish,
    PerformCall,
    RejectReply,
    RunCheck,
    ScreenRequest,
    SelectProcedure,
    StartCall,
    StoreValue,
    TakeEdge,
    Wait,
)
from sopwith.run.dry_run import made_up
from sopwith.run.journal import Clock, Journal
from sopwith.run.limits import Scope, call_seconds, model_seconds, outlasted
from sopwith.run.packet import packet
from sopwith.run.redaction import written_error, written_text
from sopwith.run.rejection import reject
from sopwith.run.state import Cursor, State
from sopwith.run.values import Values
from sopwith.tools.catalogue import Catalogue

_LOGGER = logging.getLogger("sopwith")

Perform = Callable[["Driver", Any], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a driver acts through: models by name (None is the default), tools, guards, and the clock."""

    models: Callable[[str | None], Model]
    catalogue: Catalogue
    policy: Policy
    screen: Screen
    redactor: Redactor
    clock: Clock


class Driver:
    """Drives one run from its state to its end, or to a point where it waits."""

    def __init__(self, book: Book, journal: Journal, around: Surroundings) -> None:
        self.book = book
        self.journal = journal
        self.around = around
        self.values = Values(journal.blob, around.redactor.reveal)

    async def drive(self) -> State:
        """Perform decisions until the run has ended or waits for somebody; returns the state.

        What happened is appended also when this is cancelled, so that the run can be taken up again.
        """
        journal = self.journal
        try:
            while True:
                now = max(self.around.clock(), journal.state.at)
                for scope, limit in outlasted(self.book, journal.state, now):
                    self.pass_limit(scope, limit)
                state = journal.state
                decision = decide(self.book, state, self.values)
                if state.outcome is not None or isinstance(decision, Wait):
                    break
                repairs = getattr(decision, "repairs", ())
                if repairs:
                    journal.emit(
                        ReplyRepaired(repairs=tuple(self.redact_mixed(repair) for repair in repairs))
                    )
                await _PERFORM[type(decision)](self, decision)
        except SopwithError:
            raise
        except Exception as error:
            self._fail(error)
        finally:
            await journal.flush()
        return journal.state

    def _fail(self, error: Exception) -> None:
        """End the run as failed: something broke that is nobody's decision."""
        if self.journal.state.outcome is not None:
            return
        message = self.redact_mixed(f"{type(error).__name__}: {error}")
        found = packet(self.book, self.journal.state)
        broken = found.model_copy(
            update={"reason": message, "error": ErrorData(code="internal", message=message, step=found.step)}
        )
        _LOGGER.error("run %s failed: %s", self.journal.run, message)
        self.journal.emit(AlertRaised(code="outcome.failed", message=message))
        self.journal.emit(RunFinished(outcome=Outcome(kind="failed", packet=broken)))

    def pass_limit(self, scope: Scope, limit: float) -> None:
        """Write down that a limit was passed, with an alert."""
        seq = self.journal.emit(TimeoutPassed(scope=scope, limit=limit))
        self.journal.emit(AlertRaised(code=f"timeout.{scope}", message=f"{scope} > {limit:g} s"), seq)

    def redact(self, value: Json) -> Json:
        """A value as it may be written: placeholders in the place of secrets and personal data."""
        return self.around.redactor.redact(value)

    def redact_mixed(self, text: str) -> str:
        """Text that may hold placeholders of this run already: they stay, what is new is replaced."""
        return self.around.redactor.redact_reply(text)

    def redact_outside(self, error: ErrorData) -> ErrorData:
        """A tool's error as it may be written: nothing in it is taken for a placeholder of this run."""
        told = {"code": self.redact(error.code), "message": self.redact(error.message)}
        return error.model_copy(update=told)

    def principal(self, state: State) -> Principal:
        """Who the run acts for, as policies see it."""
        known = state.principal
        true = str(self.values.true(known.id))
        return known if true == known.id else known.model_copy(update={"id": true})

    def redact_error(self, error: ErrorData) -> ErrorData:
        """An error as it may be written."""
        return written_error(self.around.redactor, error)


async def _enter_phase(driver: Driver, decision: EnterPhase) -> None:
    driver.journal.emit(PhaseEntered(name=decision.name))


async def _screen_request(driver: Driver, decision: ScreenRequest) -> None:
    text = driver.values.true(driver.journal.state.request)
    screened = driver.around.screen.request(str(text))
    driver.journal.emit(RequestScreened(verdict=screened.verdict, rule=screened.rule))


async def _select(driver: Driver, decision: SelectProcedure) -> None:
    driver.journal.emit(ProcedureSelected(procedure_id=driver.book.procedure.id))


async def _bind_inputs(driver: Driver, decision: BindInputs) -> None:
    driver.journal.emit(InputsBound(values={**decision.given, **driver.redact(decision.found)}))


async def _enter_step(driver: Driver, decision: EnterStep) -> None:
    visit = driver.journal.state.visits.get(decision.step, 0) + 1
    _enter(driver, decision.step, visit, None)


def _enter(driver: Driver, step: str, visit: int, cause: int | None) -> None:
    instance = step if visit == 1 else f"{step}#{visit}"
    driver.journal.emit(StepEntered(visit=visit), cause, instance)


async def _ask_model(driver: Driver, decision: AskModel) -> None:
    journal = driver.journal
    model = driver.around.models(decision.model)
    prompt = decision.request.prompt
    turns = None
    if prompt.turns and decision.purpose != "free":
        turns = journal.keep(*driver.book.turns_blob(prompt.turns))
    requested = journal.emit(
        ModelRequested(
            purpose=decision.purpose,
            model=model.id,
            prefix=journal.keep(driver.book.stable, driver.book.stable_digest),
            turns=turns,
            tail=prompt.tail,
            legal=decision.request.legal,
        )
    )
    seconds = model_seconds(driver.book, journal.state)
    began = time.perf_counter()
    try:
        async with asyncio.timeout(seconds):
            reply = await model.complete(decision.request)
    except TimeoutError:
        driver.pass_limit("step", round(seconds, 3))
        return
    except ModelError as error:
        text = driver.redact_mixed(error.message.in_(driver.book.language))
        failed = ErrorData(
            code="model", message=text, step=journal.state.cursor.step if journal.state.cursor else None
        )
        seq = journal.emit(StepFailed(error=failed), requested)
        journal.emit(AlertRaised(code="model", message=text), seq)
        return
    journal.emit(
        ModelReplied(
            text=written_text(driver.around.redactor, reply.text),
            name=None if reply.name is None else driver.redact_mixed(reply.name),
            extra=tuple(driver.redact_mixed(name) for name in reply.extra) if reply.extra else (),
            confidence=None if reply.confidence is None else round(reply.confidence, 6),
            usage=reply.usage,
            ms=int((time.perf_counter() - began) * 1000),
            model=None if reply.model in ("", model.id) else reply.model,
            finish=reply.finish,
        ),
        requested,
    )
    if reply.repairs:
        journal.emit(ReplyRepaired(repairs=tuple(driver.redact_mixed(repair) for repair in reply.repairs)))


async def _reject(driver: Driver, decision: RejectReply) -> None:
    driver.journal.emit(ReplyRejected(error=driver.redact_error(decision.error), final=decision.final))


async def _start_call(driver: Driver, decision: StartCall) -> None:
    """Propose, judge, and start where that is allowed. What is judged is what runs, byte for byte."""
    journal, around = driver.journal, driver.around
    state, tool = journal.state, decision.tool
    cursor = state.cursor or Cursor("", 1, state.at)
    arguments, cause = decision.arguments, None
    if not decision.proposed:
        prepared = around.catalogue.prepare(tool.name, arguments)
        if isinstance(prepared, ErrorData):
            await _not_proposed(driver, decision, cursor, prepared)
            return
        arguments = prepared
        cause = journal.emit(
            CallProposed(
                tool=tool.name,
                arguments=driver.redact(arguments),
                by=decision.by,
                overruled=driver.redact(decision.overruled) if decision.overruled else {},
                defaults=tuple(name for name in arguments if name not in decision.arguments),
            )
        )
    # Judged anew also where it was judged before: the rules in force now decide, and an approval answers only an `ask`.
    facts = CallFacts(driver.principal(state), tool, arguments, cursor.step, state.run)
    verdict, rule = around.policy.judge(facts)
    what = f"{cursor.instance}\n{tool.name}\n".encode() + canonical(arguments)
    judged = around.redactor.keyed_hash(what)
    terms = around.policy.terms(rule) if verdict == "ask" else NO_TERMS
    void = None
    if verdict == "ask" and decision.proposed and cursor.approved is True:
        given = Given(cursor.terms, cursor.judged, cursor.expires_at)
        void = voided(given, terms, judged, max(around.clock(), state.at))
    told = None if terms == NO_TERMS else terms
    body = CallJudged(verdict=verdict, rule=rule, arguments=judged, terms=told, void=void)
    cause = journal.emit(body, cause)
    approved = state.dry_run or (decision.proposed and cursor.approved is True and void is None)
    if verdict == "deny" or (verdict == "ask" and not approved):
        return
    key = cursor.key if decision.proposed else None
    if key is None:
        # `judged` covers the step, the tool and the arguments, and nobody can guess arguments from it.
        number = state.calls if driver.book.machine.nodes[cursor.step].kind == "free" else ""
        key = digest(f"{state.run}\n{number}\n{judged}".encode())[:32]
    journal.emit(CallStarted(tool=tool.name, effect=tool.effect, key=key, attempt=decision.attempt), cause)


async def _not_proposed(driver: Driver, decision: StartCall, cursor: Cursor, error: ErrorData) -> None:
    """Arguments that the tool does not take: the model is told and asked again; bound ones fail the step."""
    placed = error.model_copy(update={"step": cursor.step})
    if decision.by == "model":
        await _reject(driver, reject(cursor, placed))
    else:
        await _fail_step(driver, FailStep(placed))


async def _perform_call(driver: Driver, decision: PerformCall) -> None:
    """The call itself. For a write, everything up to the intent is on disk first, and its outcome right after."""
    journal = driver.journal
    writes = decision.tool.effect is not Effect.READ
    if decision.stubbed:
        _stub_call(driver, decision)
        return
    if writes:
        await journal.flush(durable=True)
    cause = journal.state.cursor.started if journal.state.cursor else None
    seconds = call_seconds(driver.book, journal.state, decision.seconds)
    began = time.perf_counter()
    result = await driver.around.catalogue.call(
        decision.tool.name, decision.arguments, key=decision.key, seconds=seconds
    )
    ms = int((time.perf_counter() - began) * 1000)
    if result.unknown or result.error is not None:
        told = None if result.error is None else driver.redact_outside(result.error)
        journal.emit(CallFinished(error=told, unknown=result.unknown, ms=ms), cause)
    else:
        stored = journal.stored(driver.redact(result.value))
        journal.emit(CallFinished(name=decision.name, ms=ms, **stored), cause)
    if writes:
        await journal.flush(durable=True)


def _stub_call(driver: Driver, decision: PerformCall) -> None:
    """Write down a made-up result in the place of the call."""
    journal, state = driver.journal, driver.journal.state
    cursor = state.cursor or Cursor("", 1, state.at)
    node = driver.book.machine.nodes[cursor.step]
    value = made_up(driver.book, node, decision.tool, decision.name, state, driver.values)
    stored = journal.stored(driver.redact(value))
    journal.emit(CallFinished(name=decision.name, stubbed=True, **stored), cursor.started)


async def _store_value(driver: Driver, decision: StoreValue) -> None:
    safe = driver.redact(decision.value) if decision.by == "model" else decision.value
    stored = driver.journal.stored(safe)
    driver.journal.emit(ValueStored(name=decision.name, by=decision.by, **stored))


async def _run_check(driver: Driver, decision: RunCheck) -> None:
    why = None if decision.why is None else driver.redact_mixed(decision.why)
    driver.journal.emit(
        CheckRan(scope=decision.scope, ok=decision.ok, expression=decision.expression, why=why)
    )


async def _take_edge(driver: Driver, decision: TakeEdge) -> None:
    journal = driver.journal
    cause = journal.emit(
        EdgeTaken(
            to=decision.edge.edge.to, by=decision.by, label=decision.label, confidence=decision.confidence
        )
    )
    await journal.end_step()
    _enter(driver, decision.edge.edge.to, decision.visit, cause)


async def _fail_step(driver: Driver, decision: FailStep) -> None:
    error = driver.redact_error(decision.error)
    seq = driver.journal.emit(StepFailed(error=error))
    if decision.alert:
        driver.journal.emit(AlertRaised(code=error.code, message=error.message), seq)


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
        )
    )
    driver.journal.emit(RunSuspended(), asked)


async def _finish(driver: Driver, decision: Finish) -> None:
    outcome = decision.outcome
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
    StartCall: _start_call,
    PerformCall: _perform_call,
    StoreValue: _store_value,
    RunCheck: _run_check,
    TakeEdge: _take_edge,
    FailStep: _fail_step,
    AskPerson: _ask_person,
    Finish: _finish,
}
