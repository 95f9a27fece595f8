"""The leave example at all four grips, with given replies; and the real small model at two of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.test_leave import REQUESTS, engine, filed

from sopwith import Budget, Engine, connect, tool
from sopwith.ir.event import DeviationNoted
from sopwith.models.port import Model, ModelReply, ModelRequest
from sopwith.models.scripted import ScriptedModel
from sopwith.run.run import Run

CASE: dict[str, Any] = next(
    r for r in REQUESTS if r["expect"] == "completed" and len(r.get("answers", [])) == 1
)
USER, WISH = CASE["user_id"], CASE["wish"]


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "leave.db"
    monkeypatch.setenv("LEAVE_DB", str(path))
    return path


def action(name: str, arguments: object) -> str:
    return json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)


def walking() -> ScriptedModel:
    """A model that does what the procedure says, from what it was shown in its transcript."""
    period: dict[str, Any] = {}

    def reply(request: ModelRequest) -> str | ModelReply:
        if request.form == "choice":
            return "B"
        if request.form == "text":
            return f"已提交，编号 {request.prompt.tail.partition('request_id: ')[2].partition(chr(10))[0]}"
        if len(request.legal) == 1:
            return json.dumps(WISH if "returns_understand" in request.legal else {"reason": "个人安排"})
        if "finish" not in request.legal:  # bounded: the way on is the first one that is not a person's
            name = next(one for one in request.legal if one != "go_human")
            return action(name, {"reason": "个人安排"} if name == "hr__submit_leave" else {})
        return open_reply(request, period)

    return ScriptedModel(reply)


def open_reply(request: ModelRequest, period: dict[str, Any]) -> str:
    """The next action where everything is allowed."""
    done = len(request.prompt.turns)
    told = request.prompt.tail.partition("\n<advice>")[0]
    plan = ["time__resolve_period", "hr__get_employee", "hr__leave_balance", "hr__submit_leave", "finish"]
    if "returns_understand" in request.legal:
        plan = ["returns_understand", *plan[:3], "ask_confirm", "hr__submit_leave", "answer_answer", "finish"]
    name = plan[done]
    if done and "{" in told:
        period |= (
            json.loads(told[told.index("{") : told.rindex("}") + 1]) | period
        )  # the balance has days, too
    arguments: dict[str, Any] = {
        "returns_understand": WISH,
        "time__resolve_period": {
            "start": WISH["start_words"], "length": WISH["length_words"], "today": CASE["today"],
        },
        "hr__get_employee": {"user_id": USER},
        "hr__leave_balance": {"user_id": USER, "kind": WISH["kind"]},
        "hr__submit_leave": {"user_id": USER, "kind": WISH["kind"], "reason": "个人安排"}
        | {key: period.get(key) for key in ("start_date", "days")},
        "answer_answer": "已提交，编号 " + str(period.get("request_id")),
        "finish": {"outcome": "complete", "result": {"request_id": period.get("request_id")}},
    }  # fmt: skip
    return action(name, arguments.get(name, {}))


async def handled(model: Model, grip: str) -> Run:
    desk = engine(model, CASE)
    run = await desk.run(CASE["request"], principal=USER, grip=grip)
    answers = list(CASE["answers"])
    while run.outcome is None and answers:
        run = await desk.resume(run.id, answer=answers.pop(0))
    return run


@pytest.mark.parametrize("grip", ["strict", "bounded", "guide", "free"])
async def test_a_leave_is_filed_at_every_grip(grip: str, database: Path) -> None:
    run = await handled(walking(), grip)
    assert run.status == "completed", run.outcome
    assert filed(database) == [CASE["filed"]]
    assert [e.body for e in run.events if isinstance(e.body, DeviationNoted)] == []


async def test_the_path_is_the_same_where_the_steps_are_walked(database: Path) -> None:
    paths = [(await handled(walking(), grip)).path for grip in ("strict", "bounded", "guide")]
    assert paths[0] == paths[1] == paths[2]


TINY = """
schema: sopwith/procedure/1
id: tiny
name: Weather
description: Tell somebody whether to take an umbrella
inputs: {town: {type: string}}
output: {type: object, required: [umbrella], properties: {umbrella: {type: boolean}}}
start: look
steps:
  look:
    do: Look up the weather
    uses: [inputs.town]
    tool: sky.look
    as: sky
    next: [{to: rain, judge: it rains or snows}, {otherwise: dry}]
  rain: {do: Take an umbrella?, returns: {type: boolean}, next: done}
  dry: {do: Take an umbrella?, returns: {type: boolean}, as: rain, next: done}
  done: {end: complete, result: {umbrella: "${rain}"}}
"""


@pytest.mark.slow
@pytest.mark.parametrize("grip", ["bounded", "guide"])
async def test_the_real_model_stays_within_what_is_legal(grip: str) -> None:
    towns: list[str] = []

    @tool(name="sky.look")
    def look(town: str) -> dict[str, str]:
        """Look up the weather of a town.

        Args:
            town: The town.
        """
        towns.append(town)
        return {"sky": "heavy rain"}

    model = connect("local")
    try:
        run = await Engine(TINY, tools=[look], model=model, budget=Budget(model_calls=8)).run(
            "Do I need an umbrella?", inputs={"town": "Bergen"}, grip=grip
        )
    finally:
        await model.close()
    assert run.status in (["completed"] if grip == "bounded" else ["completed", "escalated", "exhausted"])
    assert set(towns) <= {"Bergen"}
    asked = [e.body for e in run.events if e.body.kind == "model.requested"]
    assert {body.purpose for body in asked} <= {"arguments", "next", "returns", "guide"}
