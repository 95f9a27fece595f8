"""The prompts of a step, before any run: what is not known yet stands as ‹name›."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

from sopwith.cli.project import LOCAL
from sopwith.cli.script import model_id
from sopwith.cli.settings import Settings
from sopwith.errors import ExpressionError
from sopwith.ir.event import Principal, Purpose
from sopwith.ir.procedure import Grip
from sopwith.ir.usage import Budget
from sopwith.ir.value import Json
from sopwith.lang.machine import Choice, Node
from sopwith.models.port import ModelRequest
from sopwith.run.advice import advise
from sopwith.run.asking import (
    form_of,
    inputs_form,
    inputs_request,
    judge_form,
    judges_of,
    purpose_of,
    request_of,
)
from sopwith.run.book import Book, Shapes
from sopwith.run.decide_guided import ways_out
from sopwith.run.options import options_of, options_request
from sopwith.run.preview import as_text
from sopwith.run.state import State
from sopwith.run.values import IDENTITY

INPUTS = "inputs"
"""The name under which the prompt that extracts the inputs is shown."""


def stand_in(name: str) -> str:
    """What is shown for a value that only a run has."""
    return f"‹{name}›"


def prompts(book: Book, step: str, given: Mapping[str, Json]) -> list[tuple[Purpose, ModelRequest]]:
    """Every prompt that a model may get at `step`, in order: for its own work, and for its choice of an edge.

    `given` are values by dotted name: `request`, `date`, `principal.id`, an input, or a name that a step writes.
    A step that calls no model has none.
    """
    if step == INPUTS:
        return list(_inputs(book, given))
    return list(_of_node(book, book.machine.nodes[step], given))


def shapes_of(settings: Settings) -> Shapes:
    """How the models that a run would have are shown a procedure; none of them is connected."""
    default = model_id(settings.model or LOCAL)
    named = {name: model_id(spec) for name, spec in settings.models.items()}
    return lambda name, role: settings.profiles.of(named.get(name or role, default)).shape


def _inputs(book: Book, given: Mapping[str, Json]) -> Iterator[tuple[Purpose, ModelRequest]]:
    missing = {
        name: item.schema_
        for name, item in book.procedure.inputs.items()
        if item.from_ is None and name not in given
    }
    if missing:
        yield "inputs", inputs_request(book, inputs_form(missing), _state(book, None, given))


def _of_node(book: Book, node: Node, given: Mapping[str, Json]) -> Iterator[tuple[Purpose, ModelRequest]]:
    purpose = purpose_of(node.working)
    if purpose is not None:
        yield purpose, _request(book, node.working, purpose, given)
    if node.grip is Grip.GUIDE:
        exits = ways_out(book, node)
        node = dataclasses.replace(node, edges=exits)
    elif node.grip is Grip.BOUNDED and len(node.edges) > 1:
        yield from _next(book, node, given)
        return
    group = judges_of(node)
    if group:
        state = _state(book, node, given)
        try:
            yield "judge", request_of(book, node, judge_form(book, node, group), state, IDENTITY)
        except ExpressionError:
            yield "judge", request_of(book, _symbolic(node), judge_form(book, node, group), state, IDENTITY)


def _next(book: Book, node: Node, given: Mapping[str, Json]) -> Iterator[tuple[Purpose, ModelRequest]]:
    """The choice among the ways that are open; where a condition wants more than stand-ins, among all of them."""
    targets = [book.machine.nodes[edge.edge.to] for edge in node.edges]
    state = _state(book, node, given, *targets)
    try:
        options = options_of(book, node, state, IDENTITY)
    except ExpressionError:
        free = tuple(dataclasses.replace(edge, kind="judge", condition=None) for edge in node.edges)
        options = options_of(book, dataclasses.replace(node, edges=free), state, IDENTITY)
    if len(options) > 1:
        yield "next", options_request(book, node, options, state, IDENTITY)


def _request(book: Book, node: Node, purpose: Purpose, given: Mapping[str, Json]) -> ModelRequest:
    state = _state(book, node, given)
    try:
        form = form_of(book, node, purpose, state, IDENTITY)
        advice = advise(book, node, state, IDENTITY) if purpose == "guide" else None
        return request_of(book, node, form, state, IDENTITY, advice)
    except ExpressionError:
        # An expression that wants more than a stand-in is shown as it is written.
        node = _symbolic(node)
        return request_of(book, node, form_of(book, node, purpose, state, IDENTITY), state, IDENTITY)


def _symbolic(node: Node) -> Node:
    """`node` with its expressions as text."""
    changed: dict[str, Any] = {"do": None, "answer": None, "dynamic_enums": ()}
    schema: Any = copy.deepcopy(dict(node.returns)) if node.returns is not None else None
    for dynamic in node.dynamic_enums:
        shown = stand_in(as_text(dynamic.values.value))
        if not dynamic.path:
            changed["choices"] = (Choice(shown),)
        place = schema
        for part in dynamic.path:
            place = place[part]
        place["enum"] = [shown]
    return dataclasses.replace(node, **changed, returns=schema)


def _state(book: Book, node: Node | None, given: Mapping[str, Json], *more: Node) -> State:
    """A state at `node` in which every name that it uses has a value, given or a stand-in; and those of `more`."""

    def fact(name: str) -> str:
        return as_text(given[name]) if name in given else stand_in(name)

    inputs = {name: given.get(name, stand_in(name)) for name in book.procedure.inputs}
    values: dict[str, Any] = {}
    for path in _paths(book, node, *more) if node is not None else ():
        if path[0] not in ("inputs", "run", "error"):
            _put(values, path, given)
    return State(
        run=stand_in("run"),
        task=stand_in("run"),
        procedure_id=book.procedure.id,
        procedure=book.machine.hash,
        principal=Principal(id=fact("principal.id")),
        request=fact("request"),
        date=fact("date"),
        language=book.language,
        budget=Budget(),
        started_at=0,
        given=inputs,
        inputs=inputs,
        values=values,
    )


def _paths(book: Book, node: Node, *more: Node) -> list[tuple[str, ...]]:
    nodes = (node, *more)
    templates = [t for n in nodes for t in (n.do, n.answer, *(dynamic.values for dynamic in n.dynamic_enums))]
    shown = [use.path for n in nodes for use in (*n.uses, *n.judge_uses)]
    region = book.machine.regions.get(node.step.id)
    if region is not None:  # what its own steps write has no value where it is entered
        shown = [use.path for use in book.region_uses(region)]
        templates = []
    # The longest first, so that `leave.days` is put into the mapping `leave` and not after a text of that name.
    return sorted({*shown, *(p for t in templates if t is not None for p in t.paths)}, key=len, reverse=True)


def _put(values: dict[str, Any], path: tuple[str, ...], given: Mapping[str, Json]) -> None:
    name = ".".join(path)
    if path[0] in given:
        values[path[0]] = given[path[0]]
        return
    place: dict[str, Any] = values
    for part in path[:-1]:
        inner: Any = place.setdefault(part, {})
        if not isinstance(inner, dict):
            return
        place = cast("dict[str, Any]", inner)
    place.setdefault(path[-1], given.get(name, stand_in(name)))


def as_text_blocks(purpose: Purpose, request: ModelRequest) -> str:
    """A prompt as a reader sees it: what is sent stands unchanged under its heading."""
    prompt = request.prompt
    parts = [("system", prompt.prefix.rstrip("\n")), ("tools", prompt.block)]
    for turn in prompt.turns:
        parts += [("user (example)", turn.user), ("assistant (example)", turn.assistant)]
    parts.append(("user", prompt.tail))
    legal = " | ".join(request.labels) if request.by_word else ", ".join(request.legal)
    head = f"=== {purpose}: {request.form}, {legal}" if request.form != "text" else f"=== {purpose}: text"
    constraint = json.dumps(request.constraint, ensure_ascii=False) if request.constraint else ""
    tail = [f"--- constraint\n{constraint}"] if constraint else []
    return "\n".join([head, *(f"--- {name}\n{text}" for name, text in parts), *tail])


def as_json(purpose: Purpose, request: ModelRequest) -> dict[str, Any]:
    """The same for `--json`."""
    prompt = request.prompt
    return {
        "purpose": purpose,
        "form": request.form,
        "legal": list(request.legal),
        "labels": list(request.labels),
        "by_word": request.by_word,
        "constraint": request.constraint,
        "max_tokens": request.max_tokens,
        "system": prompt.prefix,
        "tools": prompt.block,
        "turns": [{"user": turn.user, "assistant": turn.assistant} for turn in prompt.turns],
        "user": prompt.tail,
    }
