"""`fold`: the state after one more event. Pure and total: any prefix of any log folds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sopwith.ir.approval import NO_TERMS
from sopwith.ir.event import (
    AlertRaised,
    Body,
    BudgetReserved,
    BudgetSettled,
    CallFinished,
    CallJudged,
    CallProposed,
    CallReconciled,
    CallStarted,
    CancelAsked,
    CheckRan,
    EdgeTaken,
    Event,
    FeedbackGiven,
    HumanAnswered,
    HumanAsked,
    InputsBound,
    LeaseTaken,
    ModelReplied,
    ModelRequested,
    Phase,
    PhaseEntered,
    ProcedureSelected,
    ReplyRejected,
    ReplyRepaired,
    RequestScreened,
    ResultLate,
    RunFinished,
    RunHandedBack,
    RunResumed,
    RunStarted,
    RunSuspended,
    RunTakenOver,
    StepEntered,
    StepFailed,
    TimeoutPassed,
    ValueStored,
)
from sopwith.ir.tool import Effect, ErrorData
from sopwith.models.port import ModelReply
from sopwith.run.state import Cursor, Exchange, Lease, Reference, State, Stored, Visited

Fold = Callable[[State, Event, Any], None]


def begin(event: Event) -> State:
    """The state after the first event of a log, which is `run.started`."""
    body = event.body
    if not isinstance(body, RunStarted):
        raise ValueError(f"a log begins with run.started, not with {body.kind}")
    return State(
        run=event.run,
        task=event.task,
        procedure_id=body.procedure_id,
        procedure=body.procedure,
        principal=body.principal,
        request=body.request,
        date=body.date,
        language=body.language,
        budget=body.budget,
        dry_run=body.dry_run,
        step_budget=body.step_budget,
        step_budgets=body.step_budgets,
        account=body.account,
        cut=body.cut,
        given=body.inputs,
        started_at=event.at,
        seq=event.seq,
        at=event.at,
        phase_at=event.at,
    )


def fold(state: State, event: Event) -> State:
    """The state after `event`."""
    after = state.changed(seq=event.seq, at=event.at)
    body = event.body
    if isinstance(body, _AFTER_A_GAP) and state.suspended_at is None and not getattr(body, "seconds", 0):
        # Nobody drove the run in between: that time does not count.
        after.__dict__["waited"] = state.waited + max(0, event.at - state.at)
    _FOLDS[type(body)](after, event, body)
    return after


_AFTER_A_GAP = (RunResumed, RunTakenOver, LeaseTaken)
"""Kinds that end a time in which nobody drove the run; of leases those that are given up (of zero seconds)."""


def fold_all(events: Iterable[Event]) -> State:
    """The state after all `events`, which begin with `run.started`."""
    stream = iter(events)
    state = begin(next(stream))
    for event in stream:
        state = fold(state, event)
    return state


def _with(mapping: Mapping[str, Any], key: str, value: Any) -> Mapping[str, Any]:
    return {**mapping, key: value}


def _set(state: State, **fields: Any) -> None:
    """Fill in a state that `fold` has just copied, and nobody else has seen yet."""
    state.__dict__.update(fields)


def _cursor(state: State, **fields: Any) -> None:
    if state.cursor is not None:
        state.__dict__["cursor"] = state.cursor.changed(**fields)


def _unchanged(state: State, event: Event, body: Body) -> None:
    pass


def _phase_entered(state: State, event: Event, body: PhaseEntered) -> None:
    _set(state, phase=body.name, phase_at=event.at, phase_waited=state.waited, timed_out=None)


def _screened(state: State, event: Event, body: RequestScreened) -> None:
    if body.where == "output":
        _set(state, output_screened=body.verdict, screen_rule=body.rule)
    else:
        _set(state, screened=body.verdict, screen_rule=body.rule)


def _selected(state: State, event: Event, body: ProcedureSelected) -> None:
    _set(state, selected=True)


def _inputs_bound(state: State, event: Event, body: InputsBound) -> None:
    _set(state, inputs=body.values, bound=True, cursor=None)


def _step_entered(state: State, event: Event, body: StepEntered) -> None:
    """A step that is entered again has no value until it has written one."""
    step = _step(event)
    how = state.entered_by or Visited(step, body.visit)
    done = state.done_at == step
    if body.visit > 1 and not done:
        _forget(state, step)
    _set(
        state,
        cursor=_FRESH.changed(step=step, visit=body.visit, entered_at=event.at, done=done),
        done_at=None,
        visits=_with(state.visits, step, body.visit),
        path=(*state.path, Visited(step, body.visit, how.by, how.label, how.confidence)),
        entered_by=None,
        step_waited=state.waited,
        before_step=(state.used, state.replies, state.calls, state.money),
        transcript=(),
        tail=None,
    )


_FRESH = Cursor("", 1, 0)
"""What a cursor is copied from: that is several times cheaper than making one."""


def _step(event: Event) -> str:
    return (event.step or "").partition("#")[0]


def _forget(state: State, step: str) -> None:
    """Unset the names that `step` wrote."""
    owners = state.owners
    _set(state, values={name: value for name, value in state.values.items() if owners.get(name) != step})


def _asked(state: State, event: Event, body: ModelRequested) -> None:
    cursor = state.cursor or Cursor("", 1, event.at)
    _set(state, cursor=cursor.changed(asked=body.purpose), tail=body.tail)


def _replied(state: State, event: Event, body: ModelReplied) -> None:
    reply = ModelReply(body.text, body.name, body.extra, body.confidence, finish=body.finish)
    used = state.used + body.usage if body.usage.tokens or body.usage.uncounted else state.used
    money = None if state.money is None or body.cost is None else state.money + body.cost
    _set(state, used=used, replies=state.replies + 1, money=money)
    _cursor(state, asked=None, reply=reply, confidence=body.confidence)


def _rejected(state: State, event: Event, body: ReplyRejected) -> None:
    cursor = state.cursor
    if cursor is None:
        return
    _exchange(state)
    _cursor(
        state,
        reply=None,
        rejections=(*cursor.rejections, body.error),
        rejected_text=cursor.reply.text if cursor.reply else None,
        tool=None,
        arguments=None,
        verdict=None,
        **_NOT_APPROVED,
        failed=body.error if body.final else cursor.failed,
    )


def _exchange(state: State) -> None:
    """Close the open exchange of a transcript with the reply at hand."""
    reply = state.cursor.reply if state.cursor else None
    if state.tail is not None and reply is not None:
        said = reply.text
        if reply.name is not None:  # the provider gave the name apart: a transcript says both
            said = f'{{"name": {json.dumps(reply.name, ensure_ascii=False)}, "arguments": {said}}}'
        _set(state, transcript=(*state.transcript, Exchange(state.tail, said)), tail=None)


def _proposed(state: State, event: Event, body: CallProposed) -> None:
    _exchange(state)
    _cursor(
        state,
        tool=body.tool,
        arguments=body.arguments,
        reply=None,
        rejections=(),
        verdict=None,
        **_NOT_APPROVED,
        started=None,
        key=None,
        attempt=0,
        lost=0,
        error=None,
        done=False,
    )


def _judged(state: State, event: Event, body: CallJudged) -> None:
    terms = body.terms or NO_TERMS
    _cursor(state, verdict=body.verdict, rule=body.rule, judged=body.arguments, terms=terms)
    if body.void is not None:
        _cursor(state, **_NOT_APPROVED)


_NOT_APPROVED: dict[str, Any] = {"approved": None, "votes": (), "expires_at": None}


def _started(state: State, event: Event, body: CallStarted) -> None:
    _set(state, calls=state.calls + 1)
    if state.cursor is not None and state.cursor.unknown:
        # Made again with the same key: its outcome is open anew, and counted as a started call.
        _close(state, _latest(state))
    _cursor(
        state,
        started=event.seq,
        effect=body.effect,
        key=body.key,
        attempt=body.attempt,
        unknown=False,
        unsure=False,
        error=None,
    )


def _latest(state: State) -> int | None:
    """The open write of the step at hand."""
    return state.open[-1].started if state.open else None


def _close(state: State, started: int | None) -> None:
    """The write that was started there is not open any more."""
    _set(state, open=tuple(write for write in state.open if write.started != started))


def _bind(state: State, event: Event, body: CallFinished | ValueStored) -> None:
    if body.name is not None:
        stored: Stored = body.value if body.blob is None else Reference(body.blob, body.size or 0, body.value)
        _set(
            state,
            values=_with(state.values, body.name, stored),
            owners=_with(state.owners, body.name, _step(event)),
        )


def _finished_call(state: State, event: Event, body: CallFinished) -> None:
    if body.unknown:
        _lost(state, body.error)
    elif body.error is not None:
        _cursor(state, started=None, error=body.error)
    else:
        _bind(state, event, body)
        if state.cursor is not None and state.cursor.unknown:
            _close(state, _latest(state))
        if state.cursor is not None and state.cursor.effect is not Effect.READ and not body.stubbed:
            _set(state, written=state.written | {_step(event)})
        _cursor(state, started=None, unknown=False, error=None, done=True, stubbed=body.stubbed)


def _lost(state: State, why: ErrorData | None = None) -> None:
    """The call at hand may have acted: nobody knows. `why` is what is known."""
    if state.acting is not None:
        _set(state, open=(*state.open, state.acting))
    _cursor(state, started=None, unknown=True, error=why)


def _reconciled(state: State, event: Event, body: CallReconciled) -> None:
    """What is known now. A call that did not act is an error where one is known, else it may be made again."""
    cursor = state.cursor
    if body.happened is None:
        _cursor(state, unsure=True)
        return
    if body.by is None and body.happened:
        return  # `call.finished` follows, with its result
    if body.by is not None and body.happened:
        _set(state, written=state.written | {_step(event)})
    if cursor is not None and cursor.unknown and body.started == _latest(state):
        _cursor(state, unknown=False)
    _close(state, body.started)


def _value_stored(state: State, event: Event, body: ValueStored) -> None:
    _exchange(state)
    _bind(state, event, body)
    if body.who is not None:
        _set(state, operators=(*state.operators, body.who))
    sure = state.cursor.confidence if state.cursor else None
    _cursor(state, value_confidence=sure, reply=None, rejections=(), answer=None, done=True, stubbed=False)


def _check_ran(state: State, event: Event, body: CheckRan) -> None:
    if body.scope == "step":
        _cursor(state, checked=body.ok)
    else:
        _set(state, verified=body.ok)


def _edge_taken(state: State, event: Event, body: EdgeTaken) -> None:
    failed = state.cursor.failed if state.cursor else None
    _set(
        state,
        cursor=None,
        entered_by=Visited(body.to, 1, body.by, body.label, body.confidence),
        error=failed if body.by == "error" else state.error,
    )


def _step_failed(state: State, event: Event, body: StepFailed) -> None:
    """The step's own name is unset on its `on_error`."""
    if state.cursor is not None:
        _forget(state, state.cursor.step)
        _cursor(state, failed=body.error)


def _human_asked(state: State, event: Event, body: HumanAsked) -> None:
    _cursor(state, question=body.what, expires_at=body.expires_at)


def _human_answered(state: State, event: Event, body: HumanAnswered) -> None:
    """An approval stays asked for until as many people have agreed as its terms want, or one has refused."""
    cursor = state.cursor
    if cursor is None or cursor.question != "approval":
        _wake(state, event.at)
        _cursor(state, question=None, answer=(body.answer, body.by))
        return
    votes = (*cursor.votes, body)
    agreed = body.answer is True
    if agreed and len(votes) < cursor.terms.count:
        _cursor(state, votes=votes)
        return
    _wake(state, event.at)
    _cursor(state, question=None, votes=votes, approved=agreed)


def _wake(state: State, at: int) -> None:
    if state.suspended_at is not None:
        _set(state, waited=state.waited + max(0, at - state.suspended_at), suspended_at=None)


def _lease_taken(state: State, event: Event, body: LeaseTaken) -> None:
    _set(state, lease=Lease(body.driver, body.seconds) if body.seconds else None)
    if body.budget is not None:
        _set(state, budget=body.budget)


def _cancel_asked(state: State, event: Event, body: CancelAsked) -> None:
    _set(state, cancelled_by=(body.by, body.why))


def _suspended(state: State, event: Event, body: RunSuspended) -> None:
    _set(state, suspended_at=event.at, lease=None)


def _resumed(state: State, event: Event, body: RunResumed) -> None:
    """A started call without an outcome may have acted, unless it only read. A question stays open."""
    cursor = state.cursor
    if cursor is None or cursor.question is None:
        _wake(state, event.at)
    if cursor is None:
        return
    if state.acting is not None:
        _lost(state)
    _cursor(state, started=None, asked=None, lost=cursor.lost + (cursor.started is not None))


def _timed_out(state: State, event: Event, body: TimeoutPassed) -> None:
    if body.scope in ("step", "call"):
        _cursor(state, timed_out=body.limit)
    else:
        _set(state, timed_out=(body.scope, body.limit))


def _finished(state: State, event: Event, body: RunFinished) -> None:
    """A write that was at work may have acted."""
    if state.acting is not None:
        _lost(state)
    _set(state, outcome=body.outcome, lease=None)


def _taken_over(state: State, event: Event, body: RunTakenOver) -> None:
    """The run waits for the person who has it, and the clock stands still."""
    since = event.at if state.suspended_at is None or state.outcome is not None else state.suspended_at
    _set(state, outcome=None, suspended_at=since, taken_by=body.by)


def _handed_back(state: State, event: Event, body: RunHandedBack) -> None:
    _wake(state, event.at)
    _set(
        state,
        phase=Phase.EXECUTE,
        phase_at=event.at,
        phase_waited=state.waited,
        timed_out=None,
        verified=None,
        output_screened=None,
        error=None,
        cursor=None,
        taken_by=None,
        done_at=body.to if body.done else None,
        entered_by=Visited(body.to, 1, "person", body.by),
        forgiven=state.visits,
        operators=(*state.operators, body.by),
    )


_FOLDS: dict[type[Body], Fold] = {
    RunStarted: _unchanged,
    PhaseEntered: _phase_entered,
    RequestScreened: _screened,
    ProcedureSelected: _selected,
    InputsBound: _inputs_bound,
    StepEntered: _step_entered,
    ModelRequested: _asked,
    ModelReplied: _replied,
    ReplyRepaired: _unchanged,
    ReplyRejected: _rejected,
    CallProposed: _proposed,
    CallJudged: _judged,
    CallStarted: _started,
    CallFinished: _finished_call,
    CallReconciled: _reconciled,
    ValueStored: _value_stored,
    CheckRan: _check_ran,
    EdgeTaken: _edge_taken,
    StepFailed: _step_failed,
    HumanAsked: _human_asked,
    HumanAnswered: _human_answered,
    TimeoutPassed: _timed_out,
    ResultLate: _unchanged,
    AlertRaised: _unchanged,
    LeaseTaken: _lease_taken,
    CancelAsked: _cancel_asked,
    RunSuspended: _suspended,
    RunResumed: _resumed,
    RunFinished: _finished,
    RunTakenOver: _taken_over,
    RunHandedBack: _handed_back,
    FeedbackGiven: _unchanged,
    BudgetReserved: _unchanged,
    BudgetSettled: _unchanged,
}
