"""The way on from a step: edges in their order, judgements as one choice, errors along `on_error`."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from sopwith.errors import Text
from sopwith.ir.event import Outcome, Phase
from sopwith.ir.procedure import Grip
from sopwith.ir.tool import ErrorData
from sopwith.lang.machine import CompiledEdge, Node
from sopwith.run.asking import judge_form, judges_of, request_of
from sopwith.run.book import Book
from sopwith.run.condition import is_true
from sopwith.run.decision import AskModel, Decision, EnterPhase, FailStep, Finish, TakeEdge
from sopwith.run.options import options_form, options_of, options_request
from sopwith.run.packet import packet
from sopwith.run.references import References, read_action
from sopwith.run.rejection import reject
from sopwith.run.state import Cursor, State
from sopwith.run.values import Values

NO_EDGE = Text(
    "no edge of the step fits, and it has no `otherwise`", "该步骤没有合适的分支，也没有 otherwise"
)
DOUBTFUL = Text(
    "the choice is too doubtful ({}), and the step has no `otherwise`",
    "选择的把握不足（{}），且该步骤没有 otherwise",
)

By = Literal["always", "when", "judge", "otherwise", "error", "choice"]


def route(book: Book, node: Node, state: State, cursor: Cursor, values: Values) -> Decision:
    """The edge to take from a finished step, or the judgement to ask for first."""
    if _doubtful_value(node, cursor):
        return _otherwise(book, node, state, cursor)
    if node.grip is Grip.BOUNDED and len(node.edges) > 1:
        return _chosen(book, node, state, cursor, values)
    judged: CompiledEdge | None = None
    confidence: float | None = None
    repairs: tuple[str, ...] = ()
    group: tuple[CompiledEdge, ...] = ()
    for edge in node.edges:
        if edge.kind == "when":
            if _true(edge, book, state, values):
                return _take(book, state, edge, "when", edge.edge.when, confidence)
        elif edge.kind == "judge":
            if not group:
                group = judges_of(node)
                chosen = _judged(book, node, group, state, cursor, values)
                if not isinstance(chosen, tuple):
                    return chosen
                judged, confidence, repairs = chosen
            if edge is judged:
                return _take(book, state, edge, "judge", edge.edge.judge, confidence, repairs)
        else:
            return _take(book, state, edge, edge.kind, None, confidence, repairs)
    return FailStep(ErrorData(code="no_edge", message=NO_EDGE.in_(book.language), step=node.step.id))


def route_error(book: Book, node: Node, state: State, cursor: Cursor, values: Values) -> Decision:
    """The way on from a failed step: `on_error`, or the end as denied, or an escalation.

    A case that a model hands over escalates. So does a step that was entered too often, and whose `on_error` led back
    to it: no loop is without end.
    """
    error = cursor.failed
    if error is None:
        raise ValueError("the step has not failed")
    if error.code == "handed_over" and node.open:
        return EnterPhase(Phase.ESCALATE)
    over = entered_over(node, state, cursor, 1)
    edge = None if over else catching_edge(book, node, state, error, values)
    if edge is not None:
        return _take(book, state, edge, "error", error.code, None)
    if error.code == "denied":
        return Finish(Outcome(kind="denied", packet=packet(book, state)))
    return EnterPhase(Phase.ESCALATE)


def entered_over(node: Node, state: State, cursor: Cursor, more: int = 0) -> bool:
    """Whether a step was entered more often than its `visits` (and so many `more`) allow, since a person let it begin
    anew. Of a guide step only what enters its region counts."""
    step = node.step.id
    if node.grip is Grip.GUIDE:
        return state.entries.get(step, 0) > node.visits + more
    return cursor.visit > node.visits + state.forgiven.get(step, 0) + more


def catching_edge(
    book: Book, node: Node, state: State, error: ErrorData, values: Values
) -> CompiledEdge | None:
    """The first `on_error` edge that takes `error`, or None. Raises `ExpressionError`."""
    seen = state.changed(error=error)
    for edge in node.on_error:
        if edge.kind != "when" or _true(edge, book, seen, values):
            return edge
    return None


def _chosen(book: Book, node: Node, state: State, cursor: Cursor, values: Values) -> Decision:
    """The edge that one reply picks among those that are open; the only one is taken without a model."""
    options = options_of(book, node, state, values)
    if not options:
        return FailStep(ErrorData(code="no_edge", message=NO_EDGE.in_(book.language), step=node.step.id))
    if len(options) == 1:
        edge = options[0].edge
        return _take(book, state, edge, edge.kind, edge.edge.when or edge.edge.judge, None)
    if cursor.reply is None:
        return AskModel("next", options_request(book, node, options, state, values), node.step.model)
    references = References(state, book.procedure.inputs, values)
    reading = read_action(book, options_form(options), cursor.reply, values, references)
    if reading.error is not None:
        return reject(cursor, reading.error, reading.repairs)
    chosen = next(one for one in options if one.action == reading.action)
    edge = chosen.edge
    label = edge.edge.when or edge.edge.judge
    take = _take(book, state, edge, "choice", label, None, reading.repairs)
    return replace(take, fills=chosen.schema is not None)


def _judged(
    book: Book, node: Node, group: tuple[CompiledEdge, ...], state: State, cursor: Cursor, values: Values
) -> tuple[CompiledEdge | None, float | None, tuple[str, ...]] | Decision:
    """The edge that the model chose (None: none of them, or too doubtful), its confidence, and how the reply was
    repaired; or what to do first."""
    form = judge_form(book, node, group)
    if cursor.reply is None:
        return AskModel("judge", request_of(book, node, form, state, values), node.step.model)
    reading = form.read(cursor.reply, values, book.language)
    if reading.error is not None:
        return reject(cursor, reading.error, reading.repairs)
    index = form.index(reading)
    least = node.step.min_confidence
    if index >= len(group) or (least is not None and (cursor.confidence or 0.0) < least):
        return None, cursor.confidence, reading.repairs
    return group[index], cursor.confidence, reading.repairs


def _doubtful_value(node: Node, cursor: Cursor) -> bool:
    """Whether the step's value is a choice that the model was less sure of than the step demands."""
    least = node.step.min_confidence
    if node.grip is Grip.GUIDE:
        return False
    made = any(not dynamic.path for dynamic in node.dynamic_enums)
    is_choice = node.kind == "returns" and (bool(node.choices) or made)
    return is_choice and least is not None and (cursor.value_confidence or 0.0) < least


def _otherwise(book: Book, node: Node, state: State, cursor: Cursor) -> Decision:
    for edge in node.edges:
        if edge.kind == "otherwise":
            return _take(book, state, edge, "otherwise", None, cursor.value_confidence)
    message = DOUBTFUL.in_(book.language).format(f"{cursor.value_confidence or 0:.2f}")
    return FailStep(ErrorData(code="doubtful", message=message, step=node.step.id))


def _true(edge: CompiledEdge, book: Book, state: State, values: Values) -> bool:
    return edge.condition is not None and is_true(edge.condition, book, state, values)


def _take(
    book: Book,
    state: State,
    edge: CompiledEdge,
    by: By,
    label: str | None,
    confidence: float | None,
    repairs: tuple[str, ...] = (),
) -> TakeEdge:
    return TakeEdge(edge, by, state.visits.get(edge.edge.to, 0) + 1, label, confidence, repairs)
