"""Templates: `${…}` is found as CEL reads it, and printed as a reader expects."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopwith.errors import ExpressionError
from sopwith.expr.template import parse_template

SCOPE: dict[str, Any] = {
    "x": 3, "half": 2.5, "whole": 3.0, "yes": True, "none": None, "word": "请假",
    "list": ["请", 1], "map": {"a": None},
}  # fmt: skip


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("${x}", 3),
        ("${ x }", 3),
        ("${list}", ["请", 1]),
        ("${none}", None),
        ("n: ${x}", "n: 3"),
        ("${x}${x}", "33"),
        (" ${x}", " 3"),
        ("a ${word} b", "a 请假 b"),
        ("${yes}/${none}/${half}/${whole}", "true//2.5/3"),
        ("${list} ${map}", '["请",1] {"a":null}'),
        ("${ {'a': {'b': 1}}.a.b }", 1),
        ("${ '}' + \"}\" }", "}}"),
        ("${ '''it's }''' }!", "it's }!"),
        ('${ """a"}""" }!', 'a"}!'),
        ("${ '\\'}' }!", "'}!"),
        ("${ r'\\d}' + '}' }!", "\\d}}!"),
        ("${x // a comment }\n}", 3),
        ("$${x}", "${x}"),
        ("$${x} ${x}", "${x} 3"),
        ("$$${x}", "$${x}"),
        ("${x}$${x}", "3${x}"),
        ("cost: $5 {a}", "cost: $5 {a}"),
        ({"a": ["${x}", {"b": "${word}!"}], "c": 1}, {"a": [3, {"b": "请假!"}], "c": 1}),
        ({"a": "$${x}"}, {"a": "${x}"}),
        ([], []),
        (None, None),
    ],
)
def test_render(template: Any, value: Any) -> None:
    found = parse_template(template).render(SCOPE)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("template", "column", "message"),
    [
        ("a ${x", 3, "'${' has no closing '}'"),
        ("a ${ '}", 3, "'${' has no closing '}'"),
        ("${x // }", 1, "'${' has no closing '}'"),
        ("ab ${1 + }", 10, "the expression ends too early"),
        ("${}", 3, "the expression is empty"),
        ({"a": ["x", "ab ${1 + }"]}, 10, "the expression ends too early"),
    ],
)
def test_what_cannot_be_parsed_has_a_column(template: Any, column: int, message: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse_template(template)
    assert (caught.value.column, caught.value.message.en) == (column, message)


def test_paths_and_places() -> None:
    template = parse_template({"a": "${x} of ${map.a}", "b": ["${x}"]})
    assert template.paths == (("x",), ("map", "a"))
    assert [(p.where, p.column, p.lone) for p in template.expressions] == [
        (("a",), 3, False),
        (("a",), 11, False),
        (("b", 0), 3, True),
    ]
    assert not template.constant


def test_constants_are_not_copied() -> None:
    template = parse_template({"a": [1, 2], "b": "${x}"})
    assert template.render(SCOPE)["a"] is template.render(SCOPE)["a"]
    assert parse_template({"a": "$${x}"}).constant


texts = st.text(st.sampled_from("ab${}'\"`\\/r\n请"), max_size=12)


@given(texts)
def test_any_text_renders_or_is_refused(text: str) -> None:
    try:
        template = parse_template(text)
    except ExpressionError as error:
        assert 1 <= error.column <= len(text) + 1
        return
    if template.constant:
        assert template.render({}) == text.replace("$${", "${")


@given(st.text(st.characters(exclude_categories=["Cs"])), st.text("ab'\"请 }", max_size=8))
def test_an_expression_between_texts(word: str, around: str) -> None:
    literal = "'" + "".join(f"\\U{ord(c):08x}" for c in word) + "'"
    assert parse_template(f"{around}|${{{literal}}}|{around}").render({}) == f"{around}|{word}|{around}"
