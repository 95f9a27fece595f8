"""Schemas as users write them: whatever is wrong with one is a problem with a place, and nothing breaks on it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.lang.check.tools import TOOLS
from tests.lang.strategies import SETTINGS

from sopwith.ir.diagnostic import Diagnostic, Severity
from sopwith.ir.procedure import Procedure
from sopwith.lang.check import check
from sopwith.lang.compile import compile_procedure
from sopwith.lang.document import Document
from sopwith.lang.yaml import read_yaml, write_yaml

HEAD = "schema: sopwith/procedure/1\nid: p\nstart: a\n"


def found(text: str) -> list[Diagnostic]:
    return check(read_yaml(HEAD + text, "p.yaml"), TOOLS)


@pytest.mark.parametrize(
    ("schema", "there"),
    [
        ("{type: object, required: [{a: 1}]}", "{a: 1}"),
        ("{type: object, required: 5}", "5"),
        ("{type: object, properties: [a]}", "properties"),
        ("{type: object, properties: {a: {type: strin}}}", "strin"),
        ("{enum: annual}", "annual"),
        ("{allOf: {type: object}}", "allOf"),
        ("{type: strin}", "strin"),
        ("{description: }", "description"),
        ("{pattern: (}", "("),
    ],
)
def test_what_is_no_json_schema_is_told_where_it_stands(schema: str, there: str) -> None:
    line = f"output: {schema}"
    problems = found(f"{line}\nsteps:\n  a: {{end: complete, result: {{a: 1}}}}\n")
    told = [d.place for d in problems if d.code == "SW331"]
    assert [place.line for place in told] == [4]
    assert line[told[0].column - 1 :].startswith(there)


def test_an_enum_from_run_data_is_one_only_where_a_run_can_fill_it_in() -> None:
    problems = found('inputs: {kind: {enum: "${inputs.x}"}}\nsteps:\n  a: {end: complete}\n')
    assert [(d.code, str(d.place)) for d in problems] == [("SW331", "p.yaml:4:23")]


def test_the_rest_of_a_text_that_a_comma_has_cut_is_told() -> None:
    text = "steps:\n  a:\n    do: Choose.\n    returns: {oneOf: [{const: x, description: a, or b}, {const: y}]}\n"
    problems = found(text + "    end: complete\n")
    assert [(d.code, str(d.severity), str(d.place)) for d in problems] == [
        ("SW335", "warning", "p.yaml:7:50")
    ]
    assert "'or b'" in problems[0].message.en and "quotes" in problems[0].hint.en


@pytest.mark.parametrize(
    "schema",
    [
        "{properties: {note: true}, default: null}",
        "{const: {anything: null}}",
        '{"x-owner": hr, properties: {"null": {type: "null"}}}',
    ],
)
def test_data_in_a_schema_is_not_taken_for_its_keywords(schema: str) -> None:
    steps = "steps:\n  a: {answer: Say it., uses: [inputs.a], end: complete}\n"
    assert found(f"inputs: {{a: {schema}}}\n{steps}") == []


@pytest.mark.parametrize(("count", "codes"), [(26, set[str]()), (27, {"SW217"})])
def test_a_choice_has_as_many_options_as_letters(count: int, codes: set[str]) -> None:
    options = ", ".join(f"o{n}" for n in range(count))
    values = found(f"steps:\n  a: {{do: Choose., returns: {{enum: [{options}]}}, end: complete}}\n")
    edges = "".join(f"      - {{to: b, judge: it is about {n}}}\n" for n in range(count - 1))
    judges = found(
        "inputs: {a: {type: string}}\nsteps:\n"
        f"  a:\n    do: Choose.\n    uses: [inputs.a]\n    next:\n{edges}      - otherwise: b\n"
        "  b: {end: complete}\n"
    )
    assert {d.code for d in values} == {d.code for d in judges} == codes
    assert all(d.severity is Severity.WARNING for d in values)
    assert all(d.severity is Severity.ERROR for d in judges)


def test_an_object_may_hold_a_longer_enum() -> None:
    options = ", ".join(f"o{n}" for n in range(40))
    schema = f"{{type: object, properties: {{o: {{enum: [{options}]}}}}}}"
    assert found(f"steps:\n  a: {{do: Choose., returns: {schema}, end: complete}}\n") == []


def test_an_approval_of_what_calls_nothing_is_refused() -> None:
    problems = found("steps:\n  a:\n    answer: Hello.\n    approval: manager\n    end: complete\n")
    assert [(d.code, str(d.severity), str(d.place)) for d in problems] == [("SW503", "error", "p.yaml:7:15")]
    assert "'ask' step" in problems[0].hint.en


@pytest.mark.parametrize(
    ("key", "step"),
    [
        ("retry", "do: Say it., returns: {type: string}, retry: {times: 2}"),
        ("tools", "tool: hr.balance, with: {user_id: u}, tools: [hr.balance]"),
        ("grip", "tool: hr.balance, with: {user_id: u}, grip: free"),
        ("returns", "answer: Say hello., returns: {type: string}"),
        ("min_confidence", "do: Say it., returns: {type: string}, min_confidence: 0.5"),
        ("examples", "ask: Which?, examples: [{answer: a}]"),
    ],
)
def test_a_field_that_does_nothing_on_its_step_is_told(key: str, step: str) -> None:
    problems = found(f"steps:\n  a: {{{step}, end: complete}}\n")
    assert [d.code for d in problems] == ["SW504"]
    assert f"'{key}'" in problems[0].message.en and problems[0].severity is Severity.WARNING


def test_a_choice_that_a_bounded_model_makes_is_not_held_back_by_its_confidence() -> None:
    steps = """steps:
  a:
    do: "Sort ${run.request}"
    grip: %s
    min_confidence: 0.5
    next: [{to: z, judge: they ask for a refund}, {otherwise: b}]
  b: {end: complete}
  z: {end: escalate}
"""
    assert [d.code for d in found(steps % "strict")] == []
    (told,) = found(steps % "bounded")
    assert told.code == "SW504" and "grip: strict" in told.hint.en and told.fix == ()


def test_the_model_of_a_procedure_serves_the_steps_that_name_none() -> None:
    text = (
        HEAD
        + "model: careful\nsteps:\n  a: {answer: Hello., next: b}\n  b: {answer: Bye., model: fast, end: complete}\n"
    )
    nodes = compile_procedure(read_yaml(text).procedure, {}).nodes
    assert [nodes[name].step.model for name in "ab"] == ["careful", "fast"]


# Anything that is nearly a schema.

_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-3, 30)
    | st.sampled_from(["a", "string", "object", "${inputs.x}", "#", "("])
)
_KEYS = st.sampled_from(
    [
        "type", "enum", "const", "oneOf", "anyOf", "allOf", "properties", "required", "items", "prefixItems",
        "additionalProperties", "$ref", "$defs", "$id", "$schema", "pattern", "not", "description", "nullable",
        "minLength", "default", "or b", "definitions", "patternProperties", "format",
    ]
)  # fmt: skip
_NEARLY = st.recursive(
    _LEAVES | st.sampled_from([{"type": "string"}, {"enum": ["a", "b"]}, {"$ref": "#"}, {"type": ["object", "null"]}]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS | st.sampled_from(["a", "x"]), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
_SCHEMAS = st.dictionaries(_KEYS, _NEARLY, max_size=4)
_VALUES = st.recursive(
    st.none() | st.integers(0, 3) | st.sampled_from(["a", "${inputs.x}", "${got.a}", "x ${got}"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "x"]), inner, max_size=2)
    ),
    max_leaves=5,
)


@st.composite
def nearly_right(draw: st.DrawFn) -> Procedure:
    """A procedure whose schemas are anything, with everything that leans on them."""
    kind = draw(st.sampled_from(["returns", "ask", "tool", "answer", "free"]))
    does: dict[str, Any] = {
        "returns": {"do": "Say ${inputs.x}."},
        "free": {"do": "Say it.", "grip": "free"},
        "ask": {"ask": "Which?"},
        "tool": {"tool": "hr.balance", "with": {"user_id": draw(_VALUES)}},
        "answer": {"answer": "Say ${inputs.x}."},
    }[kind]
    step = {
        "id": "a", **does, "as": "got", "examples": [{"given": {"x": 1}, "answer": draw(_VALUES)}],
        "returns": draw(_SCHEMAS), "min_confidence": 0.5, "end": "complete",
        "result": draw(st.dictionaries(st.sampled_from(["a", "x"]), _VALUES, max_size=2)),
        "verify": draw(st.sampled_from(["got.a == 1", "got == 'a'", "inputs.x.a[0] > 1", "size(got) > 0"])),
    }  # fmt: skip
    inputs = {"x": {"schema": draw(_SCHEMAS)}}
    return Procedure.from_data(
        {"id": "p", "start": "a", "inputs": inputs, "output": draw(_SCHEMAS), "steps": {"a": step}}
    )


@SETTINGS
@given(nearly_right())
def test_no_schema_breaks_the_check_and_what_passes_compiles(procedure: Procedure) -> None:
    text = write_yaml(procedure)
    problems = check(read_yaml(text, "p.yaml"), TOOLS)
    assert all(d.place.file == "p.yaml" and d.place.line > 3 for d in problems)
    if not any(d.severity is Severity.ERROR for d in problems):
        compile_procedure(procedure, TOOLS)
    unread = Document(procedure, {}, "<p>", "")
    assert {d.code for d in check(unread, TOOLS)} == {d.code for d in problems}
    check(unread, None)
