"""The schemas of an OpenAPI document as those of tools: JSON Schema 2020-12, together with what they refer to.

OpenAPI 3.0 has its own dialect (`nullable`, `exclusiveMinimum: true`, `example`); that of 3.1 is JSON Schema itself.
References stay references: what they mean is carried along under `$defs`, where every reader of schemas looks for it,
a schema of `#/components/schemas` under its own name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, cast
from urllib.parse import unquote

from sopwith.errors import Text, UserError
from sopwith.ir.coerce import resolve
from sopwith.ir.value import Json

Way = Literal["input", "output"]
"""Whether a schema is that of what is sent or of what comes back: some properties belong to one only."""

_SCHEMAS = "#/components/schemas/"
_DEFINITIONS = "#/$defs/"
_ONE = frozenset({
    "items", "additionalProperties", "additionalItems", "unevaluatedProperties", "unevaluatedItems", "not", "if",
    "then", "else", "contains", "propertyNames", "contentSchema",
})  # fmt: skip
_SEVERAL = frozenset({"allOf", "anyOf", "oneOf", "prefixItems", "items"})
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_DROPPED = frozenset({"xml", "externalDocs", "discriminator"})
_JOINED = frozenset({"$ref", "allOf", "anyOf", "oneOf"})
_WORDS = frozenset({"title", "description", "default", "examples", "deprecated"})
_ABSENT = {"input": "readOnly", "output": "writeOnly"}


class SchemaReader:
    """Reads the schemas of one document. `old`: of OpenAPI 3.0."""

    def __init__(self, document: Mapping[str, Json], *, old: bool) -> None:
        self._document = cast("dict[str, Json]", document)
        self._old = old
        dialect = document.get("jsonSchemaDialect")
        known = isinstance(dialect, str) and "json-schema.org" in dialect
        self._dialect: dict[str, Json] = {"$schema": dialect} if known and not old else {}

    def whole(self, schema: Json, way: Way) -> dict[str, Json]:
        """`schema` as one that stands alone. Raises `UserError` for a reference that leads nowhere or outside."""
        walk = _Walk(self._document, self._old, way)
        read = walk.schema(schema)
        root: dict[str, Json] = {} if read is True else {"not": {}}
        if isinstance(read, dict):
            root = cast("dict[str, Json]", read)
        carried = walk.carried()
        definitions = {**cast("dict[str, Json]", root.get("$defs", {})), **carried}
        return {**self._dialect, **root, **({"$defs": definitions} if definitions else {})}


class _Walk:
    """One translation, and the references that it has met."""

    def __init__(self, document: dict[str, Json], old: bool, way: Way) -> None:
        self._document = document
        self._old = old
        self._absent = _ABSENT[way]
        self._waiting: list[str] = []
        self._met: dict[str, str] = {}

    def carried(self) -> dict[str, Json]:
        """What the references mean, under the names by which they are known now."""
        found: dict[str, Json] = {}
        while self._waiting:
            pointer = self._waiting.pop(0)
            target = resolve(self._document, pointer)
            if target is None:
                raise UserError(Text(f"$ref: there is no {pointer}", f"$ref：没有 {pointer}"))
            found[unquote(self._met[pointer]).replace("~1", "/").replace("~0", "~")] = self.schema(target)
        return found

    def schema(self, schema: Json) -> Json:
        """`schema` in the words of JSON Schema 2020-12."""
        if not isinstance(schema, dict):
            return schema
        node: dict[str, Json] = {}
        for key, value in cast("dict[str, Json]", schema).items():
            if key in _DROPPED or key.startswith("x-"):
                continue
            node[key] = self._value(key, value)
        self._leave_out(cast("dict[str, Json]", schema), node)
        return _modern(node) if self._old else node

    def _value(self, key: str, value: Json) -> Json:
        if key == "$ref" and isinstance(value, str):
            return self._reference(value)
        if key in _SEVERAL and isinstance(value, list):
            return [self.schema(each) for each in cast("list[Json]", value)]
        if key in _ONE:
            return self.schema(value)
        if key in _NAMED and isinstance(value, dict):
            return {name: self.schema(each) for name, each in cast("dict[str, Json]", value).items()}
        return value

    def _leave_out(self, schema: dict[str, Json], node: dict[str, Json]) -> None:
        """Take out what is never sent (`readOnly`), or never comes back (`writeOnly`)."""
        properties = schema.get("properties")
        if not isinstance(properties, dict):
            return
        gone = {n for n, each in cast("dict[str, Json]", properties).items() if self._is_absent(each)}
        if not gone:
            return
        kept = cast("dict[str, Json]", node["properties"])
        node["properties"] = {name: each for name, each in kept.items() if name not in gone}
        if isinstance(node.get("required"), list):
            node["required"] = [name for name in cast("list[Json]", node["required"]) if name not in gone]

    def _is_absent(self, schema: Json) -> bool:
        if not isinstance(schema, dict):
            return False
        node = cast("dict[str, Json]", schema)
        ref = node.get("$ref")
        target = resolve(self._document, ref) if isinstance(ref, str) else None
        return node.get(self._absent) is True or (
            isinstance(target, dict) and cast("dict[str, Json]", target).get(self._absent) is True
        )

    def _reference(self, ref: str) -> str:
        """How `ref` is written in the schema that stands alone; its target is carried along."""
        if not ref.startswith("#/"):
            if ref.startswith("#") and not self._old:
                return ref
            raise UserError(
                Text(f"$ref: {ref} is in another document", f"$ref：{ref} 在另一个文档中"),
                Text("Bundle the documents into one.", "请把这些文档合并为一个。"),
            )
        parts = ref.split("/")
        inside = ref.startswith(_SCHEMAS)
        pointer = "/".join(parts[:4]) if inside else ref
        if pointer not in self._met:
            other = "_".join(unquote(part).replace("~1", "-") for part in parts[1:])
            self._met[pointer] = parts[3] if inside else other
            self._waiting.append(pointer)
        return "/".join((_DEFINITIONS + self._met[pointer], *(parts[4:] if inside else ())))


def _modern(node: dict[str, Json]) -> dict[str, Json]:
    """A schema of OpenAPI 3.0 as one of JSON Schema."""
    node = dict(node)
    for limit, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(node.get(exclusive), bool):
            strict = node.pop(exclusive)
            if strict and limit in node:
                node[exclusive] = node.pop(limit)
    if "example" in node:
        node["examples"] = [node.pop("example")]
    if node.pop("nullable", False) is not True:
        return node
    if _JOINED & node.keys():
        words = {key: node.pop(key) for key in [key for key in node if key in _WORDS]}
        return {"anyOf": [node, {"type": "null"}], **words}
    if isinstance(node.get("type"), str):
        node["type"] = [node["type"], "null"]
    if isinstance(choices := node.get("enum"), list) and None not in choices:
        node["enum"] = [*cast("list[Json]", choices), None]
    return node
