"""The JSON Schema of what an expression gives, so that a name can have its type."""

from __future__ import annotations

from typing import cast

from sopwith.expr.shape import Kind, Schema, Shape, Shapes
from sopwith.ir.value import Json

_TYPES: dict[Kind, str] = {
    "null": "null", "bool": "boolean", "int": "integer", "double": "number", "string": "string", "list": "array",
    "map": "object",
}  # fmt: skip
_SHARED = ("$id", "$schema", "$defs", "definitions")


def schema_of(shapes: Shapes) -> Schema:
    """A schema that admits what `shapes` do; `{}` where that is not known."""
    if not shapes or any(shape.kind not in _TYPES for shape in shapes):
        return {}
    found = [_one(shape) for shape in shapes]
    return found[0] if len(found) == 1 else {"anyOf": cast("Json", found)}


def _one(shape: Shape) -> Schema:
    if shape.values is not None:
        return {"enum": list(shape.values)}
    if shape.schema is not None:
        return _rooted({**shape.schema, "type": _TYPES[shape.kind]}, shape.root)
    schema: Schema = {"type": _TYPES[shape.kind]}
    if shape.items is not None:
        schema["items"] = schema_of(shape.items)
    if shape.fields is not None:
        schema["properties"] = {name: schema_of(inner) for name, inner in shape.fields.items()}
        schema["required"] = list(shape.fields)
        schema["additionalProperties"] = False
    return schema


def _rooted(schema: Schema, root: Json) -> Schema:
    """`schema` with what its references point to; where that is elsewhere in its document, only its type is kept."""
    if not isinstance(root, dict) or root is schema:
        return schema
    document = cast("Schema", root)
    if any(not target.startswith(("#/$defs/", "#/definitions/")) for target in _targets(schema)):
        return {"type": schema["type"]}
    return {**{key: document[key] for key in _SHARED if key in document}, **schema}


def _targets(schema: Json) -> list[str]:
    """Where the references in a schema point to."""
    if isinstance(schema, list):
        return [target for item in cast("list[Json]", schema) for target in _targets(item)]
    if not isinstance(schema, dict):
        return []
    pairs = cast("Schema", schema)
    own = pairs.get("$ref")
    return [*([own] if isinstance(own, str) else []), *(t for item in pairs.values() for t in _targets(item))]
