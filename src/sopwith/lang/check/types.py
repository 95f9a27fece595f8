"""The types of names: of the inputs, the run, an error, and of what each step writes."""

from __future__ import annotations

from typing import Any, cast

from sopwith.ir.procedure import Procedure, Step
from sopwith.ir.tool import ToolSpec
from sopwith.ir.value import Json

Schema = dict[str, Json]

_TEXT: Schema = {"type": "string"}

RUN: Schema = {
    "type": "object",
    "additionalProperties": False,
    "required": ["id", "date", "request", "principal"],
    "properties": {
        "id": _TEXT,
        "date": {"type": "string", "format": "date"},
        "request": _TEXT,
        "principal": {
            "type": "object",
            "additionalProperties": False,
            "required": ["id", "roles"],
            "properties": {"id": _TEXT, "roles": {"type": "array", "items": _TEXT}},
        },
    },
}
"""What expressions see as `run`, and what an input may come from."""

ERROR: Schema = {
    "type": "object",
    "additionalProperties": False,
    "required": ["code", "message", "step", "item"],
    "properties": {
        "code": _TEXT,
        "message": _TEXT,
        "step": {"type": ["string", "null"]},
        "item": {"type": ["integer", "null"]},
    },
}
"""What expressions see as `error` where a failure has led."""


def facts(schema: Schema = RUN, before: str = "run") -> tuple[str, ...]:
    """The facts of the run, by their dotted paths."""
    found: list[str] = []
    properties: dict[str, Any] = schema.get("properties", {})
    for name, inner in properties.items():
        path = f"{before}.{name}"
        found.extend(facts(inner, path) if inner.get("properties") else (path,))
    return tuple(found)


def inputs_type(procedure: Procedure) -> Schema:
    """All inputs as one object: each has a value before the first step."""
    inputs = procedure.inputs
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(inputs),
        "properties": {name: _resource(one.schema_, name) for name, one in inputs.items()},
    }


def step_type(step: Step, tool: ToolSpec | None, callee: Procedure | None = None) -> Schema:
    """The schema of what a step writes; `{}` where nothing is known. `tool` is the step's, `callee` the procedure that
    it calls, if known."""
    one = work_type(step, tool, callee)
    if step.each is None:
        return one
    return {
        "type": "array",
        "items": _collected(one) if step.each.on_item_error == "collect" else own_root(one),
    }


def _collected(one: Schema) -> Schema:
    """What a step over a list that collects errors has for each item."""
    failed: Schema = {
        "type": "object",
        "required": ["code", "message"],
        "properties": {"code": _TEXT, "message": _TEXT},
    }
    return {
        "type": "object",
        "required": ["ok"],
        "properties": {"ok": {"type": "boolean"}, "value": own_root(one), "error": failed},
        "additionalProperties": False,
    }


def own_root(schema: Schema) -> Schema:
    """`schema` as it can stand inside another one."""
    return _resource(schema, "one")


def work_type(step: Step, tool: ToolSpec | None, callee: Procedure | None = None) -> Schema:
    """The schema of what a step's work gives, once or for one item."""
    match step.work:
        case "tool":
            return (tool and tool.output_schema) or step.returns or {}
        case "answer":
            return _TEXT
        case "ask":
            return step.returns or _TEXT
        case "returns" | "free" | "wait":
            return step.returns or {}
        case "call":
            return _output_of(callee)
        case _:
            return {}


def _output_of(callee: Procedure | None) -> Schema:
    """What a call gives: the output of the procedure, or nothing where it has none."""
    if callee is None:
        return {}
    return {"type": "null"} if callee.output is None else callee.output


def joined(schemas: list[Schema]) -> Schema:
    """The type of a name that exclusive arms write."""
    if len(schemas) == 1:
        return schemas[0]
    if not all(schemas):
        return {}
    return {"anyOf": [_resource(schema, str(i)) for i, schema in enumerate(schemas)]}


def _resource(schema: Schema, name: str) -> Schema:
    """`schema` as a resource of its own, so that its `$ref`s still point into itself when it is embedded."""
    return schema if "$id" in schema or not _refers(schema) else {"$id": f"urn:sopwith:{name}", **schema}


def _refers(schema: Json) -> bool:
    if isinstance(schema, dict):
        inside = cast("dict[str, Any]", schema)
        return "$ref" in inside or any(map(_refers, inside.values()))
    return isinstance(schema, list) and any(map(_refers, cast("list[Any]", schema)))
