"""A run in Chinese says nothing in English of its own: not to its model, not to whoever reads its log."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from tests.examples.test_gallery import GALLERY, TRADES, Day, Script, engine

from sopwith import Engine, Policy, tool
from sopwith.ir.event import event_json
from sopwith.ir.procedure import Grip
from sopwith.lang.read import read
from sopwith.models.port import ModelReply, ModelRequest
from sopwith.models.reply import read_reply
from sopwith.models.scripted import ScriptedModel
from sopwith.run.book import language_of
from sopwith.run.run import Run

SENTENCE = re.compile(r"\b[A-Za-z']{2,}(?: [A-Za-z']{2,}){2,}")
"""Three English words with nothing but blanks between them."""
BAD = (
    "甲乙丙",
    '{"不对": 1}',
    '{"name": "no_such_tool", "arguments": {}}',
    "",
    "[1, 2",
    '{"name": "finish", "arguments": {"outcome": "done", "result": {"不对": 1}}}',
)
CHINESE = [name for name in TRADES if language_of(read(GALLERY / name / "procedure.yaml").procedure) == "zh"]
CASES = [
    pytest.param(trade, json.loads(line), id=f"{trade}: {json.loads(line)['id']}")
    for trade in CHINESE
    for line in (GALLERY / trade / "cases.jsonl").read_text("utf-8").splitlines()
]

HOUSE = """\
schema: sopwith/procedure/1
id: house
name: 保修
inputs: {request: {type: string, from: run.request}}
start: open
steps:
  open: {name: 登记, do: 登记报修, uses: [inputs.request], tool: house.open, as: ticket, next: fetch}
  fetch: {name: 取件, tool: house.fetch, as: part, on_error: person, next: tell}
  tell: {name: 告知, answer: "告知 ${ticket}", end: complete}
  person: {name: 转人工, end: escalate}
"""


@pytest.fixture(autouse=True)
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples keep their files in a folder of the test."""
    monkeypatch.setenv("EXAMPLE_DATA", str(tmp_path))


class Clumsy:
    """A model that answers each question wrongly first, each in another way, and then as its case says."""

    def __init__(self, script: Script | None) -> None:
        self._script = script
        self._wrong = 0
        self._erred = False

    def __call__(self, request: ModelRequest) -> str | ModelReply:
        if self._script is not None and (self._erred or request.form == "text"):
            self._erred = False
            return self._script(request)
        self._erred = True
        while True:
            self._wrong += 1
            bad = BAD[self._wrong % len(BAD)]
            if self._script is None or read_reply(request, ModelReply(bad)).error is not None:
                return bad


def said(run: Run, model: ScriptedModel) -> Iterator[str]:
    """What a model of the run was told after its tools and the procedure, and every message in its log."""
    for request in model.requests:
        yield request.prompt.tail
    for event in run.events:
        yield from _messages(event_json(event)["data"])


def _messages(data: Any) -> Iterator[str]:
    if isinstance(data, dict):
        for key, value in cast("dict[str, Any]", data).items():
            if key in ("message", "reason", "why", "question") and isinstance(value, str):
                yield value
            else:
                yield from _messages(value)
    elif isinstance(data, list):
        for value in cast("list[Any]", data):
            yield from _messages(value)


def english(run: Run, model: ScriptedModel) -> list[str]:
    return [text for text in said(run, model) if SENTENCE.search(text)]


@pytest.mark.parametrize(("trade", "case"), CASES)
async def test_a_clumsy_model_is_corrected_in_chinese(trade: str, case: dict[str, Any]) -> None:
    day = Day(case.get("today", "2026-03-02"))
    model = ScriptedModel(Clumsy(Script(list(case["replies"]))))
    async with engine(trade, case, day, model) as desk:
        run = await desk.run(case["request"], principal=case["by"], inputs=case.get("inputs", {}))
    kinds = {event.body.kind for event in run.events}
    assert "reply.rejected" in kinds or not model.requests
    assert english(run, model) == []


@pytest.mark.parametrize("grip", [Grip.BOUNDED, Grip.GUIDE, Grip.FREE])
@pytest.mark.parametrize("trade", CHINESE)
async def test_a_model_that_says_nothing_right_is_told_so_in_chinese(trade: str, grip: Grip) -> None:
    case: dict[str, Any] = {"replies": []}
    model = ScriptedModel(Clumsy(None))
    async with engine(trade, case, Day("2026-03-02"), model) as desk:
        run = await desk.run("请处理订单 D1002", principal="e-lin", grip=grip)
    assert run.status != "completed" and english(run, model) == []


@tool(name="house.open", effect="write")
def open_ticket(room: str, urgent: bool) -> str:
    """登记。"""
    return f"{room} {urgent}"


@tool(name="house.fetch")
def fetch() -> dict[str, int]:
    """取件。"""
    return {"部件": "坏"}  # pyright: ignore[reportReturnType]


@pytest.mark.parametrize("grip", [Grip.STRICT, Grip.GUIDE, Grip.FREE])
async def test_what_a_tool_refuses_and_what_it_breaks_are_said_in_chinese(grip: Grip) -> None:
    calls = ['{"room": 3, "urgent": "maybe"}', '{"room": "301", "urgent": true, "extra": 1}']
    calls += ['{"room": "301", "urgent": true}', "{}", "{}"]
    named = (f'{{"name": "house_open", "arguments": {call}}}' for call in calls)
    more = [
        '{"name": "house_fetch", "arguments": {}}',
        '{"name": "finish", "arguments": {"outcome": "escalate"}}',
    ]
    model = ScriptedModel([*(calls if grip is Grip.STRICT else named), *more])
    policy = Policy(allow_writes=["house.open"])
    async with Engine(HOUSE, [open_ticket, fetch], model, policy=policy) as desk:
        run = await desk.run("301 房漏水", grip=grip)
    kinds = [event.body.kind for event in run.events]
    assert "reply.rejected" in kinds and run.status == "escalated" and english(run, model) == []
