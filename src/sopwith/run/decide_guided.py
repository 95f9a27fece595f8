"""What happens next inside a region of guide steps: a transcript with advice, in which the model goes where it likes.

The step at hand is the position. An action moves it to the step that the action belongs to, along an edge where one
leads there; else that is noted, and allowed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from sopwith.errors import ExpressionError, Text
from sopwith.expr.template import Template
from sopwith.ir.event import DeviationNoted, Phase
from sopwith.ir.schema import together, validator
from sopwith.ir.tool import ErrorData
from sopwith.lang.machine import CompiledEdge, Node
from sopwith.lang.region import Region
from sopwith.models.port import ModelReply
from sopwith.models.reply import Reading
from sopwith.run.advice import advise
from sopwith.run.asking import asked_schema, form_of, request_of, resolved_schema
from sopwith.run.book import Book
from sopwith.run.condition import is_true
from sopwith.run.decide_open import (
    call_at_hand,
    chosen_call,
    handed_over,
    look,
    result_of,
    too_long,
    wrong_result,
)
from sopwith.run.decide_step import TOO_OFTEN, in_time, terms_of_ask
from sopwith.run.decision import (
    AskModel,
    AskPerson,
    Decision,
    EnterPhase,
    EnterStep,
    FailStep,
    LeaveRegion,
    NoteDeviation,
    RunCheck,
    StartCall,
    StoreValue,
    TakeEdge,
)
from sopwith.run.position import Found, find, is_done, left_out, open_ways
from sopwith.run.references import References, read_action
from sopwith.run.rejection import reject
from sopwith.run.route import entered_over, route, route_error
from sopwith.run.state import Cursor, State
from sopwith.run.state_change import as_said
from sopwith.run.step_error import step_error
from sopwith.run.values import Values, scope

RESULT = "finish.result"
"""The name of what a model finishes a run with in a region; no expression can read it."""

REPEATS = 3
"""A guided model may say the same word for word so often in a row; then it is taken to be stuck."""

REPEATED = Text("the model did the same {} times in a row", "模型连续 {} 次做同样的事")
MISSING = Text(
    "before this part can end, these must have a value: {}; call {}",
    "结束本部分之前，以下名称必须有值：{}；请调用 {}",
)
CLOSED = Text("none of the ways out of “{}” is open", "“{}”的出口都不可走")
LEFT_OUT = Text(
    "this leaves out: {}. Do that first, or finish once more to leave it out",
    "这样会跳过：{}。请先完成；若确要跳过，请再结束一次",
)
NO_EXIT = Text("“{}” has no way out; go on to one of: {}", "“{}”没有出口；请先到其中一步：{}")


def decide_guided(book: Book, node: Node, state: State, cursor: Cursor, values: Values) -> Decision:
    """The next decision at `node`, a step of a region. Raises `ExpressionError` where a way out fails."""
    if cursor.failed is not None:
        return route_error(book, node, state, cursor, values)
    return in_time(book, node, cursor, _next(book, node, state, cursor, values))


def unset_in_region(book: Book, state: State, step: str) -> tuple[str, ...]:
    """The names that lose their values where a run comes to `step` from outside of its region."""
    region = book.machine.regions.get(step)
    if region is None:
        return ()
    by = state.entered_by.by if state.entered_by else "start"
    inside = by == "person" or (bool(state.path) and state.path[-1].step in region.steps)
    names = {RESULT} if inside else {RESULT, *region.writes}
    return tuple(name for name in state.values if name in names)


def _next(book: Book, node: Node, state: State, cursor: Cursor, values: Values) -> Decision:
    if not state.transcript and state.tail is None:  # the region was entered here, and nobody was asked yet
        if entered_over(node, state, cursor):
            return FailStep(step_error(book, node, "visits", TOO_OFTEN, str(node.visits)))
        if node.kind == "route" and node.step.end is not None:
            return EnterPhase(Phase.VERIFY if node.step.end == "complete" else Phase.ESCALATE)
    if cursor.left:
        return _way_on(book, node, state, cursor, values)
    if RESULT in state.values and state.owners.get(RESULT) == node.step.id:
        return EnterPhase(Phase.VERIFY)
    if cursor.answer is not None:
        return StoreValue(node.writes or node.step.id, cursor.answer[0], "human")
    called = call_at_hand(book, node, state, cursor, values)
    if called is not None:
        return called
    if _to_verify(node, state, cursor):
        return _verified(book, node, state, values)
    over = too_long(book, node, state, cursor)
    if over is not None:
        return over
    form = form_of(book, node, "guide", state, values)
    if cursor.reply is None:
        advice = None if cursor.rejections else advise(book, node, state, values)
        request = request_of(book, node, form, state, values, advice)
        return AskModel("guide", request, node.step.model, None if advice is None else advice.event)
    if _repeats(state, cursor.reply):
        return FailStep(step_error(book, node, "repeated", REPEATED, str(REPEATS + 1)))
    references = References(state, book.procedure.inputs, values)
    reading = read_action(book, form, cursor.reply, values, references)
    if reading.error is not None:
        return reject(cursor, reading.error, reading.repairs)
    looked = look(book, form, state, cursor, reading)
    if looked is not None:
        return looked
    if reading.action == book.block.finish_name(node):
        return _finish(book, node, state, cursor, values, reading)
    decision = _go(book, node, state, cursor, values, reading)
    links = tuple(references.links)
    return replace(decision, links=links) if isinstance(decision, StartCall) and links else decision


def _repeats(state: State, reply: ModelReply) -> bool:
    """Whether the model has said this word for word so often in a row that it will not say anything else."""
    latest = [exchange.reply for exchange in state.transcript[-REPEATS:]]
    return len(latest) == REPEATS and set(latest) == {as_said(reply)}


def _way_on(book: Book, node: Node, state: State, cursor: Cursor, values: Values) -> Decision:
    """The way out that is taken; where none of them fits, `otherwise` leads back into the region."""
    decision = route(book, replace(node, edges=ways_out(book, node)), state, cursor, values)
    if isinstance(decision, FailStep) and decision.error.code == "no_edge":
        others = tuple(edge for edge in node.edges if edge.kind == "otherwise")
        return route(book, replace(node, edges=others), state, cursor, values)
    return decision


def _to_verify(node: Node, state: State, cursor: Cursor) -> bool:
    """Whether the check of the step is to be made: its own work has just been done, and all that it reads is there."""
    own = node.tool is None or node.tool.name == cursor.tool
    open_ = cursor.done and cursor.checked is None and not cursor.stubbed and cursor.reply is None
    if node.verify is None or not own or not open_ or not is_done(node, state):
        return False
    return all(name in state.values for name in node.verify.names if name not in ("inputs", "run"))


def _verified(book: Book, node: Node, state: State, values: Values) -> Decision:
    """The check of a step: what does not hold is told to the model, and ends nothing."""
    expression = cast("Any", node.verify)
    try:
        return RunCheck("step", is_true(expression, book, state, values), expression.source)
    except ExpressionError as error:
        return RunCheck("step", False, expression.source, error.message.in_(book.language))


def _go(book: Book, node: Node, state: State, cursor: Cursor, values: Values, reading: Reading) -> Decision:
    """Move to the step that the action belongs to, or act where the run is there."""
    action = reading.action or ""
    found: Found = find(book, node, action, state, values)
    if found.why is not None and state.noted is None:
        return NoteDeviation(DeviationNoted(action=action, why=found.why, at=node.step.id, to=found.step))
    if found.step is None or found.here:
        return _act(book, node, state, cursor, values, reading)
    if found.edge is not None:
        to = found.edge.edge.to
        visit = state.visits.get(to, 0) + 1
        return TakeEdge(found.edge, "guide", visit, found.edge.edge.when or found.edge.edge.judge, fills=True)
    return EnterStep(found.step, goes_on=True)


def _act(book: Book, node: Node, state: State, cursor: Cursor, values: Values, reading: Reading) -> Decision:
    if node.kind in ("returns", "answer", "ask") and book.block.name(node) == reading.action:
        try:
            return _give(book, node, state, cursor, values, reading)
        except ExpressionError as error:
            said = f"{error.source}: {error.message.in_(book.language)}"
            return reject(
                cursor, ErrorData(code="expression", message=said, step=node.step.id), reading.repairs
            )
    return chosen_call(book, reading)


def _give(book: Book, node: Node, state: State, cursor: Cursor, values: Values, reading: Reading) -> Decision:
    """The value of a step that calls no tool: the model's, or a person's. Raises `ExpressionError`."""
    name = node.writes or node.step.id
    if node.kind == "ask":
        template = cast("Template", node.ask)
        names = [path[0] for path in template.paths]
        question = template.render(scope(state, book.procedure.inputs, names, values.whole))
        return AskPerson(
            str(question), "ask", asked_schema(book, node, state, values), terms=terms_of_ask(node)
        )
    if node.dynamic_enums:
        problems = validator(resolved_schema(book, node, state, values.true)).problems(reading.value)
        if problems:
            said = together(problems).in_(book.language)
            return reject(cursor, _wrong(said, node), reading.repairs)
    return StoreValue(name, reading.value, repairs=reading.repairs)


def _finish(
    book: Book, node: Node, state: State, cursor: Cursor, values: Values, reading: Reading
) -> Decision:
    """The end of a region: a way out of the step at hand, the end of the run, or the case given to a person.

    What stands in the way is told to the model.
    """
    over = handed_over(node, reading)
    if over is not None:
        return over
    region = book.machine.regions[node.step.id]
    exits = ways_out(book, node)
    wrong = _not_yet(book, node, region, exits, reading, state, values)
    if wrong is not None:
        return reject(cursor, wrong, reading.repairs)
    left = left_out(book, node, state, values)
    if left is not None and all(error.code != "left_out" for error in cursor.rejections):
        why, steps = left
        if state.noted is None:
            action = reading.action or ""
            to = steps[0] if steps else None
            return NoteDeviation(DeviationNoted(action=action, why=why, at=node.step.id, to=to))
        return reject(cursor, _left_out(book, node, steps), reading.repairs)
    if exits:
        return LeaveRegion(reading.repairs)
    return StoreValue(RESULT, result_of(reading), repairs=reading.repairs)


def _not_yet(
    book: Book,
    node: Node,
    region: Region,
    exits: tuple[CompiledEdge, ...],
    reading: Reading,
    state: State,
    values: Values,
) -> ErrorData | None:
    """Why the region cannot be left at `node` now."""
    if not exits and not region.ends:
        steps = [book.machine.nodes[step] for step in region.steps]
        listed = ", ".join(f"{s.step.title} ({book.block.name(s)})" for s in steps if ways_out(book, s))
        return ErrorData(
            code="no_exit",
            message=NO_EXIT.in_(book.language).format(node.step.title, listed),
            step=node.step.id,
        )
    demanded = region.demands.get(node.step.id, ()) if exits else region.at_end
    missing = [name for name in demanded if name not in state.values]
    if missing:
        writers = [book.machine.nodes[s] for s in region.steps if book.machine.nodes[s].writes in missing]
        calls = ", ".join(dict.fromkeys(book.block.name(writer) for writer in writers))
        said = MISSING.in_(book.language).format(", ".join(missing), calls)
        return ErrorData(code="missing", message=said, step=node.step.id)
    if exits:
        if all(way.open is False for way in open_ways(book, exits, state, values)):
            return ErrorData(
                code="no_edge", message=CLOSED.in_(book.language).format(node.step.title), step=node.step.id
            )
        return None
    return wrong_result(book, node, reading)


def _left_out(book: Book, node: Node, steps: tuple[str, ...]) -> ErrorData:
    """What is said once to a model that finishes before the procedure is at its end."""
    nodes = [book.machine.nodes[step] for step in steps]
    listed = ", ".join(f"{one.step.title} ({book.block.name(one)})" for one in nodes) or node.step.title
    return ErrorData(code="left_out", message=LEFT_OUT.in_(book.language).format(listed), step=node.step.id)


def ways_out(book: Book, node: Node) -> tuple[CompiledEdge, ...]:
    """The edges of a guide step that leave its region."""
    region = book.machine.regions[node.step.id]
    return tuple(edge for edge in node.edges if edge.edge.to not in region.steps)


def _wrong(message: str, node: Node) -> ErrorData:
    return ErrorData(code="invalid_arguments", message=message, step=node.step.id)
