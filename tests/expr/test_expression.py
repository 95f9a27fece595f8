"""Expressions: values in, plain JSON out, and every failure a typed one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopwith.errors import ExpressionError
from sopwith.expr.expression import parse

SCOPE: dict[str, Any] = {
    "leave": {"days": 3, "part": 0.5, "kind": "annual", "note": None, "ok": True, "天数": 3},
    "hits": [{"id": "a"}, {"id": "b"}],
}


def failure(source: str, scope: dict[str, Any] | None = None) -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        parse(source).evaluate(SCOPE if scope is None else scope)
    return caught.value


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("leave.days", 3),
        ("leave.part", 0.5),
        ("leave.note", None),
        ("leave.ok", True),
        ("leave", SCOPE["leave"]),
        ("hits", SCOPE["hits"]),
        ("leave['天数'] + 1", 4),
        ("size('年假申请')", 4),
        ("hits.map(h, h.id)", ["a", "b"]),
        ("{'a': [1, 2.5, null]}", {"a": [1, 2.5, None]}),
        ("timestamp('2026-03-02T01:00:00+08:00')", "2026-03-01T17:00:00Z"),
        ("[duration('90s'), duration('1.5s')]", ["90s", "1.5s"]),
        ("duration('1234567s')", "1234567s"),
        ("leave.days == 3.0", True),
        ("false && nothing", False),
    ],
)
def test_values_are_plain_json(source: str, value: Any) -> None:
    found = parse(source).evaluate(SCOPE)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nothing + 1", "the name 'nothing' has no value here"),
        ("leave.days + 1.5", "'+' does not take int, double"),
        ("leave.note > 1", "'>' does not take null, int"),
        ("leave.nothing", "there is no field 'nothing'"),
        ("leave.days.x", "a field is read from a value that is not an object"),
        ("leave.days ? 1 : 2", "a condition is not true or false"),
        ("leave.days / 0", "a division by zero"),
        ("hits[2].id", "the list has no item at this index"),
        ("9223372036854775807 + leave.days", "the result is outside the whole numbers of 64 bits"),
        ("1.0 / 0.0", "the result is not a finite number"),
        ("b'abc'", "the result holds a value of CEL's type 'bytes', which JSON cannot say"),
        ("{1: 2}", "the result has a key that is not text"),
        ("leave.kind.matches('(')", "invalid regular expression: missing ): ("),
    ],
)
def test_failures_are_errors_with_the_source(source: str, message: str) -> None:
    error = failure(source)
    assert error.message.en == message
    assert error.source == source
    assert error.code == "SW007"
    assert error.message.zh


def test_a_loop_without_end_is_cut_off() -> None:
    error = failure("l.map(a, l.map(b, l.map(c, a + b + c)))", {"l": list(range(200))})
    assert error.message.en == "the expression takes more than 10,000 iterations"


@pytest.mark.parametrize("value", [2**70, "\ud800", object(), (1, 2)])
def test_values_that_are_not_json_are_errors(value: object) -> None:
    assert failure("x == 1 || size(x) == 0", {"x": value}).code == "SW007"


@pytest.mark.parametrize(
    ("source", "column", "message"),
    [
        ("1 +", 4, "the expression ends too early"),
        ("", 1, "the expression is empty"),
        ("  ", 1, "the expression is empty"),
        ("a = 2", 3, "'= ' cannot stand here"),
        ("a and b", 3, "'and' is unexpected here"),
        ("'年假' == 年", 9, "'年' cannot stand here"),
        ("package", 1, "'package' is a reserved word"),
        ("has(a)", 5, "has(…) takes a field, as in has(a.b)"),
        ("(" * 60 + "a" + ")" * 60, 1, "the expression is nested more than 32 levels deep"),
        ("+".join("a" * 100), 1, "the expression is nested more than 32 levels deep"),
    ],
)
def test_what_cannot_be_parsed_has_a_column(source: str, column: int, message: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(source)
    assert (caught.value.column, caught.value.message.en) == (column, message)


@pytest.mark.parametrize(
    ("source", "paths"),
    [
        ("leave.days >= 2", [("leave", "days")]),
        ("leave['天数'] + leave.days", [("leave", "天数"), ("leave", "days")]),
        ("hits.map(h, h.id + leave.kind)", [("hits",), ("leave", "kind")]),
        ("hits.exists(h, h.id == h2.id)", [("hits",), ("h2", "id")]),
        ("hits[0].id", [("hits",)]),
        ("has(leave.note) ? 1 : size(run.request)", [("leave", "note"), ("run", "request")]),
        ("math.greatest(a.b, math.abs(c))", [("a", "b"), ("c",)]),
        ("h.map(h, h.x)", [("h",)]),
        ("1 + 1", []),
    ],
)
def test_paths_are_what_it_reads(source: str, paths: list[tuple[str, ...]]) -> None:
    assert list(parse(source).paths) == paths


def test_parsing_is_remembered() -> None:
    assert parse("leave.days + 41") is parse("leave.days + 41")


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
numbers = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers
json_values = st.recursive(
    scalars | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=12,
)


@given(json_values)
def test_json_comes_back_as_it_went_in(value: Any) -> None:
    found = parse("x").evaluate({"x": value})
    assert found == value
    assert repr(found) == repr(value) or isinstance(value, dict | list)


@pytest.mark.parametrize("value", ["a\0b", {"k": ["\0"]}, {"a\0": 1}])
def test_text_that_would_be_cut_off_is_an_error(value: Any) -> None:
    assert failure("x == 'a'", {"x": value}).message.en == "a text holds the character NUL"
    assert failure("x.k", {"x": {"k": value}}).message.en == "a text holds the character NUL"


@given(st.text())
def test_any_text_parses_or_is_refused(source: str) -> None:
    try:
        parse(source)
    except ExpressionError as error:
        assert error.message.en and error.message.zh and error.column >= 1
