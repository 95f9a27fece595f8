"""YAML written from a procedure is read as that procedure, and formatting changes neither meaning nor
comments."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
from hypothesis import given
from hypothesis import strategies as st
from tests.lang.strategies import ANY_TEXT, FEW, JSON, SETTINGS, WORDS, procedures

from sopwith.errors import ProcedureError
from sopwith.ir.procedure import Procedure
from sopwith.lang import refused
from sopwith.lang.problem import Problems
from sopwith.lang.scalar import spell_scalar
from sopwith.lang.schema import procedure_schema
from sopwith.lang.tree import read_tree
from sopwith.lang.yaml import format_yaml, read_yaml, write_yaml

EDITOR = jsonschema_rs.validator_for(procedure_schema())


@SETTINGS
@given(procedures())
def test_what_is_written_is_read_as_the_same_procedure(procedure: Procedure) -> None:
    text = write_yaml(procedure)
    read = read_yaml(text).procedure
    assert read == procedure
    assert read.digest() == procedure.digest()
    assert json.dumps(read.to_data()) == json.dumps(procedure.to_data()), "the order of keys is kept"
    assert format_yaml(text) == text
    assert list(EDITOR.iter_errors(runnable(read_tree(text, Problems("")).value))) == []


def runnable(value: Any) -> Any:
    """A procedure's data without what this version refuses, which the editor's schema leaves out."""

    def kept(part: dict[str, Any]) -> dict[str, Any]:
        return {
            k: v
            for k, v in part.items()
            if k not in refused.KINDS and not (k == "guidance" and v in refused.GUIDANCE)
        }

    return {**kept(value), "steps": {name: kept(step) for name, step in value["steps"].items()}}


@st.composite
def commented(draw: st.DrawFn) -> tuple[Procedure, str]:
    """A procedure's text with comments and blank lines anywhere; those that fall inside a text are left out."""
    procedure = draw(procedures())
    lines = write_yaml(procedure).splitlines()
    for n in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, len(lines) - 1))
        comment = f"# {n} {draw(st.sampled_from(['why', '备注: x', '- a: b', '', '#']))}"
        above = " " * draw(st.sampled_from([0, 2, 4, 6, 8])) + comment
        changed = draw(
            st.sampled_from(
                [[above, lines[at]], [f"{lines[at]}  {comment}"], ["", lines[at]], [lines[at], above]]
            )
        )
        tried = [*lines[:at], *changed, *lines[at + 1 :]]
        if _same(procedure, "\n".join(tried) + "\n"):
            lines = tried
    return procedure, "\n".join(lines) + "\n"


def _same(procedure: Procedure, text: str) -> bool:
    try:
        return read_yaml(text).procedure == procedure
    except ProcedureError:
        return False


@FEW
@given(commented())
def test_formatting_keeps_meaning_and_comments_and_settles_at_once(given_: tuple[Procedure, str]) -> None:
    procedure, text = given_
    formatted = format_yaml(text)
    assert read_yaml(formatted).procedure == procedure
    marks = [line.split("# ", 1)[1] for line in text.splitlines() if "# " in line]
    assert all(mark.rstrip() in formatted for mark in marks)
    assert format_yaml(formatted) == formatted


@FEW
@given(commented(), st.sampled_from(["\r\n", "\r"]))
def test_line_ends_and_byte_order_marks_do_not_matter(given_: tuple[Procedure, str], end: str) -> None:
    procedure, text = given_
    strange = "\ufeff" + text.replace("\n", end)
    assert read_yaml(strange).procedure == procedure
    assert format_yaml(strange) == format_yaml(text)


@SETTINGS
@given(st.one_of(JSON, WORDS, ANY_TEXT), st.booleans())
def test_a_scalar_is_read_as_what_it_was(value: object, flow: bool) -> None:
    if isinstance(value, dict | list):
        return
    problems = Problems("")
    text = f"[{spell_scalar(value, flow=True)}]" if flow else f"- {spell_scalar(value)}\n"
    read = read_tree(text, problems)
    assert problems.diagnostics() == ()
    assert json.dumps(read.value) == json.dumps([value])


YAML_MARKS = st.text(st.sampled_from("ab:-?,[]{}#&*!|>'\"%@`~ \n\t01.x<=年"), max_size=60)


@SETTINGS
@given(YAML_MARKS)
def test_any_text_is_read_or_refused_with_places(text: str) -> None:
    whole = (
        f"schema: sopwith/procedure/1\nid: a\nstart: b\nsteps:\n  b: {{end: complete}}\ndescription: {text}"
    )
    try:
        document = read_yaml(whole)
    except ProcedureError as error:
        assert error.diagnostics
        assert all(d.place.line >= 1 and d.place.column >= 1 for d in error.diagnostics)
    else:
        assert document.procedure.id == "a"


@SETTINGS
@given(
    JSON, st.sampled_from(["inputs", "steps", "b", "next", "with", "examples", "timeout", "retry", "output"])
)
def test_any_value_under_any_key_is_read_or_refused(value: object, key: str) -> None:
    step = {"end": "complete", **({key: value} if key not in ("inputs", "steps", "b") else {})}
    data = {
        "schema": "sopwith/procedure/1",
        "id": "a",
        "start": "b",
        "steps": {"b": step if key != "b" else value},
    }
    text = json.dumps({**data, **({key: value} if key in ("inputs", "steps", "examples", "output") else {})})
    try:
        read_yaml(text)
    except ProcedureError as error:
        assert error.diagnostics
