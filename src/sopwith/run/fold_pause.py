"""The state after the beginning and the end of a wait."""

from __future__ import annotations

from sopwith.ir.event import Body, Event
from sopwith.ir.pause import SignalSent, WaitBegan, WaitEnded
from sopwith.run.state import Paused, State
from sopwith.run.state_change import Fold, bind, change, change_cursor, unchanged, wake


def _began(state: State, event: Event, body: WaitBegan) -> None:
    change_cursor(state, paused=Paused(body.until, body.event, body.deadline))


def _ended(state: State, event: Event, body: WaitEnded) -> None:
    wake(state, event.at)
    if body.signal is not None or body.passed_over:
        taken = {body.signal} if body.signal is not None else set[int]()
        change(state, taken=state.taken | taken | set(body.passed_over))
    bind(state, event, body)
    missed = body.by == "timeout"
    change_cursor(state, paused=None, missed=missed, done=not missed)


FOLDS: dict[type[Body], Fold] = {
    WaitBegan: _began,
    WaitEnded: _ended,
    SignalSent: unchanged,
}
