"""Several grips in one procedure: a region of guide steps begins, is left by its ways out, and leaves values behind."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from sopwith import Engine, Policy, ToolError, tool
from sopwith.errors import ProcedureError
from sopwith.ir.event import EdgeTaken, ReplyRejected, StepEntered
from sopwith.models.scripted import ScriptedModel
from sopwith.run.run import Run

MIXED = """
schema: sopwith/procedure/1
id: claim
name: Settle a claim
description: Look a claim up, then pay it
inputs: {number: {type: string}}
output: {type: object, required: [paid], properties: {paid: {type: boolean}}}
start: open
steps:
  open: {tool: claim.open, with: {number: "${inputs.number}"}, as: claim, next: look}
  look:
    grip: guide
    name: Look at the damage
    do: Find the damage of ${claim.number}
    tool: claim.damage
    as: damage
    on_error: broken
    next: rate
  rate:
    grip: guide
    name: Rate it
    do: Say how bad it is
    returns: {type: object, required: [grade], properties: {grade: {type: integer}}}
    next:
      - {to: again, when: rate.grade < 2}
      - {to: pay, when: rate.grade < 9}
      - {otherwise: person}
  again: {tool: claim.open, with: {number: "${inputs.number}"}, as: reopened, visits: 2, next: look}
  pay:
    tool: claim.pay
    with: {number: "${claim.number}", amount: "${damage.amount * 2}"}
    as: paid
    verify: paid.ok
    next: done
  broken: {answer: "Say that ${claim.number} could not be looked at", end: complete, result: {paid: false}}
  person: {end: escalate}
  done: {end: complete, result: {paid: "${paid.ok}"}}
"""


class Claims:
    """Claims in memory."""

    def __init__(self, failing: bool = False) -> None:
        self.paid: list[int] = []
        self.failing = failing

    def tools(self) -> list[Any]:
        @tool(name="claim.open")
        def open_(number: str) -> dict[str, str]:
            """Open a claim."""
            return {"number": number}

        @tool(name="claim.damage")
        def damage(number: str) -> dict[str, int]:
            """Look at the damage."""
            if self.failing:
                raise ToolError("busy", "no")
            return {"amount": 21}

        @tool(name="claim.pay", effect="write")
        def pay(number: str, amount: int) -> dict[str, bool]:
            """Pay."""
            self.paid.append(amount)
            return {"ok": True}

        return [open_, damage, pay]


def call(name: str, arguments: object = None) -> str:
    return json.dumps({"name": name, "arguments": {} if arguments is None else arguments})


LOOK = call("claim__damage", {"number": "C-1"})
DONE = call("finish", {"outcome": "complete"})


def rate(grade: int) -> str:
    return call("returns_rate", {"grade": grade})


async def settled(
    *replies: str, claims: Claims | None = None, text: str = MIXED
) -> tuple[Run, ScriptedModel]:
    model = ScriptedModel(list(replies))
    policy = Policy(allow_writes=["claim.*"])
    async with Engine(text, tools=(claims or Claims()).tools(), model=model, policy=policy) as engine:
        return await engine.run("C-1", inputs={"number": "C-1"}), model


def rejected(run: Run) -> list[str]:
    return [e.body.error.code for e in run.events if isinstance(e.body, ReplyRejected)]


async def test_a_region_is_left_by_the_ways_out_of_the_step_at_hand() -> None:
    claims = Claims()
    run, model = await settled(LOOK, rate(5), DONE, claims=claims)
    assert (run.status, run.output, claims.paid) == ("completed", {"paid": True}, [42])
    assert run.path == ("open", "look", "rate", "pay", "done")
    assert [e.body.by for e in run.events if isinstance(e.body, EdgeTaken)] == [
        "always", "guide", "when", "always",
    ]  # fmt: skip
    assert model.requests[0].prompt.tail.startswith("<variables>\ninputs.number: C-1\nclaim.number: C-1\n")


async def test_a_name_that_a_later_step_reads_is_demanded() -> None:
    claims = Claims()
    run, model = await settled(rate(5), DONE, LOOK, rate(5), DONE, claims=claims)
    assert rejected(run) == ["missing"]
    assert "these must have a value: damage; call claim__damage" in model.requests[2].prompt.tail
    assert claims.paid == [42]


async def test_a_step_without_a_way_out_says_where_there_is_one() -> None:
    run, model = await settled(LOOK, DONE, rate(5), DONE)
    assert rejected(run) == ["no_exit"]
    assert "Rate it (returns_rate)" in model.requests[2].prompt.tail
    assert run.status == "completed"


async def test_who_insists_without_a_way_out_ends_at_the_way_of_errors() -> None:
    run, _ = await settled(LOOK, DONE, DONE, "It could not be looked at.")
    assert (run.status, run.output) == ("completed", {"paid": False})
    assert run.path == ("open", "look", "broken")


async def test_a_case_that_is_handed_over_escalates_and_keeps_its_values() -> None:
    run, _ = await settled(LOOK, call("finish", {"outcome": "escalate", "reason": "too big"}))
    assert run.status == "escalated"
    assert run.outcome is not None and run.outcome.packet is not None
    assert run.outcome.packet.values["damage"] == {"amount": 21}
    assert "too big" in run.outcome.packet.reason


async def test_a_region_that_is_entered_anew_begins_a_new_transcript_without_its_old_values() -> None:
    run, model = await settled(LOOK, rate(1), DONE, rate(5), DONE, LOOK, rate(5), DONE)
    entered = [e for e in run.events if isinstance(e.body, StepEntered) and e.body.unset]
    assert [(e.step, e.body.unset) for e in entered] == [("look#2", ("damage", "rate"))]
    assert rejected(run) == ["missing"]
    assert model.requests[3].prompt.turns == ()
    assert run.path == ("open", "look", "rate", "again", "look", "rate", "look", "rate", "pay", "done")


async def test_a_region_is_entered_no_more_often_than_its_step_may_be() -> None:
    text = MIXED.replace("    on_error: broken\n", "    on_error: broken\n    visits: 2\n", 1)
    text = text.replace("visits: 2, next: look", "visits: 9, next: look")
    run, _ = await settled(*[LOOK, rate(1), DONE] * 3, "Not looked at.", text=text)
    assert run.path[-2:] == ("look", "broken")


async def test_requests_of_steps_share_a_prefix_and_those_of_a_region_grow() -> None:
    text = MIXED.replace("verify: paid.ok\n    next: done", "verify: paid.ok\n    next: tell").replace(
        "  broken:", "  tell: {do: Say it, uses: [paid], returns: {type: string}, next: done}\n  broken:"
    )
    run, model = await settled(LOOK, rate(5), DONE, '"paid"', text=text)
    assert run.status == "completed"
    guided, strict = model.requests[:3], model.requests[3]
    for before, after in itertools.pairwise(guided):
        assert after.prompt.turns[: len(before.prompt.turns)] == before.prompt.turns
        assert after.prompt.turns[len(before.prompt.turns)].user == before.prompt.tail
    assert {r.prompt.block for r in guided} == {strict.prompt.block}
    assert "<routine>" in strict.prompt.prefix
    assert "<routine>" not in guided[0].prompt.prefix


async def test_an_error_in_a_region_is_data_for_the_model() -> None:
    run, model = await settled(
        LOOK, call("finish", {"outcome": "escalate", "reason": "busy"}), claims=Claims(failing=True)
    )
    assert '"code": "busy"' in model.requests[1].prompt.tail
    assert run.status == "escalated"


async def test_a_procedure_that_is_not_sound_when_it_is_guided_is_refused_at_that_grip() -> None:
    text = """
schema: sopwith/procedure/1
id: late
start: a
steps:
  a: {tool: claim.open, with: {number: x}, as: claim, next: b}
  b: {tool: claim.open, with: {number: y}, as: more, on_error: wait, next: done}
  wait: {wait: {for: "${claim.number}"}, next: done}
  done: {end: complete}
"""
    engine = Engine(text, tools=Claims().tools())
    assert (await engine.run("x")).status == "completed"
    with pytest.raises(ProcedureError) as refused:
        await engine.run("x", grip="guide")
    assert [d.code for d in refused.value.diagnostics] == ["SW303"]
