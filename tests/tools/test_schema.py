"""Schemas that somebody else wrote: usable, too large, or demanding themselves without end."""

from __future__ import annotations

from typing import Any

import pytest

from sopwith.errors import UserError
from sopwith.ir.schema import validator
from sopwith.tools.schema import LARGEST, endless, hold_to_usable

NODE: dict[str, Any] = {
    "type": "object",
    "required": ["next"],
    "properties": {"next": {"$ref": "#/$defs/node"}},
}


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
        {"$ref": "#/$defs/node", "$defs": {"node": NODE}},
        {"properties": {"x": {"$ref": "#/$defs/node"}}, "$defs": {"node": NODE}},
        {
            "$ref": "#/$defs/a",
            "$defs": {"a": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/a"}}},
        },
        {"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"allOf": [{"$ref": "#/$defs/a"}]}, False]}}},
        {
            "$ref": "#/components/schemas/甲",
            "components": {
                "schemas": {"甲": {**NODE, "properties": {"next": {"$ref": "#/components/schemas/甲"}}}}
            },
        },
    ],
)
def test_a_reference_that_demands_itself_is_endless(schema: dict[str, Any]) -> None:
    assert endless(schema)
    with pytest.raises(UserError) as raised:
        hold_to_usable(schema)
    assert raised.value.code == "SW432"


@pytest.mark.parametrize(
    ("schema", "fits"),
    [
        ({"$ref": "#/$defs/node", "$defs": {"node": {**NODE, "required": []}}}, {"next": {"next": {}}}),
        ({"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}},
          "required": ["children"]}, {"children": [{"children": []}]}),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [NODE, {"type": "null"}]}, "node": {"$ref": "#/$defs/a"}}},
         {"next": None}),
        ({"$ref": "#/definitions/n", "$schema": "http://json-schema.org/draft-04/schema#",
          "definitions": {"n": {"type": "integer", "minimum": 0, "exclusiveMinimum": True}}}, 1),
        ({"properties": {"下级": {"$ref": "#/components/schemas/部门"}}, "components": {"schemas": {
            "部门": {"required": ["名称"], "properties": {"上级": {"$ref": "#/components/schemas/部门"}}}}}},
         {"下级": {"名称": "研发", "上级": {"名称": "总部"}}}),
    ],
)  # fmt: skip
def test_recursion_that_can_stop_is_fine(schema: dict[str, Any], fits: Any) -> None:
    hold_to_usable(schema)
    assert validator(schema).accepts(fits)


def test_a_reference_in_chinese_is_followed_and_its_siblings_hold() -> None:
    schema: dict[str, Any] = {"$ref": "#/$defs/天数", "maximum": 5, "$defs": {"天数": {"type": "integer"}}}
    assert [validator(schema).accepts(value) for value in (3, 9, "3")] == [True, False, False]
    assert validator(schema).schema == schema


def test_a_schema_of_two_megabytes_is_too_large() -> None:
    schema: dict[str, Any] = {"enum": ["x" * 100 + str(i) for i in range(LARGEST // 50)]}
    with pytest.raises(UserError) as raised:
        hold_to_usable(schema)
    assert raised.value.code == "SW431" and "1,000,000" in raised.value.message.zh


def test_what_is_no_schema_is_told() -> None:
    with pytest.raises(UserError) as raised:
        hold_to_usable({"type": "text"})
    assert raised.value.code == "SW430"
