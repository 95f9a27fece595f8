"""What a person types, as the value that a question asks for."""

from __future__ import annotations

from typing import Any

import pytest

from sopwith.cli.answer import expected, read_answer
from sopwith.errors import UserError

BOOLEAN = {"type": "boolean"}
ENUM = {"enum": ["annual", "sick", 3]}
ARMS = {"oneOf": [{"const": "a", "description": "first"}, {"const": "b", "description": "second"}]}


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        ("y", BOOLEAN, True),
        ("是", BOOLEAN, True),
        ("No", BOOLEAN, False),
        ("不同意", BOOLEAN, False),
        ("true", BOOLEAN, True),
        ("2", ENUM, "sick"),
        ("Sick", ENUM, "sick"),
        ("3", ENUM, 3),
        ("b", ARMS, "b"),
        ("1", ARMS, "a"),
        ("7", {"type": "integer"}, 7),
        ("2.5", {"type": "number"}, 2.5),
        ("7", {"type": "string"}, "7"),
        ("  12月21日 ", {"type": "string"}, "12月21日"),
        ("yes", {}, "yes"),
        ('{"a": 1}', {"type": "object"}, {"a": 1}),
        ("null", {"type": ["string", "null"]}, None),
    ],
)
def test_an_answer_is_read_by_its_schema(text: str, schema: dict[str, Any], value: object) -> None:
    assert read_answer(text, schema) == value
    assert type(read_answer(text, schema)) is type(value)


@pytest.mark.parametrize(
    ("text", "schema"),
    [
        ("perhaps", BOOLEAN),
        ("", {"type": "string", "minLength": 1}),
        ("2.5", {"type": "integer"}),
        ("x", ENUM),
    ],
)
def test_what_is_no_answer_is_refused_with_what_would_be_one(text: str, schema: dict[str, Any]) -> None:
    with pytest.raises(UserError) as caught:
        read_answer(text, schema)
    assert expected(schema).en in caught.value.hint.en
    assert caught.value.message.zh != caught.value.message.en
