"""The state after events of guidance."""

from __future__ import annotations

from sopwith.ir.event import Body, DeviationNoted, Event, GuidanceGiven, RegionLeft
from sopwith.run.state import State
from sopwith.run.state_change import Fold, change, change_cursor, close_exchange, unchanged


def _noted(state: State, event: Event, body: DeviationNoted) -> None:
    change(state, noted=(body.why, body.action))


def _left(state: State, event: Event, body: RegionLeft) -> None:
    close_exchange(state)
    change_cursor(state, reply=None, rejections=(), rejected_text=None, left=True)


FOLDS: dict[type[Body], Fold] = {
    GuidanceGiven: unchanged,
    DeviationNoted: _noted,
    RegionLeft: _left,
}
