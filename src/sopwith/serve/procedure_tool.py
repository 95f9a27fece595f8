"""A procedure as a tool that others call: its name, what it takes, what it gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from sopwith.errors import Text as Said
from sopwith.errors import UserError
from sopwith.ir.procedure import Procedure
from sopwith.ir.schema import together, validator
from sopwith.ir.tool import Effect, ToolSpec
from sopwith.ir.value import Json
from sopwith.lang.request import reader_of_request
from sopwith.tools.names import alias

Schema = dict[str, Json]

_REQUEST = Said("what is asked for, in the words of whoever asks", "请求内容，请用提出者的原话")
_FITS = Said("see the input schema of the tool", "参见该工具的输入 schema")


@dataclass(frozen=True, slots=True)
class ProcedureTool:
    """One procedure: `name` is `[A-Za-z0-9_-]{1,64}`; `request` the argument that becomes the request of the run, or
    None where nobody reads it; `effect` the strongest of its tools and of those of the procedures that it calls."""

    procedure: Procedure
    name: str
    description: str
    input_schema: Schema
    output_schema: Schema
    request: str | None
    effect: Effect

    def read(self, arguments: Mapping[str, Json]) -> tuple[str, dict[str, Json]]:
        """The request and the inputs in the arguments of a call. Raises `UserError` where they do not fit."""
        hold_to(self.input_schema, arguments)
        inputs = {name: value for name, value in arguments.items() if name != self.request}
        return (str(arguments[self.request]) if self.request else ""), inputs


def hold_to(schema: Schema, arguments: Mapping[str, Json]) -> None:
    """Raise `UserError` where the arguments of a call do not fit."""
    problems = validator(schema).problems(dict(arguments))
    if problems:
        said = together(problems)
        raise UserError(Said(f"the arguments do not fit: {said.en}", f"参数不合要求：{said.zh}"), _FITS)


def procedure_tool(
    procedure: Procedure,
    library: Mapping[str, Procedure],
    specs: Mapping[str, ToolSpec],
    language: str,
) -> ProcedureTool:
    """The tool that a checked procedure is; `library` has what it calls, `specs` are the tools by name.

    Every input that a caller passes is required: what is left out would be guessed from a text by another model.
    """
    passed = {name: item.schema_ for name, item in procedure.inputs.items() if item.from_ is None}
    request = None
    if reader_of_request(procedure, passed) is not None:
        request = "request" if "request" not in passed else "run_request"
    properties: Schema = {}
    shared: Schema = {}
    for name, schema in passed.items():
        properties[name] = _moved(schema, name, shared)
    if request is not None:
        properties[request] = {"type": "string", "minLength": 1, "description": _REQUEST.in_(language)}
    takes: Schema = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return ProcedureTool(
        procedure,
        alias(procedure.id),
        "\n".join(
            filter(
                None, (procedure.description or procedure.name, *(f"- {one}" for one in procedure.examples))
            )
        ),
        takes | ({"$defs": shared} if shared else {}),
        result_schema(procedure.output),
        request,
        _effect(_family(procedure, library), specs),
    )


def result_schema(output: Schema | None = None) -> Schema:
    """What a call gives: the run and its status, and of one that has completed the `output`."""
    shared: Schema = {}
    given: Json = {} if output is None else _moved(output, "output", shared)
    found: Schema = {
        "type": "object",
        "required": ["run", "status"],
        "properties": {
            "run": {"type": "string"},
            "status": {"enum": list(STATUSES)},
            "output": given,
            "answer": {"type": "string"},
            "reason": {"type": "string"},
            "waits_for": {"type": "object"},
            "go_on": {"type": "string"},
        },
    }
    return found | ({"$defs": shared} if shared else {})


STATUSES = ("completed", "suspended", "running", "escalated", "denied", "exhausted", "cancelled", "failed")


def _family(procedure: Procedure, library: Mapping[str, Procedure]) -> list[Procedure]:
    """A procedure, what it calls, and what these call."""
    found = {procedure.id: procedure}
    left = list(procedure.callees())
    while left:
        name = left.pop()
        if name not in found and name in library:
            found[name] = library[name]
            left += library[name].callees()
    return list(found.values())


def _effect(procedures: Iterable[Procedure], specs: Mapping[str, ToolSpec]) -> Effect:
    effects = {specs[name].effect for each in procedures for name in each.permitted_tools() if name in specs}
    return next((one for one in (Effect.IRREVERSIBLE, Effect.WRITE) if one in effects), Effect.READ)


def _moved(schema: Schema, name: str, shared: Schema) -> Schema:
    """A schema as part of another one: where it points into itself it becomes one of the `shared` definitions."""
    at = f"#/$defs/{name}"
    moved = cast("Schema", _pointing(schema, at))
    if moved == schema:
        return schema
    shared[name] = moved
    return {"$ref": at}


def _pointing(schema: Json, at: str) -> Json:
    """`schema` with each `$ref` into itself as one to where the whole of it stands."""
    if isinstance(schema, list):
        return [_pointing(each, at) for each in cast("list[Json]", schema)]
    if not isinstance(schema, dict):
        return schema
    return {
        key: at + value.removeprefix("#")
        if key == "$ref" and isinstance(value, str) and (value == "#" or value.startswith("#/"))
        else value
        if key in ("const", "enum")
        else _pointing(value, at)
        for key, value in cast("Schema", schema).items()
    }
