"""The independent judge of paths: silent on real runs, loud on every kind of breach."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.compliance import violations
from tests.run.desk import HAPPY, REFUND, REPLIES, Shop, desk, sure

from sopwith import Policy, ToolError
from sopwith.ir.event import event_json


@pytest.fixture
def procedure(tmp_path: Path) -> Path:
    path = tmp_path / "refund.yaml"
    path.write_text(REFUND, encoding="utf-8")
    return path


async def events(
    shop: Shop | None = None, replies: list[Any] | None = None, **options: Any
) -> list[dict[str, Any]]:
    run = await desk(shop or Shop(), replies, **options).run("A-7 came broken")
    return [json.loads(json.dumps(event_json(event))) for event in run.events]


async def test_what_the_engine_does_is_compliant(procedure: Path) -> None:
    lost = Shop()
    lost.failures = [ToolError("busy", "x")] * 2
    odd = Shop()
    odd.status = "odd"
    assert violations(procedure, await events()) == []
    assert violations(procedure, await events(lost)) == []
    assert violations(procedure, await events(odd)) == []
    assert violations(procedure, await events(replies=[HAPPY[0], sure("C", 0.9)])) == []
    assert violations(procedure, await events(policy=Policy())) == []


def find(log: list[dict[str, Any]], kind: str, at: int = 0) -> dict[str, Any]:
    return [event for event in log if event["kind"] == kind][at]


def another_tool(log: list[dict[str, Any]]) -> None:
    find(log, "call.proposed")["data"]["tool"] = "shop.refund"


def another_edge(log: list[dict[str, Any]]) -> None:
    find(log, "edge.taken")["data"]["to"] = "pay"


def another_step(log: list[dict[str, Any]]) -> None:
    find(log, "step.entered", 1)["step"] = "pay"


def no_leave(log: list[dict[str, Any]]) -> None:
    find(log, "call.judged")["data"]["verdict"] = "deny"


def twice(log: list[dict[str, Any]]) -> None:
    at = log.index(find(log, "call.started", 1))
    log.insert(at, copy.deepcopy(log[at]))
    for number, event in enumerate(log, 1):
        event["seq"] = number


def a_gap(log: list[dict[str, Any]]) -> None:
    del log[5]


def an_early_end(log: list[dict[str, Any]]) -> None:
    last = log[-1]
    del log[-8:]
    log.append({**last, "seq": len(log) + 1})


def unchecked(log: list[dict[str, Any]]) -> None:
    find(log, "check.ran")["data"]["ok"] = False


def no_end(log: list[dict[str, Any]]) -> None:
    del log[-1]


@pytest.mark.parametrize(
    "breach",
    [another_tool, another_edge, another_step, no_leave, twice, a_gap, an_early_end, unchecked, no_end],
)
async def test_every_breach_is_seen(procedure: Path, breach: Any) -> None:
    log = await events(replies=list(REPLIES))
    breach(log)
    assert violations(procedure, log) != []
