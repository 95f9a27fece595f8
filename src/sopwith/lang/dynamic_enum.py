"""Schemas whose `enum`s are expressions, which only a run can fill in."""

from __future__ import annotations

from typing import Any, cast

from sopwith.ir.value import Json


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
