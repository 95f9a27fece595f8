"""What happens next inside one step: its own work, its check, and then its way on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

from sopwith.errors import Text
from sopwith.ir.approval import NO_TERMS, Terms
from sopwith.ir.event import Phase, Purpose
from sopwith.ir.schema import together, validator
from sopwith.ir.tool import Effect, ErrorData, ToolSpec
from sopwith.ir.value import Json
from sopwith.lang.machine import Node
from sopwith.models.reply import Reading
from sopwith.run.asking import asked_schema, form_of, purpose_of, request_of
from sopwith.run.book import Book
from sopwith.run.condition import is_true
from sopwith.run.decide_call import decide_call
from sopwith.run.decide_wait import decide_wait
from sopwith.run.decision import (
    AskModel,
    AskPerson,
    Decision,
    EnterPhase,
    FailStep,
    Link,
    PerformCall,
    ReadValue,
    Reconcile,
    RunCheck,
    SendMessage,
    StartCall,
    StoreValue,
)
from sopwith.run.form import Form
from sopwith.run.lifecycle import FREE_EXCHANGES
from sopwith.run.options import carried_form
from sopwith.run.position import result_name
from sopwith.run.preview import as_text
from sopwith.run.reading import value_read
from sopwith.run.references import References, read_action
from sopwith.run.rejection import reject
from sopwith.run.route import entered_over, route, route_error
from sopwith.run.state import Cursor, State
from sopwith.run.step_error import step_error
from sopwith.run.values import Values, render
from sopwith.tools.names import alias

Work = Callable[[Book, Node, State, Cursor, Values], Decision | None]


def decide_step(
    book: Book, node: Node, state: State, cursor: Cursor, values: Values, work: Work | None = None
) -> Decision:
    """The next decision at `node`, whose own work is decided by `work` (`decide_work`).

    Raises `ExpressionError` where an expression of the step fails.
    """
    if cursor.failed is not None:
        return route_error(book, node, state, cursor, values)
    if entered_over(node, state, cursor):
        return FailStep(step_error(book, node, "visits", TOO_OFTEN, str(node.visits)))
    decision = (work or decide_work)(book, node, state, cursor, values)
    if decision is None:
        decision = _way_on(book, node, state, cursor, values)
    return in_time(book, node, cursor, decision)


def decide_work(book: Book, node: Node, state: State, cursor: Cursor, values: Values) -> Decision | None:
    """The next decision of the work of `node`, its check included; None where both are done.

    Raises `ExpressionError` where an expression of the step fails.
    """
    if not cursor.done or node.kind == "free":
        decision = _WORK[node.kind](book, node, state, cursor, values)
        if decision is not None:
            return in_time(book, node, cursor, decision)
    # What was made up for a dry run has nothing that could be verified.
    if node.verify is not None and cursor.checked is not True and not cursor.stubbed:
        return _check(book, node, state, cursor, values)
    return None


def _way_on(book: Book, node: Node, state: State, cursor: Cursor, values: Values) -> Decision:
    if node.step.end is not None:
        return EnterPhase(Phase.VERIFY if node.step.end == "complete" else Phase.ESCALATE)
    return route(book, node, state, cursor, values)


def in_time(book: Book, node: Node, cursor: Cursor, decision: Decision) -> Decision:
    """`decision`, unless the step is out of time and it begins something new."""
    if cursor.timed_out is not None and begins(decision, cursor):
        return FailStep(step_error(book, node, "timeout", OUT_OF_TIME, f"{cursor.timed_out:g}"), alert=True)
    return decision


def begins(decision: Decision, cursor: Cursor) -> bool:
    """Whether a decision begins something new: what is out of time, or over, may only finish what it has begun.

    A write that may have acted is not new: it is made known, or escalates.
    """
    return isinstance(decision, AskModel | AskPerson | SendMessage) or (
        isinstance(decision, StartCall) and not cursor.unknown
    )


def _check(book: Book, node: Node, state: State, cursor: Cursor, values: Values) -> Decision:
    expression = cast("Any", node.verify)
    if cursor.checked is False:
        return FailStep(step_error(book, node, "verify", NOT_VERIFIED, expression.source))
    return RunCheck("step", is_true(expression, book, state, values), expression.source)


def _route_only(book: Book, node: Node, state: State, cursor: Cursor, values: Values) -> Decision | None:
    return None


def _tool(book: Book, node: Node, state: State, cursor: Cursor, values: Values) -> Decision | None:
    tool = cast("ToolSpec", node.tool)
    if cursor.arguments is not None:
        return _call(book, node, tool, state, cursor, values)
    bound: dict[str, Json] = _render(book, node.arguments, state, values.true) if node.bound else {}
    if node.ready:
        return _propose(book, node, tool, bound, cursor, links=_bound_links(node))
    asked = _asked(book, node, state, cursor, values)
    if not isinstance(asked, tuple):
        return asked
    _, reading, links = asked
    filled = cast("dict[str, Json]", reading.value)
    overruled = {name: filled[name] for name in bound if name in filled and filled[name] != bound[name]}
    arguments = {**filled, **bound}
    links = (*_bound_links(node), *(link for link in links if link.at and link.at[0] not in bound))
    return _propose(book, node, tool, arguments, cursor, "model", overruled, reading.repairs, links)


def _bound_links(node: Node) -> tuple[Link, ...]:
    """The bound arguments that are nothing but a value of the run, or a part of one."""
    found: list[Link] = []
    for placed in node.arguments.expressions:
        paths = placed.expression.paths
        if placed.lone and len(paths) == 1 and placed.expression.source.strip() == ".".join(paths[0]):
            found.append(Link(placed.where, paths[0][0], paths[0][1:]))
    return tuple(found)


def _propose(
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
    problems = validator(tool.input_schema).problem_texts(arguments)
    if problems:
        message = together(problems).in_(book.language)
        error = ErrorData(code="invalid_arguments", message=message, step=node.step.id)
        return reject(cursor, error, repairs) if by == "model" else FailStep(error)
    return StartCall(tool, arguments, by, overruled or {}, repairs, links=links)


def _call(book: Book, node: Node, tool: ToolSpec, state: State, cursor: Cursor, values: Values) -> Decision:
    """The next decision about a call whose arguments stand in the log."""
    refused = _refused(book, node, tool, cursor)
    if refused is not None and not cursor.unknown:
        return FailStep(refused)
    arguments = values.arguments(cursor)
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


def _returns(book: Book, node: Node, state: State, cursor: Cursor, values: Values) -> Decision | None:
    asked = _asked(book, node, state, cursor, values)
    if not isinstance(asked, tuple):
        return asked
    form, reading, _ = asked
    value = form.labels.values[form.index(reading)] if form.labels is not None else reading.value
    return StoreValue(node.writes or node.step.id, value, repairs=reading.repairs)


def _answer(book: Book, node: Node, state: State, cursor: Cursor, values: Values) -> Decision | None:
    asked = _asked(book, node, state, cursor, values)
    if not isinstance(asked, tuple):
        return asked
    _, reading, _ = asked
    return StoreValue(node.writes or node.step.id, reading.value, repairs=reading.repairs)


def _ask(book: Book, node: Node, state: State, cursor: Cursor, values: Values) -> Decision | None:
    if cursor.answer is not None:
        return StoreValue(node.writes or node.step.id, cursor.answer[0], "human")
    question = _render(book, node.ask, state, values.whole)
    return AskPerson(str(question), "ask", asked_schema(book, node, state, values), terms=terms_of_ask(node))


def terms_of_ask(node: Node) -> Terms:
    """Until when a question of a step can be answered."""
    return NO_TERMS if node.step.timeout is None else Terms(expires=node.step.timeout)


def _free(book: Book, node: Node, state: State, cursor: Cursor, values: Values) -> Decision | None:
    """A free step: any permitted tool until `finish`. A failed call is data, not a failed step."""
    if node.writes in state.values and state.owners.get(node.writes or "") == node.step.id:
        return None
    called = cursor.tool is not None and not cursor.done and cursor.reply is None
    if called and (cursor.error is None or cursor.unknown):
        return call_of_model(book, node, state, cursor, values)
    if cursor.reply is None and len(state.transcript) >= FREE_EXCHANGES:
        return FailStep(step_error(book, node, "exchanges", TOO_LONG, str(FREE_EXCHANGES)))
    asked = _asked(book, node, state, cursor, values)
    if not isinstance(asked, tuple):
        return asked
    _, reading, links = asked
    if reading.action == book.block.read_name:
        return ReadValue(value_read(reading.value), reading.repairs)
    if reading.action == book.block.finish_name(node):
        return _finish(book, node, cursor, cast("dict[str, Json]", reading.value), reading.repairs)
    tool = next(spec for spec in book.machine.tools.values() if alias(spec.name) == reading.action)
    arguments = cast("dict[str, Json]", reading.value)
    return _propose(book, node, tool, arguments, cursor, "model", None, reading.repairs, links)


def _finish(
    book: Book, node: Node, cursor: Cursor, value: dict[str, Json], repairs: tuple[str, ...]
) -> Decision:
    """The end of a free step: its result, or the case given to a person."""
    if value["outcome"] == "escalate":
        reason = ErrorData(code="handed_over", message=str(value.get("reason") or ""), step=node.step.id)
        return FailStep(reason, repairs=repairs)
    result = value.get("result")
    problems = validator(book.block.result_schema(node) or {}).problem_texts(result)
    if problems:
        message = f"result: {together(problems).in_(book.language)}"
        return reject(cursor, ErrorData(code="invalid_arguments", message=message), repairs)
    return StoreValue(node.writes or node.step.id, result, repairs=repairs)


def call_of_model(book: Book, node: Node, state: State, cursor: Cursor, values: Values) -> Decision:
    """The next decision about a call that a model chose among tools: a refusal is data for it."""
    tool = book.machine.tools[cursor.tool or ""]
    refused = _refused(book, node, tool, cursor)
    if refused is not None and not cursor.unknown:
        return reject(cursor, refused)
    return _call(book, node, tool, state, cursor, values)


def _asked(
    book: Book, node: Node, state: State, cursor: Cursor, values: Values
) -> tuple[Form, Reading, tuple[Link, ...]] | Decision:
    """What the reply at hand says, with true values (those are what schemas, tools and expressions are for), and
    what of it are values that it refers to.

    Where there is no reply, the question to ask; where it says nothing legal, its refusal.
    """
    purpose = cast("Purpose", purpose_of(node))
    references = References(state, book.procedure.inputs, values)
    if cursor.reply is None and cursor.carried is not None:
        form = carried_form(book, node, purpose, state, values)
        reading = read_action(book, form, cursor.carried, values, references)
        # Its repairs are written down where the edge was chosen.
        return (
            reject(cursor, reading.error)
            if reading.error is not None
            else (form, replace(reading, repairs=()), tuple(references.links))
        )
    form = form_of(book, node, purpose, state, values)
    if cursor.reply is None:
        return AskModel(purpose, request_of(book, node, form, state, values), node.step.model)
    reading = read_action(book, form, cursor.reply, values, references)
    if reading.error is not None:
        return reject(cursor, reading.error, reading.repairs)
    return form, reading, tuple(references.links)


def _render(book: Book, template: Any, state: State, convert: Callable[[Any], Json]) -> Json:
    return render(template, state, book.procedure.inputs, convert)


def _refused(book: Book, node: Node, tool: ToolSpec, cursor: Cursor) -> ErrorData | None:
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


TOO_LONG = Text("not finished after {} exchanges", "{} 次往返后仍未完成")
OUT_OF_TIME = Text("the step took longer than {} s", "步骤超过了 {} 秒")
TOO_OFTEN = Text("the step was entered more than {} times", "进入该步骤超过了 {} 次")
NOT_VERIFIED = Text("not true after the step: {}", "步骤之后不成立：{}")
DENIED = Text(
    "the policy does not permit {}; a rule in policy.yaml, or --allow, would",
    "策略不允许 {}；可在 policy.yaml 中或用 --allow 放行",
)
NOT_APPROVED = Text("the call of {} was not approved by {}", "{} 的调用未获 {} 批准")
APPROVE = Text("May {} be called with {}?", "允许以 {1} 调用 {0} 吗？")

_WORK: Mapping[str, Work] = {
    "tool": _tool,
    "returns": _returns,
    "answer": _answer,
    "ask": _ask,
    "free": _free,
    "wait": decide_wait,
    "call": decide_call,
    "route": _route_only,
}
