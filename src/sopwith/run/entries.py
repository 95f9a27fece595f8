"""Tools and procedures as entries of an index: the texts that they are found by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

from sopwith.find import Entry, Index
from sopwith.ir.procedure import Procedure
from sopwith.ir.tool import ToolSpec
from sopwith.ir.value import Json

IN_MEMORY = ":memory:"
DEPTH = 6
"""So deep the words of a schema are read."""

_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_MAPS = ("$defs", "definitions")


def tool_index(specs: Iterable[ToolSpec]) -> Index:
    """An index of tools, in memory, by their words: the same on every machine."""
    index = Index(IN_MEMORY, embedder=None)
    index.sync("tool", map(tool_entry, specs))
    return index


def procedure_index(procedures: Iterable[Procedure]) -> Index:
    """An index of procedures, in memory, by their words: the same on every machine."""
    index = Index(IN_MEMORY, embedder=None)
    index.sync("procedure", map(procedure_entry, procedures))
    return index


def tool_entry(spec: ToolSpec) -> Entry:
    """A tool: its name, its description, the words of its parameters, and its source with what that says of itself."""
    source, _, name = spec.name.rpartition(".")
    words = "\n".join(dict.fromkeys(schema_words(spec.input_schema)))
    return Entry(
        kind="tool",
        id=spec.name,
        name=name,
        description=spec.description,
        body=words,
        source=": ".join(part for part in (source, spec.about) if part),
    )


def procedure_entry(procedure: Procedure) -> Entry:
    """A procedure: its name, description, tags and examples, and the names of its steps."""
    return Entry(
        kind="procedure",
        id=procedure.id,
        name=procedure.name or procedure.id,
        description=procedure.description,
        body="\n".join(step.name for step in procedure.steps.values() if step.name),
        tags=procedure.tags,
        examples=procedure.examples,
    )


def schema_words(schema: Json, depth: int = DEPTH) -> Iterator[str]:
    """The names of parameters, their descriptions and listed values, at any place of a schema."""
    if not isinstance(schema, dict) or depth == 0:
        return
    node = cast("dict[str, Json]", schema)
    for key in ("title", "description"):
        if isinstance(node.get(key), str):
            yield node[key]
    listed = node.get("enum")
    if isinstance(listed, list):
        yield from (value for value in cast("list[Json]", listed) if isinstance(value, str))
    properties = node.get("properties")
    if isinstance(properties, dict):
        for name, item in cast("dict[str, Json]", properties).items():
            yield name
            yield from schema_words(item, depth - 1)
    for key in ("items", "additionalProperties"):
        yield from schema_words(node.get(key), depth - 1)
    for key in _LISTS:
        parts = node.get(key)
        for part in cast("list[Json]", parts) if isinstance(parts, list) else ():
            yield from schema_words(part, depth - 1)
    for key in _MAPS:
        parts = node.get(key)
        for part in cast("dict[str, Json]", parts).values() if isinstance(parts, dict) else ():
            yield from schema_words(part, depth - 1)
