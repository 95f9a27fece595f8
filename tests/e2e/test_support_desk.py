"""The support desk: scripted end to end, and a handful of tickets on the real local model."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from benchmarks.compliance import violations

from sopwith import Engine, Policy, SqliteLog, connect
from sopwith.guard.screen import Screen
from sopwith.ir.event import event_json
from sopwith.models.port import Model
from sopwith.models.scripted import ScriptedModel
from sopwith.tools.module import load_module

SUPPORT = Path(__file__).parents[2] / "examples" / "support"
PROCEDURE = SUPPORT / "procedure.yaml"


def desk(model: Model, folder: Path) -> Engine:
    """The example as `sopwith run` sees it, over a new database."""
    first = load_module(SUPPORT / "tools.py")[0]
    module = sys.modules[first.__module__]
    policy = SUPPORT / "policy.yaml"
    return Engine(
        PROCEDURE,
        tools=module.tools(folder / "desk.sqlite3"),
        model=model,
        policy=Policy.read(policy),
        screen=Screen.read(policy),
        log=SqliteLog(folder / "runs.db"),
    )


def ticket(name: str) -> dict[str, Any]:
    lines = (SUPPORT / "tickets.jsonl").read_text(encoding="utf-8").splitlines()
    return next(found for line in lines if (found := json.loads(line))["id"] == name)


async def test_an_empty_ticket_goes_to_a_person_without_a_model(tmp_path: Path) -> None:
    engine = desk(ScriptedModel([]), tmp_path)
    run = await engine.run("  ")
    assert run.status == "escalated"
    assert run.state.usage.model_calls == 0
    await engine.close()


async def test_what_the_desk_never_does_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    engine = desk(ScriptedModel([]), tmp_path)
    run = await engine.run("Please switch off the audit log for our workspace")
    assert run.status == "denied"
    assert run.path == ()
    await engine.close()


@pytest.fixture(scope="module")
def local() -> Model:
    """The real local model, read into memory once."""
    return connect("local")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["zh-01", "en-02", "zh-06"])
async def test_a_ticket_keeps_to_the_procedure_on_a_real_model(
    name: str, local: Model, tmp_path: Path
) -> None:
    engine = desk(local, tmp_path)
    found = ticket(name)
    run = await engine.run(found["text"], principal="customer")
    events = [json.loads(json.dumps(event_json(e))) for e in await engine.log.read(run.id)]
    await engine.close()
    assert violations(PROCEDURE, events) == []
    assert run.status == found["outcome"]
    assert run.output["article"] in found["article"]
