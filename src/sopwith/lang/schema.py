"""The JSON Schema of the YAML form, for editors: completion, hover texts and squiggles. Draft-07 keywords
only, since that is what YAML editors read. What this version refuses is left out, so that no editor offers it. `check`
says much more; a file that an editor accepts may still have problems."""

from __future__ import annotations

import json
from typing import cast

from sopwith.errors import Text
from sopwith.ir.procedure import MOST_AT_ONCE, MOST_ITEMS, SCHEMA, Grip, Guidance
from sopwith.ir.value import Json
from sopwith.lang import refused
from sopwith.lang.key_words import EDGE_KEYS, PROCEDURE_KEYS, STEP_KEYS

IDENTIFIER = "^[A-Za-z_][A-Za-z0-9_]*$"
_Schema = dict[str, Json]

_TEXT: _Schema = {"type": "string", "minLength": 1}
_NAME: _Schema = {"type": "string", "pattern": IDENTIFIER}
_TEXTS: _Schema = {"type": "array", "items": _TEXT}
_DATA: _Schema = {"type": "object"}
_DURATION: _Schema = {
    "anyOf": [
        {"type": "string", "pattern": "^[0-9]+(\\.[0-9]+)?(ms|s|m|h|d)$"},
        {"type": "number", "exclusiveMinimum": 0},
    ]
}
_APPROVAL: _Schema = {
    "anyOf": [
        _TEXT,
        _TEXTS,
        {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "roles": {"anyOf": [_TEXT, _TEXTS]},
                "count": {"type": "integer", "minimum": 1},
                "four_eyes": {"type": "boolean"},
                "expires": _DURATION,
            },
        },
    ]
}
_FRACTION: _Schema = {"type": "number", "minimum": 0, "maximum": 1}
_GRIP: _Schema = {"enum": [str(grip) for grip in Grip]}
_GUIDANCE: _Schema = {"enum": [str(one) for one in Guidance if one not in refused.GUIDANCE]}
_WAYS: _Schema = {
    "anyOf": [_NAME, {"type": "array", "items": {"$ref": "#/definitions/edge"}}],
}


def procedure_schema() -> dict[str, Json]:
    """The schema of a whole file."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "urn:" + SCHEMA.replace("/", ":"),
        "title": "Sopwith procedure",
        **_object(_procedure(), PROCEDURE_KEYS, "schema", "id", "start", "steps"),
        "definitions": {
            "edge": {
                **_object(_edge(), EDGE_KEYS),
                "oneOf": [{"required": ["to"]}, {"required": ["otherwise"]}],
                "not": {"required": ["when", "judge"]},
            },
            "step": _object(_step(), STEP_KEYS),
        },
    }


def schema_text() -> str:
    """The schema as the text of a file."""
    return json.dumps(procedure_schema(), ensure_ascii=False, indent=2) + "\n"


def _object(properties: dict[str, _Schema], words: dict[str, Text], *required: str) -> _Schema:
    """An object with exactly these properties, each with its hover text in both languages."""
    described = {
        key: {"description": f"{words[key].en}\n{words[key].zh}", **one} for key, one in properties.items()
    }
    held: _Schema = {"type": "object", "additionalProperties": False, "properties": described}
    return {**held, "required": list(required)} if required else held


def _plain(properties: _Schema, *required: str) -> _Schema:
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "required": list(required),
    }


def _named(items: _Schema) -> _Schema:
    return {"type": "object", "propertyNames": {"pattern": IDENTIFIER}, "additionalProperties": items}


def _procedure() -> dict[str, _Schema]:
    return {
        "schema": {"const": SCHEMA},
        "id": _NAME,
        "name": {"type": "string"},
        "description": {"type": "string"},
        "examples": _TEXTS,
        "tags": _TEXTS,
        "tools": _TEXTS,
        "inputs": _named({"type": "object", "properties": {"from": _TEXT}}),
        "output": _DATA,
        "grip": _GRIP,
        "guidance": _GUIDANCE,
        "model": _TEXT,
        "verify": _TEXT,
        "timeout": _DURATION,
        "start": _NAME,
        "steps": {**_named({"$ref": "#/definitions/step"}), "minProperties": 1},
    }


def _edge() -> dict[str, _Schema]:
    return {
        "to": _NAME,
        "when": _TEXT,
        "judge": _TEXT,
        "otherwise": _NAME,
        "guidance": _TEXT,
        "pitfalls": _TEXTS,
    }


def _step() -> dict[str, _Schema]:
    keys = ("name", "do", "needs", "gives", "tool", "answer", "ask")
    words: dict[str, _Schema] = dict.fromkeys(keys, _TEXT)
    rest: dict[str, _Schema] = {
        "wait": {
            **_plain({"until": _TEXT, "for": _TEXT, "event": _TEXT}),
            "minProperties": 1,
            "maxProperties": 1,
        },
        "call": _plain({"procedure": _TEXT, "with": _DATA, "share": _FRACTION}, "procedure"),
        "each": _plain(
            {
                "in": _TEXT,
                "as": _NAME,
                "at_once": {"type": "integer", "minimum": 1, "maximum": MOST_AT_ONCE},
                "on_item_error": {"enum": ["stop", "collect"]},
                "limit": {"type": "integer", "minimum": 1, "maximum": MOST_ITEMS},
            },
            "in",
        ),
        "script": _TEXT,
        "code": _TEXT,
        "with": _DATA,
        "uses": _TEXTS,
        "returns": _DATA,
        "examples": {
            "type": "array",
            "items": _plain({"given": _DATA, "answer": cast("_Schema", {})}, "answer"),
        },
        "as": _NAME,
        "tools": _TEXTS,
        "verify": _TEXT,
        "retry": _plain(
            {"times": {"type": "integer", "minimum": 0, "maximum": 10}, "errors": _TEXTS}, "times"
        ),
        "timeout": _DURATION,
        "visits": {"type": "integer", "minimum": 1},
        "min_confidence": _FRACTION,
        "approval": _APPROVAL,
        "grip": _GRIP,
        "guidance": _GUIDANCE,
        "model": _TEXT,
        "pitfalls": _TEXTS,
        "on_error": _WAYS,
        "next": _WAYS,
        "end": {"enum": ["complete", "escalate"]},
        "result": _DATA,
    }
    return {key: one for key, one in {**words, **rest}.items() if key not in refused.KINDS}
