"""Static types of expressions: what can never work, and what fails for some values that the schemas admit."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopwith.expr.expression import parse
from sopwith.expr.failure import Failure
from sopwith.expr.types import TypeProblem, check_types
from sopwith.expr.witness import variants, witness
from sopwith.ir.schema import validator


def thing(required: list[str] | None = None, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required is None else required,
    }


TEXT, NUMBER, INTEGER = {"type": "string"}, {"type": "number"}, {"type": "integer"}
TYPES: dict[str, dict[str, Any]] = {
    "leave": thing(
        days=NUMBER, count=INTEGER, kind={"enum": ["annual", "sick"]}, note={"type": ["string", "null"]}
    ),
    "part": thing(["a"], a=TEXT, z=INTEGER),
    "hits": {"type": "array", "items": thing(id=TEXT, score=NUMBER)},
    "open": {},
    "text": TEXT,
    "small": {"type": "integer", "maximum": 9},
    "gap": thing([], a=INTEGER),
    "tree": {"$ref": "#/$defs/node", "$defs": {"node": thing(["v"], v=TEXT, up={"$ref": "#/$defs/node"})}},
    "either": {"oneOf": [thing(k={"const": "a"}, a=INTEGER), thing(k={"const": "b"}, b=TEXT)]},
    "both": {"allOf": [thing(p=TEXT), thing(q=INTEGER)]},
    "old": {"type": "string", "nullable": True},
}


def problems(source: str) -> list[TypeProblem]:
    return check_types(parse(source), TYPES)


@pytest.mark.parametrize(
    "source",
    [
        "leave.days >= 2",
        "double(leave.days) + 1.5 > 0.0",
        "leave.count + 1",
        "leave.note != null && leave.note.contains('x')",
        "has(part.z) && part.z > 1",
        "hits.exists(h, h.score > 0.5 && h.id.startsWith('K'))",
        "hits.map(h, {'id': h.id}).map(x, x.id)",
        "open.anything.at.all + 1 > 2",
        "leave.kind in ['annual', 'sick']",
        "leave.kind == 'annual' ? leave.count + 1 : 0",
        "tree.v.size() > 0 && has(tree.up) && tree.up.v == 'x'",
        "either.k == 'a' ? either.a + 1 : size(either.b)",
        "both.p + string(both.q)",
        "int(text) + 1 > 2",
        "text == null",
        "small > 10 ? gap.a : small",
        "math.greatest(leave.days, 1) > 2",
        "leave['days'] > 2",
        "size(leave) > 1 && 'days' in leave",
        "timestamp(text) < timestamp('2026-01-01T00:00:00Z')",
        "hits[0].id == 'x'",
        "old == null || old.size() > 0",
        "type(leave.days) == int ? 'whole' : 'part'",
    ],
)
def test_nothing_is_wrong_with(source: str) -> None:
    assert problems(source) == []


@pytest.mark.parametrize(
    ("source", "column", "message", "hint"),
    [
        ("lev.days > 1", 1, "there is no name 'lev' here", "Did you mean leave?"),
        ("1 < leave.dyas", 11, "there is no field 'dyas'", "Did you mean days?"),
        ("has(leave.dyas)", 11, "there is no field 'dyas'", "Did you mean days?"),
        ("leave['dyas']", 7, "there is no field 'dyas'", "Did you mean days?"),
        ("hits.map(h, h.ids)", 15, "there is no field 'ids'", "Did you mean id?"),
        ("text.lowerascii()", 6, "there is no function 'lowerascii'",
         "Did you mean lowerAscii?"),
        ("text.foo.bar", 5, "'foo' is read from a value of kind string, which has no fields", ""),
        ("text + 1", 6, "'+' does not take string, int", ""),
        ("leave.count == '3'", 13, "int is compared with string: they are never equal", ""),
        ("leave.kind == 'anual'", 12, "the value is never 'anual'", "Did you mean annual?"),
        ("leave.kind in ['annual', 'sik']", 12, "the value is never 'sik'", "Did you mean sick?"),
        ("text && true", 1, "a condition is of kind string, not true or false",
         "Compare the value with something: x == …, x > …"),
        ("text.map(c, c)", 1, "a value of kind string is not a list", ""),
        ("hits['a']", 5, "a list is indexed by a number, not by text", ""),
        ("either.c", 8, "there is no field 'c'", "Known here: k, a, b"),
    ],
)  # fmt: skip
def test_what_can_never_work(source: str, column: int, message: str, hint: str) -> None:
    (problem,) = problems(source)
    assert (problem.column, problem.message.en, problem.hint.en) == (column, message, hint)
    assert problem.message.zh


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("leave.days + 1.5", "it fails with leave.days = 3: '+' does not take int, double"),
        ("leave.days * 2", "it fails with leave.days = 3.5: '*' does not take double, int"),
        ("leave.note.size()", "it fails with leave.note = null: 'size()' does not take null"),
        ("old.size()", "it fails with old = null: 'size()' does not take null"),
        ("part.z > 1", "it fails with part.z missing: there is no field 'z'"),
        ("tree.up.v", "it fails with tree.up.v missing: there is no field 'up'"),
        ("either.a + 1", "it fails with either.a missing: there is no field 'a'"),
        ("leave.kind == 'sick' ? leave.days + 1 : 1",
         "it fails with leave.kind = 'sick', leave.days = 3.5: '+' does not take double, int"),
        ("leave.count > 40 ? leave.note.size() : 0",
         "it fails with leave.count = 41, leave.note = null: 'size()' does not take null"),
        ("text == 'special' ? leave.days + 1 : 1",
         "it fails with text = 'special', leave.days = 3.5: '+' does not take double, int"),
        ("1 / 0", "a division by zero"),
    ],
)  # fmt: skip
def test_what_fails_for_some_values(source: str, message: str) -> None:
    (problem,) = problems(source)
    assert problem.message.en == message


schemas = st.recursive(
    st.sampled_from([TEXT, NUMBER, INTEGER, {"type": "boolean"}, {"type": ["string", "null"]},
                     {"enum": ["a", 1]}, {"const": 2.5}, {"type": "string", "format": "date"},
                     {"type": "integer", "minimum": 7},
                     {"type": "number", "maximum": -1}, {"type": "string", "minLength": 9, "maxLength": 12}]),
    lambda inner: st.builds(lambda item: {"type": "array", "items": item}, inner)
    | st.builds(lambda item: {"type": "array", "items": item, "minItems": 2}, inner)
    | st.builds(lambda a, b: {"anyOf": [a, b]}, inner, inner)
    | st.builds(lambda a, b: thing(["a"], a=a, b=b), inner, inner)
    | st.builds(lambda a, b: {"allOf": [thing(a=a), thing(b=b)]}, inner, inner)
    | st.builds(lambda a: {"$ref": "#/$defs/x", "$defs": {"x": a}}, st.sampled_from([TEXT, NUMBER])),
    max_leaves=6,
)  # fmt: skip


def refers(schema: Any) -> bool:
    return "$defs" in repr(schema)


@given(schemas)
def test_witnesses_satisfy_their_schema(schema: dict[str, Any]) -> None:
    if refers(schema) and "$ref" not in schema:
        return  # the reference would point into the outer schema
    found = variants(schema)
    assert found and witness(schema) == found[0]
    assert [value for value in found if not validator(schema).accepts(value)] == []


FIELDS = [
    "leave.days",
    "leave.count",
    "leave.note",
    "leave.kind",
    "text",
    "part.a",
    "1",
    "1.5",
    "'annual'",
    "null",
]
pieces = st.sampled_from(FIELDS)
comparisons = st.builds("{} {} {}".format, pieces, st.sampled_from(["==", "!=", "<", ">="]), pieces)
sums = st.builds("{} {} {}".format, pieces, st.sampled_from(["+", "-", "*"]), pieces)


@given(comparisons | sums)
def test_what_passes_works_for_every_witness(source: str) -> None:
    """Soundness: an expression without problems fails for want of types on no value of the schemas."""
    expression = parse(source)
    if check_types(expression, TYPES):
        return
    for leave in variants(TYPES["leave"], limit=200):
        for text in ("text", "annual", ""):
            found = expression.attempt({"leave": leave, "text": text, "part": {"a": "x"}})
            assert not (isinstance(found, Failure) and found.kind in ("types", "field", "key", "name")), leave


def test_a_conversion_fails_where_the_schema_lists_a_value_that_it_does_not_take() -> None:
    listed = {"s": {"enum": ["1", "2", "none"]}}
    (problem,) = check_types(parse("double(s) > 0.5"), listed)
    assert problem.message.en == "it fails with s = 'none': cannot convert string to double"
    assert check_types(parse("s != 'none' && double(s) > 0.5"), listed) == []
    assert check_types(parse("double(s) > 0.5"), {"s": {"type": "string"}}) == []
