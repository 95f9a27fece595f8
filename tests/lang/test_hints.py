"""Hints are followed to the letter, and never lead into another problem of the same field."""

from __future__ import annotations

import json
import re
from typing import Any, cast

import pytest
from tests.lang.check.tools import TOOLS

from sopwith.errors import ProcedureError
from sopwith.ir.diagnostic import Diagnostic
from sopwith.ir.procedure import Grip, Guidance
from sopwith.lang.check import check
from sopwith.lang.fields import EDGE, EDGE_WORDS, PROCEDURE, PROCEDURE_WORDS, STEP, STEP_WORDS
from sopwith.lang.refused import GUIDANCE, KINDS
from sopwith.lang.yaml import read_yaml

RIGHT: dict[str, Any] = {
    "schema": "sopwith/procedure/1", "id": "p", "start": "a", "inputs": {"who": {"type": "string"}},
    "examples": [], "tags": ["x"], "pitfalls": ["x"], "output": {"type": "object"}, "grip": "strict",
    "guidance": "static", "timeout": "20s",
    "tool": "hr.balance", "tools": ["hr.balance"], "with": {"user_id": "u1"}, "uses": ["inputs.who"],
    "returns": {"type": "boolean"}, "as": "left", "verify": "true", "retry": {"times": 1}, "visits": 2,
    "min_confidence": 0.8, "on_error": "b", "next": "b", "end": "complete", "result": {}, "to": "b", "otherwise": "b",
    "when": "true", "each": {"in": "${[1]}"}, "wait": {"for": "2d"}, "call": {"procedure": "other"},
    "approval": "manager", "steps": {"a": {"end": "complete"}},
}  # fmt: skip
"""A value that is right for each field; any other field is text."""

# What a hint must not lead to: a field, a kind of value or a name that is refused.
REFUSED = re.compile(r"SW1\d\d|SW32[01]|SW330|SW334|SW50[123]")
WRONG = [True, 5, 1.5, None, [], ["x"], {}, {"x": 1}, "two words", "in", "in!", "9", "guid", "bound", "请假"]


def problems(place: str, fields: dict[str, Any]) -> list[Diagnostic]:
    """What is found where `fields` stand: in the procedure, in its first step, or on an edge of that step."""
    step: dict[str, Any] = {"answer": "x", "end": "complete"}
    procedure: dict[str, Any] = {"schema": RIGHT["schema"], "id": "p", "start": "a"}
    if place == "procedure":
        procedure |= fields
    if place == "step":
        step = fields if {"end", "next"} & set(fields) else {**fields, "end": "complete"}
    if place == "edge":
        edge = {"to": "b", **({} if "judge" in fields else {"when": "true"}), **fields}
        step = {"answer": "x", "next": [edge, {"otherwise": "b"}]}
    if "steps" not in fields:
        procedure["steps"] = {"a": step, "b": {"end": "complete"}}
    try:
        document = read_yaml(json.dumps(procedure, ensure_ascii=False), "p.yaml")
    except ProcedureError as error:
        return cast("list[Diagnostic]", list(error.diagnostics))
    return check(document, TOOLS)


def refused(place: str, fields: dict[str, Any]) -> list[str]:
    return [d.render() for d in problems(place, fields) if REFUSED.match(d.code)]


def offered(diagnostic: Diagnostic) -> list[str]:
    """The fields that a hint about an unknown field names."""
    en, zh = diagnostic.hint
    meant = re.fullmatch(r"did you mean '(\w+)'\?", en)
    if meant:
        assert meant[1] in zh
        return [meant[1]]
    listed = en.removeprefix("the fields are ")
    return listed.split(", ") if listed != en else []


TABLES = {"procedure": (PROCEDURE, PROCEDURE_WORDS), "step": (STEP, STEP_WORDS), "edge": (EDGE, EDGE_WORDS)}
UNKNOWN = [
    (place, word)
    for place, (table, words) in TABLES.items()
    for word in dict.fromkeys(
        ("zzzz", *words, *(name[:-1] + "z" for name in table), *(f"{name}s" for name in table))
    )
    if word not in table
]


@pytest.mark.parametrize(("place", "word"), UNKNOWN)
def test_a_field_that_is_offered_is_taken(place: str, word: str) -> None:
    (unknown,) = (d for d in problems(place, {word: "x"}) if d.code == "SW110")
    assert unknown.hint.en and unknown.hint.zh
    for name in offered(unknown):
        assert name not in KINDS
        fields: dict[str, Any] = {} if name not in ("with", "retry", "approval") else {"tool": "hr.balance"}
        if name == "otherwise":
            continue  # it takes the place of `to`
        if name == "with" or "tool" in fields:
            fields["with"] = RIGHT["with"]
        assert refused(place, {**fields, name: RIGHT.get(name, "x")}) == [], name


@pytest.mark.parametrize("key", KINDS)
@pytest.mark.parametrize("value", WRONG, ids=repr)
def test_a_field_that_is_refused_says_what_to_do_instead_of_how_to_write_it(key: str, value: object) -> None:
    for problem in problems("step", {key: value, "answer": "x"}):
        if problem.code.startswith("SW1"):
            assert problem.hint == KINDS[key]


@pytest.mark.parametrize("place", ["procedure", "step"])
def test_a_grip_that_is_offered_is_carried_out(place: str) -> None:
    (wrong,) = problems(place, {"grip": "tight", "answer": "x"} if place == "step" else {"grip": "tight"})
    listed = wrong.message.en.split("one of ")[1].split(", not")[0].split(", ")
    assert set(listed) == set(Grip)
    for grip in listed:
        assert refused(place, {"grip": grip, "do": "x"} if place == "step" else {"grip": grip}) == []


@pytest.mark.parametrize("place", ["procedure", "step"])
def test_guidance_that_is_offered_is_given(place: str) -> None:
    more = {"answer": "x"} if place == "step" else {}
    (wrong,) = problems(place, {"guidance": "loud", **more})
    listed = wrong.message.en.split("one of ")[1].split(", not")[0].split(", ")
    assert set(listed) == set(Guidance) - set(GUIDANCE)
    for one in listed:
        assert refused(place, {"guidance": one, **more}) == []


def followed(hint: str, value: object) -> list[object]:
    """The values that a hint says to write."""
    if hint == "put it in quotes":
        return [json.dumps(value)]
    if hint.startswith(("write 500ms", "such as ")):
        listed = re.findall(r"\d+(?:ms|[smhd])\b", hint) or [
            hint.removeprefix("such as ").split(";")[0].strip("'")
        ]
        return [json.loads(one) if re.fullmatch(r"\d+(\.\d+)?", one) else one for one in listed]
    meant = re.fullmatch(r"did you mean '(.+)'\?", hint) or re.search(r"such as ([\w.]+)$", hint)
    return [meant[1]] if meant else []


FIELDS = [
    (place, name)
    for place, (table, _) in TABLES.items()
    for name in table
    if name not in KINDS and name not in ("schema", "to", "otherwise", "steps")
]


@pytest.mark.parametrize(("place", "name"), FIELDS)
def test_a_value_that_is_offered_is_taken(place: str, name: str) -> None:
    tried = 0
    lists = isinstance(RIGHT.get(name), list)
    for value in WRONG:
        for given in (value, [value]) if lists else (value,):
            for problem in problems(place, {name: given}):
                if problem.code not in ("SW111", "SW112"):
                    continue
                assert problem.hint.en and problem.hint.zh, problem.render()
                for better in followed(problem.hint.en, value):
                    tried += 1
                    again = {name: [better] if lists else better}
                    if name == "approval":
                        again |= {"tool": "hr.balance", "with": RIGHT["with"]}
                    left = [d for d in problems(place, again) if REFUSED.match(d.code) and d.code != "SW334"]
                    assert left == [], (given, better, [d.render() for d in left])
    if name in ("as", "timeout", "visits", "min_confidence", "id", "name", "do", "model"):
        assert tried
