"""Actions as the tools of a provider: every tool takes an object, whatever the action takes."""

from __future__ import annotations

import json
from typing import Any, cast

from sopwith.ir.coerce import parse_json
from sopwith.ir.value import Json
from sopwith.models.port import Action

_WRAP = "value"
_COMBINED = frozenset({"anyOf", "oneOf", "allOf"})


def parameters_of(action: Action, *, plain: bool = False) -> tuple[dict[str, Json], bool]:
    """The parameters of an action as a tool, and whether they had to be put under `value`.

    `plain`: the provider takes no alternatives at the top of a tool's schema.
    """
    schema: dict[str, Json] = {key: item for key, item in action.schema.items() if key != "$schema"}
    if not _is_object(schema) or (plain and _COMBINED & schema.keys()):
        definitions = {key: schema.pop(key) for key in ("$defs", "definitions") if key in schema}
        return {"type": "object", "properties": {_WRAP: schema}, "required": [_WRAP], **definitions}, True
    if "properties" not in schema:
        schema = {"type": "object", "properties": {}, **schema}
    return schema, False


def unwrapped(text: str) -> str:
    """The arguments that were put under `value`, as text; other text as it is."""
    try:
        value = parse_json(text)
    except ValueError:
        return text
    if isinstance(value, dict) and list(cast("dict[str, Any]", value)) == [_WRAP]:
        return json.dumps(value[_WRAP], ensure_ascii=False)
    return text


def _is_object(schema: dict[str, Json]) -> bool:
    return schema.get("type") == "object" or ("type" not in schema and "properties" in schema)
