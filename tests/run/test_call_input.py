"""Tools of MCP servers that ask a person in the middle of a call: the run waits, and the same call goes on."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.tools.servers import HttpServer

from sopwith import Engine, Policy, Rule, SqliteLog, UserError
from sopwith.models.scripted import ScriptedModel
from sopwith.run.run import Run
from sopwith.tools import McpSource

SDK = str(Path(__file__).parents[1] / "tools" / "sdk_server.py")
ERAS = {"modern": [], "handshake": ["handshake"]}

BOOK = """
schema: sopwith/procedure/1
id: book
name: Book a room
description: Book a room for a day.
tools: [sdk.book, sdk.log_in]
inputs: {day: {type: string}}
output: {type: object, properties: {said: {}}}
start: book
steps:
  book: {do: Book it, tool: sdk.book, with: {day: "${inputs.day}"}, next: done}
  done: {end: complete, result: {said: "${book}"}}
"""
LOG_IN = BOOK.replace('sdk.book, with: {day: "${inputs.day}"}', "sdk.log_in")
EACH = BOOK.replace(
    'tool: sdk.book, with: {day: "${inputs.day}"}',
    """each: {in: "${['Monday', 'Friday']}", as: d}, tool: sdk.book, with: {day: "${d}"}""",
)


@pytest.fixture(params=sorted(ERAS))
def era(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "journal"


@pytest.fixture
async def server(era: str, journal: Path) -> AsyncIterator[HttpServer]:
    made = await HttpServer.start(SDK, *ERAS[era], journal=journal)
    yield made
    await made.stop()


class Office:
    """One store, and engines over it: each is as good as a process of its own."""

    def __init__(self, server: HttpServer, folder: Path) -> None:
        self.server = server
        self.store = folder / "store.db"

    def engine(self, text: str = BOOK, verdict: Any = "allow") -> Engine:
        rules = Policy([Rule.model_validate({"id": "all", "verdict": verdict, "tool": "sdk.*"})])
        source = McpSource("sdk", url=self.server.url)
        return Engine(text, [source], ScriptedModel([]), log=SqliteLog(self.store), policy=rules)


@pytest.fixture
def office(server: HttpServer, tmp_path: Path) -> Office:
    return Office(server, tmp_path)


def kinds(run: Run) -> list[str]:
    return [event.body.kind for event in run.events if event.body.kind.startswith(("call.", "human."))]


def acted(journal: Path) -> list[str]:
    return journal.read_text(encoding="utf-8").splitlines() if journal.exists() else []


async def asked(engine: Engine, **options: Any) -> Run:
    run = await engine.run("", inputs={"day": "Monday"}, run_id="r1", **options)
    assert run.status == "suspended", run.outcome
    return run


async def test_the_run_waits_for_a_person_and_the_same_call_goes_on(
    office: Office, journal: Path, era: str
) -> None:
    async with office.engine() as engine:
        run = await asked(engine)
        assert run.question is not None and "Which room on Monday?" in run.question
        assert "room (string; The room to book.), seats (integer)" in run.question
        assert ("the process that made it" in run.question) is (era == "handshake")
        assert acted(journal) == []
        for wrong in ({"seats": 3}, {"room": "A", "floor": 2}, {"room": "A", "seats": 99}, "yes"):
            with pytest.raises(UserError, match="does not fit"):
                await engine.resume("r1", answer=wrong)
        done = await engine.resume("r1", answer={"room": "Blue", "seats": 6}, by="mei")
    assert done.output == {"said": {"result": "booked Blue for 6 on Monday"}}
    assert acted(journal) == ["booked Blue Monday"]
    assert kinds(done) == [
        "call.proposed", "call.judged", "call.started", "call.paused", "human.asked", "human.answered",
        "call.continued", "call.finished",
    ]  # fmt: skip
    key = next(event.body.key for event in done.events if event.body.kind == "call.started")
    assert key


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_person_may_decline_and_cancel(office: Office, journal: Path, action: str) -> None:
    async with office.engine() as engine:
        await asked(engine)
        done = await engine.resume("r1", answer=action)
    assert done.output == {"said": {"result": f"not booked: {action}"}}
    assert acted(journal) == [f"not booked: {action}"]


async def test_another_process_goes_on_where_the_protocol_lets_it(
    office: Office, journal: Path, era: str
) -> None:
    async with office.engine() as engine:
        await asked(engine)
    async with office.engine() as other:
        done = await other.resume("r1", answer={"room": "Blue"})
    if era == "modern":
        assert done.output == {"said": {"result": "booked Blue for 4 on Monday"}}
        assert acted(journal) == ["booked Blue Monday"]
        return
    assert done.status == "escalated" and done.outcome is not None and done.outcome.packet is not None
    assert done.outcome.packet.open == ("sdk.book",)
    (finished,) = [event.body for event in done.events if event.body.kind == "call.finished"]
    assert finished.unknown and finished.error is not None and finished.error.code == "input_lost"
    assert acted(journal) == []


async def test_a_run_that_is_cancelled_while_its_write_asks_says_that_it_may_have_acted(
    office: Office, journal: Path
) -> None:
    async with office.engine() as engine:
        await asked(engine)
        ended = await engine.cancel("r1", by="mei")
    assert ended.status == "cancelled" and ended.outcome is not None and ended.outcome.packet is not None
    assert ended.outcome.packet.open == ("sdk.book",)
    assert acted(journal) == []


async def test_nobody_is_asked_for_a_secret_in_a_form(office: Office) -> None:
    async with office.engine(LOG_IN) as engine:
        done = await engine.run("", inputs={"day": "Monday"})
    assert done.output == {"said": {"result": "decline"}}
    assert "human.asked" not in kinds(done)
    alerts = [event.body for event in done.events if event.body.kind == "alert.raised"]
    assert [(one.code, "password" in one.message) for one in alerts] == [("input.secret", True)]


async def test_leave_comes_before_the_call_and_the_rules_in_force_are_held_to_it_again(
    office: Office, journal: Path
) -> None:
    async with office.engine(verdict="ask") as engine:
        waits = await asked(engine)
        assert waits.question is not None and waits.question.startswith("May sdk.book be called")
        asks = await engine.approve("r1", by="han")
        assert asks.question is not None and "Which room" in asks.question
        with pytest.raises(UserError, match="does not wait for an approval"):
            await engine.approve("r1", by="han")
    async with office.engine(verdict="deny") as strict:
        ended = await strict.resume("r1", answer={"room": "Blue"})
    assert ended.status == "escalated" and acted(journal) == []
    (finished,) = [event.body for event in ended.events if event.body.kind == "call.finished"]
    assert finished.unknown and finished.error is not None and finished.error.code == "denied"


async def test_the_items_of_a_list_are_asked_for_one_after_the_other(
    office: Office, journal: Path, era: str
) -> None:
    async with office.engine(EACH) as engine:
        first = await asked(engine)
        assert first.question is not None and first.question.startswith("book[0]: ")
        second = await engine.resume("r1", answer={"room": "Blue"})
        assert second.question is not None and second.question.startswith("book[1]: ")
        done = await engine.resume("r1", answer="decline")
    assert done.output == {
        "said": [{"result": "booked Blue for 4 on Monday"}, {"result": "not booked: decline"}]
    }
    assert acted(journal) == ["booked Blue Monday", "not booked: decline"]


async def test_a_handshake_server_over_pipes_asks_as_well(journal: Path) -> None:
    source = McpSource("sdk", sys.executable, [SDK, "stdio", "handshake"], {"JOURNAL": str(journal)})
    rules = Policy([Rule.model_validate({"id": "all", "verdict": "allow", "tool": "sdk.*"})])
    async with Engine(BOOK, [source], ScriptedModel([]), policy=rules) as engine:
        await asked(engine)
        done = await engine.resume("r1", answer={"room": "Blue"})
    assert done.output == {"said": {"result": "booked Blue for 4 on Monday"}}
    assert acted(journal) == ["booked Blue Monday"]
