"""The state after events of a step over a list: those of the whole list, and those of one item.

An item has a cursor of its own. What an event does to a step, it does to an item in the same way: `fold_item` puts the
item's cursor in the place of the step's while the event is folded.
"""

from __future__ import annotations

from collections.abc import Callable

from sopwith.ir.event import Body, CallJudged, CallStarted, Event, ItemsBegan, ItemsEnded, ValueStored
from sopwith.run.chunked import Chunked
from sopwith.run.state import Cursor, Items, State
from sopwith.run.state_change import NOT_APPROVED, Fold, bind, change, change_cursor, stored_in


def fold_item(handler: Fold, state: State, event: Event, item: int) -> None:
    """Fold an event of one item. An item begins with its first event."""
    items, whole = state.items, state.cursor
    if items is None or whole is None:
        return  # a log that tells no story
    before = items.cursors.get(item)
    if before is None:
        before = whole.changed(**_FRESH, item=item, entered_at=event.at, waited_before=state.waited)
    change(state, cursor=before, tail=None)
    handler(state, event, event.body)
    after = state.cursor or before
    if isinstance(event.body, CallStarted) and whole.covers.get(item) == after.judged:
        # What began under the approval of all keeps it, whatever becomes of the others.
        after = after.changed(approved=whole.approved, votes=whole.votes, expires_at=whole.expires_at)
    if isinstance(event.body, ValueStored) and event.body.who is not None:
        after = after.changed(failed=None, unknown=False)  # a person says what it gave
    asking = items.asking + _asks(after) - _asks(before)
    if isinstance(event.body, CallJudged) and event.body.void is not None:
        whole = whole.changed(**NOT_APPROVED, covers={})  # one change voids the approval of all
    change(state, cursor=whole, items=items.with_cursor(after, item).changed(asking=asking), tail=None)


_PLAIN = Cursor("", 1, 0)
_FRESH = {
    name: value
    for name, value in _PLAIN.__dict__.items()
    if name not in ("step", "visit", "item", "entered_at", "waited_before")
}
"""What an item that begins does not take over from the step."""


def _asks(cursor: Cursor) -> bool:
    """Whether an item waits for a model."""
    return cursor.asked is not None and cursor.failed is None


def for_each_item(state: State, act: Callable[[State], None]) -> None:
    """Let `act` change the cursor of each item that is at work as if it were that of the step."""
    items, whole = state.items, state.cursor
    if items is None or whole is None:
        return
    after = items
    for item, cursor in items.cursors.since(items.through):
        if cursor.started is not None or cursor.asked is not None:
            change(state, cursor=cursor)
            act(state)
            acted = state.cursor or cursor
            asking = after.asking + _asks(acted) - _asks(cursor)
            after = after.with_cursor(acted, item).changed(asking=asking)
    change(state, cursor=whole, items=after)


def keep_items(state: State, step: str) -> None:
    """The step is entered again by a person's will: the items that are done stay done, all others begin anew."""
    items = state.items
    if items is not None and items.kept and items.step == step:
        done = {item: cursor for item, cursor in items.cursors.items() if cursor.done and not cursor.failed}
        change(state, items=Items(step, items.count, items.over, Chunked(done)))
    else:
        change(state, items=None)


def _began(state: State, event: Event, body: ItemsBegan) -> None:
    step = state.cursor.step if state.cursor else ""
    change(state, items=Items(step, body.count, stored_in(body)))


def _ended(state: State, event: Event, body: ItemsEnded) -> None:
    bind(state, event, body)
    change(state, items=None)
    change_cursor(state, done=True)


FOLDS: dict[type[Body], Fold] = {ItemsBegan: _began, ItemsEnded: _ended}
