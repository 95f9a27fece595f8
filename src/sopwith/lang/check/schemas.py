"""The JSON Schemas that a procedure holds are JSON Schemas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from sopwith.errors import UserError
from sopwith.ir.diagnostic import Diagnostic
from sopwith.ir.schema import validator
from sopwith.ir.value import Json
from sopwith.lang.check.subject import Subject
from sopwith.lang.document import Path


def problems(subject: Subject) -> Iterator[Diagnostic]:
    """SW331."""
    procedure = subject.procedure
    for name, one in procedure.inputs.items():
        yield from _schema(subject, ("inputs", name), one.schema_)
    if procedure.output is not None:
        yield from _schema(subject, ("output",), procedure.output)
    for name, step in procedure.steps.items():
        if step.returns is not None:
            yield from _schema(subject, ("steps", name, "returns"), step.returns)


def _schema(subject: Subject, path: Path, schema: dict[str, Json]) -> Iterator[Diagnostic]:
    try:
        validator(without_dynamic(schema))
    except UserError as error:
        yield subject.error("SW331", path, error.message, error.hint)


def without_dynamic(schema: Json) -> Json:
    """`schema` without the `enum`s that are expressions; itself where it has none."""
    if isinstance(schema, list):
        items = cast("list[Any]", schema)
        changed = [without_dynamic(item) for item in items]
        return items if all(new is old for new, old in zip(changed, items, strict=True)) else changed
    if not isinstance(schema, dict):
        return schema
    fields = cast("dict[str, Any]", schema)
    kept = {
        key: without_dynamic(item)
        for key, item in fields.items()
        if not (key == "enum" and isinstance(item, str) and "${" in item)
    }
    same = len(kept) == len(fields) and all(kept[key] is item for key, item in fields.items())
    return fields if same else kept
