"""From a procedure and its tools to a machine: everything that does not depend on a run is decided here,
once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

from sopwith.errors import Text, UserError
from sopwith.expr.expression import parse
from sopwith.expr.template import Template, parse_template
from sopwith.ir.procedure import Edge, Grip, Procedure, Step, matching
from sopwith.ir.tool import Effect, ToolSpec
from sopwith.ir.value import Json
from sopwith.lang.graph import graph
from sopwith.lang.machine import (
    FREE_STEP,
    Choice,
    CompiledEach,
    CompiledEdge,
    DynamicEnum,
    Machine,
    Node,
    named_uses,
)
from sopwith.lang.numbering import numbers
from sopwith.lang.region import grip_of, regions_of, with_demands

CYCLE_VISITS = 3
"""How often a step on a cycle may be entered where its procedure does not say."""

MAX_CHOICES = 26
"""A choice is answered with one letter."""

AT_ONCE = 4
"""So many items of a list are at work at once where its step does not say and does not write."""

_Path = tuple[str, ...]


def compile_procedure(
    procedure: Procedure, tools: Mapping[str, ToolSpec], grip: Grip | None = None
) -> Machine:
    """The machine of a procedure that passes `check` with these tools.

    `grip` replaces the procedure's own. Raises `UserError` for a tool that is not there, `ExpressionError`
    for an expression that cannot be parsed.
    """
    held = grip or procedure.grip
    listed = matching(procedure.permitted_tools(), tools)
    known = {*listed, *matching(procedure.step_tools(), tools)}
    permitted = {name: _tool(tools, name) for name in sorted(known)}
    if held is Grip.FREE:
        number = {FREE_STEP: "1"}
        steps = {FREE_STEP: _free_step(procedure, listed)}
        start, cyclic = FREE_STEP, frozenset[str]()
    else:
        number, steps = numbers(procedure), {n: _listed(step, tools) for n, step in procedure.steps.items()}
        start, cyclic = procedure.start, graph(procedure).cyclic
    if procedure.model is not None:
        steps = {
            name: step.model_copy(update={"model": step.model or procedure.model})
            for name, step in steps.items()
        }
    nodes = {
        name: _node(step, number[name], held, permitted, CYCLE_VISITS if name in cyclic else 1)
        for name, step in steps.items()
    }
    return Machine(
        procedure=procedure,
        hash=procedure.digest(),
        grip=held,
        start=start,
        nodes=nodes,
        tools=permitted,
        permitted=listed,
        numbers=number,
        output_schema=procedure.output,
        verify=None if procedure.verify is None else parse(procedure.verify),
        regions={} if held is Grip.FREE else with_demands(procedure, regions_of(procedure, held)),
    )


def _tool(tools: Mapping[str, ToolSpec], name: str) -> ToolSpec:
    if name in tools:
        return tools[name]
    raise UserError(
        Text(f"the tool '{name}' is not connected", f"未连接工具“{name}”"),
        Text("connect its source, or correct the name", "请连接它的来源，或更正名称"),
    )


def _listed(step: Step, tools: Mapping[str, ToolSpec]) -> Step:
    """A step with the names of the tools that its list stands for."""
    if step.tools is None or not any("*" in entry for entry in step.tools):
        return step
    return step.model_copy(update={"tools": matching(step.tools, tools)})


def _free_step(procedure: Procedure, tools: tuple[str, ...]) -> Step:
    """The whole procedure as one step: what it is for, its tools, its output."""
    words = procedure.description or procedure.name or procedure.id
    return Step(
        id=FREE_STEP,
        name=procedure.name or None,
        do=words.replace("${", "$${"),
        tools=tools,
        returns=procedure.output,
        uses=tuple(f"inputs.{name}" for name in procedure.inputs),
        timeout=procedure.timeout,
        grip=Grip.FREE,
        end="complete",
    )


def _node(step: Step, number: str, grip: Grip, tools: Mapping[str, ToolSpec], visits: int) -> Node:
    """The compiled step; one over a list holds what it is for one item."""
    node = _working_node(step, number, grip, tools, visits)
    if step.each is None:
        return node
    writes = step.call is not None or (node.tool is not None and node.tool.effect is not Effect.READ)
    each = CompiledEach(
        over=parse_template(step.each.in_),
        name=step.each.as_,
        at_once=step.each.at_once or (1 if writes else AT_ONCE),
        collect=step.each.on_item_error == "collect",
        limit=step.each.limit,
        node=node,
    )
    return replace(node, kind="each", ready=False, verify=None, choices=(), each=each)


def _working_node(step: Step, number: str, grip: Grip, tools: Mapping[str, ToolSpec], visits: int) -> Node:
    tool = None if step.tool is None else tools[step.tool]
    arguments = parse_template(step.with_)
    words = {key: _template(getattr(step, key)) for key in ("do", "answer", "ask")}
    call = None if step.call is None else parse_template(step.call.with_)
    bound = tuple(step.with_)
    free = () if tool is None else _free_parameters(tool, step)
    uses = _uses(step, (arguments, *(t for t in (*words.values(), call) if t is not None)))
    return Node(
        step=step,
        kind=step.work,
        number=number,
        grip=grip_of(step, grip),
        tool=tool,
        arguments=arguments,
        bound=bound,
        free=free,
        ready=step.work == "tool" and not free,
        uses=named_uses(uses),
        judge_uses=named_uses(_judge_uses(step, uses)),
        returns=step.returns,
        dynamic_enums=tuple(_dynamic_enums(step.returns, ())),
        choices=_choices(step.returns),
        do=words["do"],
        answer=words["answer"],
        ask=words["ask"],
        verify=None if step.verify is None else parse(step.verify),
        edges=_edges(step.next),
        on_error=_edges(step.on_error),
        result=None if step.result is None else parse_template(step.result),
        writes=step.writes,
        visits=step.visits or visits,
        call=call,
        pause=None if step.wait is None else _template(step.wait.until or step.wait.for_),
    )


def _template(text: str | None) -> Template | None:
    return None if text is None else parse_template(text)


def _edges(edges: tuple[Edge, ...]) -> tuple[CompiledEdge, ...]:
    return tuple(
        CompiledEdge(edge, i, _edge_kind(edge), None if edge.when is None else parse(edge.when))
        for i, edge in enumerate(edges)
    )


def _edge_kind(edge: Edge) -> Any:
    if edge.when is not None:
        return "when"
    if edge.judge is not None:
        return "judge"
    return "otherwise" if edge.otherwise else "always"


def _free_parameters(tool: ToolSpec, step: Step) -> tuple[str, ...]:
    """What the model fills: what is required and not bound, and with a `do` also what is optional."""
    properties, required = parameters(tool.input_schema)
    return tuple(
        name for name in properties if name not in step.with_ and (name in required or step.do is not None)
    )


def parameters(schema: Mapping[str, Json]) -> tuple[dict[str, Json], frozenset[str]]:
    """The properties of an arguments schema in their order, and which are required.

    A `$ref` at the root and the parts of an `allOf` are followed. A required name without a property accepts
    anything.
    """
    properties: dict[str, Json] = {}
    required: dict[str, None] = {}
    todo: list[Any] = [schema]
    seen: set[str] = set()
    while todo:
        part = todo.pop(0)
        if not isinstance(part, Mapping):
            continue
        found = cast("Mapping[str, Json]", part)
        properties.update(cast("dict[str, Json]", found.get("properties") or {}))
        required.update(dict.fromkeys(cast("list[str]", found.get("required") or ())))
        todo += found.get("allOf") or ()
        target = found.get("$ref")
        if isinstance(target, str) and target not in seen:
            seen.add(target)
            todo.append(_pointer(schema, target))
    for name in required:
        properties.setdefault(name, {})
    return properties, frozenset(required)


def _pointer(schema: Json, reference: str) -> Json:
    """What a local reference (`#/$defs/x`) points to, or None."""
    if reference != "#" and not reference.startswith("#/"):
        return None
    found = schema
    for part in reference.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        found = cast("Any", found).get(key) if isinstance(found, Mapping) else None
    return found


def _uses(step: Step, templates: tuple[Template, ...]) -> tuple[_Path, ...]:
    """The paths that the step says it uses, or those that its words and arguments read."""
    if step.uses is not None:
        return tuple(dict.fromkeys(tuple(use.split(".")) for use in step.uses))
    paths = list(dict.fromkeys(path for template in templates for path in template.paths))
    if step.each is not None and all(path[0] != step.each.as_ for path in paths):
        paths.insert(0, (step.each.as_,))  # who works on an item sees it
    whole = set(paths)
    return tuple(p for p in paths if not any(p[:n] in whole for n in range(1, len(p))))


def _judge_uses(step: Step, uses: tuple[_Path, ...]) -> tuple[_Path, ...]:
    """What is seen where an edge is chosen: what the step used, but no single item, and its result."""
    item = None if step.each is None else step.each.as_
    seen = tuple(path for path in uses if path[0] != item)
    return (*seen, (step.writes,)) if step.writes else seen


def _dynamic_enums(schema: Json, path: tuple[str | int, ...]) -> Iterator[DynamicEnum]:
    """The schemas inside `schema` whose `enum` is an expression."""
    if isinstance(schema, list):
        for i, item in enumerate(cast("list[Json]", schema)):
            yield from _dynamic_enums(item, (*path, i))
    elif isinstance(schema, Mapping):
        for key, item in cast("Mapping[str, Json]", schema).items():
            if key == "enum" and isinstance(item, str):
                yield DynamicEnum(path, parse_template(item))
            else:
                yield from _dynamic_enums(item, (*path, key))


def _choices(schema: Mapping[str, Json] | None) -> tuple[Choice, ...]:
    """The options of a schema, where there are as many as letters can name."""
    found = options(schema)
    return found if 1 < len(found) <= MAX_CHOICES else ()


def options(schema: Mapping[str, Json] | None) -> tuple[Choice, ...]:
    """The values of a schema that is nothing but a choice: an `enum`, or `oneOf` / `anyOf` constants."""
    if schema is None:
        return ()
    found: list[Choice] = []
    if isinstance(schema.get("enum"), list):
        found = [Choice(value) for value in cast("list[Json]", schema["enum"])]
    for key in ("oneOf", "anyOf"):
        options = schema.get(key)
        if not isinstance(options, list) or found:
            continue
        for option in cast("list[Json]", options):
            if not isinstance(option, dict) or "const" not in option:
                return ()
            one = cast("dict[str, Json]", option)
            found.append(Choice(one["const"], str(one.get("description") or one.get("title") or "")))
    return tuple(found)
