"""What is asked of a model at a step: the form of the reply, and the whole request."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from sopwith.errors import ExpressionError, Text
from sopwith.ir.event import Purpose
from sopwith.ir.procedure import Grip
from sopwith.ir.value import Json
from sopwith.lang.machine import CompiledEdge, DynamicEnum, Node
from sopwith.models.port import Action, ModelRequest, Prompt
from sopwith.run.advice import Advice
from sopwith.run.book import Book, describe_fields, harmless
from sopwith.run.connected import role_of
from sopwith.run.form import MAX_TOKENS, Form
from sopwith.run.labels import LETTERS, Labels
from sopwith.run.preview import as_text, preview
from sopwith.run.reference_schema import widened
from sopwith.run.state import State
from sopwith.run.transcript import open_form, open_request
from sopwith.run.values import Values, long_parts, scope, shown

EMPTY_ENUM = Text("there is nothing to choose from", "没有可选的值")


def purpose_of(node: Node) -> Purpose | None:
    """What a model is asked for at a step, apart from the choice of an edge (`judges_of`); None where it is not."""
    if node.grip is Grip.GUIDE:
        return "guide"
    if node.kind == "tool":
        return None if node.ready else "arguments"
    return node.kind if node.kind in ("returns", "answer", "free") else None


def judges_of(node: Node) -> tuple[CompiledEdge, ...]:
    """The edges of a step among which a model chooses: they are one choice."""
    return tuple(edge for edge in node.edges if edge.kind == "judge")


def form_of(book: Book, node: Node, purpose: Purpose, state: State, values: Values) -> Form:
    """The form of the reply that `node` wants for `purpose`. Raises `ExpressionError` for an enum that fails."""
    if purpose == "returns" and node.dynamic_enums:
        return _returns_form(book, node, state, values)
    key = (node.step.id, purpose)
    found = book.forms.get(key)
    if found is None:
        found = book.forms[key] = _fixed_form(book, node, purpose, state, values)
    return found


def _fixed_form(book: Book, node: Node, purpose: Purpose, state: State, values: Values) -> Form:
    if purpose == "answer":
        return Form("answer")
    if purpose in ("free", "guide"):
        return open_form(book, node)
    if purpose == "returns":
        return _returns_form(book, node, state, values)
    name = book.block.name(node)
    return Form("arguments", (name,), book.constraint(node), (Action(name, "", readable(node)),))


def _returns_form(book: Book, node: Node, state: State, values: Values) -> Form:
    choice = returns_choice(book, node, state, values)
    if choice is not None:
        legal = tuple(LETTERS[: len(choice.words)])
        return Form("returns", labels=choice, legal=legal, by_word=book.by_word(node))
    name = book.block.name(node)
    shown_schema = resolved_schema(book, node, state, values.whole)
    true_schema = resolved_schema(book, node, state, values.true) if node.dynamic_enums else shown_schema
    return Form("returns", (name,), shown_schema, (Action(name, "", true_schema),))


def judge_form(book: Book, node: Node, group: tuple[CompiledEdge, ...]) -> Form:
    """The form of a choice among the `judge` edges of `node`."""
    choice = book.judge_choice(group)
    legal = tuple(LETTERS[: len(choice.words)])
    return Form("judge", labels=choice, legal=legal, group=group, by_word=book.by_word(node))


def readable(node: Node) -> dict[str, Json]:
    """The schema that a tool step's arguments are read against: bound ones may be repeated."""
    schema: dict[str, Json] = dict(node.tool.input_schema) if node.tool else {"type": "object"}
    required = cast("list[str]", schema.get("required", []))
    schema["required"] = [name for name in required if name in node.free]
    return schema


def returns_choice(book: Book, node: Node, state: State, values: Values) -> Labels | None:
    """The labels of a `returns` that is nothing but an enum, fixed or made from run data; None where there are more
    values than letters, which are then written out as JSON."""
    if node.choices:
        return book.returns_choice(node)
    for dynamic in node.dynamic_enums:
        if not dynamic.path:
            told = _enum(book, dynamic, state, values.whole)
            if len(told) <= len(LETTERS):
                words = [harmless(as_text(item)) for item in told]
                return Labels.of(_enum(book, dynamic, state, values.true), words)
    return None


def _enum(book: Book, dynamic: DynamicEnum, state: State, convert: Callable[[Any], Json]) -> list[Json]:
    """The values of an enum that is made from run data. An empty one is an error: nothing could be answered."""
    names = {path[0] for path in dynamic.values.paths}
    found = dynamic.values.render(scope(state, book.procedure.inputs, names, convert))
    if not isinstance(found, list) or not found:
        raise ExpressionError(as_text(dynamic.values.value), EMPTY_ENUM)
    return cast("list[Json]", found)


def resolved_schema(book: Book, node: Node, state: State, convert: Callable[[Any], Json]) -> dict[str, Json]:
    """The `returns` of a step with its run-data enums put in."""
    if not node.dynamic_enums:
        return dict(node.returns or {"type": "object"})
    schema = copy.deepcopy(dict(node.returns or {}))
    for dynamic in node.dynamic_enums:
        place: Any = schema
        for part in dynamic.path:
            place = place[part]
        place["enum"] = _enum(book, dynamic, state, convert)
    return schema


def asked_schema(book: Book, node: Node, state: State, values: Values) -> dict[str, Json]:
    """The schema of what a person may answer to an `ask`, as it may be written."""
    return {"type": "string"} if node.returns is None else resolved_schema(book, node, state, values.whole)


def request_of(
    book: Book, node: Node, form: Form, state: State, values: Values, advice: Advice | None = None
) -> ModelRequest:
    """The whole request for `form` at `node`: stable parts first, and a tail with only the names the step uses; or a
    transcript, with the `advice` at its end."""
    words = None if form.purpose == "guide" else said(book, node, form.purpose, state, values)
    if form.purpose in ("free", "guide"):
        return open_request(book, node, form, state, values, words, advice)
    variables = _variables(book, node, form.purpose, state, values)
    turns = book.turns(node, form.purpose, form.labels)
    tail = book.tail(node, form.purpose, variables, form.labels, words, form.constraint)
    constraint = form.constraint
    if form.purpose == "arguments" and constraint is not None:
        known = long_parts((use.path for use in node.uses), state, book.procedure.inputs, values)
        constraint = widened(constraint, known)
        tail = after_references(book, tail, known, [] if constraint == form.constraint else [constraint])
    tail = after_rejections(book, tail, state)
    role = role_of(form.purpose, choice=form.labels is not None)
    prompt = Prompt(book.prefix_for(book.shape(node.step.model, role)), turns, tail, book.block.text)
    if form.labels is not None:
        labels = form.labels.words
        return ModelRequest(
            prompt, "choice", book.block.actions, form.legal, labels, max_tokens=1, by_word=form.by_word
        )
    if form.purpose == "answer":
        return ModelRequest(prompt, "text", book.block.actions, max_tokens=MAX_TOKENS)
    return ModelRequest(
        prompt, "action", book.block.actions, form.legal, constraint=constraint, max_tokens=MAX_TOKENS
    )


def after_references(book: Book, tail: str, known: Mapping[str, Json], offered: Sequence[Json]) -> str:
    """`tail` with how a long value is passed on, where one of the actions is `offered` to take one."""
    return book.file("reference").fill(tail=tail, name=next(iter(known))) if offered else tail


def inputs_form(missing: Mapping[str, Mapping[str, Json]]) -> Form:
    """The form for extracting the inputs that nobody passed."""
    schema: dict[str, Json] = {
        "type": "object",
        "properties": {name: dict(item) for name, item in missing.items()},
        "required": list(missing),
        "additionalProperties": False,
    }
    return Form("inputs", ("inputs",), schema, (Action("inputs", "", schema),))


def inputs_request(book: Book, form: Form, state: State) -> ModelRequest:
    """The request for extracting inputs."""
    request = preview(state.request)
    fields = describe_fields(form.constraint or {})
    tail = book.file("inputs").fill(request=harmless(as_text(request)), fields=fields)
    shape = book.shape(book.procedure.model, role_of("inputs", choice=False))
    prompt = Prompt(book.prefix_for(shape), (), after_rejections(book, tail, state), book.block.text)
    actions = (*book.block.actions, *form.reading)
    return ModelRequest(
        prompt, "action", actions, form.legal, constraint=form.constraint, max_tokens=MAX_TOKENS
    )


def _variables(book: Book, node: Node, purpose: Purpose, state: State, values: Values) -> dict[str, Json]:
    uses = node.judge_uses if purpose == "judge" else node.uses
    return {use.name: shown(use.path, state, book.procedure.inputs, values) for use in uses}


def said(book: Book, node: Node, purpose: str, state: State, values: Values) -> str | None:
    """The step's own words, where they hold expressions; None where they are constant."""
    template = node.answer if purpose == "answer" else node.do
    if template is None or template.constant:
        return None
    names = [p[0] for p in template.paths]
    return harmless(as_text(template.render(scope(state, book.procedure.inputs, names, values.whole))))


def after_rejections(book: Book, tail: str, state: State) -> str:
    """`tail` with what was wrong with the replies before."""
    rejections = state.cursor.rejections if state.cursor else ()
    for error in rejections:
        tail = book.file("rejected").fill(tail=tail, error=harmless(error.message))
    return tail
