"""The arguments of a call: stringified parts decoded where the schema says so, then judged by it."""

from __future__ import annotations

from typing import cast

from sopwith.ir.coerce import coerce
from sopwith.ir.schema import json_path, validator
from sopwith.ir.tool import ToolSpec
from sopwith.ir.value import Json

_OPEN = frozenset({
    "additionalProperties", "patternProperties", "unevaluatedProperties", "propertyNames",
    "$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas",
})  # fmt: skip
"""Keywords by which a schema itself says what else an object may hold."""


def normalise(schema: dict[str, Json], arguments: Json) -> tuple[Json, tuple[str, ...]]:
    """`arguments` with what arrived as text decoded as `schema` declares it, and a line for each repair.

    Nothing else changes: no default is filled in, no text that may be text is touched. What cannot be
    read as an object stays what it is: `problems` judges it.
    """
    return coerce(schema, arguments)


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
