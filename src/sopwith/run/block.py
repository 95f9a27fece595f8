"""The tool block of a machine: every action that a model may ever take in it, fixed before the first request."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import cast

from sopwith.ir.procedure import Grip
from sopwith.ir.tool import ToolSpec
from sopwith.ir.value import Json, canonical
from sopwith.lang.machine import Machine, Node
from sopwith.models.port import Action
from sopwith.run.disclosure import CALL, DESCRIBE, SAYS, SCHEMAS, SEARCH, about_tokens
from sopwith.tools.names import LONGEST, alias

FINISH = "finish"
READ = "read"
_FINISH = {"en": "end the task with its result, or give it to a person", "zh": "以结果结束任务，或转交人工"}
_LEAVE = {"en": "this part is done, or give the case to a person", "zh": "本部分已完成，或转交人工"}
_READ = {
    "en": 'look at a part of a value that is shown by its "$value"; to pass a value on, or a part of it, write '
    '{"$value": "NAME"} or {"$value": "NAME.key[0]"} as an argument',
    "zh": '查看以 "$value" 表示的值的一部分；要把值或其一部分作为参数传递，请写 '
    '{"$value": "名称"} 或 {"$value": "名称.键[0]"}',
}
_SLICE: dict[str, Json] = {
    "type": "object",
    "properties": {
        "value": {"type": "string", "maxLength": 200},
        "start": {"type": "integer", "minimum": 0},
        "end": {"type": "integer", "minimum": 0},
    },
    "required": ["value"],
    "additionalProperties": False,
}
_TEXT: dict[str, Json] = {"type": "string"}
_NOTHING: dict[str, Json] = {"type": "object", "properties": {}, "additionalProperties": False}


class Block:
    """The actions of a machine by name. Equal machines make equal bytes.

    A tool has its alias. What is no tool gets a name of its own, from the step that it belongs to: `returns_STEP` gives
    its value, `answer_STEP` its text, `ask_STEP` asks its question, `go_STEP` chooses it, `finish` ends. Where the
    definitions of the tools that no step names have more than about `tools_shown` tokens (None: however many),
    `search`, `describe` and `call` stand in their place.
    """

    def __init__(self, machine: Machine, language: str, tools_shown: int | None = None) -> None:
        self._machine = machine
        self._language = language
        self._tools_shown = tools_shown
        self._taken = frozenset(alias(name) for name in machine.tools)

    @cached_property
    def actions(self) -> tuple[Action, ...]:
        """All of them, sorted by name.

        A tool whose arguments are all bound is called without a model, which need not read about it.
        """
        found = {action.name: action for action in (*self._tools(), *self._synthetic())}
        return tuple(sorted(found.values(), key=lambda action: action.name))

    @cached_property
    def text(self) -> str:
        """The block as text: one JSON line an action, byte-stable."""
        return "<tools>\n" + "\n".join(map(_line, self.actions)) + "\n</tools>" if self.actions else ""

    def action(self, name: str) -> Action:
        """The action called `name`."""
        return next(action for action in self.actions if action.name == name)

    def name(self, node: Node) -> str:
        """The action that does the work of a step: its tool, or a synthetic one."""
        if node.tool is not None:
            return alias(node.tool.name)
        if node.kind == "free":
            return self.finish_name(node)
        if node.kind in ("returns", "answer", "ask"):
            return self._own(f"{node.kind}_{node.step.id}")
        return self._own(f"go_{node.step.id}")

    def way(self, node: Node) -> str:
        """The action that takes an edge to a step and, where a model works there, does its work with the same reply."""
        own = self.filled_on_the_way(node) and node.step.id not in self._alike
        return self.name(node) if own else self._own(f"go_{node.step.id}")

    def filled_on_the_way(self, node: Node) -> bool:
        """Whether the reply that chooses a step can do its work too: arguments, or a value that needs no confidence."""
        if node.grip is Grip.GUIDE:
            return False
        if node.kind == "returns":
            return node.step.min_confidence is None
        return node.kind == "tool" and not node.ready

    @cached_property
    def _alike(self) -> frozenset[str]:
        """Steps that share their tool with another one where a model chooses among both."""
        found: set[str] = set()
        for node in self._bounded():
            tools: dict[str, list[str]] = {}
            for target in self._targets(node):
                if target.tool is not None and not target.ready:
                    tools.setdefault(target.tool.name, []).append(target.step.id)
            found.update(step for steps in tools.values() if len(steps) > 1 for step in steps)
        return frozenset(found)

    def _bounded(self) -> Iterator[Node]:
        nodes = self._machine.nodes.values()
        return (node for node in nodes if node.grip is Grip.BOUNDED and len(self._targets(node)) > 1)

    def _targets(self, node: Node) -> list[Node]:
        return [self._machine.nodes[step] for step in dict.fromkeys(edge.edge.to for edge in node.edges)]

    @cached_property
    def takers(self) -> frozenset[str]:
        """The actions whose arguments may hold references: the calls of tools, and `finish`."""
        nodes = self._machine.nodes.values()
        ways = (self.way(node) for node in nodes if node.kind == "tool" and self.filled_on_the_way(node))
        return self._taken | frozenset((*self._finish_names.values(), *ways))

    def _own(self, name: str) -> str:
        """`name` as one that no tool has and every provider takes."""
        name = name if len(name) <= LONGEST else alias(name)
        return f"{name[: LONGEST - 1]}_" if name in self._taken else name

    def _tools(self) -> Iterator[Action]:
        nodes = self._machine.working
        shown = {node.tool.name for node in nodes if node.tool and not node.ready}
        shown.update(name for node in nodes if node.open for name in self.open_tools(node))
        for tool in self._machine.tools.values():
            if tool.name in shown and tool.name not in self.found_later:
                yield _action(tool)

    def _synthetic(self) -> Iterator[Action]:
        nodes = self._machine.nodes
        ways = {target.step.id for node in self._bounded() for target in self._targets(node)}
        filled = {step for step in ways if self.filled_on_the_way(nodes[step])}
        for node in self._machine.working:
            guided = node.grip is Grip.GUIDE and node.kind in ("returns", "answer", "ask")
            if node.kind == "returns" and (guided or not node.choices or node.step.id in filled):
                yield Action(self.name(node), node.step.title, static_schema(node.returns))
            elif guided:
                yield Action(
                    self.name(node), node.step.title, dict(_TEXT if node.kind == "answer" else _NOTHING)
                )
            if node.open:
                yield self.finish(node)
                if self.open_tools(node):
                    yield Action(self.read_name, _READ[self._language], _SLICE)
                if self.finds(node):
                    for name in (SEARCH, DESCRIBE, CALL):
                        yield Action(self._own(name), SAYS[name].in_(self._language), SCHEMAS[name])
        for step in ways:
            node = nodes[step]
            if step not in filled or self.way(node) != self.name(node):
                schema = narrowed(node) if step in filled else dict(_NOTHING)
                yield Action(self.way(node), node.step.title, schema)

    def open_tools(self, node: Node) -> tuple[str, ...]:
        """The tools that may be called in a transcript at `node`: its own list, also an empty one, or what the
        procedure permits. In a region those of its steps may be called at each of them: a step is gone to by its
        call."""
        if node.step.tools is None:
            return self._machine.permitted
        region = self._machine.regions.get(node.step.id)
        inside = () if region is None else (self._machine.nodes[step].tool for step in region.steps)
        return tuple(dict.fromkeys((*node.step.tools, *(tool.name for tool in inside if tool is not None))))

    @cached_property
    def found_later(self) -> frozenset[str]:
        """The tools that are not shown, and are found when they are needed; none where all of them are few."""
        nodes = self._machine.working
        own = {node.tool.name for node in nodes if node.tool is not None}
        later = {name for node in nodes if node.open for name in self.open_tools(node)} - own
        limit = self._tools_shown
        if limit is None or not later:
            return frozenset()
        size = sum(about_tokens(_line(_action(self._machine.tools[name]))) for name in sorted(later))
        return frozenset(later) if size > limit else frozenset()

    def finds(self, node: Node) -> bool:
        """Whether a model looks for tools in the transcript at `node`."""
        return not self.found_later.isdisjoint(self.open_tools(node))

    @cached_property
    def search_name(self) -> str:
        """The action that finds tools and procedures."""
        return self._own(SEARCH)

    @cached_property
    def describe_name(self) -> str:
        """The action that shows what was found."""
        return self._own(DESCRIBE)

    @cached_property
    def call_name(self) -> str:
        """The action that calls a tool that is not shown."""
        return self._own(CALL)

    def finish(self, node: Node) -> Action:
        """The action that ends the transcript at `node`: with a result, or by giving the case to a person."""
        region = self._machine.regions.get(node.step.id)
        schema = self.finish_schema(node)
        says = _FINISH if region is None or region.ends else _LEAVE
        return Action(self.finish_name(node), says[self._language], schema)

    @cached_property
    def read_name(self) -> str:
        """The action that looks at a part of a long value: in every block of a transcript with tools, so that a block
        never depends on what a run brings."""
        return self._own(READ)

    def finish_name(self, node: Node) -> str:
        """`finish`, and where others finish differently, with the step behind it."""
        return self._finish_names[node.step.id]

    @cached_property
    def _finish_names(self) -> dict[str, str]:
        by_schema: dict[bytes, str] = {}
        found: dict[str, str] = {}
        for node in self._machine.nodes.values():
            if node.open:
                name = f"{FINISH}_{node.step.id}" if by_schema else FINISH
                found[node.step.id] = by_schema.setdefault(
                    canonical(self.finish_schema(node)), self._own(name)
                )
        return found

    def finish_schema(self, node: Node) -> dict[str, Json]:
        """The arguments of `finish`: the result, or the reason for giving the case to a person."""
        result = self.result_schema(node)
        return {
            "type": "object",
            "properties": {
                "outcome": {"enum": ["complete", "escalate"]},
                "reason": {"type": "string", "maxLength": 200},
                **({} if result is None else {"result": result}),
            },
            "required": ["outcome"],
            "additionalProperties": False,
        }

    def result_schema(self, node: Node) -> dict[str, Json] | None:
        """What a free step, or a region with a completing end, must finish with; None where there is no result."""
        if node.kind == "free":
            return static_schema(node.returns) if node.returns is not None else dict(_TEXT)
        region = self._machine.regions[node.step.id]
        output = self._machine.output_schema
        return static_schema(output) if region.ends and output is not None else None


def _action(tool: ToolSpec) -> Action:
    return Action(alias(tool.name), tool.description, tool.input_schema)


def _line(action: Action) -> str:
    """An action as one line of JSON."""
    told = {"name": action.name, "description": action.description, "parameters": action.schema}
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"))


def static_schema(schema: Mapping[str, Json] | None) -> dict[str, Json]:
    """A schema for the stable block: an enum that is made from run data shows as its type only."""
    if schema is None:
        return {"type": "object"}
    return cast("dict[str, Json]", _without_dynamic(dict(schema)))


def _without_dynamic(value: Json) -> Json:
    if isinstance(value, dict):
        pairs = cast("dict[str, Json]", value)
        return {
            key: _without_dynamic(item)
            for key, item in pairs.items()
            if not (key == "enum" and isinstance(item, str))
        }
    return value


def narrowed(node: Node) -> dict[str, Json]:
    """The schema of what is left to the model at a step: bound arguments taken out."""
    if node.tool is None:
        return static_schema(node.returns)
    schema = dict(node.tool.input_schema)
    properties = cast("dict[str, Json]", schema.get("properties", {}))
    required = cast("list[str]", schema.get("required", []))
    schema["properties"] = {name: properties[name] for name in properties if name in node.free}
    schema["required"] = [name for name in required if name in node.free]
    schema["additionalProperties"] = False
    return schema
