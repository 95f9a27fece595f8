"""The form of a question, and the answer in what was filled in."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.server.elicitation import _validate_rendered_properties  # what the protocol lets a form have
from mcp_types import ElicitRequestFormParams

from sopwith import Engine, MemoryLog
from sopwith.serve.question import question_of

ASKS = """
schema: sopwith/procedure/1
id: asks
start: ask
steps:
  ask:
    ask: What is it?
    returns: {}
    as: told
    next: done
  done:
    end: complete
"""


async def form(schema: dict[str, Any]) -> Any:
    """The question of a run that asks for a value of `schema`."""
    import json

    async with Engine(ASKS.replace("{}", json.dumps(schema)), log=MemoryLog()) as engine:
        run = await engine.run("")
        return question_of(run, reveal=False, language="en")


CASES = [
    ({"type": "boolean"}, {"answer": False}, False),
    ({"type": "integer", "minimum": 1, "maximum": 5}, {"answer": 3}, 3),
    ({"type": "string", "maxLength": 9, "pattern": "^a"}, {"answer": "ab"}, "ab"),
    ({"enum": ["red", "blue"]}, {"answer": "blue"}, "blue"),
    ({"oneOf": [{"const": "a", "description": "the first"}, {"const": "b"}]}, {"answer": "b"}, "b"),
    (
        {
            "type": "object",
            "required": ["day"],
            "properties": {"day": {"type": "string", "format": "date"}, "n": {"type": "number"}},
        },
        {"day": "2026-12-01", "n": None},
        {"day": "2026-12-01"},
    ),
    ({"type": "array", "items": {"type": "integer"}}, {"answer": "[1, 2]"}, [1, 2]),
    ({"enum": [1, 2]}, {"answer": "2"}, 2),
    ({"type": "object", "properties": {"in": {"type": "object"}}}, {"answer": '{"in": {}}'}, {"in": {}}),
]


@pytest.mark.parametrize(("schema", "filled", "answer"), CASES)
async def test_a_form_has_plain_fields_and_gives_the_value(schema: Any, filled: Any, answer: Any) -> None:
    question = await form(schema)
    _validate_rendered_properties(question.form)
    ElicitRequestFormParams(message=question.text, requested_schema=question.form)
    assert question.read(filled) == answer


async def test_the_limits_of_a_field_are_shown() -> None:
    question = await form({"type": "integer", "minimum": 1, "maximum": 5, "description": "how many"})
    assert question.form == {
        "type": "object",
        "properties": {"answer": {"type": "integer", "minimum": 1, "maximum": 5, "description": "how many"}},
        "required": ["answer"],
    }
