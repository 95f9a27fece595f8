"""The arguments of a call, judged by the schema of its tool."""

from __future__ import annotations

from typing import cast

from sopwith.errors import Text, UserError, ValueRefused
from sopwith.ir.schema import together, validator
from sopwith.ir.schema_problem import json_path
from sopwith.ir.tool import ErrorData, ToolSpec
from sopwith.ir.value import Json, storable
from sopwith.tools.refusal import refusal

_OPEN = frozenset({
    "additionalProperties", "patternProperties", "unevaluatedProperties", "propertyNames",
    "$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas",
})  # fmt: skip
"""Keywords by which a schema itself says what else an object may hold."""


SAMPLE_KEY = "0" * 32
"""An idempotency key as the engine makes them: 32 hexadecimal digits."""


def problems(spec: ToolSpec, arguments: Json) -> tuple[Text, ...]:
    """What is wrong with `arguments` for the tool `spec`: a sentence each, none when they may be passed.

    An argument that the schema does not list is a problem, also where JSON Schema would let it pass.
    """
    if not isinstance(arguments, dict):
        return (Text("$: must be an object with the arguments", "$：应为含有各参数的对象"),)
    given = cast("dict[str, Json]", arguments)
    found = validator(spec.input_schema).problems(given)
    return found + tuple(
        no_argument(name, _listed(spec))
        for name in given
        if name not in _listed(spec) and not _OPEN & spec.input_schema.keys()
    )


def prepared(spec: ToolSpec, arguments: dict[str, Json]) -> dict[str, Json] | ErrorData:
    """`arguments` as plain JSON where `spec` takes and lists them, for a tool that has no defaults of its own."""
    try:
        plain = cast("dict[str, Json]", storable(arguments))
    except ValueRefused as error:
        return refusal("invalid_arguments", error.message)
    found = problems(spec, plain)
    return refusal("invalid_arguments", together(found)) if found else plain


def no_argument(name: str, listed: tuple[str, ...]) -> Text:
    """What is said of an argument that a tool does not take; it takes those `listed`."""
    path = json_path((name,))
    return Text(
        f"{path}: there is no such argument; there is: {', '.join(listed) or 'none'}",
        f"{path}：没有这个参数；可用的参数：{'、'.join(listed) or '无'}",
    )


def _listed(spec: ToolSpec) -> tuple[str, ...]:
    return tuple(cast("dict[str, Json]", spec.input_schema.get("properties", {})))


def without_key(schema: dict[str, Json], name: str) -> dict[str, Json]:
    """`schema` without the argument `name`, which takes the idempotency key. `UserError` where it cannot."""
    properties = cast("dict[str, Json]", schema["properties"])
    alone: dict[str, Json] = {**schema, "required": [], "properties": {name: properties[name]}}
    wrong = validator(alone).problems({name: SAMPLE_KEY})
    if wrong:
        raise UserError(
            Text(f"{name} cannot take the key: {wrong[0].en}", f"{name} 不能接收幂等键：{wrong[0].zh}"),
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
            path = json_path((name,))
            said = Text(
                f"{path}: the tool would get another value than this: call it as prepared",
                f"{path}：工具收到的值会与此不同：请按准备好的参数调用",
            )
            return refusal("not_prepared", said)
    return None
