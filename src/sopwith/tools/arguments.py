"""The arguments of a call, judged by the schema of its tool."""

from __future__ import annotations

from typing import cast

from sopwith.ir.schema import json_path, validator
from sopwith.ir.tool import ErrorData, ToolSpec
from sopwith.ir.value import Json

_OPEN = frozenset({
    "additionalProperties", "patternProperties", "unevaluatedProperties", "propertyNames",
    "$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas",
})  # fmt: skip
"""Keywords by which a schema itself says what else an object may hold."""


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


def _listed(spec: ToolSpec) -> tuple[str, ...]:
    return tuple(cast("dict[str, Json]", spec.input_schema.get("properties", {})))


def changes(arguments: dict[str, Json], prepared: dict[str, Json]) -> ErrorData | None:
    """The error where `prepared` says something else than `arguments` did; a default that it adds is none."""
    for name, value in arguments.items():
        if name not in prepared or prepared[name] != value:
            what = f"{json_path((name,))}: the tool would get another value than this: call it as prepared"
            return ErrorData(code="not_prepared", message=what)
    return None
