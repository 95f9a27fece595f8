"""Grip free: what a whole procedure without steps can be held to, and what it has in common with a region."""

from __future__ import annotations

import json

import pytest
from tests.run.desk import ALLOW

from sopwith import Engine, tool
from sopwith.errors import ProcedureError
from sopwith.ir.event import ReplyRejected
from sopwith.models.scripted import ScriptedModel

LOOK = """
schema: sopwith/procedure/1
id: look
name: %s
description: %s
inputs: {number: {type: string}}
output: {type: object, required: [v], properties: {v: {type: number}}}
verify: %s
start: look
steps:
  look: {do: d, tool: a.look, as: seen, next: done}
  done: {end: complete, result: {v: "${seen.v}"}}
"""


NOTHING = {"name": "finish", "arguments": {"outcome": "complete"}}


def finish(result: object) -> str:
    return json.dumps({"name": "finish", "arguments": {"outcome": "complete", "result": result}})


def engine(verify: str, *replies: str, words: str = "Look it up", head: str = "") -> Engine:
    @tool(name="a.look")
    def look(number: str) -> dict[str, float]:
        """Look."""
        return {"v": 1.0}

    text = head + LOOK % (words, words, verify)
    return Engine(text, [look], ScriptedModel(list(replies)), policy=ALLOW)


@pytest.mark.parametrize("head", ["", "grip: free"])
async def test_a_check_of_what_only_steps_write_is_refused_before_a_free_run_starts(head: str) -> None:
    held = "seen.v > 0.0 && inputs.number != ''"
    text = f"{head}\n" if head else ""
    with pytest.raises(ProcedureError) as caught:
        await engine(held, finish({"v": 1.0}), head=text).run(
            "x", inputs={"number": "A"}, grip=None if head else "free"
        )
    (problem,) = caught.value.diagnostics
    assert problem.code == "SW303" and f"verify: `{held}`" in problem.message.en
    assert problem.message.en.endswith("grip 'free' has none: seen") and problem.message.zh.endswith("seen")
    assert "'output' schema" in problem.hint.en and "output" in problem.hint.zh


async def test_a_check_of_the_inputs_and_the_output_hold_a_free_run() -> None:
    given = {"number": "A"}
    run = await engine("inputs.number == 'A'", finish({"v": 1.0})).run("x", inputs=given, grip="free")
    assert (run.status, run.output) == ("completed", {"v": 1.0})
    run = await engine("inputs.number == 'B'", finish({"v": 1.0})).run("x", inputs=given, grip="free")
    assert run.status == "escalated"


@pytest.mark.parametrize("grip", ["free", "guide"])
@pytest.mark.parametrize(
    ("words", "said"), [("Look it up", "result: $: "), ("查询编号并给出结果", "result: $：")]
)
async def test_a_missing_result_is_told_alike_in_every_transcript_and_in_its_language(
    grip: str, words: str, said: str
) -> None:
    seen = json.dumps({"name": "a__look", "arguments": {"number": "A"}})
    made = engine("inputs.number == 'A'", seen, json.dumps(NOTHING), finish({"v": 1.0}), words=words)
    run = await made.run("x", inputs={"number": "A"}, grip=grip)
    assert run.status == "completed"
    (told,) = [e.body.error for e in run.events if isinstance(e.body, ReplyRejected)]
    assert told.code == "invalid_arguments" and told.message.startswith(said)
