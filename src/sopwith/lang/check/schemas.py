"""The JSON Schemas that a procedure holds are JSON Schemas, and say what was meant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from sopwith.errors import Text
from sopwith.ir.diagnostic import Diagnostic
from sopwith.ir.value import Json
from sopwith.lang.check.subject import Subject
from sopwith.lang.check.usable import schemas
from sopwith.lang.document import Path

_ONE = frozenset(
    (
        "additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not",
        "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
    )
)  # fmt: skip
_SEVERAL = frozenset(("allOf", "anyOf", "oneOf", "prefixItems", "items"))
_NAMED = frozenset(
    ("$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties")
)
_REST = frozenset(
    (
        "$anchor", "$comment", "$dynamicAnchor", "$dynamicRef", "$id", "$recursiveAnchor", "$recursiveRef", "$ref",
        "$schema", "$vocabulary", "const", "contentEncoding", "contentMediaType", "default", "dependentRequired",
        "deprecated", "description", "enum", "example", "examples", "exclusiveMaximum", "exclusiveMinimum", "format",
        "id", "maxContains", "maxItems", "maxLength", "maxProperties", "maximum", "minContains", "minItems",
        "minLength", "minProperties", "minimum", "multipleOf", "nullable", "pattern", "readOnly", "required", "title",
        "type", "uniqueItems", "writeOnly",
    )
)  # fmt: skip
KEYWORDS = _ONE | _SEVERAL | _NAMED | _REST
"""The keywords of all drafts, and those that others have made usual."""


def problems(subject: Subject) -> Iterator[Diagnostic]:
    """SW331, SW335."""
    for where, error in subject.unusable.values():
        yield subject.error("SW331", where, error.message, error.hint)
    for path, schema, _ in schemas(subject.procedure):
        for where in _cut_off(schema, path):
            message = Text(
                f"'{where[-1]}' is no keyword of JSON Schema, and has no value",
                f"“{where[-1]}”不是 JSON Schema 的关键字，也没有值",
            )
            yield subject.warning("SW335", where, message, _QUOTE)


_QUOTE = Text(
    "Inside { } a comma ends a value: put a text that has a comma in quotes.",
    "花括号内逗号会结束一个值：含逗号的文本请加引号。",
)


def _cut_off(schema: Json, path: Path) -> Iterator[Path]:
    """The keys of a schema that are probably the end of a text that a comma has cut in two."""
    if not isinstance(schema, dict):
        return
    for key, value in cast("dict[str, Any]", schema).items():
        where = (*path, key)
        if value is None and key not in KEYWORDS:
            yield where
        elif key in _SEVERAL and isinstance(value, list):
            for i, item in enumerate(cast("list[Json]", value)):
                yield from _cut_off(item, (*where, i))
        elif key in _NAMED and isinstance(value, dict):
            for name, item in cast("dict[str, Json]", value).items():
                yield from _cut_off(item, (*where, name))
        elif key in _ONE:
            yield from _cut_off(value, where)
