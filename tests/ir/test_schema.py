import pytest

from sopwith.errors import UserError
from sopwith.ir.schema import json_path, validator

NODE = {
    "type": "object",
    "properties": {"root": {"$ref": "#/$defs/node"}},
    "$defs": {
        "node": {
            "type": "object",
            "required": ["name"],
            "properties": {
                "name": {"type": "string"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
        }
    },
}


def test_problems_say_where_what_and_what_would_be_right():
    schema = {
        "type": "object",
        "required": ["kind"],
        "properties": {"kind": {"enum": ["annual", "sick"]}, "days": {"type": "integer"}},
        "additionalProperties": False,
    }
    check = validator(schema)
    assert check.problems({"kind": "annual", "days": 2}) == ()
    assert check.problems({}) == ('$: "kind" is missing',)
    assert check.problems({"kind": "holiday"}) == ('$.kind: "holiday" is not one of "annual", "sick"',)
    assert check.problems({"kind": "sick", "days": "2"}) == ("$.days: must be integer, not string",)
    assert check.problems({"kind": "sick", "天数": 1}) == ('$: "天数" is not allowed here',)


def test_a_recursive_schema_is_followed():
    value = {"root": {"name": "a", "children": [{"name": "b", "children": [{"children": []}]}]}}
    assert validator(NODE).problems(value) == ('$.root.children[0].children[0]: "name" is missing',)


@pytest.mark.parametrize("schema", [{"const": 1}, {"enum": [1]}, {"type": "integer"}, {"type": "number"}])
def test_true_is_not_one(schema):
    assert not validator(schema).accepts(True)
    assert validator(schema).accepts(1)


def test_large_integers_are_exact():
    assert not validator({"const": 2**53}).accepts(2**53 + 1)
    assert not validator({"maximum": 2**70}).accepts(2**70 + 1)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "text"},
        {"$ref": "#/$defs/none"},
        {"$ref": "https://example.com/schema"},
        {"pattern": "("},
        {"$schema": "https://example.com/draft"},
    ],
)
def test_what_is_no_schema_is_refused_with_a_remedy(schema):
    with pytest.raises(UserError) as caught:
        validator(schema)
    assert caught.value.hint.en and caught.value.hint.zh


def test_any_local_pointer_and_older_drafts():
    sibling = {"properties": {"a": {"$ref": "#/properties/b"}, "b": {"type": "integer"}}}
    assert not validator(sibling).accepts({"a": ""})
    draft4 = {"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": True}
    assert not validator(draft4).accepts(1)


def test_formats_are_enforced_and_an_offset_may_be_left_out():
    assert not validator({"format": "date"}).accepts("2026-02-30")
    assert validator({"format": "date-time"}).accepts("2026-02-03T10:00:00")
    assert not validator({"format": "date-time"}).accepts("2026-02-03")
    assert validator({"format": "time"}).accepts("10:00")


def test_alternatives_are_explained():
    check = validator({"anyOf": [{"type": "integer"}, {"type": "null"}]})
    (problem,) = check.problems("x")
    assert problem == "$: fits no alternative: must be integer, not string; or must be null, not string"


def test_odd_values_are_refused_and_never_crash():
    deep: object = 1
    for _ in range(3000):
        deep = [deep]
    assert validator({"type": "integer"}).problems(deep)
    assert validator({"type": "string", "maxLength": 3}).problems("\ud800" * 4)
    assert validator({"type": "integer"}).problems(float("nan"))


def test_problems_are_few_and_short():
    problems = validator({"items": {"const": 1}, "type": "array"}).problems(["x" * 5000] * 100)
    assert len(problems) <= 8
    assert all(len(p) < 500 for p in problems)


def test_the_same_schema_is_compiled_once():
    schema = {"type": "integer"}
    assert validator(schema) is validator(schema) is validator({"type": "integer"})


def test_paths():
    assert json_path(["files", 0, "p"]) == "$.files[0].p"
    assert json_path(["a b", "天数"]) == '$["a b"].天数'
