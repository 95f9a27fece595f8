"""Waiting for a time or an event: how it begins, and what ends it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from sopwith.errors import Text, ValueErased
from sopwith.ir.event import Event, HumanAsked, RunSuspended, TimeoutPassed
from sopwith.ir.pause import SignalSent, WaitBegan, WaitEnded
from sopwith.ir.schema import validator
from sopwith.ir.value import Json
from sopwith.lang.dynamic_enum import without_dynamic
from sopwith.lang.machine import Node
from sopwith.run.actor import Actor
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
    return () if node.returns is None else validator(payload_schema(node)).problem_texts(payload)


def payload_schema(node: Node) -> dict[str, Json]:
    """What the event of a step must bring; an enum that is made of run data is not held against it."""
    return cast("dict[str, Json]", without_dynamic(dict(node.returns or {})))


def wait_ended(actor: Actor, cursor: Cursor, inbox: Sequence[Event], now: int) -> WaitEnded | None:
    """How the wait of a step has ended at `now` (µs since 1970), where it has; the messages of the `inbox` are those to
    the run. An event that came before the deadline counts also where it is only seen after; one whose payload
    was erased is passed over."""
    paused = cursor.paused
    if paused is None:
        return None
    if paused.until is not None:
        return WaitEnded(by="time") if now >= paused.until else None
    node = actor.book.machine.nodes[cursor.step]
    erased: list[int] = []
    for message in inbox:
        body = message.body
        if not isinstance(body, SignalSent) or body.event != paused.event:
            continue
        late = paused.deadline is not None and message.at > paused.deadline
        if late or message.seq in actor.journal.state.taken:
            continue
        try:
            fit = not fits(node, actor.values.true(body.payload))
        except ValueErased:
            erased.append(message.seq)
            continue
        if fit:
            stored: dict[str, Any] = (
                {} if node.writes is None else {"name": node.writes, **actor.journal.stored(body.payload)}
            )
            return WaitEnded(
                by="event",
                event=body.event,
                signal=message.seq,
                who=body.by,
                passed_over=tuple(erased),
                **stored,
            )
    if paused.deadline is not None and now >= paused.deadline:
        return WaitEnded(by="timeout", event=paused.event, passed_over=tuple(erased))
    return None


def answer_missed(state: State, events: Sequence[Event], now: int) -> TimeoutPassed | None:
    """That the question of a step was not answered in time, where that is so at `now`."""
    cursor = state.cursor
    if cursor is None or cursor.question != "ask" or cursor.expires_at is None or now < cursor.expires_at:
        return None
    asked = next(event for event in reversed(events) if isinstance(event.body, HumanAsked))
    return TimeoutPassed(scope="step", limit=round((cursor.expires_at - asked.at) / 1e6, 3))
