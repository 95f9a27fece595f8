import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopwith.ir.coerce import coerce, parse_json, resolve
from sopwith.ir.schema import validator

FILES = {
    "type": "object",
    "properties": {
        "files": {"type": "array", "items": {"type": "object", "properties": {"p": {"type": "string"}}}},
        "note": {"type": "string"},
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "dry": {"type": "boolean"},
        "either": {"type": ["string", "array"]},
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "free": {},
    },
}


def test_a_stringified_array_is_decoded():
    value, repairs = coerce(FILES, {"files": '[{"p":"a"}]'})
    assert value == {"files": [{"p": "a"}]}
    assert repairs == ("stringified $.files",)


def test_items_inside_a_decoded_array_are_decoded_too():
    value, repairs = coerce(FILES, {"files": ['{"p":"[1,2]"}']})
    assert value == {"files": [{"p": "[1,2]"}]}
    assert repairs == ("stringified $.files[0]",)


@pytest.mark.parametrize("text", ["[1,2]", "42", "true", "null", '{"a":1}', '"x"'])
@pytest.mark.parametrize("name", ["note", "either", "free"])
def test_text_that_may_be_text_stays(name, text):
    assert coerce(FILES, {name: text}) == ({name: text}, ())


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [("count", "42", 42), ("ratio", "1.5", 1.5), ("ratio", "2", 2), ("dry", "true", True), ("maybe", "7", 7)],
)
def test_scalars_are_decoded_where_declared(name, text, value):
    result, repairs = coerce(FILES, {name: text})
    assert result == {name: value}
    assert type(result[name]) is type(value)
    assert repairs == (f"stringified $.{name}",)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("count", "4.5"),
        ("count", "1e999"),
        ("count", "NaN"),
        ("dry", "1"),
        ("dry", "yes"),
        ("files", "[1"),
        ("maybe", "null"),
    ],
)
def test_text_that_is_not_of_the_declared_type_stays(name, text):
    assert coerce(FILES, {name: text}) == ({name: text}, ())


def test_a_doubly_encoded_object():
    text = json.dumps(json.dumps({"note": "A店"}, ensure_ascii=False), ensure_ascii=False)
    assert coerce(FILES, text) == ({"note": "A店"}, ("stringified $",))


def test_an_integral_number_where_an_integer_is_declared():
    value, repairs = coerce(FILES, {"count": 3.0, "ratio": 3.0})
    assert value == {"count": 3, "ratio": 3.0}
    assert type(value["count"]) is int and type(value["ratio"]) is float
    assert repairs == ("integral $.count",)


def test_references_siblings_and_recursion():
    schema = {
        "$ref": "#/$defs/node",
        "$defs": {
            "node": {
                "type": "object",
                "properties": {
                    "size": {"$ref": "#/$defs/size", "description": "kept"},
                    "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
                },
            },
            "size": {"type": "integer"},
            "loop": {"$ref": "#/$defs/loop"},
        },
    }
    value, repairs = coerce(schema, {"children": '[{"size":"2","children":"[]"}]'})
    assert value == {"children": [{"size": 2, "children": []}]}
    assert repairs == tuple(f"stringified $.children{at}" for at in ("", "[0].size", "[0].children"))
    assert coerce({**schema, "$ref": "#/$defs/loop"}, {"a": "1"}) == ({"a": "1"}, ())


def test_alternatives_are_decoded_only_where_exactly_one_is_meant():
    schema = {
        "oneOf": [
            {"type": "object", "properties": {"kind": {"const": "a"}, "n": {"type": "integer"}}},
            {"type": "object", "properties": {"kind": {"const": "b"}, "n": {"type": "string"}}},
        ]
    }
    assert coerce(schema, {"kind": "a", "n": "1"})[0] == {"kind": "a", "n": 1}
    assert coerce(schema, {"kind": "b", "n": "1"})[0] == {"kind": "b", "n": "1"}


def test_maps_tuples_and_older_drafts():
    assert coerce({"type": "object", "additionalProperties": {"type": "integer"}}, {"x": "1"})[0] == {"x": 1}
    assert coerce({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}, ["1", "2"])[0] == [
        "1",
        2,
    ]
    assert coerce({"items": [{"type": "integer"}], "additionalItems": {"type": "boolean"}}, ["1", "true"])[
        0
    ] == [
        1,
        True,
    ]


def test_the_given_value_is_not_changed():
    given_value = {"files": '[{"p":"a"}]'}
    coerce(FILES, given_value)
    assert given_value == {"files": '[{"p":"a"}]'}


@pytest.mark.parametrize(
    "text", ["NaN", "[Infinity]", "1e999", '{"a":1,"a":2}', "[" * 100_000, "{} {}", "", "9" * 10_000]
)
def test_strict_json_refuses(text):
    with pytest.raises(ValueError):
        parse_json(text)


def test_resolve():
    root = {"$defs": {"a/b": [{"x": 1}], "~": 2}}
    assert resolve(root, "#/$defs/a~1b/0/x") == 1
    assert resolve(root, "#/$defs/~0") == 2
    assert resolve(root, "#") is root
    assert resolve(root, "#/nothing") is None
    assert resolve(root, "#anchor") is None
    assert resolve(root, "other.json") is None


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_a_stringified_value_comes_back_as_it_was(value):
    schema = {"type": "object", "properties": {"x": {"type": ["array", "object", "boolean", "number"]}}}
    result, _ = coerce(schema, {"x": json.dumps(value, ensure_ascii=False)})
    decodable = isinstance(value, list | dict | bool | int | float)
    assert result["x"] == (value if decodable else json.dumps(value, ensure_ascii=False))


@given(JSON)
def test_what_the_schema_accepts_is_never_changed_in_meaning(value):
    result, _ = coerce(FILES, value)
    if validator(FILES).accepts(value):
        assert result == value
