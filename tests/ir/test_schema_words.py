"""Schemas in words."""

from __future__ import annotations

from typing import Any

import pytest

from sopwith.ir.schema_words import in_words

WORDS: list[tuple[dict[str, Any], str, str]] = [
    ({"type": "array", "items": {"type": "string"}}, "a list, each: text", "列表，每项为文本"),
    (
        {"type": "object", "properties": {"passed": {"type": "boolean"}, "n": {"type": "integer"}}},
        "an object with passed (true or false), n (a whole number)",
        "对象，含 passed（true 或 false）、n（整数）",
    ),
    ({"enum": ["a", 2]}, "one of a, 2", "a、2 之一"),
    (
        {"type": "number", "minimum": 1, "maximum": 5},
        "a number, at least 1, at most 5",
        "数字，不小于 1，不大于 5",
    ),
    ({"type": "string", "minLength": 1}, "text, 1 or more characters", "文本，至少 1 个字符"),
    ({"type": ["string", "null"]}, "text or null", "文本或空值"),
    ({"oneOf": [{"const": "x"}, {"type": "integer"}]}, "x or a whole number", "x或整数"),
    ({}, "anything", "任意值"),
]


@pytest.mark.parametrize(("schema", "en", "zh"), WORDS)
def test_a_schema_says_what_it_wants(schema: dict[str, Any], en: str, zh: str) -> None:
    assert in_words(schema) == (en, zh)
