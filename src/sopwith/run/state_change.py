"""Changes to a state that `fold` has just copied, and nobody else has seen yet: what several kinds of events do."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from sopwith.ir.event import Body, CallFinished, Event, ItemsBegan, ItemsEnded, ValueStored
from sopwith.ir.message import MessageReceived
from sopwith.ir.pause import WaitEnded
from sopwith.ir.place import step_id
from sopwith.ir.tool import ErrorData
from sopwith.models.port import ModelReply
from sopwith.run.state import Exchange, Reference, State, Stored

Fold = Callable[[State, Event, Any], None]
"""Fills in the state after an event of one kind."""

NOT_APPROVED: dict[str, Any] = {"approved": None, "votes": (), "expires_at": None}


def added(mapping: Mapping[str, Any], key: str, value: Any) -> Mapping[str, Any]:
    """A copy of `mapping` with one more entry."""
    return {**mapping, key: value}


def change(state: State, **fields: Any) -> None:
    """Fill in a state that `fold` has just copied, and nobody else has seen yet."""
    state.__dict__.update(fields)


def change_cursor(state: State, **fields: Any) -> None:
    """The same for the cursor, where there is one."""
    if state.cursor is not None:
        state.__dict__["cursor"] = state.cursor.changed(**fields)


def unchanged(state: State, event: Event, body: Body) -> None:
    """For events that tell something and change nothing."""


def step_of(event: Event) -> str:
    """The id of the step that an event belongs to, without its visit and its item."""
    return step_id(event.step or "")


def forget(state: State, step: str) -> None:
    """Unset the names that `step` wrote."""
    owners = state.owners
    change(state, values={name: value for name, value in state.values.items() if owners.get(name) != step})


LATEST = 3
"""So many actions of a transcript are remembered."""


def as_said(reply: ModelReply) -> str:
    """A reply as a transcript says it: with the name that the provider gave apart."""
    if reply.name is None:
        return reply.text
    return f'{{"name": {json.dumps(reply.name, ensure_ascii=False)}, "arguments": {reply.text}}}'


def close_exchange(state: State, did: str | None = None) -> None:
    """Close the open exchange of a transcript with the reply at hand, which `did` that."""
    reply = state.cursor.reply if state.cursor else None
    if state.tail is not None and reply is not None:
        change(state, transcript=(*state.transcript, Exchange(state.tail, as_said(reply))), tail=None)
        if did is not None:
            change(state, actions=(*state.actions, did)[-LATEST:])


Valued = CallFinished | ValueStored | ItemsEnded | MessageReceived | WaitEnded
"""What gives a name a value."""


def stored_in(body: Valued | ItemsBegan) -> Stored:
    """The value that an event carries, or a reference to it."""
    return body.value if body.blob is None else Reference(body.blob, body.size or 0, body.value)


def bind(state: State, event: Event, body: Valued) -> None:
    """Give a name, or the item at hand, the value that the event carries."""
    if body.name is not None:
        stored = stored_in(body)
        if isinstance(stored, Reference):
            change(state, stored=state.stored + stored.size)
        if state.cursor is not None and state.cursor.item is not None:
            change_cursor(state, value=stored)
            return
        change(
            state,
            values=added(state.values, body.name, stored),
            owners=added(state.owners, body.name, step_of(event)),
        )
        threshold = body.threshold if isinstance(body, CallFinished) else None
        if threshold is not None:
            change(state, thresholds=added(state.thresholds, body.name, threshold))
        elif body.name in state.thresholds:
            kept = {name: each for name, each in state.thresholds.items() if name != body.name}
            change(state, thresholds=kept)


def wake(state: State, at: int) -> None:
    """The run does not wait any more: the time that it has waited does not count."""
    if state.suspended_at is not None:
        waited = state.waited + max(0, at - state.suspended_at)
        change(state, waited=waited, suspended_at=None, waiting_for=None)


def close_write(state: State, started: int | None) -> None:
    """The write that was started there is not open any more."""
    change(state, open=tuple(write for write in state.open if write.started != started))


def lose_call(state: State, why: ErrorData | None = None) -> None:
    """The call at hand may have acted: nobody knows. `why` is what is known."""
    if state.acting is not None:
        writes = (*state.open, state.acting)
        change(state, open=tuple(sorted(writes, key=lambda write: write.started)))
    change_cursor(state, started=None, wanted=None, answer=None, unknown=True, error=why)
