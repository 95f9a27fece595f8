"""The language benchmark works: it finds what is lost, what crashes, what is unsound, and what a check misses."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from benchmarks.broken import BREAKS, IMPLIED, broken, reported
from benchmarks.chance import Chance
from benchmarks.files import FORMS, Form, crash, damaged, losses, same_graph
from benchmarks.goals import GOALS
from benchmarks.language import QUICK, broken_rules, drawn, measured, quiet
from benchmarks.sizes import long_procedure
from benchmarks.soundness import Tally, checked, exercise, faults_of
from benchmarks.values import annotation, field, instance, record
from benchmarks.works import ToolPlan
from pydantic import TypeAdapter

from sopwith.ir.body import Body
from sopwith.ir.diagnostic import Severity
from sopwith.ir.event import CheckRan, EdgeTaken, Event, Outcome, Phase, Principal, RunStarted, StepFailed
from sopwith.ir.outcome import Packet
from sopwith.ir.procedure import Procedure
from sopwith.ir.schema import validator
from sopwith.ir.tool import ErrorData, ToolSpec
from sopwith.lang.check.codes import CODES
from sopwith.lang.yaml import write_yaml
from sopwith.run.asking import EMPTY_ENUM
from sopwith.run.fold import begin
from sopwith.run.run import Run

NOTHING = ("roundtrip_losses", "crashes", "unsound", "rules_missed", "rules_blurred")


async def test_nothing_is_lost_crashes_or_is_unsound() -> None:
    with quiet():
        measures, wrong = await measured(QUICK)
    assert wrong == []
    found = {measure.name: measure.value for measure in measures}
    assert [name for name in NOTHING if not GOALS[name].met(found[name])] == []
    assert {"check_ms_1000_steps", "compile_ms_1000_steps", "check_growth_10x", "read_ms_1000_steps"} <= set(
        found
    )
    assert found["refused_by_check"] > 0
    for kind in ("step_tool", "step_returns", "step_ask", "step_free", "step_route", "step_answer"):
        assert found[kind] > 0, kind
    for way in ("edge_when", "edge_judge", "edge_otherwise", "edge_error", "edge_always"):
        assert found[way] > 0, way


def test_every_code_has_a_procedure_that_breaks_its_rule() -> None:
    missing = sorted(set(CODES) - set(BREAKS))
    assert missing == [], (
        f"add to a file of benchmarks/broken.py, for each of {missing}, a function `@breaks(code)` that breaks exactly "
        "this rule in the data of any procedure (with `first`, `also`, `condition`, `value` of benchmarks/breaking.py)"
    )
    assert sorted(set(BREAKS) - set(CODES)) == [], "remove what breaks a rule that is gone"
    assert set(IMPLIED) <= set(CODES)


@pytest.fixture(scope="module")
def specs() -> dict[str, ToolSpec]:
    """The tools of the procedures whose rules are broken."""
    plans = {plan.name: plan for i in range(4) for plan in drawn("sound", i * 2).tools}
    source = Chance(Random(0)).functions(tuple(plans.values()))
    return {spec.name: spec for spec in asyncio.run(source.specs())}


@pytest.mark.parametrize("code", sorted(BREAKS))
def test_a_broken_rule_is_reported_alone(code: str, specs: dict[str, ToolSpec]) -> None:
    for i in range(4):
        whole = drawn("sound", i * 2)
        found = reported(broken(code, whole.procedure, Random(i)), specs, whole.children)
        errors = {one.code for one in found if one.severity is Severity.ERROR}
        assert code in {one.code for one in found}
        assert errors <= {code} | IMPLIED.get(code, frozenset()), [one.render() for one in found]


async def test_a_rule_that_is_not_reported_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.language.BREAKS", {"SW203": BREAKS["SW203"], "SW302": BREAKS["SW203"]})
    monkeypatch.setattr("benchmarks.language.broken", lambda code, procedure, rng: _lost(procedure, rng))
    measures, wrong = await broken_rules(1)
    assert {measure.name: measure.value for measure in measures} == {"rules_missed": 1, "rules_blurred": 1}
    assert wrong == ["SW302 in procedure 0 is missed", "SW302 in procedure 0 is reported with SW203"]


def _lost(procedure: Procedure, rng: Random) -> Procedure:
    return broken("SW203", procedure, rng)


def test_the_same_seed_makes_the_same_procedure() -> None:
    assert drawn("trip", 7).procedure.digest() == drawn("trip", 7).procedure.digest()
    assert drawn("trip", 7).procedure != drawn("trip", 9).procedure


async def test_procedures_that_are_not_wrong_on_purpose_pass() -> None:
    found = {i: (await checked(drawn("sound", i))).errors for i in range(0, 60, 2)}
    assert {i: errors for i, errors in found.items() if errors} == {}


def test_a_loss_and_a_crash_are_noticed(tmp_path: Path) -> None:
    procedure, other = drawn("trip", 1).procedure, drawn("trip", 3).procedure
    wrong = Form("wrong", "p.yaml", lambda procedure: write_yaml(other))
    assert losses(procedure, wrong) == "wrong: another procedure is read"

    def fail(procedure: Procedure) -> str:
        raise KeyError(procedure.id)

    held = write_yaml(procedure).encode()
    assert crash(held, Form("broken", "p.yaml", fail), tmp_path) == f"KeyError: '{procedure.id}'"
    assert crash(held, FORMS[0], tmp_path) is None
    assert crash(held[: len(held) // 2], FORMS[0], tmp_path) is None, "a refusal with a place"


def test_other_steps_or_ways_are_another_graph() -> None:
    procedure = drawn("trip", 1).procedure
    assert same_graph(procedure, procedure)
    assert not same_graph(procedure, drawn("trip", 3).procedure)
    assert not same_graph(procedure, broken("SW203", procedure, Random(0)))


def test_damage_changes_a_text_and_the_same_seed_does_the_same() -> None:
    text = FORMS[0].write(drawn("trip", 1).procedure)
    made = [damaged(Random(i), text) for i in range(30)]
    assert made == [damaged(Random(i), text) for i in range(30)]
    assert sum(one != text for one in made) >= 28


def _ended(kind: str, *bodies: Body) -> Run:
    """A run that ended so, with these events."""
    events = [Event("t", "r", i, 0, Phase.EXECUTE, "a", None, body) for i, body in enumerate(bodies)]
    outcome = Outcome(kind=kind, packet=Packet(reason="why"))  # type: ignore[arg-type]
    return Run(begin(Event("t", "r", 0, 0, Phase.RECEIVE, None, None, STARTED)), events, outcome)


def _faults(run: Run, never: frozenset[tuple[str, str]] = frozenset()) -> Iterator[str]:
    return faults_of(run.events, run.outcome, never)


STARTED = RunStarted(
    procedure_id="p", procedure="", tools="", policy="", prompts="", model="m", principal=Principal(id="u1"),
    request="x", date="2026-01-01", language="en",
)  # fmt: skip


def _failed(code: str, message: str) -> StepFailed:
    return StepFailed(error=ErrorData(code=code, message=message))


@pytest.mark.parametrize(
    "body",
    [
        _failed("expression", "`x.y`: the name 'x' has no value here"),
        _failed("expression", "`x.y`：没有字段“y”"),
        _failed("no_edge", "no edge of the step fits"),
        _failed("invalid_arguments", '$: "who" is missing'),
        CheckRan(scope="output", ok=False, expression="output", why='$：缺少 "who"'),
        CheckRan(scope="procedure", ok=False, expression="x", why="the name 'x' has no value here"),
    ],
)
def test_what_a_check_rules_out_is_unsound(body: Body) -> None:
    assert len(list(_faults(_ended("escalated", body)))) == 1


async def test_a_run_of_what_a_check_refuses_is_unsound(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = drawn("sound", 0)
    wrong = dataclasses.replace(whole, procedure=broken("SW302", whole.procedure, Random(1)))
    assert (await checked(wrong)).errors == {"SW302"}
    monkeypatch.setattr("sopwith.lang.check.check", lambda document, *known: [])
    tally = Tally()
    with quiet():
        await exercise(tally, wrong, 1, faults=(0.0,))
    assert len(tally.unsound) == 1 and "unheard_of" in tally.unsound[0]


def test_an_edge_that_was_said_to_be_never_taken_is_unsound() -> None:
    run = _ended("completed", EdgeTaken(to="b", by="when", label="n > 5"))
    assert len(list(_faults(run, frozenset({("a", "n > 5")})))) == 1
    assert list(_faults(run, frozenset({("a", "n > 6")}))) == []


async def test_edges_that_are_never_taken_are_known_by_their_step_and_condition() -> None:
    whole = drawn("sound", 0)
    generated = dataclasses.replace(whole, procedure=broken("SW218", whole.procedure, Random(1)))
    found = await checked(generated)
    assert not found.errors
    always = generated.procedure.steps["broken"].next[0].when == "seen.n < 5"
    assert found.never == (frozenset() if always else {("broken", "seen.n > 5")})


@pytest.mark.parametrize("kind", ["failed", "exhausted", "cancelled"])
def test_ends_that_no_procedure_has_are_unsound(kind: str) -> None:
    assert list(_faults(_ended(kind))) == [f"it ends as {kind}: why"]


@pytest.mark.parametrize("body", [_failed("busy", "no"), _failed("expression", f"`x`: {EMPTY_ENUM.en}")])
def test_failures_that_only_a_run_can_know_are_sound(body: Body) -> None:
    assert list(_faults(_ended("escalated", body))) == []


@pytest.mark.parametrize("i", range(20))
def test_instances_are_what_schemas_and_types_admit(i: int) -> None:
    rng = Random(i)
    schema = record(rng) if i % 2 else field(rng)
    adapter = TypeAdapter(annotation(schema))
    for _ in range(10):
        value = instance(rng, schema)
        assert validator(schema).accepts(value)
        adapter.validate_python(value)


async def test_a_planned_tool_declares_what_was_planned() -> None:
    plan = ToolPlan("x.y", {"who": {"type": "string"}}, ("who",), {"enum": ["a", "b"]})
    (spec,) = await Chance(Random(0)).functions([plan]).specs()
    assert spec.output_schema == {"enum": ["a", "b"], "type": "string"}
    assert spec.input_schema["required"] == ["who"]
    assert dataclasses.asdict(plan)["name"] == spec.name


@pytest.mark.parametrize("steps", [10, 57, 1_000])
def test_a_long_procedure_has_as_many_steps_as_asked_for(steps: int) -> None:
    procedure = long_procedure(steps)
    assert len(procedure.steps) == steps
    assert sum(len(step.next) > 1 for step in procedure.steps.values()) == steps // 5
