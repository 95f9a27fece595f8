"""Calls of tools: proposed, judged, started, performed, and made known where nobody knows whether they acted."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from sopwith.errors import Text
from sopwith.guard.permit import CallFacts
from sopwith.ir.approval import NO_TERMS
from sopwith.ir.event import CallFinished, CallJudged, CallProposed, CallReconciled, CallStarted, LeaseTaken
from sopwith.ir.tool import Effect, ErrorData, ToolSpec
from sopwith.ir.value import Json, canonical, digest
from sopwith.run.actor import Actor
from sopwith.run.call_pause import pause_call
from sopwith.run.decision import FailStep, PerformCall, Reconcile, StartCall
from sopwith.run.dry_run import made_up
from sopwith.run.leave import void_of, with_approval
from sopwith.run.limits import call_seconds
from sopwith.run.passing import written_down
from sopwith.run.preview import THRESHOLD, as_stored, is_long
from sopwith.run.rejection import reject
from sopwith.run.state import Cursor
from sopwith.tools.port import ToolResult, failed
from sopwith.tools.refusal import in_language


async def start_call(actor: Actor, decision: StartCall) -> None:
    """Propose, judge, and start where that is allowed. What is judged is what runs, byte for byte."""
    around, state, tool = actor.around, actor.state, decision.tool
    cursor = state.cursor or Cursor("", 1, state.at)
    arguments, cause = decision.arguments, None
    if not decision.proposed:
        prepared = around.catalogue.prepare(tool.name, arguments)
        if isinstance(prepared, ErrorData):
            _not_proposed(actor, decision, cursor, prepared)
            return
        arguments = prepared
        written = written_down(actor, arguments, decision.links)
        cause = actor.emit(
            CallProposed(
                tool=tool.name,
                arguments=written.arguments,
                passed=written.passed,
                by=decision.by,
                overruled=actor.redact(decision.overruled) if decision.overruled else {},
                defaults=tuple(name for name in arguments if name not in decision.arguments),
            )
        )
    body = judge_call(actor, tool, arguments, cursor, proposed=decision.proposed)
    cause = actor.emit(body, cause)
    approved = state.dry_run or (decision.proposed and cursor.approved is True and body.void is None)
    if body.verdict == "deny" or (body.verdict == "ask" and not approved):
        return
    key = cursor.key if decision.proposed else None
    if key is None:
        # What was judged covers the step, the tool and the arguments, and nobody can guess arguments from it.
        number = state.calls if actor.book.machine.nodes[cursor.step].open else ""
        key = digest(f"{state.run}\n{number}\n{body.arguments}".encode())[:32]
    actor.emit(CallStarted(tool=tool.name, effect=tool.effect, key=key, attempt=decision.attempt), cause)


def judge_call(
    actor: Actor, tool: ToolSpec, arguments: dict[str, Json], cursor: Cursor, *, proposed: bool
) -> CallJudged:
    """The judgement on a call at `cursor`, and whether the approval of one that was `proposed` before holds.

    Judged anew also where it was judged before: the rules in force now decide, and an approval answers only an `ask`.
    """
    around, state = actor.around, actor.state
    facts = CallFacts(actor.principal(state), tool, arguments, cursor.step, state.run)
    verdict, rule = around.policy.judge(facts)
    what = f"{cursor.instance}\n{tool.name}\n".encode() + canonical(arguments)
    judged = around.redactor.keyed_hash(what)
    terms = around.policy.terms(rule) if verdict == "ask" else NO_TERMS
    verdict, rule, terms = with_approval(actor, cursor, tool.name, verdict, rule, terms)
    void = None
    if verdict == "ask" and proposed and cursor.approved is True:
        void = void_of(actor, cursor, terms, judged)
    told = None if terms is NO_TERMS or terms == NO_TERMS else terms
    return CallJudged(verdict=verdict, rule=rule, arguments=judged, terms=told, void=void)


def _not_proposed(actor: Actor, decision: StartCall, cursor: Cursor, error: ErrorData) -> None:
    """Arguments that the tool does not take: the model is told and asked again; bound ones fail the step."""
    told = in_language(error, actor.book.language)
    placed = told.model_copy(update={"step": cursor.step})
    if decision.by == "model":
        actor.reject(reject(cursor, placed))
    else:
        actor.fail_step(FailStep(placed))


async def perform_call(actor: Actor, decision: PerformCall) -> None:
    """The call itself. For a write, everything up to the intent is on disk first, and its outcome right after."""
    journal = actor.journal
    writes = decision.tool.effect is not Effect.READ
    if decision.stubbed:
        _stub_call(actor, decision)
        return
    if writes:
        await journal.flush(durable=True)
        await keep_lease(actor)
    catalogue, name, arguments = actor.around.catalogue, decision.tool.name, decision.arguments
    result, ms = await made(
        actor,
        decision.seconds,
        lambda seconds: catalogue.call(name, arguments, key=decision.key, seconds=seconds),
        writes=writes,
    )
    await came_back(actor, decision.tool, decision.name, result, ms)


async def made(
    actor: Actor,
    own_seconds: float | None,
    call: Callable[[float], Awaitable[ToolResult]],
    *,
    writes: bool,
) -> tuple[ToolResult, int]:
    """What a `call` gives within what is left of the step's time, and at most its `own_seconds`; and how long it took,
    in ms."""
    seconds = call_seconds(actor.book, actor.state, own_seconds)
    began = time.perf_counter()
    try:
        result = await call(seconds)
    except Exception as error:  # a source that breaks its promise: what it has done, nobody knows
        result = failed("exception", f"{type(error).__name__}: {error}", unknown=writes)
    return result, int((time.perf_counter() - began) * 1000)


async def came_back(actor: Actor, tool: ToolSpec, name: str, result: ToolResult, ms: int) -> None:
    """Write down what has come of the call at hand. The value gets the `name`."""
    journal, cursor = actor.journal, actor.state.cursor
    cause = cursor.started if cursor else None
    if result.late is not None and cause is not None:
        actor.late.expect(result.late, cause, cursor.instance if cursor else None)
    if result.wants is not None:
        pause_call(actor, tool, result.wants, ms)
    elif result.unknown or result.error is not None:
        told = None
        if result.error is not None:
            told = actor.around.redactor.redact_error(in_language(result.error, actor.book.language))
        # That this attempt has done nothing does not say that the one before, with the same key, has not.
        unknown = result.unknown or (cursor is not None and cursor.again)
        actor.emit(CallFinished(error=told, unknown=unknown, ms=ms), cause)
    else:
        actor.emit(_finished(actor, tool, name, result.value, ms=ms), cause)
    if tool.effect is not Effect.READ:
        await journal.flush(durable=True)


def _finished(actor: Actor, tool: ToolSpec, name: str, value: Json, *, ms: int = 0) -> CallFinished:
    """The result of a call that came back. A read that would fill the store beyond the quota gives an error instead;
    what a write gave is kept, since it has acted."""
    told, threshold = actor.redact(value), tool.value_threshold
    if tool.effect is Effect.READ and is_long(told, threshold or THRESHOLD):
        size, quota = len(as_stored(told)), actor.around.value_quota
        if actor.state.stored + size > quota:
            said = OVER_QUOTA.in_(actor.book.language).format(tool.name, f"{size:,}", f"{quota:,}")
            return CallFinished(error=ErrorData(code="value_quota", message=said), ms=ms)
    stored = actor.journal.stored(told, threshold or THRESHOLD)
    return CallFinished(name=name, ms=ms, threshold=threshold, **stored)


OVER_QUOTA = Text(
    "the result of {} has {} characters; with it the run would store more than its value_quota of {}",
    "{} 的结果有 {} 个字符；存入后本次运行将超出 value_quota 上限 {}",
)


async def keep_lease(actor: Actor) -> None:
    """Ask for the run again where the driver has stood still for as long as its lease, between the intent and here.

    Should somebody else have taken the run, this raises `LogConflict`, and nothing acts.
    """
    journal = actor.journal
    lease = journal.state.lease
    if lease is not None and actor.around.clock() - journal.state.at >= lease.seconds * 1_000_000:
        actor.emit(LeaseTaken(driver=lease.driver, seconds=lease.seconds))
        await journal.flush()


def _stub_call(actor: Actor, decision: PerformCall) -> None:
    """Write down a made-up result in the place of the call."""
    journal, state = actor.journal, actor.state
    cursor = state.cursor or Cursor("", 1, state.at)
    node = actor.book.machine.nodes[cursor.step].working
    value = made_up(actor.book, node, decision.tool, decision.name, state, actor.values)
    threshold = decision.tool.value_threshold
    stored = journal.stored(actor.redact(value), threshold or THRESHOLD)
    told = CallFinished(name=decision.name, stubbed=True, threshold=threshold, **stored)
    actor.emit(told, cursor.started)


async def reconcile(actor: Actor, decision: Reconcile) -> None:
    """Ask the tool whether the call has acted, and write down what it knows."""
    journal = actor.journal
    seconds = call_seconds(actor.book, actor.state, decision.tool.timeout)
    began = time.perf_counter()
    found = await actor.around.catalogue.reconcile(
        decision.tool.name, decision.arguments, key=decision.key, seconds=seconds
    )
    ms = int((time.perf_counter() - began) * 1000)
    happened = found.happened
    if happened is False and actor.late.may_come(decision.started):
        happened = None  # it has not acted, and may still do so
    cause = actor.emit(
        CallReconciled(tool=decision.tool.name, started=decision.started, happened=happened, ms=ms)
    )
    if happened:
        actor.emit(_finished(actor, decision.tool, decision.name, found.value), cause)
    await journal.flush(durable=True)
