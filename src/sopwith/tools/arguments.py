"""The arguments of a call, judged by the schema of its tool."""

from __future__ import annotations

from typing import cast

from sopwith.errors import Text, UserError, ValueRefused
from sopwith.ir.schema import validator
from sopwith.ir.schema_problem import json_path
from sopwith.ir.tool import ErrorData, ToolSpec
from sopwith.ir.value import Json, storable

_OPEN = frozenset({
    "additionalProperties", "patternProperties", "unevaluatedProperties", "propertyNames",
    "$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas",
})  # fmt: skip
"""Keywords by which a schema itself says what else an object may hold."""


SAMPLE_KEY = "0" * 32
"""An idempotency key as the engine makes them: 32 hexadecimal digits."""


def problems(spec: ToolSpec, arguments: Json) -> tuple[str, ...]:
    """What is wrong with `arguments` for the tool `spec`: a sentence each, none when they may be passed.

    An argument that the schema does not list is a problem, also where JSON Schema would let it pass.
    """
    if not isinstance(arguments, dict):
        return ("$: must be an object with the arguments",)
    given = cast("dict[str, Json]", arguments)
    found = validator(spec.input_schema).problems(given)
    return found + tuple(
        f"{json_path((name,))}: there is no such argument; there is: {', '.join(_listed(spec)) or 'none'}"
        for name in given
        if name not in _listed(spec) and not _OPEN & spec.input_schema.keys()
    )


def prepared(spec: ToolSpec, arguments: dict[str, Json]) -> dict[str, Json] | ErrorData:
    """`arguments` as plain JSON where `spec` takes and lists them, for a tool that has no defaults of its own."""
    try:
        plain = cast("dict[str, Json]", storable(arguments))
    except ValueRefused as error:
        return ErrorData(code="invalid_arguments", message=error.message.en)
    found = problems(spec, plain)
    return ErrorData(code="invalid_arguments", message="; ".join(found)) if found else plain


def _listed(spec: ToolSpec) -> tuple[str, ...]:
    return tuple(cast("dict[str, Json]", spec.input_schema.get("properties", {})))


def without_key(schema: dict[str, Json], name: str) -> dict[str, Json]:
    """`schema` without the argument `name`, which takes the idempotency key. `UserError` where it cannot."""
    properties = cast("dict[str, Json]", schema["properties"])
    alone: dict[str, Json] = {**schema, "required": [], "properties": {name: properties[name]}}
    wrong = validator(alone).problems({name: SAMPLE_KEY})
    if wrong:
        raise UserError(
            Text(f"{name} cannot take the key: {wrong[0]}", f"{name} 不能接收幂等键：{wrong[0]}"),
            Text("Name another key_argument, or none.", "请改用其他 key_argument，或去掉它。"),
        )
    required = cast("list[Json]", schema.get("required", []))
    left = {
        "properties": {key: value for key, value in properties.items() if key != name},
        "required": [key for key in required if key != name],
    }
    return {key: left.get(key, value) for key, value in schema.items()}


def changes(arguments: dict[str, Json], prepared: dict[str, Json]) -> ErrorData | None:
    """The error where `prepared` says something else than `arguments` did; a default that it adds is none."""
    for name, value in arguments.items():
        if name not in prepared or prepared[name] != value:
            what = f"{json_path((name,))}: the tool would get another value than this: call it as prepared"
            return ErrorData(code="not_prepared", message=what)
    return None
