"""The JSON Schema of one event as `to_jsonl` and `sopwith trace --jsonl` print it."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from sopwith.ir.event import BODIES, VERSION, Phase
from sopwith.ir.value import Json

_ENVELOPE: dict[str, Json] = {
    "task": {"type": "string", "description": "The family of runs that this run belongs to."},
    "run": {"type": "string"},
    "seq": {"type": "integer", "minimum": 1, "description": "Counts from 1 in every run, without a gap."},
    "at": {"type": "integer", "description": "Microseconds since 1970 UTC."},
    "phase": {"enum": [str(phase) for phase in Phase]},
    "step": {
        "type": ["string", "null"],
        "description": "The step instance: ID, or ID#VISIT from the second on.",
    },
    "cause": {"type": ["integer", "null"], "description": "The seq of the event that led to this one."},
    "kind": {"type": "string"},
    "data": {"type": "object", "description": "The body, without what equals its default."},
    "hash": {
        "type": "string",
        "description": "SHA-256 over the hash before, the envelope and the stored body.",
    },
}


def event_schema() -> dict[str, Json]:
    """An envelope, and for each kind of event the shape of its `data`."""
    models = [(body, "validation") for body in BODIES]
    refs, shared = TypeAdapter.json_schemas(
        [(body.__name__, mode, TypeAdapter(body)) for body, mode in models],  # type: ignore[misc]
        ref_template="#/$defs/{model}",
    )
    definitions: dict[str, Any] = dict(shared.get("$defs", {}))
    for body in BODIES:
        # `kind` is in the envelope.
        definitions[body.__name__].get("properties", {}).pop("kind", None)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "An event of a Sopwith run",
        "description": f"Version {VERSION}. Later versions only add kinds, and fields with defaults.",
        "type": "object",
        "required": ["task", "run", "seq", "at", "phase", "kind", "data"],
        "properties": _ENVELOPE,
        "additionalProperties": False,
        "oneOf": [
            {
                "properties": {
                    "kind": {"const": str(body.model_fields["kind"].default)},
                    "data": refs[(body.__name__, "validation")],
                }
            }
            for body in BODIES
        ],
        "$defs": definitions,
    }
