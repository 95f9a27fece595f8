"""What happens next in a step that calls another procedure."""

from __future__ import annotations

from typing import cast

from sopwith.errors import Text
from sopwith.expr.template import Template
from sopwith.ir.procedure import Call
from sopwith.ir.tool import ErrorData
from sopwith.ir.value import Json
from sopwith.lang.machine import Node
from sopwith.run.book import Book
from sopwith.run.decision import AskPerson, Decision, FailStep, SendMessage, Suspend
from sopwith.run.preview import as_text
from sopwith.run.state import Cursor, State
from sopwith.run.step_error import step_error
from sopwith.run.values import Values, render

APPROVE = Text("May the procedure {} be run with {}?", "允许以 {1} 运行流程 {0} 吗？")
NOT_APPROVED = Text("the run of {} was not approved by {}", "{} 的运行未获 {} 批准")


def decide_call(book: Book, node: Node, state: State, cursor: Cursor, values: Values) -> Decision | None:
    """The next decision of a `call`. Raises `ExpressionError` where an input cannot be evaluated."""
    call = cast("Call", node.step.call)
    if cursor.child is not None:
        return Suspend("child")
    if cursor.error is not None and not calls_again(node, cursor, cursor.error, wrote=cursor.wrote):
        return FailStep(cursor.error.model_copy(update={"step": node.step.id}))
    if cursor.approved is False:
        return FailStep(_not_approved(book, node, call, cursor))
    told = cursor.arguments
    if told is not None and cursor.verdict == "ask" and cursor.approved is None and not state.dry_run:
        question = APPROVE.in_(book.language).format(call.procedure, as_text(dict(told)))
        return AskPerson(question, "approval", {"type": "boolean"}, cursor.judged, cursor.rule, cursor.terms)
    inputs = (
        render(cast("Template", node.call), state, book.procedure.inputs, values.true)
        if told is None
        else values.true(dict(told))
    )
    return SendMessage(
        call.procedure,
        cast("dict[str, Json]", inputs),
        call.share,
        proposed=told is not None,
        attempt=cursor.attempt + 1,
    )


def calls_again(node: Node, cursor: Cursor, error: ErrorData, *, wrote: bool) -> bool:
    """Whether the procedure is called once more after `error`: never where the run has written (`wrote`)."""
    retry = node.step.retry
    if retry is None or wrote or cursor.attempt > retry.times:
        return False
    return not retry.errors or error.code in retry.errors


def _not_approved(book: Book, node: Node, call: Call, cursor: Cursor) -> ErrorData:
    last = cursor.votes[-1]
    error = step_error(book, node, "denied", NOT_APPROVED, call.procedure, last.by)
    return error if last.why is None else error.model_copy(update={"message": f"{error.message}: {last.why}"})
