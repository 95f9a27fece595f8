"""Leave requests end to end: what the model picks out is given, or comes from the real model; code does the dates."""

from __future__ import annotations

import datetime
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sopwith import Engine, Policy, connect
from sopwith.models.port import Model, ModelReply
from sopwith.models.scripted import ScriptedModel
from sopwith.run.run import Run
from sopwith.tools.module import load_module

LEAVE = Path(__file__).parents[2] / "examples" / "leave"
REQUESTS = [json.loads(line) for line in (LEAVE / "requests.jsonl").read_text(encoding="utf-8").splitlines()]
UNCLEAR = [r for r in REQUESTS if r["expect"] != "completed" or "ask_dates" in r.get("asked", [])]


def engine(model: Model, case: dict[str, Any]) -> Engine:
    """The example on the day of the request."""
    noon = datetime.datetime.combine(datetime.date.fromisoformat(case["today"]), datetime.time(12))
    at = int(noon.timestamp() * 1e6)
    policy = Policy.read(LEAVE / "policy.yaml")
    return Engine(
        LEAVE / "procedure.yaml", load_module(LEAVE / "tools.py"), model, policy=policy, clock=lambda: at
    )


async def handled(model: Model, case: dict[str, Any]) -> Run:
    """The run of one request, each of its questions answered as the case says."""
    desk = engine(model, case)
    answers = list(case.get("answers", []))
    run = await desk.run(case["request"], principal=case["user_id"])
    while run.outcome is None and answers:
        run = await desk.resume(run.id, answer=answers.pop(0))
    return run


def filed(path: Path) -> list[dict[str, Any]]:
    """The leave requests on file."""
    if not path.exists():
        return []
    with closing(sqlite3.connect(path)) as database:
        database.row_factory = sqlite3.Row
        return [dict(row) for row in database.execute("SELECT kind, start_date, days FROM request")]


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "leave.db"
    monkeypatch.setenv("LEAVE_DB", str(path))
    return path


def scripted(case: dict[str, Any]) -> ScriptedModel:
    """A model that picks out what the case says, sees a second wish where it has one, and writes the rest."""

    def reply(request: Any) -> ModelReply:
        if request.form == "choice":
            return ModelReply("A" if case.get("why") == "something else is asked as well" else "B")
        if request.form == "text":
            number = request.prompt.tail.partition("request_id: ")[2].partition("\n")[0]
            return ModelReply(f"已提交，编号 {number}")
        wanted = case["wish"] if "returns_understand" in request.legal else {"reason": "个人安排"}
        return ModelReply(json.dumps(wanted, ensure_ascii=False))

    return ScriptedModel(reply)


@pytest.mark.parametrize("case", REQUESTS, ids=lambda case: case["id"])
async def test_a_request_ends_as_labelled(case: dict[str, Any], database: Path) -> None:
    run = await handled(scripted(case), case)
    assert run.status == case["expect"]
    on_file = filed(database)
    assert on_file == ([case["filed"]] if case.get("filed") else [])


@pytest.mark.slow
async def test_the_real_model_never_files_an_unclear_date(database: Path) -> None:
    model = connect("local")
    try:
        for case in [c for c in UNCLEAR if not c.get("filed")]:
            await handled(model, {**case, "answers": []})
    finally:
        await model.close()
    assert filed(database) == []
