"""`fold`: the state after one more event. Pure and total: any prefix of any log folds."""

from __future__ import annotations

from collections.abc import Iterable

from sopwith.ir.event import (
    AlertRaised,
    Body,
    BudgetReserved,
    BudgetSettled,
    CheckRan,
    EdgeTaken,
    Event,
    FeedbackGiven,
    InputsBound,
    LeaseTaken,
    PhaseEntered,
    ProcedureSelected,
    ReplyRepaired,
    RequestScreened,
    ResultLate,
    RunFinished,
    RunResumed,
    RunStarted,
    RunSuspended,
    RunTakenOver,
    StepEntered,
    StepFailed,
    TimeoutPassed,
)
from sopwith.ir.place import item_of
from sopwith.run import (
    fold_call,
    fold_guidance,
    fold_items,
    fold_message,
    fold_model,
    fold_pause,
    fold_person,
)
from sopwith.run.fold_items import fold_item
from sopwith.run.state import Cursor, Lease, State, Visited
from sopwith.run.state_change import (
    Fold,
    added,
    change,
    change_cursor,
    forget,
    lose_call,
    step_of,
    unchanged,
    wake,
)


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
        procedures=body.children,
        parent=body.parent,
        depth=body.depth,
        deadline=body.deadline,
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
    item = item_of(event.step)
    if item is None:
        _FOLDS[type(body)](after, event, body)
    else:
        fold_item(_FOLDS[type(body)], after, event, item)
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


def _phase_entered(state: State, event: Event, body: PhaseEntered) -> None:
    change(state, phase=body.name, phase_at=event.at, phase_waited=state.waited, timed_out=None)


def _screened(state: State, event: Event, body: RequestScreened) -> None:
    if body.where == "output":
        change(state, output_screened=body.verdict, screen_rule=body.rule)
    else:
        change(state, screened=body.verdict, screen_rule=body.rule)


def _selected(state: State, event: Event, body: ProcedureSelected) -> None:
    change(state, selected=True)


def _inputs_bound(state: State, event: Event, body: InputsBound) -> None:
    change(state, inputs=body.values, bound=True, cursor=None)


def _step_entered(state: State, event: Event, body: StepEntered) -> None:
    """A step that is entered again has no value until it has written one. Inside a region the reply at hand goes along,
    with its transcript."""
    step = step_of(event)
    how = state.entered_by or Visited(step, body.visit, "jump" if body.goes_on else "start")
    reply = state.cursor.reply if state.entered_by is None and state.cursor is not None else state.carried
    done = state.done_at == step
    if body.visit > 1 and not done:
        forget(state, step)
    if state.items is not None:
        fold_items.keep_items(state, step)
    if body.unset:
        change(state, values={name: value for name, value in state.values.items() if name not in body.unset})
    entered = _FRESH.changed(step=step, visit=body.visit, entered_at=event.at, done=done)
    if reply is not None:
        entered = entered.changed(reply=reply) if body.goes_on else entered.changed(carried=state.carried)
    change(
        state,
        cursor=entered,
        carried=None,
        done_at=None,
        visits=added(state.visits, step, body.visit),
        entries=state.entries if body.goes_on else added(state.entries, step, state.entries.get(step, 0) + 1),
        path=(*state.path, Visited(step, body.visit, how.by, how.label, how.confidence)),
        entered_by=None,
        step_waited=state.waited,
        before_step=(state.used, state.replies, state.calls, state.money, state.child_usage),
    )
    if not body.goes_on:
        change(state, transcript=(), tail=None, actions=(), found=(), noted=None)


_FRESH = Cursor("", 1, 0)
"""What a cursor is copied from: that is several times cheaper than making one."""


def _check_ran(state: State, event: Event, body: CheckRan) -> None:
    if body.scope == "step":
        change_cursor(state, checked=body.ok)
    else:
        change(state, verified=body.ok)


def _edge_taken(state: State, event: Event, body: EdgeTaken) -> None:
    failed = state.cursor.failed if state.cursor else None
    change(
        state,
        cursor=None,
        carried=state.cursor.reply if body.fills and state.cursor else None,
        entered_by=Visited(body.to, 1, body.by, body.label, body.confidence),
        error=failed if body.by == "error" else state.error,
    )


def _step_failed(state: State, event: Event, body: StepFailed) -> None:
    """The step's own name is unset on its `on_error`. Who hands a case over keeps what there is."""
    if state.cursor is not None:
        if body.error.code != "handed_over":
            forget(state, state.cursor.step)
        change_cursor(state, failed=body.error)


def _lease_taken(state: State, event: Event, body: LeaseTaken) -> None:
    change(state, lease=Lease(body.driver, body.seconds) if body.seconds else None)
    if body.budget is not None:
        change(state, budget=body.budget)


def _suspended(state: State, event: Event, body: RunSuspended) -> None:
    since = event.at if state.suspended_at is None else state.suspended_at
    ending = body.ending or state.ending
    change(state, suspended_at=since, waiting_for=body.waiting_for, ending=ending, lease=None)


def _resumed(state: State, event: Event, body: RunResumed) -> None:
    """A started call without an outcome may have acted, unless it only read. A question stays open."""
    cursor = state.cursor
    if cursor is None or cursor.question is None:
        wake(state, event.at)
    if cursor is None:
        return
    _cut_off(state)
    fold_items.for_each_item(state, _cut_off)


def _cut_off(state: State) -> None:
    """What the step or item at hand had begun has nobody who waits for it."""
    cursor = state.cursor
    if cursor is None or cursor.wanted is not None:  # what has asked waits for its answer, whoever goes on
        return
    if state.acting is not None:
        lose_call(state)
    change_cursor(state, started=None, asked=None, lost=cursor.lost + (cursor.started is not None))


def _timed_out(state: State, event: Event, body: TimeoutPassed) -> None:
    if body.scope in ("step", "call"):
        if state.cursor is not None and state.cursor.question == "ask":  # nobody has answered in time
            wake(state, event.at)
            change_cursor(state, question=None)
        change_cursor(state, timed_out=body.limit)
    else:
        change(state, timed_out=(body.scope, body.limit))


def _lose_write(state: State) -> None:
    if state.acting is not None:
        lose_call(state)


def _finished(state: State, event: Event, body: RunFinished) -> None:
    """A write that was at work may have acted."""
    _lose_write(state)
    fold_items.for_each_item(state, _lose_write)
    change(state, outcome=body.outcome, ending=None, lease=None)


_FOLDS: dict[type[Body], Fold] = {
    RunStarted: unchanged,
    PhaseEntered: _phase_entered,
    RequestScreened: _screened,
    ProcedureSelected: _selected,
    InputsBound: _inputs_bound,
    StepEntered: _step_entered,
    ReplyRepaired: unchanged,
    CheckRan: _check_ran,
    EdgeTaken: _edge_taken,
    StepFailed: _step_failed,
    TimeoutPassed: _timed_out,
    ResultLate: unchanged,
    AlertRaised: unchanged,
    LeaseTaken: _lease_taken,
    RunSuspended: _suspended,
    RunResumed: _resumed,
    RunFinished: _finished,
    FeedbackGiven: unchanged,
    BudgetReserved: unchanged,
    BudgetSettled: unchanged,
    **fold_model.FOLDS,
    **fold_call.FOLDS,
    **fold_person.FOLDS,
    **fold_items.FOLDS,
    **fold_message.FOLDS,
    **fold_pause.FOLDS,
    **fold_guidance.FOLDS,
}
