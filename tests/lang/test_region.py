"""Regions: which steps are guided together, what their ways out demand, and what holds behind them."""

from __future__ import annotations

import pytest

from sopwith.ir.procedure import Grip
from sopwith.lang.check import check
from sopwith.lang.document import Document
from sopwith.lang.region import regions_of, with_demands
from sopwith.lang.yaml import read_yaml

HEAD = "schema: sopwith/procedure/1\nid: p\nstart: a\nsteps:\n"
GUIDED = """\
  a: {do: one, returns: {type: string}, next: b}
  b: {grip: guide, do: two, returns: {type: string}, on_error: bad, next: c}
  c: {grip: guide, do: three, returns: {type: string}, next: d}
  d: {do: "four ${b}", returns: {type: string}, next: e}
  e: {grip: guide, do: five, returns: {type: string}, next: f}
  f: {answer: "six ${a} ${d}", end: complete}
  bad: {end: escalate}
"""


def document(steps: str, head: str = HEAD) -> Document:
    return read_yaml(head + steps, "p.yaml")


def codes(steps: str) -> list[tuple[str, str | None]]:
    return [(d.code, d.step) for d in check(document(steps)) if d.code.startswith("SW3")]


def test_connected_guide_steps_are_one_region_and_its_ways_out_demand_what_is_read_behind() -> None:
    procedure = document(GUIDED).procedure
    regions = with_demands(procedure, regions_of(procedure))
    assert regions["b"] is regions["c"] is not regions["e"]
    assert regions["b"].steps == ("b", "c")
    assert regions["b"].demands == {"c": ("b",)}
    assert regions["e"].demands == {}
    assert not regions["b"].ends


def test_a_name_that_is_written_anew_before_it_is_read_is_not_demanded() -> None:
    steps = GUIDED.replace("d: {do:", "d: {as: b, do:").replace('"four ${b}"', "four").replace("${d}", "${b}")
    procedure = document(steps).procedure
    assert with_demands(procedure, regions_of(procedure))["b"].demands == {}


def test_a_judgement_that_leads_out_demands_what_the_words_of_its_step_read() -> None:
    judged = "next: [{to: d, judge: it is odd}, {otherwise: d}]}"
    steps = GUIDED.replace('"four ${b}"', "four").replace("do: three, returns: {type: string}, next: d}", "X")
    steps = steps.replace("X", 'do: "three ${b}", returns: {type: string}, ' + judged)
    procedure = document(steps).procedure
    assert with_demands(procedure, regions_of(procedure))["b"].demands == {"c": ("b",)}


def test_what_the_procedure_verifies_is_demanded_at_the_end() -> None:
    head = HEAD.replace("start:", "grip: guide\nverify: b == 'x'\nstart:")
    procedure = document("  a: {do: x, returns: {type: string}, as: b, end: complete}\n", head).procedure
    region = with_demands(procedure, regions_of(procedure))["a"]
    assert (region.ends, region.at_end) == (True, ("b",))


def test_steps_that_nobody_can_be_guided_through_lie_outside() -> None:
    steps = (
        "  a: {tool: t, next: w}\n  w: {wait: {for: 2d}, next: z}\n  z: {tool: t, as: z2, end: complete}\n"
    )
    procedure = document(steps).procedure
    regions = regions_of(procedure, Grip.GUIDE)
    assert set(regions) == {"a", "z"}
    assert regions["a"] is not regions["z"]


def test_a_procedure_with_regions_that_is_sound_passes() -> None:
    assert codes(GUIDED) == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        # behind a failure of a region nothing of the region is known
        (("bad: {end: escalate}", 'bad: {answer: "x ${b}", end: complete}'), ("SW303", "bad")),
        # `error` may not be known behind a region, whatever way was meant
        (
            ("on_error: bad, next: c}", "on_error: c, next: c}"),
            ("SW304", "d"),
        ),
    ],
)
def test_what_is_not_sure_behind_a_region_is_an_error(
    change: tuple[str, str], expected: tuple[str, str]
) -> None:
    steps = GUIDED.replace(*change)
    if expected[0] == "SW304":
        steps = steps.replace('"four ${b}"', '"four ${error.code}"')
    assert codes(steps) == [expected]


def test_what_is_known_before_a_region_is_known_behind_it_on_every_way_in() -> None:
    steps = (
        "  a: {do: x, returns: {type: boolean}, next: [{to: b, when: a}, {otherwise: g}]}\n"
        "  b: {do: x, returns: {type: string}, next: g}\n"
        "  g: {grip: guide, do: x, returns: {type: string}, next: d}\n"
        '  d: {answer: "${b}", end: complete}\n'
    )
    assert codes(steps) == [("SW303", "d")]
    assert (
        codes(steps.replace("otherwise: g", "otherwise: d2").replace("  d:", "  d2: {end: escalate}\n  d:"))
        == []
    )


WORDS = (
    "  a: {do: x, returns: {type: boolean}, next: [{to: b, GUARD, guidance: look, pitfalls: [p]}, {otherwise: b}]}\n"
    "  b: {end: escalate}\n"
)


@pytest.mark.parametrize(
    ("head", "guard", "expected"),
    [
        ("", "when: a", ["guidance", "pitfalls"]),
        ("", "judge: it rains", []),
        ("grip: bounded\n", "when: a", []),
        ("grip: guide\n", "when: a", []),
        ("grip: free\n", "when: a", []),
    ],
)
def test_words_of_an_edge_that_no_model_sees_are_a_warning(
    head: str, guard: str, expected: list[str]
) -> None:
    found = check(document(WORDS.replace("GUARD", guard), HEAD.replace("start:", f"{head}start:")))
    assert [d.message.en.split("'")[1] for d in found if d.code == "SW504"] == expected


def test_what_does_nothing_on_a_guide_step_is_a_warning() -> None:
    steps = (
        "  a: {grip: guide, do: x, returns: {type: string}, min_confidence: 0.5, examples: [{answer: y}], next: w}\n"
        "  w: {grip: guide, wait: {for: 2d}, next: c}\n  c: {end: complete}\n"
    )
    found = [d.message.en.split("'")[1] for d in check(document(steps)) if d.code == "SW504"]
    assert set(found) == {"min_confidence", "examples", "grip"}
