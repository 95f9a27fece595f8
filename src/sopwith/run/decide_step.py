"""What happens next inside one step: its own work, its check, and then its way on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

from sopwith.errors import Text
from sopwith.ir.approval import NO_TERMS, Terms
from sopwith.ir.event import Phase, Purpose
from sopwith.ir.tool import ToolSpec
from sopwith.ir.value import Json
from sopwith.lang.machine import Node
from sopwith.models.reply import Reading
from sopwith.run.asking import asked_schema, form_of, purpose_of, request_of
from sopwith.run.book import Book
from sopwith.run.condition import is_true
from sopwith.run.decide_call import decide_call
from sopwith.run.decide_open import (
    call_at_hand,
    chosen_call,
    handed_over,
    look,
    result_of,
    too_long,
    wrong_result,
)
from sopwith.run.decide_tool import decide_tool, propose
from sopwith.run.decide_wait import decide_wait
from sopwith.run.decision import (
    AskModel,
    AskPerson,
    Decision,
    EnterPhase,
    FailStep,
    Link,
    RunCheck,
    SendMessage,
    StartCall,
    StoreValue,
)
from sopwith.run.form import Form
from sopwith.run.options import carried_form
from sopwith.run.preview import MARK
from sopwith.run.references import References, read_action
from sopwith.run.rejection import reject
from sopwith.run.route import entered_over, route, route_error
from sopwith.run.state import Cursor, State
from sopwith.run.step_error import step_error
from sopwith.run.value_path import replaced, spell
from sopwith.run.values import Values, render

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

    A write that may have acted is not new: it is made known, or escalates. Nor is what a call asks that has begun.
    """
    if isinstance(decision, AskPerson):
        return cursor.wanted is None
    return isinstance(decision, AskModel | SendMessage) or (
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
        return decide_tool(book, node, tool, state, cursor, values)
    bound: dict[str, Json] = _render(book, node.arguments, state, values.true) if node.bound else {}
    if node.ready:
        return propose(book, node, tool, bound, cursor, links=_bound_links(node))
    asked = _asked(book, node, state, cursor, values)
    if not isinstance(asked, tuple):
        return asked
    _, reading, links = asked
    filled = cast("dict[str, Json]", reading.value)
    overruled: Json = {name: filled[name] for name in bound if name in filled and filled[name] != bound[name]}
    for link in links:
        if link.at and link.at[0] in overruled:  # what was referred to is written down as the reference
            overruled = replaced(overruled, link.at, {MARK: spell(link.name, link.path)})
    arguments = {**filled, **bound}
    links = (*_bound_links(node), *(link for link in links if link.at and link.at[0] not in bound))
    return propose(book, node, tool, arguments, cursor, "model", overruled, reading.repairs, links)


def _bound_links(node: Node) -> tuple[Link, ...]:
    """The bound arguments that are nothing but a value of the run, or a part of one."""
    found: list[Link] = []
    for placed in node.arguments.expressions:
        paths = placed.expression.paths
        if placed.lone and len(paths) == 1 and placed.expression.source.strip() == ".".join(paths[0]):
            found.append(Link(placed.where, paths[0][0], paths[0][1:]))
    return tuple(found)


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
    going = call_at_hand(book, node, state, cursor, values) or too_long(book, node, state, cursor)
    if going is not None:
        return going
    asked = _asked(book, node, state, cursor, values)
    if not isinstance(asked, tuple):
        return asked
    form, reading, links = asked
    looked = look(book, form, state, cursor, reading)
    if looked is not None:
        return looked
    if reading.action != book.block.finish_name(node):
        return chosen_call(book, reading, links)
    over = handed_over(node, reading)
    if over is not None:
        return over
    wrong = wrong_result(book, node, reading)
    if wrong is not None:
        return reject(cursor, wrong, reading.repairs)
    return StoreValue(node.writes or node.step.id, result_of(reading), repairs=reading.repairs)


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


OUT_OF_TIME = Text("the step took longer than {} s", "步骤超过了 {} 秒")
TOO_OFTEN = Text("the step was entered more than {} times", "进入该步骤超过了 {} 次")
NOT_VERIFIED = Text("not true after the step: {}", "步骤之后不成立：{}")

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
