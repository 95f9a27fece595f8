"""What happens next in a step that waits for a time or an event."""

from __future__ import annotations

from typing import cast

from sopwith.errors import Text
from sopwith.expr.template import Template
from sopwith.ir.procedure import Wait
from sopwith.lang.machine import Node
from sopwith.lang.moment import read_pause, read_time
from sopwith.run.book import Book
from sopwith.run.decision import BeginWait, Decision, FailStep, Suspend
from sopwith.run.state import Cursor, State
from sopwith.run.step_error import step_error
from sopwith.run.values import Values, render

NOT_COME = Text("the event “{}” has not come within {:g} s", "事件“{}”未在 {:g} 秒内到来")


def decide_wait(book: Book, node: Node, state: State, cursor: Cursor, values: Values) -> Decision | None:
    """The next decision of a `wait`. Raises `ExpressionError` where its time cannot be evaluated."""
    wait = cast("Wait", node.step.wait)
    if cursor.missed:
        return FailStep(
            step_error(book, node, "timeout", NOT_COME, wait.event, node.step.timeout or 0), alert=True
        )
    if cursor.paused is not None:
        return Suspend("time" if cursor.paused.event is None else "event")
    if wait.event is not None:
        return BeginWait(seconds=node.step.timeout, event=wait.event)
    value = render(cast("Template", node.pause), state, book.procedure.inputs, values.true)
    if wait.for_ is not None:
        seconds = read_pause(value)
        if isinstance(seconds, Text):
            return FailStep(step_error(book, node, "no_time", seconds))
        return BeginWait(seconds=seconds)
    until = read_time(value)
    if isinstance(until, Text):
        return FailStep(step_error(book, node, "no_time", until))
    return BeginWait(until=until)
