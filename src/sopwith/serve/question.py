"""What a run asks a person, as the flat form that a client of MCP can show, and the answer in what comes back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from sopwith.errors import Text, UserError
from sopwith.ir.event import HumanAsked
from sopwith.ir.schema_words import in_words
from sopwith.ir.value import Json
from sopwith.run.run import Run

Schema = dict[str, Json]

Read = Callable[[Mapping[str, Json]], Json]
"""Makes the answer of what was filled in."""

ANSWER = "answer"
_KEPT = {
    "string": ("minLength", "maxLength", "format"),
    "number": ("minimum", "maximum"),
    "integer": ("minimum", "maximum"),
    "boolean": (),
}
_FORMATS = ("email", "uri", "date", "date-time")
_APPROVE = Text("give leave for this call", "批准这一调用")
_AS_JSON = Text("JSON: {}", "JSON：{}")
_NO_JSON = Text("the answer is no JSON", "回答不是 JSON")


@dataclass(frozen=True, slots=True)
class Question:
    """What the run `run` asks at the event `seq`: the `form` has only plain fields, and `read` makes the answer of what
    was filled in."""

    run: str
    seq: int
    text: str
    form: Schema
    read: Read


def question_of(run: Run, *, reveal: bool, language: str) -> Question | None:
    """What a run asks a person now, or None. The question holds true values where they are to be revealed."""
    if run.outcome is not None or run.question is None or run.state.taken_by is not None:
        return None
    event = next(each for each in reversed(run.events) if isinstance(each.body, HumanAsked))
    asked: HumanAsked = event.body
    text = run.question if reveal else asked.question
    form, read = _form(asked.answer_schema or {}, asked.what == "approval", language)
    return Question(run.id, event.seq, text, form, read)


def _form(schema: Schema, approval: bool, language: str) -> tuple[Schema, Read]:
    """A form for values of `schema`: its own fields where they are plain, else one field for all of it."""
    fields = _fields(schema)
    if fields:
        required = schema.get("required", [])
        form: Schema = {"type": "object", "properties": cast("Json", fields), "required": required}
        return form, lambda content: {key: content[key] for key in fields if content.get(key) is not None}
    whole = _field(schema)
    if whole is not None:
        titled = {"title": _APPROVE.in_(language), **whole} if approval else whole
        return _one(titled), lambda content: content.get(ANSWER)
    wanted = _AS_JSON.in_(language).format(in_words(schema).in_(language))
    return _one({"type": "string", "description": wanted}), _json


def _fields(schema: Schema) -> dict[str, Schema]:
    """The plain fields of an object, or nothing where it is none or one of its fields is not plain."""
    named = schema.get("properties")
    if schema.get("type") != "object" or not isinstance(named, dict):
        return {}
    found: dict[str, Schema] = {}
    for name, item in cast("dict[str, Json]", named).items():
        field = _field(cast("Schema", item)) if isinstance(item, dict) else None
        if field is None:
            return {}
        found[name] = field
    return found


def _one(field: Schema) -> Schema:
    return {"type": "object", "properties": {ANSWER: field}, "required": [ANSWER]}


def _json(content: Mapping[str, Json]) -> Json:
    try:
        return json.loads(str(content.get(ANSWER)))
    except ValueError as error:
        raise UserError(_NO_JSON) from error


def _field(schema: Schema) -> Schema | None:
    """A plain field for values of `schema`, or None where there is none."""
    told: Schema = {key: schema[key] for key in ("title", "description") if isinstance(schema.get(key), str)}
    if isinstance(schema.get("enum"), list):
        choices = cast("list[Json]", schema["enum"])
        return {"type": "string", "enum": choices, **told} if _words(choices) else None
    if isinstance(schema.get("oneOf"), list):
        arms = [cast("Schema", arm) for arm in cast("list[Json]", schema["oneOf"]) if isinstance(arm, dict)]
        titled: list[Json] = [
            {
                "const": arm.get("const"),
                "title": arm.get("title") or arm.get("description") or arm.get("const"),
            }
            for arm in arms
        ]
        plain = _words([arm.get("const") for arm in arms])
        return {"type": "string", "oneOf": titled, **told} if plain else None
    kind = schema.get("type")
    if not isinstance(kind, str) or kind not in _KEPT or any(key.startswith("$ref") for key in schema):
        return None
    kept = {key: schema[key] for key in _KEPT[kind] if key in schema}
    if kept.get("format") not in _FORMATS:
        kept.pop("format", None)
    return {"type": kind, **kept, **told}


def _words(choices: list[Json]) -> bool:
    return bool(choices) and all(isinstance(each, str) for each in choices)
