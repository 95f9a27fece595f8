"""Rules for what leaves a run: judged on true values before the run completes."""

from __future__ import annotations

from typing import Any

import pytest

from sopwith import Engine, MemoryLog, tool
from sopwith.guard.screen import Screen, Screened
from sopwith.guard.vault import MemoryVault
from sopwith.ir.event import RequestScreened
from sopwith.models.scripted import ScriptedModel
from sopwith.run.run import Run

TELL = """
schema: sopwith/procedure/1
id: tell
inputs:
  request: {type: string, from: run.request}
output:
  type: object
  properties:
    text: {type: string}
start: tell
steps:
  tell:
    answer: Answer
    uses: [inputs.request]
    end: complete
    result: {text: "${tell}"}
"""
RULES = """
screen:
  output:
    max_length: 60
    rules:
      - {id: promises, verdict: escalate, pattern: guarantee}
      - {id: numbers, verdict: deny, pattern: '138\\d{8}'}
"""


def screened(run: Run) -> list[tuple[str, str, str | None]]:
    return [
        (e.body.where, e.body.verdict, e.body.rule) for e in run.events if isinstance(e.body, RequestScreened)
    ]


@pytest.mark.parametrize(
    ("reply", "status", "verdict", "rule"),
    [
        ("It was sent.", "completed", "pass", None),
        ("We guarantee it.", "escalated", "escalate", "promises"),
        ("Call 13812345678", "denied", "deny", "numbers"),
        ("x" * 61, "escalated", "escalate", "max_length"),
    ],
)
async def test_an_output_that_meets_a_rule_does_not_complete(
    reply: str, status: str, verdict: str, rule: str | None
) -> None:
    run = await Engine(TELL, model=ScriptedModel([reply]), screen=Screen.read(RULES)).run("go")
    assert run.status == status
    assert screened(run) == [("request", "pass", None), ("output", verdict, rule)]
    if rule is not None:
        assert run.outcome is not None and run.outcome.packet is not None
        assert f"“{rule}” for outputs" in run.outcome.packet.reason
        assert run.output is None
        assert any(e.body.kind == "alert.raised" for e in run.events)


async def test_without_rules_for_outputs_nothing_is_written_about_them() -> None:
    run = await Engine(TELL, model=ScriptedModel(["We guarantee it."])).run("go")
    assert (run.status, screened(run)) == ("completed", [("request", "pass", None)])


async def test_a_classifier_judges_requests_and_outputs_with_true_values() -> None:
    seen: list[tuple[str, str]] = []

    async def classify(where: str, text: str) -> Screened | None:
        seen.append((where, text))
        return Screened("escalate", "numbers") if where == "output" else None

    engine = Engine(TELL, model=ScriptedModel(["Call <phone:1>"]), screen=Screen(classifier=classify))
    run = await engine.run("13812345678")
    assert run.status == "escalated"
    assert seen == [("request", "13812345678"), ("output", "Call 13812345678")]
    assert screened(run)[-1] == ("output", "escalate", "numbers")


async def test_a_classifier_that_fails_completes_nothing() -> None:
    def classify(where: str, text: str) -> Screened | None:
        raise ConnectionError("no answer")

    run = await Engine(TELL, model=ScriptedModel(["x"]), screen=Screen(classifier=classify)).run("go")
    assert (run.status, screened(run)) == ("escalated", [("request", "escalate", "classifier")])


async def test_a_run_that_was_stopped_before_its_end_is_screened_when_it_goes_on() -> None:
    log, vault = MemoryLog(), MemoryVault()
    whole = Engine(TELL, model=ScriptedModel(["We guarantee it."]), log=log, vault=vault)
    events = (await whole.run("go", run_id="r1")).events
    cut = MemoryLog()
    blobs = {
        name: await log.blob(name)
        for e in events
        for name in (
            getattr(e.body, part, None) for part in ("procedure", "tools", "policy", "prefix", "turns")
        )
        if name
    }
    await cut.append("r1", events[:-1], blobs)
    run = await Engine(TELL, log=cut, vault=vault, screen=Screen.read(RULES)).resume("r1")
    assert (run.status, screened(run)[-1]) == ("escalated", ("output", "escalate", "promises"))


@pytest.mark.parametrize(
    ("reply", "rule"),
    [("ok\nguarantee", "promises"), ("yes", "bare"), ('say "free"', "quoted"), ("a\tfree", "tabbed")],
)
async def test_the_texts_of_an_output_are_judged_as_they_are(reply: str, rule: str) -> None:
    screen = Screen.read(
        "screen:\n  output:\n    rules:\n"
        "      - {id: promises, verdict: deny, pattern: '\\bguarantee\\b'}\n"
        "      - {id: bare, verdict: deny, pattern: '^yes$'}\n"
        "      - {id: quoted, verdict: deny, words: '\"free\"'}\n"
        '      - {id: tabbed, verdict: deny, words: "a\\tfree"}\n'
    )
    run = await Engine(LOOK, tools=[_said(reply)], screen=screen).run("go")
    assert (run.status, screened(run)[-1]) == ("denied", ("output", "deny", rule))


LOOK = """
schema: sopwith/procedure/1
id: look
output:
  type: object
  properties:
    texts: {type: array, items: {type: object, properties: {text: {type: string}}}}
start: look
steps:
  look: {tool: desk.look, as: found, end: complete, result: {texts: "${found.texts}"}}
"""


def _said(text: str) -> Any:
    @tool(name="desk.look")
    def look() -> dict[str, list[dict[str, str]]]:
        return {"texts": [{"text": "first"}, {"text": text}]}

    return look
