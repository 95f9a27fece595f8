"""Values by chance: JSON Schemas of what procedures exchange, Python types that have them, and their instances."""

from __future__ import annotations

import operator
from functools import reduce
from random import Random
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

Schema = dict[str, Any]

WORDS = (
    "annual", "sick", "查询余额", "员工的原话", "3.5 days, at most", "（内部）", "a/b: not c", "Why? Because", "no",
    "on", "null", "007", "2026-01-01", "- dash", "wait… then go", "it's \"quoted\"", "#42", "with `code`", "*star*",
    "%", "& more", "{not: flow}", "@me", "多行\n文本", "é ü ß", "🙂", "$${escaped}", "a, b; c", "结束", "\\n",
    "  spaced  ",
)  # fmt: skip
"""Odd, but legal text."""

_FIELDS = (
    "kind",
    "state",
    "days",
    "amount",
    "note",
    "open",
    "hits",
    "owner",
    "score",
    "code",
    "place",
    "parts",
)
_ENUMS = (
    ["annual", "sick", "personal"], ["年假", "病假", "none_of_these"], ["ok", "late", "it's odd"], ["A", "B"],
    ["正式", "intern", "-", "null"], ["one"],
)  # fmt: skip


def record(rng: Random, depth: int = 0) -> Schema:
    """A schema of an object with one to four fields, some of them optional."""
    names = rng.sample(_FIELDS, rng.randint(1, 4))
    required = [name for name in names if rng.random() < 0.75]
    properties = {name: field(rng, depth) for name in names}
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


def field(rng: Random, depth: int = 0) -> Schema:
    """A schema of one field."""
    kind = rng.choice(
        ("enum", "enum", "text", "integer", "number", "boolean", "nullable", "list", "list", "record")
    )
    if kind in ("list", "record") and depth >= 2:
        kind = "text"
    match kind:
        case "enum":
            return {"enum": list(rng.choice(_ENUMS))}
        case "text":
            return {"type": "string", "maxLength": 60} if rng.random() < 0.4 else {"type": "string"}
        case "integer":
            return {"type": "integer", "minimum": rng.choice((-3, 0, 1)), "maximum": rng.choice((5, 40))}
        case "number":
            return {"type": "number"}
        case "boolean":
            return {"type": "boolean"}
        case "nullable":
            inner = rng.choice(({"type": "string"}, {"type": "integer"}, {"type": "number"}))
            return {"anyOf": [inner, {"type": "null"}]}
        case "list":
            return {"type": "array", "items": field(rng, depth + 1), "maxItems": 4}
        case _:
            return record(rng, depth + 1)


def choice(rng: Random) -> Schema:
    """A schema that is nothing but a choice."""
    if rng.random() < 0.3:
        return {"oneOf": [{"const": value, "description": rng.choice(WORDS)} for value in rng.choice(_ENUMS)]}
    return {"enum": list(rng.choice(_ENUMS))}


def instance(rng: Random, schema: Any, root: Any = None) -> Any:
    """A value that `schema` admits: fractions and whole numbers, nulls, and objects without what is optional."""
    root = schema if root is None else root
    if not isinstance(schema, dict):
        return None
    if "$ref" in schema:
        parts = schema["$ref"].removeprefix("#/").split("/")
        return instance(rng, reduce(operator.getitem, parts, root), root)
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return instance(rng, rng.choice(schema[key]), root)
    if "const" in schema:
        return schema["const"]
    if isinstance(schema.get("enum"), list):
        return rng.choice(schema["enum"])
    kinds = schema.get("type", "object" if "properties" in schema else "string")
    return _typed(rng, rng.choice(kinds) if isinstance(kinds, list) else kinds, schema, root)


def _typed(rng: Random, kind: str, schema: Schema, root: Any) -> Any:
    match kind:
        case "null":
            return None
        case "boolean":
            return rng.random() < 0.5
        case "integer" | "number":
            low, high = schema.get("minimum", -2), schema.get("maximum", 60)
            whole = rng.randint(int(low), int(high))
            if kind == "number" and rng.random() < 0.6:
                return whole + 0.5 if whole < high else float(whole)
            return whole
        case "array":
            least = schema.get("minItems", 0)
            size = rng.randint(least, max(least, schema.get("maxItems", 3)))
            return [instance(rng, schema.get("items", {"type": "string"}), root) for _ in range(size)]
        case "object":
            needed = schema.get("required", ())
            return {
                name: instance(rng, one, root)
                for name, one in schema.get("properties", {}).items()
                if name in needed or rng.random() < 0.5
            }
        case _:
            text = rng.choice((*WORDS, "", "x" * 30)).ljust(schema.get("minLength", 0), "x")
            return text[: schema.get("maxLength", 1000)]


def annotation(schema: Schema, name: str = "Value") -> Any:
    """The Python type whose JSON Schema is `schema` in its meaning."""
    if "anyOf" in schema:
        return reduce(operator.or_, (annotation(one, name) for one in schema["anyOf"]))
    if "enum" in schema:
        return Literal[tuple(schema["enum"])]
    match schema["type"]:
        case "null":
            return None
        case "boolean":
            return bool
        case "integer":
            return Annotated[int, Field(ge=schema.get("minimum"), le=schema.get("maximum"))]
        case "number":
            return float
        case "array":
            items = annotation(schema["items"], f"{name}Item")
            return Annotated[list[items], Field(max_length=schema.get("maxItems"))]
        case "object":
            fields = {key: annotation(one, f"{name}_{key}") for key, one in schema["properties"].items()}
            needed = schema["required"]
            typed = {key: one if key in needed else NotRequired[one] for key, one in fields.items()}
            return TypedDict(name, typed)  # type: ignore[operator]
        case _:
            return Annotated[str, Field(max_length=schema.get("maxLength"))]
