"""`fold`: the state after one more event. Pure and total: any prefix of any log folds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sopwith.ir.event import (
    AlertRaised,
    Body,
    CallFinished,
    CallJudged,
    CallProposed,
    CallStarted,
    CheckRan,
    EdgeTaken,
    Event,
    FeedbackGiven,
    HumanAnswered,
    HumanAsked,
    InputsBound,
    ModelReplied,
    ModelRequested,
    PhaseEntered,
    ProcedureSelected,
    ReplyRejected,
    ReplyRepaired,
    RequestScreened,
    ResultLate,
    RunFinished,
    RunResumed,
    RunStarted,
    RunSuspended,
    StepEntered,
    StepFailed,
    TimeoutPassed,
    ValueStored,
)
from sopwith.ir.tool import Effect
from sopwith.ir.usage import Usage
from sopwith.run.state import Cursor, Exchange, Reference, Reply, State, Stored, Visited

Fold = Callable[[State, Event, Any], State]


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
        given=body.inputs,
        started_at=event.at,
        seq=event.seq,
        at=event.at,
        phase_at=event.at,
    )


def fold(state: State, event: Event) -> State:
    """The state after `event`."""
    state = state.changed(seq=event.seq, at=event.at)
    return _FOLDS[type(event.body)](state, event, event.body)


def fold_all(events: Iterable[Event]) -> State:
    """The state after all `events`, which begin with `run.started`."""
    stream = iter(events)
    state = begin(next(stream))
    for event in stream:
        state = fold(state, event)
    return state


def _with(mapping: Mapping[str, Any], key: str, value: Any) -> Mapping[str, Any]:
    return {**mapping, key: value}


def _cursor(state: State, **fields: Any) -> State:
    return state if state.cursor is None else state.changed(cursor=state.cursor.changed(**fields))


def _unchanged(state: State, event: Event, body: Body) -> State:
    return state


def _phase_entered(state: State, event: Event, body: PhaseEntered) -> State:
    return state.changed(phase=body.name, phase_at=event.at, phase_waited=state.waited, timed_out=None)


def _screened(state: State, event: Event, body: RequestScreened) -> State:
    return state.changed(screened=body.verdict)


def _selected(state: State, event: Event, body: ProcedureSelected) -> State:
    return state.changed(selected=True)


def _inputs_bound(state: State, event: Event, body: InputsBound) -> State:
    return state.changed(inputs=body.values, bound=True, cursor=None)


def _step_entered(state: State, event: Event, body: StepEntered) -> State:
    step = (event.step or "").partition("#")[0]
    how = state.entered_by or Visited(step, body.visit)
    visited = Visited(step, body.visit, how.by, how.label, how.confidence)
    values = state.values
    if state.owners.get(step) is not None:
        values = {name: value for name, value in values.items() if state.owners.get(name) != step}
    return state.changed(
        cursor=Cursor(step, body.visit, event.at),
        visits=_with(state.visits, step, body.visit),
        path=(*state.path, visited),
        values=values,
        entered_by=None,
        step_waited=state.waited,
        transcript=(),
        tail=None,
    )


def _asked(state: State, event: Event, body: ModelRequested) -> State:
    if state.cursor is None:
        state = state.changed(cursor=Cursor("", 1, event.at))
    state = _cursor(state, asked=body.purpose)
    return state.changed(tail=body.tail)


def _replied(state: State, event: Event, body: ModelReplied) -> State:
    reply = Reply(body.text, body.name, body.extra, body.confidence, body.finish)
    usage = state.usage + body.usage.model_copy(update={"model_calls": 1})
    return _cursor(state.changed(usage=usage), asked=None, reply=reply, confidence=body.confidence)


def _rejected(state: State, event: Event, body: ReplyRejected) -> State:
    cursor = state.cursor
    if cursor is None:
        return state
    state = _exchange(state)
    text = cursor.reply.text if cursor.reply else None
    fields: dict[str, Any] = {
        "reply": None,
        "rejections": (*cursor.rejections, body.error),
        "rejected_text": text,
        "tool": None,
        "arguments": None,
        "verdict": None,
        "approved": None,
    }
    if body.final:
        fields["failed"] = body.error
    return _cursor(state, **fields)


def _exchange(state: State) -> State:
    """Close the open exchange of the transcript with the reply at hand."""
    reply = state.cursor.reply if state.cursor else None
    if state.tail is None or reply is None:
        return state
    return state.changed(transcript=(*state.transcript, Exchange(state.tail, reply.text)), tail=None)


def _proposed(state: State, event: Event, body: CallProposed) -> State:
    state = _exchange(state)
    return _cursor(
        state,
        tool=body.tool,
        arguments=body.arguments,
        reply=None,
        rejections=(),
        verdict=None,
        approved=None,
        started=None,
        attempt=0,
        error=None,
        done=False,
    )


def _judged(state: State, event: Event, body: CallJudged) -> State:
    return _cursor(state, verdict=body.verdict, rule=body.rule, judged=body.arguments)


def _started(state: State, event: Event, body: CallStarted) -> State:
    state = state.changed(usage=state.usage + Usage(tool_calls=1), calls=state.calls + 1)
    return _cursor(
        state, started=event.seq, effect=body.effect, key=body.key, attempt=body.attempt, unknown=False, error=None
    )


def _bind(state: State, step: str | None, body: CallFinished | ValueStored) -> State:
    if body.name is None:
        return state
    stored: Stored = body.value if body.blob is None else Reference(body.blob, body.size or 0, body.value)
    owner = (step or "").partition("#")[0]
    return state.changed(
        values=_with(state.values, body.name, stored), owners=_with(state.owners, body.name, owner)
    )


def _finished_call(state: State, event: Event, body: CallFinished) -> State:
    if body.unknown:
        return _cursor(state, started=None, unknown=True)
    if body.error is not None:
        return _cursor(state, started=None, error=body.error)
    return _cursor(_bind(state, event.step, body), started=None, done=True)


def _value_stored(state: State, event: Event, body: ValueStored) -> State:
    state = _bind(_exchange(state), event.step, body)
    sure = state.cursor.confidence if state.cursor else None
    return _cursor(state, value_confidence=sure, reply=None, rejections=(), answer=None, done=True)


def _check_ran(state: State, event: Event, body: CheckRan) -> State:
    return _cursor(state, checked=body.ok) if body.scope == "step" else state.changed(verified=body.ok)


def _edge_taken(state: State, event: Event, body: EdgeTaken) -> State:
    failed = state.cursor.failed if state.cursor else None
    return state.changed(
        cursor=None,
        entered_by=Visited(body.to, 1, body.by, body.label, body.confidence),
        error=failed if body.by == "error" else state.error,
    )


def _step_failed(state: State, event: Event, body: StepFailed) -> State:
    cursor = state.cursor
    if cursor is None:
        return state
    values = {name: value for name, value in state.values.items() if state.owners.get(name) != cursor.step}
    return _cursor(state.changed(values=values), failed=body.error)


def _human_asked(state: State, event: Event, body: HumanAsked) -> State:
    return _cursor(state, question=body.what)


def _human_answered(state: State, event: Event, body: HumanAnswered) -> State:
    state = _wake(state, event.at)
    if state.cursor is not None and state.cursor.question == "approval":
        return _cursor(state, question=None, approved=body.answer is True)
    return _cursor(state, question=None, answer=(body.answer, body.by))


def _wake(state: State, at: int) -> State:
    if state.suspended_at is None:
        return state
    return state.changed(waited=state.waited + max(0, at - state.suspended_at), suspended_at=None)


def _suspended(state: State, event: Event, body: RunSuspended) -> State:
    return state.changed(suspended_at=event.at)


def _resumed(state: State, event: Event, body: RunResumed) -> State:
    """Time away does not count. A started call without an outcome may have acted, unless it only read."""
    waiting = state.cursor is not None and state.cursor.question is not None
    away = 0 if state.suspended_at is not None else max(0, event.at - state.at)
    state = state.changed(waited=state.waited + away)
    if not waiting:
        state = _wake(state, event.at)
    cursor = state.cursor
    if cursor is None:
        return state
    if cursor.started is None:
        return _cursor(state, asked=None)
    if cursor.effect is Effect.READ:
        return _cursor(state, started=None, asked=None)
    return _cursor(state, started=None, unknown=True, asked=None)


def _timed_out(state: State, event: Event, body: TimeoutPassed) -> State:
    if body.scope in ("step", "call"):
        return _cursor(state, timed_out=body.limit)
    return state.changed(timed_out=(body.scope, body.limit))


def _finished(state: State, event: Event, body: RunFinished) -> State:
    return state.changed(outcome=body.outcome)


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
    ValueStored: _value_stored,
    CheckRan: _check_ran,
    EdgeTaken: _edge_taken,
    StepFailed: _step_failed,
    HumanAsked: _human_asked,
    HumanAnswered: _human_answered,
    TimeoutPassed: _timed_out,
    ResultLate: _unchanged,
    AlertRaised: _unchanged,
    RunSuspended: _suspended,
    RunResumed: _resumed,
    RunFinished: _finished,
    FeedbackGiven: _unchanged,
}

