"""What happens next about the call of a tool: leave, the call itself, another try, and what nobody knows."""

from __future__ import annotations

from typing import Any

from sopwith.errors import Text
from sopwith.ir.event import Phase
from sopwith.ir.schema import together, validator
from sopwith.ir.tool import Effect, ErrorData, ToolSpec
from sopwith.ir.value import Json
from sopwith.lang.machine import Node
from sopwith.run.book import Book
from sopwith.run.decide_input import decide_input
from sopwith.run.decision import (
    AskPerson,
    Decision,
    EnterPhase,
    FailStep,
    Link,
    PerformCall,
    Reconcile,
    StartCall,
)
from sopwith.run.position import result_name
from sopwith.run.preview import as_text
from sopwith.run.rejection import reject
from sopwith.run.state import Cursor, State
from sopwith.run.step_error import step_error
from sopwith.run.values import Values


def propose(
    book: Book,
    node: Node,
    tool: ToolSpec,
    arguments: dict[str, Json],
    cursor: Cursor,
    by: Any = "bound",
    overruled: dict[str, Json] | None = None,
    repairs: tuple[str, ...] = (),
    links: tuple[Link, ...] = (),
) -> Decision:
    """The call of `tool` with these arguments, or what is wrong with them."""
    problems = validator(tool.input_schema).problems(arguments)
    if problems:
        message = together(problems).in_(book.language)
        error = ErrorData(code="invalid_arguments", message=message, step=node.step.id)
        return reject(cursor, error, repairs) if by == "model" else FailStep(error)
    return StartCall(tool, arguments, by, overruled or {}, repairs, links=links)


def decide_tool(
    book: Book, node: Node, tool: ToolSpec, state: State, cursor: Cursor, values: Values
) -> Decision:
    """The next decision about a call whose arguments stand in the log."""
    refused = refusal(book, node, tool, cursor)
    if refused is not None and not cursor.unknown and cursor.wanted is None:
        return FailStep(refused)
    arguments = values.arguments(cursor)
    if cursor.wanted is not None:
        return decide_input(book, tool, arguments, cursor, _name(book, node, state))
    if cursor.verdict == "ask" and cursor.approved is None and not state.dry_run:
        question = APPROVE.in_(book.language).format(tool.name, as_text(values.told_arguments(cursor)))
        return AskPerson(question, "approval", {"type": "boolean"}, cursor.judged, cursor.rule, cursor.terms)
    if cursor.started is not None:
        # In a dry run a read that needs leave has none, and is not made.
        stubbed = state.dry_run and (tool.effect is not Effect.READ or cursor.verdict == "ask")
        name = _name(book, node, state)
        return PerformCall(tool, arguments, cursor.key or "", name, tool.timeout, stubbed)
    again = StartCall(tool, arguments, proposed=True, attempt=cursor.attempt + 1)
    repeatable = tool.effect is Effect.READ or tool.idempotent
    retry = node.step.retry
    tries = cursor.attempt - cursor.lost
    if cursor.unknown:
        # Also where it may not be made again by now: whether it has acted must be known.
        if refused is None and repeatable and tries < 1 + (retry.times if retry else 1):
            return again
        if tool.reconcilable and not cursor.unsure:
            started = state.latest_write or 0
            return Reconcile(tool, arguments, cursor.key or "", _name(book, node, state), started)
        return EnterPhase(Phase.ESCALATE)
    if cursor.error is None:
        return again
    wanted = retry is not None and (not retry.errors or cursor.error.code in retry.errors)
    if retry is not None and wanted and tries <= retry.times:
        return again
    return FailStep(cursor.error.model_copy(update={"step": node.step.id}))


def _name(book: Book, node: Node, state: State) -> str:
    cursor = state.cursor
    return result_name(book, node, state, cursor) if node.open and cursor else node.writes or node.step.id


def refusal(book: Book, node: Node, tool: ToolSpec, cursor: Cursor) -> ErrorData | None:
    """Why the call may not be made, or None where it may."""
    if cursor.verdict == "deny":
        return step_error(book, node, "denied", DENIED, f"{tool.name} ({cursor.rule})")
    return _not_approved(book, node, tool, cursor) if cursor.approved is False else None


def _not_approved(book: Book, node: Node, tool: ToolSpec, cursor: Cursor) -> ErrorData:
    """Who did not approve the call, and why."""
    last = cursor.votes[-1]
    said = NOT_APPROVED.in_(book.language).format(tool.name, last.by)
    message = said if last.why is None else f"{said}: {last.why}"
    return ErrorData(code="denied", message=message, step=node.step.id)


DENIED = Text(
    "the policy does not permit {}; a rule in policy.yaml, or --allow, would",
    "策略不允许 {}；可在 policy.yaml 中或用 --allow 放行",
)
NOT_APPROVED = Text("the call of {} was not approved by {}", "{} 的调用未获 {} 批准")
APPROVE = Text("May {} be called with {}?", "允许以 {1} 调用 {0} 吗？")
