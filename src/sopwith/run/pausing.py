"""Waiting for a time or an event: how it begins, and what ends it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from sopwith.errors import Text
from sopwith.ir.event import Event, HumanAsked, RunSuspended, TimeoutPassed
from sopwith.ir.pause import SignalSent, WaitBegan, WaitEnded
from sopwith.ir.schema import validator
from sopwith.ir.value import Json
from sopwith.lang.dynamic_enum import without_dynamic
from sopwith.lang.machine import Node
from sopwith.run.actor import Actor
from sopwith.run.arrival import arrived
from sopwith.run.decision import BeginWait, Suspend
from sopwith.run.state import Cursor, State


async def begin_wait(actor: Actor, decision: BeginWait) -> None:
    """Write down what is waited for. A time that has come already is not waited for, and a dry run never waits."""
    state = actor.state
    now = max(actor.around.clock(), state.at)
    later = None if decision.seconds is None else now + round(decision.seconds * 1e6)
    until = (decision.until or later) if decision.event is None else None
    past = until is not None and until <= now
    deadline = later if decision.event is not None else None
    cause = actor.emit(WaitBegan(until=until, event=decision.event, deadline=deadline, past=past))
    if past:
        actor.emit(WaitEnded(by="time"), cause)
    elif state.dry_run:
        node = actor.book.machine.nodes[state.cursor.step if state.cursor else ""]
        actor.emit(WaitEnded(by="dry", event=decision.event, **_made_up(actor, node)), cause)


def _made_up(actor: Actor, node: Node) -> dict[str, Any]:
    if node.writes is None:
        return {}
    from sopwith.expr.witness import variants  # only a dry run makes values up

    found = variants(payload_schema(node))
    return {"name": node.writes, **actor.journal.stored(actor.redact(found[0] if found else None))}


async def suspend(actor: Actor, decision: Suspend) -> None:
    """Leave the run."""
    actor.emit(RunSuspended(waiting_for=decision.waiting_for))


def fits(node: Node, payload: Json) -> tuple[Text, ...]:
    """What the step has against a (true) payload of its event."""
    return () if node.returns is None else validator(payload_schema(node)).problems(payload)


def payload_schema(node: Node) -> dict[str, Json]:
    """What the event of a step must bring; an enum that is made of run data is not held against it."""
    return cast("dict[str, Json]", without_dynamic(dict(node.returns or {})))


def wait_ended(actor: Actor, cursor: Cursor, inbox: Sequence[Event], now: int) -> WaitEnded | None:
    """How the wait of a step has ended at `now` (µs since 1970), where it has; the messages of the `inbox` are those to
    the run."""
    paused = cursor.paused
    if paused is None:
        return None
    node = actor.book.machine.nodes[cursor.step]

    def fit(payload: Json) -> bool:
        return not fits(node, actor.values.true(payload))

    came = arrived(paused, inbox, actor.journal.state.taken, now, fit)
    if came is None:
        return None
    over = came.passed_over
    if came.message is None:
        return WaitEnded(by=came.by, event=paused.event, passed_over=over)
    body: SignalSent = came.message.body
    stored: dict[str, Any] = (
        {} if node.writes is None else {"name": node.writes, **actor.journal.stored(body.payload)}
    )
    return WaitEnded(
        by="event", event=body.event, signal=came.message.seq, who=body.by, passed_over=over, **stored
    )


def answer_missed(state: State, events: Sequence[Event], now: int) -> TimeoutPassed | None:
    """That the question of a step was not answered in time, where that is so at `now`."""
    cursor = state.cursor
    if cursor is None or cursor.question != "ask" or cursor.expires_at is None or now < cursor.expires_at:
        return None
    asked = next(event for event in reversed(events) if isinstance(event.body, HumanAsked))
    return TimeoutPassed(scope="step", limit=round((cursor.expires_at - asked.at) / 1e6, 3))
