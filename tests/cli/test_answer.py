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
        ("Sick", ENUM, "sick"),
        ("3", ENUM, 3),
        ("b", ARMS, "b"),
        ("1", {"type": "integer", "enum": [0, 1, 2]}, 1),
        ("1", {"enum": [3, 2, 1]}, 1),
        ("1", {"oneOf": [{"const": 2}, {"const": 1}]}, 1),
        ("2", {"enum": ["2", "1"]}, "2"),
        ("a", {"enum": ["A", "a"]}, "a"),
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
        ("1", {"enum": ["annual", "sick"]}),
        ("1", ARMS),
    ],
)
def test_what_is_no_answer_is_refused_with_what_would_be_one(text: str, schema: dict[str, Any]) -> None:
    with pytest.raises(UserError) as caught:
        read_answer(text, schema)
    assert expected(schema).en in caught.value.hint.en
    assert caught.value.message.zh != caught.value.message.en


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        ("2", {"enum": ["annual", "sick"]}, "sick"),
        ("1", ARMS, "a"),
        ("b", ARMS, "b"),
        ("1", {"enum": [3, 2, 1]}, 1),
        ("2", {"enum": ["2", "1"]}, "2"),
    ],
)
def test_a_number_stands_for_a_choice_only_where_the_choices_were_listed_with_numbers(
    text: str, schema: dict[str, Any], value: object
) -> None:
    assert read_answer(text, schema, listed=True) == value


def test_choices_that_are_numbers_are_never_numbered() -> None:
    assert expected({"enum": [30, 10]}, listed=True).en == "30, 10"
    assert expected({"enum": ["a", "b"]}, listed=True).en == "1. a, 2. b"
    assert expected({"enum": ["a", "b"]}).en == "a, b"
    with pytest.raises(UserError):
        read_answer("1", {"enum": [30, 10]}, listed=True)
