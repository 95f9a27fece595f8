"""What is said of the conditions of a step is so: compared with trying every value, and shown with true witnesses."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.lang.strategies import SETTINGS

from sopwith.expr.expression import parse
from sopwith.ir.diagnostic import Diagnostic
from sopwith.ir.procedure import Procedure
from sopwith.lang.check import check
from sopwith.lang.document import Document

INPUTS: dict[str, Any] = {
    "kind": {"enum": ["annual", "sick", "personal", 3]},
    "days": {"type": "integer", "minimum": 0, "maximum": 6},
    "part": {"type": "number", "exclusiveMinimum": 0},
    "vip": {"type": "boolean"},
    "note": {"type": ["string", "null"]},
    "free": {"type": "string"},
}
VALUES: dict[str, list[Any]] = {
    "kind": ["annual", "sick", "personal", 3],
    "days": [0, 1, 2, 3, 4, 5, 6],
    "part": [0.5, 1, 1.0, 1.5, 2.0, 2.5, 9.5],
    "vip": [True, False],
    "note": [None, "", "a", "b"],
    "free": ["", "a", "b"],
}


def found(conditions: list[str], grip: str = "strict", targets: str = "abcdef") -> list[Diagnostic]:
    """What is said of a step with these conditions, each on an edge of its own."""
    edges = [{"to": t, "when": c} for t, c in zip(targets, conditions, strict=False)]
    steps: dict[str, Any] = {"s": {"id": "s", "next": [*edges, {"to": "z", "otherwise": True}]}}
    steps |= {t: {"id": t, "next": [{"to": "z"}]} for t in targets[: len(conditions)] if t != "z"}
    steps["z"] = {"id": "z", "end": "escalate"}
    inputs = {name: {"schema": schema} for name, schema in INPUTS.items() if name in str(conditions)}
    data = {"id": "p", "start": "s", "grip": grip, "inputs": inputs, "steps": steps}
    return check(Document(Procedure.from_data(data), {}, "p", ""))


def codes(*conditions: str, **more: str) -> list[str]:
    return [d.code for d in found(list(conditions), **more)]


def test_conditions_that_overlap_are_told_with_values_for_which_both_hold() -> None:
    (told,) = found(["inputs.days > 3", "inputs.kind == 'sick'"])
    assert told.code == "SW220"
    assert "inputs.days = 4, inputs.kind = 'sick'" in told.message.en
    assert "当 inputs.days = 4, inputs.kind = 'sick' 时" in told.message.zh
    assert told.hint.en.endswith("… && !(inputs.days > 3)")


def test_the_remedy_of_an_overlap_with_a_negation_is_not_negated_twice() -> None:
    (told,) = found(["!inputs.vip", "inputs.kind == 'sick'"])
    assert told.hint.en.endswith("… && inputs.vip")


def test_a_condition_that_comes_first_and_leads_to_a_person_is_a_guard() -> None:
    assert codes("inputs.days > 3", "inputs.kind == 'sick'", targets="zb") == []
    assert codes("inputs.days > 3", "inputs.kind == 'sick'", targets="bz") == ["SW220"]


def test_the_remedy_of_an_overlap_is_one() -> None:
    assert codes("inputs.days > 3", "inputs.kind == 'sick' && !(inputs.days > 3)") == []


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        (["inputs.days > 5", "inputs.days > 3"], []),  # the special case first
        (["inputs.days > 3", "inputs.days > 5"], ["SW219"]),
        (["inputs.kind == 'sick'", "inputs.kind == 'annual'"], []),
        (["inputs.kind in ['sick', 'annual']", "inputs.kind == 'annual'"], ["SW219"]),
        (["inputs.days < 3", "inputs.days >= 3", "inputs.days == 6"], ["SW219"]),
        (["inputs.days < 0"], ["SW218"]),
        (["inputs.days >= 0"], ["SW218"]),
        (["inputs.part > 0.0"], ["SW218"]),
        (["inputs.part > 0.5"], []),
        (["inputs.kind == 'sick' && inputs.kind == 'annual'"], ["SW218"]),
        (["inputs.kind == 'sick' || inputs.kind != 'sick'"], ["SW218"]),
        (["inputs.vip", "!inputs.vip"], []),
        (["inputs.note == null", "inputs.note != null"], []),
        (["inputs.note == null", "inputs.note == 'a'", "inputs.note != null"], []),
        (["inputs.free.startsWith('a')"], []),  # cannot be tried out: nothing is claimed
        (["inputs.free == 'a'", "inputs.free == 'b'", "inputs.free in ['b', 'a']"], ["SW219"]),
    ],
)
def test_what_is_told(conditions: list[str], expected: list[str]) -> None:
    assert codes(*conditions) == expected


def test_edges_to_one_step_may_overlap() -> None:
    assert codes("inputs.days > 3", "inputs.kind == 'sick'", targets="aa") == []


def test_where_the_model_chooses_among_the_edges_their_order_decides_nothing() -> None:
    told = found(["inputs.days > 3", "inputs.kind == 'sick'", "inputs.days < 0"], grip="bounded")
    assert {d.code for d in told} - {"SW502"} == {"SW218"}


def test_the_edge_that_alone_leads_to_a_step_counts() -> None:
    def inner(condition: str, second: dict[str, Any] | None = None) -> list[str]:
        steps: dict[str, Any] = {
            "s": {
                "id": "s",
                "next": [
                    {"to": "a", "when": "inputs.kind == 'sick'"},
                    {"to": "b", "when": "inputs.days > 3"},
                    {"to": "z", "otherwise": True},
                ],
            },
            "a": {"id": "a", "next": [{"to": "z"}]},
            "b": {"id": "b", "next": [{"to": "a", "when": condition}, {"to": "z", "otherwise": True}]},
            "z": {"id": "z", "end": "escalate", **(second or {})},
        }
        inputs = {name: {"schema": INPUTS[name]} for name in ("kind", "days")}
        data = {"id": "p", "start": "s", "inputs": inputs, "steps": steps}
        return [d.code for d in check(Document(Procedure.from_data(data), {}, "p", "")) if d.step == "b"]

    assert inner("inputs.kind == 'sick'") == ["SW218"]  # an earlier edge has taken it
    assert inner("inputs.days > 2") == ["SW218"]
    assert inner("inputs.days > 5") == []
    assert inner("inputs.kind == 'annual'") == []


@pytest.mark.parametrize(
    ("grip", "of_step", "expected"),
    [
        ("strict", {}, ["SW218"]),
        ("bounded", {}, ["SW218"]),
        (
            "guide",
            {},
            [],
        ),  # a model may come to the step from any other of its region, also by a way that is closed
        ("guide", {"grip": "strict"}, ["SW218"]),
        ("guide", {"wait": {"for": "2d"}}, ["SW218"]),  # nobody is guided through a wait
    ],
)
def test_what_held_on_the_way_holds_only_where_nobody_comes_another_way(
    grip: str, of_step: dict[str, Any], expected: list[str]
) -> None:
    def ways(to: str, condition: str) -> list[dict[str, Any]]:
        return [{"to": to, "when": condition}, {"to": "z", "otherwise": True}]

    steps: dict[str, Any] = {
        "a": {"id": "a", "next": ways("b", "inputs.days > 3")},
        "b": {"id": "b", **of_step, "next": ways("c", "inputs.days <= 3")},
        "c": {"id": "c", "end": "complete", "grip": "strict"},
        "z": {"id": "z", "end": "escalate", "grip": "strict"},
    }
    data = {
        "id": "p",
        "start": "a",
        "grip": grip,
        "inputs": {"days": {"schema": INPUTS["days"]}},
        "steps": steps,
    }
    assert [d.code for d in check(Document(Procedure.from_data(data), {}, "p", ""))] == expected


def test_a_wait_in_guide_takes_its_ways_in_their_order() -> None:
    def told(grip: str) -> list[str]:
        edges = [{"to": "a", "when": "inputs.days >= 0"}, {"to": "z", "otherwise": True}]
        steps: dict[str, Any] = {
            "s": {"id": "s", "wait": {"for": "2d"}, "next": edges},
            "a": {"id": "a", "end": "complete"},
            "z": {"id": "z", "end": "escalate"},
        }
        inputs = {"days": {"schema": INPUTS["days"]}}
        data = {"id": "p", "start": "s", "grip": grip, "inputs": inputs, "steps": steps}
        return [d.code for d in check(Document(Procedure.from_data(data), {}, "p", ""))]

    assert told("guide") == told("strict") == ["SW218"]


ATOMS = st.sampled_from(
    [
        "inputs.kind == 'sick'", "inputs.kind != 'annual'", "inputs.kind in ['sick', 'personal']", "inputs.days > 2",
        "inputs.days <= 2", "inputs.days == 4", "3 < inputs.days", "double(inputs.part) > 1.0",
        "double(inputs.part) <= 1.0", "inputs.vip", "inputs.note == null", "inputs.note == 'a'", "inputs.free == 'a'",
        "inputs.free != 'b'", "inputs.free.size() == 0",
    ]
)  # fmt: skip
CONDITIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["&&", "||"]), inner).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
        inner.map(lambda one: f"!({one})"),
    ),
    max_leaves=3,
)


@SETTINGS
@given(st.lists(CONDITIONS, min_size=1, max_size=3, unique=True))
def test_whatever_is_told_is_so_when_every_value_is_tried(conditions: list[str]) -> None:
    names = [name for name in VALUES if f"inputs.{name}" in str(conditions)]
    scopes = [{"inputs": dict(zip(names, v, strict=True))} for v in product(*(VALUES[n] for n in names))]
    true = [{i for i, s in enumerate(scopes) if parse(c).attempt(s) is True} for c in conditions]
    for told in found(conditions):
        match = re.search(r"next\[(\d)\]", str(told)) if told.step != "s" else None
        assert match is None
        if told.code == "SW218" and "no value" in told.message.en:
            assert set() in true
        elif told.code == "SW218":
            assert any(len(cases) == len(scopes) for cases in true)
        elif told.code == "SW219":
            assert any(true[i] <= set().union(*true[:i]) for i in range(1, len(true)))
        elif told.code == "SW220":
            assert any(true[i] & true[j] for j in range(len(true)) for i in range(j))
    never = [cases for cases in true if not cases]
    if never and "size()" not in str(conditions) and len(names) < 3:
        assert "SW218" in {d.code for d in found(conditions)}


BOTH = {"a": {"type": "boolean"}, "b": {"type": "boolean"}}


@pytest.mark.parametrize(
    "tied",
    [
        {"maxProperties": 1},
        {"not": {"required": ["a", "b"]}},
        {"oneOf": [{"properties": BOTH, "required": ["a"]}, {"properties": BOTH, "required": ["b"]}]},
    ],
)
def test_no_overlap_is_told_with_values_that_the_schema_may_not_admit(tied: dict[str, Any]) -> None:
    """Only one of the two fields is ever there: a schema that ties fields to each other admits no case for certain."""

    def overlaps(schema: dict[str, Any]) -> list[str]:
        edges = [{"to": t, "when": f"has(inputs.of.{t})"} for t in "ab"]
        steps: dict[str, Any] = {"s": {"id": "s", "next": [*edges, {"to": "z", "otherwise": True}]}}
        steps |= {t: {"id": t, "next": [{"to": "z"}]} for t in "ab"} | {"z": {"id": "z", "end": "escalate"}}
        data = {"id": "p", "start": "s", "inputs": {"of": {"schema": schema}}, "steps": steps}
        found = check(Document(Procedure.from_data(data), {}, "p", ""))
        return [d.code for d in found if d.code in ("SW218", "SW219", "SW220")]

    free: dict[str, Any] = {"type": "object", "properties": BOTH, "additionalProperties": False}
    assert overlaps(free) == ["SW220"]
    assert overlaps(free | tied) == []
