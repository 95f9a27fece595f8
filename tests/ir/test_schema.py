import re

import pytest

from sopwith.errors import UserError
from sopwith.ir.schema import together, validator
from sopwith.ir.schema_problem import TYPES, json_path

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


def english(problems):
    return tuple(problem.en for problem in problems)


def test_problems_say_where_what_and_what_would_be_right():
    schema = {
        "type": "object",
        "required": ["kind"],
        "properties": {"kind": {"enum": ["annual", "sick"]}, "days": {"type": "integer"}},
        "additionalProperties": False,
    }
    check = validator(schema)
    assert english(check.problems({"kind": "annual", "days": 2})) == ()
    assert english(check.problems({})) == ('$: "kind" is missing',)
    assert english(check.problems({"kind": "holiday"})) == (
        '$.kind: "holiday" is not one of "annual", "sick"',
    )
    assert english(check.problems({"kind": "sick", "days": "2"})) == ("$.days: must be integer, not string",)
    assert english(check.problems({"kind": "sick", "天数": 1})) == ('$: "天数" is not allowed here',)


def test_a_recursive_schema_is_followed():
    value = {"root": {"name": "a", "children": [{"name": "b", "children": [{"children": []}]}]}}
    assert english(validator(NODE).problems(value)) == ('$.root.children[0].children[0]: "name" is missing',)


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
    assert problem.en == "$: fits no alternative: must be integer, not string; or must be null, not string"


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
    assert all(len(problem.en) < 500 and len(problem.zh) < 500 for problem in problems)


def test_the_same_schema_is_compiled_once():
    schema = {"type": "integer"}
    assert validator(schema) is validator(schema) is validator({"type": "integer"})


def test_paths():
    assert json_path(["files", 0, "p"]) == "$.files[0].p"
    assert json_path(["a b", "天数"]) == '$["a b"].天数'


# What every common keyword says against a value, in the language of the reader.
SAID = [
    ({"type": ["integer", "null"]}, "x", "$：应为空值或整数，不是文本"),
    ({"enum": ["a", 2]}, "b", '$："b" 不在可选值之内："a"、2'),
    ({"const": 1}, 2, "$：2 应为 1"),
    ({"required": ["天数"]}, {}, '$：缺少 "天数"'),
    ({"properties": {"b": {}}, "additionalProperties": False}, {"a": 1}, '$：此处不允许 "a"'),
    ({"minLength": 2}, "a", '$："a" 不足 2 个字符'),
    ({"maxLength": 1}, "ab", '$："ab" 超过 1 个字符'),
    ({"minimum": 1}, 0, "$：0 小于最小值 1"),
    ({"maximum": 5}, 10, "$：10 大于最大值 5"),
    ({"exclusiveMinimum": 0}, 0, "$：0 应大于 0"),
    ({"exclusiveMaximum": 5}, 5, "$：5 应小于 5"),
    ({"multipleOf": 2}, 3, "$：3 不是 2 的倍数"),
    ({"pattern": "^a"}, "b", '$："b" 不符合格式 "^a"'),
    ({"format": "date"}, "b", '$："b" 不是合法的 date'),
    ({"minItems": 1}, [], "$：[] 不足 1 项"),
    ({"maxItems": 1}, [1, 2], "$：[1, 2] 超过 1 项"),
    ({"uniqueItems": True}, [1, 1], "$：[1, 1] 中有重复的项"),
    ({"contains": {"const": 1}}, [2], "$：[2] 中没有符合要求的项"),
    ({"prefixItems": [{}], "items": False}, [1, 2], "$[1]：此处不允许 2"),
    ({"prefixItems": [{}], "unevaluatedItems": False}, [1, 2], "$：[1, 2] 中有多余的项"),
    ({"minProperties": 1}, {}, "$：{} 不足 1 个键"),
    ({"maxProperties": 0}, {"a": 1}, '$：{"a": 1} 超过 0 个键'),
    ({"not": {"const": 1}}, 1, '$：1 不应符合 {"const": 1}'),
    ({"oneOf": [{}, True]}, 1, "$：1 同时符合多种形式，只能符合一种"),
    ({"propertyNames": {"maxLength": 1}}, {"ab": 1}, '$：键名不合要求："ab" 超过 1 个字符'),
    ({"anyOf": [{"type": "integer"}, {"maxLength": 1}]}, "ab",
     '$：不符合任何一种形式：应为整数，不是文本；或 "ab" 超过 1 个字符'),
    ({"properties": {"a": {"items": {"type": "number"}}}}, {"a": [True]}, "$.a[0]：应为数字，不是真假值"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "value", "said"), SAID)
def test_people_read_problems_in_their_language(schema, value, said):
    (problem,) = validator(schema).problems(value)
    assert problem.zh == said
    assert not re.search("[\u4e00-\u9fff]", problem.en.replace("天数", ""))


def test_several_problems_are_one_sentence():
    both = together(validator({"minimum": 5, "multipleOf": 2}).problems(3))
    assert set(both.zh.split("；")) == {"$：3 小于最小值 5", "$：3 不是 2 的倍数"}
    assert both.en.count("; ") == 1


def test_every_type_has_a_name_in_both_languages():
    assert list(TYPES) == [said.en for said in TYPES.values()]
    assert all(re.search("[\u4e00-\u9fff]", said.zh) for said in TYPES.values())
