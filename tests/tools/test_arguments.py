"""Arguments: judged by the schema of their tool, and never another than those that were prepared."""

from __future__ import annotations

from typing import Any

import pytest

from sopwith.errors import Text
from sopwith.ir.tool import ToolSpec
from sopwith.tools.arguments import changes, problems

FILES: dict[str, Any] = {
    "type": "object",
    "properties": {"files": {"type": "array", "items": {"type": "object"}}, "note": {"type": "string"}},
}


def spec(schema: dict[str, Any]) -> ToolSpec:
    return ToolSpec(name="t.t", input_schema=schema)


@pytest.mark.parametrize(
    ("kind", "value"),
    [("integer", True), ("number", True), ("integer", "1"), ("boolean", 1), ("string", 1), ("integer", 1.5)],
)
def test_a_value_of_another_type_is_a_problem(kind: str, value: Any) -> None:
    schema = {"type": "object", "properties": {"n": {"type": kind}}}
    assert problems(spec(schema), {"n": value})[0].en.startswith("$.n: ")


def test_a_missing_argument_is_a_problem() -> None:
    schema = {"type": "object", "properties": {"n": {}}, "required": ["n"]}
    assert problems(spec(schema), {}) == (Text('$: "n" is missing', '$：缺少 "n"'),)


def test_an_unknown_argument_is_a_problem_where_the_schema_is_silent() -> None:
    assert problems(spec(FILES), {"file": []}) == (
        Text(
            "$.file: there is no such argument; there is: files, note",
            "$.file：没有这个参数；可用的参数：files、note",
        ),
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
    assert problems(spec(FILES), value) == (
        Text("$: must be an object with the arguments", "$：应为含有各参数的对象"),
    )


def test_a_recursive_schema_is_followed() -> None:
    node = {
        "type": "object",
        "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
        "additionalProperties": False,
    }
    schema = {"type": "object", "properties": {"root": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}}
    assert problems(spec(schema), {"root": {"children": [{"children": [{}]}]}}) == ()
    assert problems(spec(schema), {"root": {"children": [{"childs": []}]}}) != ()


def test_only_a_default_may_be_added_to_what_was_prepared() -> None:
    assert changes({"a": 1}, {"a": 1, "b": 2}) is None
    for arguments in ({"a": 2}, {"a": 1, "c": 3}):
        error = changes(arguments, {"a": 1, "b": 2})
        assert error is not None and error.code == "not_prepared"
