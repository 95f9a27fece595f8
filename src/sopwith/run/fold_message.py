"""The state after messages between a run and the runs that it calls."""

from __future__ import annotations

from sopwith.guard.budget import settle
from sopwith.ir.event import Body, Event
from sopwith.ir.message import MessageReceived, MessageSent
from sopwith.ir.usage import Usage
from sopwith.run.state import Child, State
from sopwith.run.state_change import Fold, added, bind, change, change_cursor, step_of, wake


def _sent(state: State, event: Event, body: MessageSent) -> None:
    change(state, children=added(state.children, body.receiver, Child(event.step or "", body)))
    change_cursor(state, child=body.receiver, attempt=body.attempt, error=None)


def _received(state: State, event: Event, body: MessageReceived) -> None:
    """What the child has used counts once, also where its outcome changes nothing any more."""
    child = state.children.get(body.sender)
    if child is None:
        return
    waited = 0.0 if state.suspended_at is None else (event.at - state.suspended_at) / 1e6
    change(
        state,
        children={run: each for run, each in state.children.items() if run != body.sender},
        child_usage=state.child_usage + settle(Usage(), body.usage, child.sent.budget),
        child_seconds=state.child_seconds + max(0.0, min(waited, body.seconds)),
    )
    wake(state, event.at)
    if body.wrote:
        places = {step_of(event)} if state.cursor is None else {step_of(event), state.cursor.place}
        change(state, written=state.written | places)
    if state.cursor is None or state.cursor.child != body.sender:
        return
    if body.error is None:
        bind(state, event, body)
    change_cursor(state, child=None, wrote=body.wrote, error=body.error, done=body.error is None)


FOLDS: dict[type[Body], Fold] = {
    MessageSent: _sent,
    MessageReceived: _received,
}
