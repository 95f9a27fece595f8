"""The state after events of what people are asked and do."""

from __future__ import annotations

from sopwith.ir.approval import NO_TERMS
from sopwith.ir.event import (
    Body,
    CancelAsked,
    Event,
    HumanAnswered,
    HumanAsked,
    Phase,
    RunHandedBack,
    RunTakenOver,
)
from sopwith.run.state import State, Visited
from sopwith.run.state_change import Fold, change, change_cursor, wake


def _human_asked(state: State, event: Event, body: HumanAsked) -> None:
    if body.what == "input":  # of a call that may have an approval of its own
        change_cursor(state, question=body.what, asks_for=body.items[0] if body.items else None)
        return
    change_cursor(state, question=body.what, expires_at=body.expires_at)
    if body.items and state.items is not None:
        asked = state.items.cursors.get(body.items[0])
        terms = NO_TERMS if asked is None else asked.terms
        covers = dict(zip(body.items, body.hashes, strict=False))
        change_cursor(state, terms=terms, covers=covers, votes=(), approved=None)


def _human_answered(state: State, event: Event, body: HumanAnswered) -> None:
    """An approval stays asked for until as many people have agreed as its terms want, or one has refused."""
    cursor = state.cursor
    if cursor is not None and cursor.asks_for is not None:
        _answered_item(state, event, body, cursor.asks_for)
        return
    if cursor is None or cursor.question != "approval":
        wake(state, event.at)
        change_cursor(state, question=None, answer=(body.answer, body.by))
        return
    votes = (*cursor.votes, body)
    agreed = body.answer is True
    if agreed and len(votes) < cursor.terms.count:
        change_cursor(state, votes=votes)
        return
    wake(state, event.at)
    change_cursor(state, question=None, votes=votes, approved=agreed)


def _answered_item(state: State, event: Event, body: HumanAnswered, item: int) -> None:
    wake(state, event.at)
    change_cursor(state, question=None, asks_for=None)
    items = state.items
    if items is not None and item in items.cursors:
        given = items.cursors[item].changed(answer=(body.answer, body.by))
        change(state, items=items.with_cursor(given, item))


def _cancel_asked(state: State, event: Event, body: CancelAsked) -> None:
    change(state, cancelled_by=(body.by, body.why))


def _taken_over(state: State, event: Event, body: RunTakenOver) -> None:
    """The run waits for the person who has it, and the clock stands still."""
    since = event.at if state.suspended_at is None or state.outcome is not None else state.suspended_at
    change(state, outcome=None, suspended_at=since, taken_by=body.by)


def _handed_back(state: State, event: Event, body: RunHandedBack) -> None:
    wake(state, event.at)
    change(
        state,
        phase=Phase.EXECUTE,
        phase_at=event.at,
        phase_waited=state.waited,
        timed_out=None,
        verified=None,
        output_screened=None,
        error=None,
        cursor=None,
        carried=None,
        taken_by=None,
        done_at=body.to if body.done else None,
        items=None if state.items is None else state.items.changed(kept=body.items),
        entered_by=Visited(body.to, 1, "person", body.by),
        children={},
        forgiven=state.visits,
        entries={},
        operators=(*state.operators, body.by),
    )


FOLDS: dict[type[Body], Fold] = {
    HumanAsked: _human_asked,
    HumanAnswered: _human_answered,
    CancelAsked: _cancel_asked,
    RunTakenOver: _taken_over,
    RunHandedBack: _handed_back,
}
