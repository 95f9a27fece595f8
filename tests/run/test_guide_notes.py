"""Grip guide: what is noted of a model, what it is told of that, and what counts as the work of a step."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typing_extensions import TypedDict

from sopwith import Engine, MemoryLog, Policy, UserError, tool
from sopwith.ir.guidance import DeviationNoted
from sopwith.models.scripted import ScriptedModel
from sopwith.run.run import Run

HEAD = "schema: sopwith/procedure/1\nid: p\noutput: {type: object, properties: {v: {}}}\n"
TOOLS = "tools: [a.one, a.two, b.one, a.list]\n"


class Value(TypedDict):
    v: float


class Listed(TypedDict):
    items: list[str]


@tool(name="a.one")
def one(n: str) -> Value:
    """One."""
    return {"v": 1.0}


@tool(name="a.two")
def two(n: str) -> Value:
    """Two."""
    return {"v": 2.0}


@tool(name="b.one")
def other(n: str) -> Value:
    """One of another source."""
    return {"v": 9.0}


@tool(name="a.list")
def listed(n: str) -> Listed:
    """List."""
    return {"items": ["x", "y"]}


def call(name: str, arguments: object = None) -> str:
    return json.dumps({"name": name, "arguments": {"n": "x"} if arguments is None else arguments})


ONE, TWO, LIKE = call("a__one"), call("a__two"), call("b__one")
OUT = call("finish", {"outcome": "complete"})
GIVE_UP = call("finish", {"outcome": "escalate", "reason": "no"})


def engine(steps: str, replies: list[str], **options: Any) -> tuple[Engine, ScriptedModel]:
    model = ScriptedModel(replies)
    given: Any = {"log": MemoryLog(), "policy": Policy(), **options}
    return Engine(HEAD + TOOLS + steps, tools=[one, two, other, listed], model=model, **given), model


async def guided(steps: str, *replies: str) -> tuple[Run, ScriptedModel]:
    made, model = engine(steps, list(replies))
    async with made:
        return await made.run("x", run_id="r1"), model


def noted(run: Run) -> list[tuple[str, str, str | None]]:
    bodies = (event.body for event in run.events)
    return [(body.action, body.why, body.to) for body in bodies if isinstance(body, DeviationNoted)]


USE = "  use: {name: Use, end: complete, result: {v: '${call_1.v}'}}\n"


async def test_the_result_of_a_call_that_no_step_has_never_gets_the_name_of_a_step() -> None:
    steps = (
        "start: call_1\nsteps:\n  call_1: {grip: guide, name: Look, do: d, tool: a.one, next: use}\n" + USE
    )
    run, _ = await guided(steps, TWO, ONE, OUT)
    assert (run.output, run.state.values["call_1_"]) == ({"v": 1.0}, {"v": 2.0})
    free = (
        "start: call_1\nsteps:\n  call_1: {name: Look, tool: a.one, with: {n: x}, next: f}\n"
        "  f: {name: F, grip: free, do: d, tools: [a.two], returns: {type: string}, next: use}\n" + USE
    )
    run, _ = await guided(free, TWO, call("finish", {"outcome": "complete", "result": "k"}))
    assert run.output == {"v": 1.0}


CLOSED = (
    "start: a\nsteps:\n"
    "  a: {grip: guide, name: A, do: d, tool: a.one, next: [{to: b, when: a.v > 0.0}, {otherwise: e}]}\n"
    "  b: {grip: guide, name: B, do: d, tool: a.two, next: e}\n"
    "  e: {name: E, end: complete, result: {v: 1}}\n"
)
BEFORE = (
    "start: a\nsteps:\n  a: {grip: guide, name: A, do: d, tool: a.one, next: b}\n"
    "  b: {grip: guide, name: B, do: d, tool: a.two, end: complete, result: {v: '${b.v}'}}\n"
)
RESULT = call("finish", {"outcome": "complete", "result": {"v": 77}})


@pytest.mark.parametrize(
    ("steps", "replies", "why", "to"),
    [
        (CLOSED, [ONE, OUT], "closed", "b"),
        (BEFORE, [ONE, RESULT], "left", "b"),
        (BEFORE, [RESULT], "skipped", "a"),
    ],
)
async def test_a_finish_that_leaves_steps_out_is_noted_and_told_once(
    steps: str, replies: list[str], why: str, to: str
) -> None:
    run, model = await guided(steps, *replies, replies[-1])
    assert (run.status, noted(run)) == ("completed", [("finish", why, to)])
    told = model.requests[-1].prompt.tail
    assert "this is noted" in told and f"this leaves out: {to.upper()} (a__" in told


async def test_a_model_that_is_told_what_it_leaves_out_can_still_do_it() -> None:
    run, _ = await guided(CLOSED, ONE, OUT, TWO, OUT)
    assert (run.status, run.path) == ("completed", ("a", "b", "e"))


async def test_an_open_way_counts_where_a_closed_one_leads_to_the_same_step() -> None:
    steps = (
        "grip: guide\nstart: s\nsteps:\n"
        "  s: {name: S, do: d, tool: a.one, next: [{to: r, when: s.v > 5.0}, {otherwise: q}]}\n"
        "  q: {name: Q, next: r}\n  r: {name: R, next: t}\n"
        "  t: {name: T, do: d, tool: a.two, end: complete, result: {v: 1}}\n"
    )
    run, _ = await guided(steps, ONE, TWO, RESULT)
    assert (run.status, noted(run)) == ("completed", [])


async def test_a_tool_that_is_called_alike_after_its_step_is_noted_and_told() -> None:
    steps = (
        "start: s\nsteps:\n  s: {grip: guide, name: S, do: d, tool: a.one, next: e}\n"
        "  e: {name: E, end: complete, result: {v: '${s.v}'}}\n"
    )
    run, model = await guided(steps, ONE, LIKE, GIVE_UP)
    assert noted(run) == [("b__one", "no_edge", "s")]
    assert "no way of the procedure led to b__one; this is noted" in model.requests[-1].prompt.tail


async def test_a_deviation_that_is_refused_is_told_too() -> None:
    written: list[str] = []

    @tool(name="a.write", effect="write")
    def write(n: str) -> Value:
        """Write."""
        written.append(n)
        return {"v": 1.0}

    text = HEAD + CLOSED.replace("start: a", "tools: [a.one, a.two, a.write]\nstart: a")
    model = ScriptedModel([call("a__write"), GIVE_UP])
    async with Engine(text, tools=[one, two, write], model=model, policy=Policy()) as made:
        run = await made.run("x")
    assert (noted(run), written) == ([("a__write", "no_step", None)], [])
    assert "a__write is no step of the procedure; this is noted." in model.requests[-1].prompt.tail


async def test_visits_of_a_guide_step_count_what_enters_its_region() -> None:
    steps = (
        "start: a\nsteps:\n  a: {grip: guide, name: A, do: d, tool: a.one, visits: 2, next: b}\n"
        "  b:\n    grip: guide\n    name: B\n    do: d\n    tool: a.two\n"
        "    next: [{to: a, judge: again}, {to: s, judge: 'on'}, {otherwise: a}]\n"
        "  s: {name: S, tool: b.one, with: {n: x}, next: [{to: a, when: s.v > 5.0}, {otherwise: e}]}\n"
        "  e: {name: E, end: complete, result: {v: 1}}\n"
    )
    there = [ONE, TWO, ONE, TWO, ONE, TWO, OUT, "A"]
    run, _ = await guided(steps, *there, ONE, TWO, OUT, "A")
    failed = [(event.step, event.body.error.code) for event in run.events if event.body.kind == "step.failed"]
    assert (run.status, failed) == ("escalated", [("a#5", "visits")])


async def test_a_case_that_a_free_step_hands_over_escalates_whatever_on_error_says() -> None:
    steps = (
        "start: f\nsteps:\n"
        "  f: {name: F, grip: free, do: d, tools: [a.one], next: e, on_error: [{otherwise: g}]}\n"
        "  g: {name: G, end: complete, result: {v: 1}}\n  e: {name: E, end: complete, result: {v: '${f}'}}\n"
    )
    run, _ = await guided(steps, GIVE_UP)
    assert (run.status, run.path) == ("escalated", ("f",))


@pytest.mark.parametrize("grip", ["strict", "guide"])
async def test_a_question_offers_what_the_run_has_found_and_expires(grip: str) -> None:
    steps = (
        "start: l\nsteps:\n  l: {name: L, tool: a.list, with: {n: x}, next: q}\n"
        f"  q: {{grip: {grip}, name: Q, ask: Which?, returns: {{enum: '${{l.items}}'}}, timeout: 1h, next: e}}\n"
        "  e: {name: E, end: complete, result: {v: '${q}'}}\n"
    )
    made, _ = engine(steps, [call("ask_q", {}), OUT])
    async with made:
        run = await made.run("x", run_id="r1")
        asked = next(event.body for event in run.events if event.body.kind == "human.asked")
        assert asked.answer_schema == {"enum": ["x", "y"]} and asked.expires_at is not None
        with pytest.raises(UserError, match="the answer does not fit"):
            await made.resume("r1", answer="zzz")
        run = await made.resume("r1", answer="y")
    assert run.output == {"v": "y"}


@pytest.mark.parametrize("narrow", ["[]", "[a.list]"])
async def test_a_step_with_a_list_of_tools_can_be_left_for_the_step_behind_it(narrow: str) -> None:
    text = (
        f"{HEAD}{TOOLS}start: a\nsteps:\n"
        f"  a: {{grip: guide, name: A, do: d, tool: a.one, tools: {narrow}, next: b}}\n"
        "  b: {grip: guide, name: B, do: d, tool: a.two, next: e}\n"
        "  e: {name: E, end: complete, result: {}}\n"
    )
    model = ScriptedModel([ONE, TWO, OUT])
    async with Engine(text, tools=[one, two, other, listed], model=model) as engine:
        run = await engine.run("x")
    assert (run.status, run.path) == ("completed", ("a", "b", "e"))
    own = {"a__list"} if narrow != "[]" else set[str]()
    assert {name for name in model.requests[0].legal if "__" in name} == {"a__one", "a__two"} | own
    assert "b__one" in model.requests[2].legal  # a step that says nothing may use what the procedure permits
    assert not [e for e in run.events if isinstance(e.body, DeviationNoted)]
