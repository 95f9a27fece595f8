"""Arguments: decoded only where the schema says so, then judged."""

from __future__ import annotations

from typing import Any

import pytest

from sopwith.ir.tool import ToolSpec
from sopwith.tools.arguments import normalise, problems

FILES: dict[str, Any] = {
    "type": "object",
    "properties": {"files": {"type": "array", "items": {"type": "object"}}, "note": {"type": "string"}},
}


def spec(schema: dict[str, Any]) -> ToolSpec:
    return ToolSpec(name="t.t", input_schema=schema)


def test_a_stringified_array_is_decoded_and_recorded() -> None:
    made, repairs = normalise(FILES, {"files": '[{"p":"a"}]'})
    assert made == {"files": [{"p": "a"}]}
    assert repairs == ("stringified $.files",)
    assert problems(spec(FILES), made) == ()


def test_arguments_that_were_encoded_twice_are_decoded() -> None:
    schema = {"type": "object", "properties": {"shop_name": {"type": "string"}}}
    made, repairs = normalise(schema, '"{\\"shop_name\\":\\"A店\\"}"')
    assert made == {"shop_name": "A店"}
    assert len(repairs) == 1


@pytest.mark.parametrize("text", ["[1,2]", "42", "true", "{}", "null"])
def test_text_that_may_be_text_stays_text(text: str) -> None:
    assert normalise(FILES, {"note": text}) == ({"note": text}, ())


def test_nothing_is_filled_in() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "default": 3}}}
    assert normalise(schema, {}) == ({}, ())


def test_the_given_arguments_are_not_changed() -> None:
    given = {"files": '[{"p":"a"}]'}
    normalise(FILES, given)
    assert given == {"files": '[{"p":"a"}]'}


@pytest.mark.parametrize(
    ("kind", "value"),
    [("integer", True), ("number", True), ("integer", "1"), ("boolean", 1), ("string", 1), ("integer", 1.5)],
)
def test_a_value_of_another_type_is_a_problem(kind: str, value: Any) -> None:
    schema = {"type": "object", "properties": {"n": {"type": kind}}}
    assert problems(spec(schema), {"n": value})[0].startswith("$.n: ")


def test_a_missing_argument_is_a_problem() -> None:
    schema = {"type": "object", "properties": {"n": {}}, "required": ["n"]}
    assert problems(spec(schema), {}) == ('$: "n" is missing',)


def test_an_unknown_argument_is_a_problem_where_the_schema_is_silent() -> None:
    assert problems(spec(FILES), {"file": []}) == (
        "$.file: there is no such argument; there is: files, note",
    )


@pytest.mark.parametrize(
    "more", [{"additionalProperties": True}, {"patternProperties": {"^x-": {}}}, {"anyOf": [{}]}]
)
def test_an_unknown_argument_passes_where_the_schema_speaks_of_it(more: dict[str, Any]) -> None:
    assert problems(spec({**FILES, **more}), {"x-trace": 1}) == ()


def test_an_unknown_argument_is_reported_once() -> None:
    assert len(problems(spec({**FILES, "additionalProperties": False}), {"file": []})) == 1


@pytest.mark.parametrize("value", [[], "text", None, 1])
def test_arguments_must_be_an_object(value: Any) -> None:
    assert problems(spec(FILES), value) == ("$: must be an object with the arguments",)


def test_a_recursive_schema_is_followed() -> None:
    node = {
        "type": "object",
        "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
        "additionalProperties": False,
    }
    schema = {"type": "object", "properties": {"root": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}}
    made, repairs = normalise(schema, {"root": {"children": [{"children": "[{}]"}]}})
    assert made == {"root": {"children": [{"children": [{}]}]}}
    assert len(repairs) == 1
    assert problems(spec(schema), made) == ()
    assert problems(spec(schema), {"root": {"children": [{"childs": []}]}}) != ()
