"""Leave that a step wants holds for its tool at every grip, and for no other call."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sopwith import Engine, MemoryLog, Policy, tool
from sopwith.models.scripted import ScriptedModel
from sopwith.run.run import Run

HEAD = "schema: sopwith/procedure/1\nid: p\noutput: {type: object}\ntools: [a.look, a.pay]\n"
PAY = "tool: a.pay, with: {n: x}, approval: {roles: [boss]}, next: e"
END = "  e: {name: E, end: complete, result: {}}\n"
BEHIND = (
    "  look: {grip: guide, name: Look, do: d, tool: a.look, next: pay}\n  pay: {name: Pay, "
    + PAY
    + "}\n"
    + END
)
TWO = (
    "  look: {grip: guide, name: Look, do: d, tool: a.look, next: ["
    "{to: small, judge: small sums}, {to: big, judge: large sums}, {otherwise: e}]}\n"
    "  small: {grip: guide, name: Small, do: d, tool: a.pay, next: e}\n"
    "  big: {grip: guide, name: Big, do: d, tool: a.pay, approval: {roles: [boss]}, next: e}\n" + END
)
FREE = "  f: {name: F, grip: free, do: d, next: pay}\n  pay: {name: Pay, " + PAY + "}\n" + END
AT = "  big: {grip: guide, name: Big, do: d, tool: a.pay, approval: {roles: [boss]}, next: e}\n" + END


def call(name: str, arguments: object) -> str:
    return json.dumps({"name": name, "arguments": arguments})


LOOK = call("a__look", {"n": "x"})
WRITE = call("a__pay", {"n": "x"})
DONE = call("finish", {"outcome": "complete", "result": "r"})
OUT = call("finish", {"outcome": "complete"})


async def run_of(
    steps: str, start: str, replies: list[str], grip: str | None = None
) -> tuple[Run, list[str]]:
    """A run that nobody gives leave to, and what was paid in it."""
    paid: list[str] = []

    @tool(name="a.look")
    def look(n: str) -> dict[str, float]:
        """Look."""
        return {"v": 1.0}

    @tool(name="a.pay", effect="write")
    def pay(n: str) -> dict[str, float]:
        """Pay."""
        paid.append(n)
        return {"v": 1.0}

    text = f"{HEAD}start: {start}\nsteps:\n{steps}"
    given: Any = {"policy": Policy(allow_writes=["a.pay"]), "log": MemoryLog()}
    async with Engine(text, tools=[look, pay], model=ScriptedModel(replies), **given) as engine:
        return await engine.run("x", grip=grip), paid


def asked(run: Run) -> list[str]:
    return [event.body.rule for event in run.events if event.body.kind == "human.asked"]


@pytest.mark.parametrize(
    ("steps", "start", "replies", "grip", "place"),
    [
        (BEHIND, "look", [WRITE, OUT], None, "pay"),
        (BEHIND, "look", [LOOK, WRITE, OUT], None, "pay"),
        (TWO, "look", [LOOK, WRITE, OUT], None, "big"),
        (TWO, "look", [LOOK, WRITE, WRITE, OUT], None, "big"),
        (FREE, "f", [WRITE, DONE], None, "pay"),
        (FREE, "f", [WRITE, DONE], "free", "pay"),
        (AT, "big", [LOOK, WRITE, OUT], None, "big"),
    ],
)
async def test_a_tool_that_a_step_wants_leave_for_needs_it_wherever_a_model_calls_it(
    steps: str, start: str, replies: list[str], grip: str | None, place: str
) -> None:
    run, paid = await run_of(steps, start, replies, grip)
    assert (run.status, paid) == ("suspended", [])
    assert asked(run) == [f"steps.{place}.approval"]
    body = next(event.body for event in run.events if event.body.kind == "call.judged" and event.body.terms)
    assert body.terms.roles == ("boss",)


async def test_leave_of_the_step_at_hand_does_not_hold_up_a_read() -> None:
    run, _ = await run_of(AT, "big", [LOOK, call("finish", {"outcome": "escalate"})])
    assert (run.status, asked(run)) == ("escalated", [])


async def test_several_steps_want_the_leave_of_all_and_nobody_who_could_give_it_is_a_refusal() -> None:
    more = "  more: {name: More, tool: a.pay, with: {n: y}, approval: {roles: [WHO], count: 2}, next: e}\n"
    steps = BEHIND.replace(
        "n: x}, approval: {roles: [boss]}, next: e", "n: x}, approval: {roles: [boss]}, next: more"
    )
    run, paid = await run_of(steps + more.replace("WHO", "boss"), "look", [WRITE, OUT])
    terms = [e.body.terms for e in run.events if e.body.kind == "call.judged"][-1]
    assert terms is not None and (terms.roles, terms.count, paid) == (("boss",), 2, [])
    run, paid = await run_of(
        steps + more.replace("WHO", "cfo"), "look", [WRITE, call("finish", {"outcome": "escalate"})]
    )
    assert ([e.body.verdict for e in run.events if e.body.kind == "call.judged"], paid) == (["deny"], [])
