"""Grip bounded: the ways on that are open after a step, as the actions of one reply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sopwith.errors import ExpressionError, Text
from sopwith.ir.event import Purpose
from sopwith.ir.procedure import Example
from sopwith.ir.value import Json
from sopwith.lang.machine import CompiledEdge, Node, Use, named_uses
from sopwith.lang.numbering import label
from sopwith.models.port import Action, ModelRequest, Prompt, Turn
from sopwith.run.asking import after_references, after_rejections, readable, resolved_schema, said
from sopwith.run.block import narrowed
from sopwith.run.book import Book, describe_fields, harmless, step_words
from sopwith.run.condition import is_true
from sopwith.run.connected import role_of
from sopwith.run.form import MAX_TOKENS, Form
from sopwith.run.preview import as_text, described
from sopwith.run.reference_schema import widened
from sopwith.run.state import State
from sopwith.run.values import Values, long_parts, shown

_IF = Text("if {}", "条件：{}")
_OTHERWISE = Text("if nothing else fits", "其他都不适用时")
_ARGUMENTS = Text("arguments {}", "参数 {}")


@dataclass(frozen=True, slots=True)
class Option:
    """One way that is open: its edge, the step it leads to, and the action that takes it.

    `schema` is that of the action's arguments as a model fills them, `reading` the one they are held to; None where the
    step does its own work.
    """

    edge: CompiledEdge
    node: Node
    action: str
    schema: Mapping[str, Json] | None = None
    reading: Mapping[str, Json] | None = None


def options_of(book: Book, node: Node, state: State, values: Values) -> tuple[Option, ...]:
    """The ways on from `node` that are open, one for each step. Raises `ExpressionError` where a condition fails.

    `when` filters; `otherwise` is open where no `when` holds.
    """
    edges = [e for e in node.edges if e.condition is None or is_true(e.condition, book, state, values)]
    if any(edge.kind == "when" for edge in edges):
        edges = [edge for edge in edges if edge.kind != "otherwise"]
    first: dict[str, CompiledEdge] = {}
    for edge in edges:
        first.setdefault(edge.edge.to, edge)
    return tuple(_option(book, edge, state, values) for edge in first.values())


def _option(book: Book, edge: CompiledEdge, state: State, values: Values) -> Option:
    node = book.machine.nodes[edge.edge.to]
    action = book.block.way(node)
    if not book.block.filled_on_the_way(node):
        return Option(edge, node, action)
    if node.kind == "tool":
        return Option(edge, node, action, book.constraint(node), readable(node))
    try:
        told = resolved_schema(book, node, state, values.whole)
        true = resolved_schema(book, node, state, values.true) if node.dynamic_enums else told
    except ExpressionError:  # nothing to choose from: what is wrong there is found by the step itself
        return Option(edge, node, action, narrowed(node), {})
    return Option(edge, node, action, told, true)


def options_form(options: tuple[Option, ...]) -> Form:
    """The form of the reply: one of the actions, with its arguments."""
    reading = tuple(Action(one.action, "", dict(one.reading or {"type": "object"})) for one in options)
    return Form("next", tuple(one.action for one in options), None, reading)


def carried_form(book: Book, node: Node, purpose: Purpose, state: State, values: Values) -> Form:
    """The form in which the reply that chose the edge to `node` does the work of `node`."""
    schema = readable(node) if node.kind == "tool" else resolved_schema(book, node, state, values.true)
    action = book.block.way(node)
    return Form(purpose, (action,), None, (Action(action, "", schema),))


def options_request(
    book: Book, node: Node, options: tuple[Option, ...], state: State, values: Values
) -> ModelRequest:
    """The whole request: what the step and the open steps use, and one line an option."""
    inputs = book.procedure.inputs
    variables = {use.name: shown(use.path, state, inputs, values) for use in _uses(node, options)}
    lines = [_line(book, one, _words(book, one.node, state, values)) for one in options]
    tail = _tail(book, node, variables, lines, _words(book, node, state, values))
    schemas = {one.action: dict(one.schema) for one in options if one.schema is not None}
    tools = [one.action for one in options if one.schema is not None and one.node.kind == "tool"]
    known = long_parts((use.path for use in _uses(node, options)), state, inputs, values) if tools else {}
    wide = {action: widened(schemas[action], known) for action in tools}
    tail = after_references(book, tail, known, [s for action, s in wide.items() if s != schemas[action]])
    prefix = book.prefix_for(book.shape(node.step.model, role_of("next", choice=False)))
    prompt = Prompt(prefix, _turns(book, node, options), after_rejections(book, tail, state), book.block.text)
    return ModelRequest(
        prompt,
        "action",
        book.block.actions,
        tuple(one.action for one in options),
        constraints={**schemas, **wide},
        max_tokens=MAX_TOKENS,
    )


def _words(book: Book, node: Node, state: State, values: Values) -> str | None:
    """The words of a step with their values; None where they are constant, or their values are there only inside it."""
    try:
        return said(book, node, node.kind, state, values)
    except ExpressionError:
        return None


def _uses(node: Node, options: tuple[Option, ...]) -> tuple[Use, ...]:
    paths = [use.path for use in node.judge_uses]
    paths += [use.path for one in options if one.schema is not None for use in one.node.uses]
    return named_uses(tuple(paths))


def _tail(book: Book, node: Node, variables: Mapping[str, Json], lines: list[str], words: str | None) -> str:
    told = "\n".join(f"{name}: {harmless(as_text(value))}" for name, value in variables.items())
    number = book.machine.numbers.get(node.step.id, "")
    return book.file("next").fill(
        variables=told, number=number, step=step_words(node, "judge", words), options="\n".join(lines)
    )


def _line(book: Book, option: Option, words: str | None) -> str:
    """`- action: when it is right; the step; its arguments`, and below it the advice and the pitfalls of the way."""
    language, edge = book.language, option.edge.edge
    number = label(option.node.number, language)
    parts = [f"{number} {step_words(option.node, option.node.kind, words)}"]
    if edge.judge is not None:
        parts.append(_IF.in_(language).format(edge.judge))
    elif edge.otherwise:
        parts.append(_OTHERWISE.in_(language))
    if option.schema is not None:
        parts.append(_ARGUMENTS.in_(language).format(describe_fields(option.schema)))
    below = [f"  {edge.guidance}"] if edge.guidance else []
    below += [f"  ! {pitfall}" for pitfall in edge.pitfalls]
    return "\n".join([f"- {option.action}: {'; '.join(parts)}", *below])


def _turns(book: Book, node: Node, options: tuple[Option, ...]) -> tuple[Turn, ...]:
    """The worked choices of the step as turns, where every request has the same options and the choice says it all.

    An example that names a step whose arguments the reply fills has none to show, and is left out.
    """
    key = (node.step.id, "next")
    if any(edge.kind == "when" for edge in node.edges) or any(one.node.dynamic_enums for one in options):
        return ()
    found = book.forms.get(key)
    if found is None:
        if any(n.do is not None and not n.do.constant for n in (node, *(one.node for one in options))):
            made: list[Turn] = []
        else:
            lines = [_line(book, one, None) for one in options]
            made = [t for e in node.step.examples if (t := _turn(book, node, options, lines, e)) is not None]
        found = book.forms[key] = tuple(made)
    return found


def _turn(
    book: Book, node: Node, options: tuple[Option, ...], lines: list[str], example: Example
) -> Turn | None:
    chosen = next((one for one in options if one.edge.edge.to == example.answer), None)
    if chosen is None or chosen.schema is not None:
        return None
    given = {name: described(name, value) for name, value in example.given.items()}
    return Turn(_tail(book, node, given, lines, None), f'{{"name": "{chosen.action}", "arguments": {{}}}}')
