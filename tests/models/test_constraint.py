import pytest

from sopwith.models.constraint import constraint, decoder_pattern, reply_schema
from sopwith.models.port import Action, ModelRequest, Prompt


def test_text_lists_and_integers_get_a_bound():
    cleaned = constraint({"type": "array", "items": {"type": ["string", "null"]}}, 100)
    assert cleaned == {
        "type": "array",
        "items": {"type": ["string", "null"], "maxLength": 100},
        "maxItems": 64,
    }
    assert constraint({"type": "number", "minimum": -(10**30), "maximum": 1e300}, 100) == {"type": "number"}
    assert constraint({"type": "string", "maxLength": 5}, 100) == {"type": "string", "maxLength": 5}
    assert constraint({"type": "integer", "minimum": 1}, 100) == {
        "type": "integer",
        "minimum": 1,
        "maximum": 2**62,
    }


def test_what_the_decoder_does_not_know_is_left_out_and_the_order_is_kept():
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "z": {"type": "boolean", "not": {"const": False}, "description": "d"},
            "a": {"type": "string", "format": "nonsense", "pattern": "^(?=x)", "contentEncoding": "base64"},
            "never": False,
            "any": True,
        },
        "required": ["z"],
        "if": {},
        "dependentRequired": {"z": ["a"]},
        "minProperties": 2,
    }
    cleaned = constraint(schema, 9)
    assert cleaned == {
        "type": "object",
        "properties": {"z": {"type": "boolean"}, "a": {"type": "string", "maxLength": 9}, "any": {}},
        "required": ["z"],
        "additionalProperties": False,
    }
    assert list(cleaned["properties"]) == ["z", "a", "any"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"^\d{3}$", "^[0-9]{3}$"),
        (r"^[\d\-]+\.x$", r"^[0-9\-]+\.x$"),
        (r"\w\s", r"[A-Za-z0-9_][ \t]"),
        (r"(?:a|b)", "(?:a|b)"),
        (r"(?=a)b", None),
        (r"\bword", None),
        (r"(a)\1", None),
        ("(", None),
    ],
)
def test_patterns(pattern, expected):
    assert decoder_pattern(pattern) == expected


def test_alternatives_empty_enums_and_older_drafts():
    assert constraint({"oneOf": [{"type": "null"}, False]}, 9) == {"anyOf": [{"type": "null"}]}
    assert constraint({"enum": [], "type": "boolean"}, 9) == {"type": "boolean"}
    assert constraint({"enum": ["a", 1], "type": "string"}, 9) == {"enum": ["a", 1]}
    draft4 = {
        "type": "number",
        "minimum": 0,
        "exclusiveMinimum": True,
        "maximum": 9,
        "exclusiveMaximum": False,
    }
    assert constraint(draft4, 9) == {"type": "number", "exclusiveMinimum": 0, "maximum": 9}
    old_tuple = constraint({"type": "array", "items": [{"type": "null"}], "maxItems": 1}, 9)
    assert old_tuple == {"type": "array", "prefixItems": [{"type": "null"}], "maxItems": 1}


def test_patterns_of_names():
    schema = {
        "type": "object",
        "patternProperties": {r"^\d$": {"type": "null"}, "(?=a)": {}},
        "required": True,
    }
    assert constraint(schema, 9) == {"type": "object", "patternProperties": {"^[0-9]$": {"type": "null"}}}


def test_objects_under_a_combination_stay_open():
    part = {"type": "object", "properties": {"a": {"type": "null"}}}
    assert "additionalProperties" not in constraint({"allOf": [part, part]}, 9)["allOf"][0]
    assert "additionalProperties" not in constraint({**part, "required": ["b"]}, 9)
    assert constraint({**part, "additionalProperties": True}, 9)["additionalProperties"] == {}


TREE = {
    "type": "object",
    "properties": {"root": {"$ref": "#/$defs/node"}, "same": {"$ref": "#/properties/root"}},
    "$defs": {"node": {"type": "object", "properties": {"children": {"items": {"$ref": "#/$defs/node"}}}}},
}


def test_references_are_kept():
    cleaned = constraint(TREE, 9)
    assert cleaned["properties"] == TREE["properties"]
    assert cleaned["$defs"]["node"]["properties"]["children"]["items"] == {"$ref": "#/$defs/node"}
    assert constraint({"$ref": "https://example.com/s"}, 9) == {}
    assert constraint({"$ref": "#/not", "not": {}}, 9) == {}


def request(*actions: Action, **more: object) -> ModelRequest:
    names = tuple(action.name for action in actions)
    return ModelRequest(Prompt("", (), ""), "action", actions=actions, legal=names, **more)  # type: ignore[arg-type]


def test_one_action_is_its_arguments_narrowed_where_the_caller_says_so():
    one = request(Action("a", "", {"type": "object", "properties": {}}))
    assert reply_schema(one) == {"type": "object", "properties": {}, "additionalProperties": False}
    narrowed = {"type": "object", "properties": {"x": {"const": 1}}}
    assert reply_schema(request(*one.actions, constraint=narrowed))["properties"] == {"x": {"const": 1}}


def test_several_actions_are_alternatives_with_their_own_definitions():
    schema = reply_schema(request(Action("tree", "", TREE), Action("no", "", {"type": "object"})))
    assert [branch["properties"]["name"] for branch in schema["anyOf"]] == [
        {"const": "tree"},
        {"const": "no"},
    ]
    assert schema["$defs"]["0"]["properties"] == {
        "root": {"$ref": "#/$defs/0/$defs/node"},
        "same": {"$ref": "#/$defs/0/properties/root"},
    }
