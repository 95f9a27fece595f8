"""Procedures as tools: what a client is told and asked, whatever comes of the run."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from tests.serve.office import BADGE, LEAVE, LOOK, Person, acts, lay_out, text_of

from sopwith import Engine, MemoryLog
from sopwith.guard.permit import Policy
from sopwith.guard.policy_file import open_policy
from sopwith.ir.event import Principal
from sopwith.models.scripted import ScriptedModel
from sopwith.serve.mcp import ProcedureServer
from sopwith.serve.procedure_tool import procedure_tool
from sopwith.tools.module import load_module

ERAS = ("auto", "legacy")
ANN = Principal(id="ann")

Serve = Callable[..., AbstractAsyncContextManager[Client]]


class Office:
    """An engine in memory, and servers over it."""

    def __init__(self, folder: Path) -> None:
        self.folder = lay_out(folder)
        self.model = ScriptedModel(['"Bea"'])
        self.engine = Engine(
            [LEAVE, BADGE, LOOK, READS],
            load_module(self.folder / "tools.py"),
            self.model,
            log=MemoryLog(),
            policy=Policy.of(open_policy(self.folder / "policy.yaml")),
        )

    @asynccontextmanager
    async def client(
        self,
        person: Person | None = None,
        *,
        era: str = "auto",
        principal: Principal = ANN,
        **options: Any,
    ) -> AsyncGenerator[Client]:
        """A client of a server that acts for `principal`."""
        library = await self.engine.procedures()
        tools = [procedure_tool(each, library, {}, "en") for each in library.values()]
        served = ProcedureServer(self.engine, tools, principal, **options)
        async with Client(served.server("1"), mode=era, elicitation_callback=person) as connected:
            yield connected


READS = """
schema: sopwith/procedure/1
id: reads
name: Read a request
inputs:
  user: {type: string, from: run.principal.id}
  urgent: {type: boolean}
output: {type: object, required: [room], properties: {room: {type: string}}}
start: name
steps:
  name:
    do: Copy the name
    uses: [run.request]
    returns: {type: string, maxLength: 20}
    as: who
    next: done
  done:
    end: complete
    result: {room: "${who}"}
"""


@pytest.fixture
async def office(tmp_path: Path) -> AsyncGenerator[Office]:
    made = Office(tmp_path)
    yield made
    await made.engine.close()


async def test_a_request_is_an_argument_where_the_procedure_reads_it(office: Office) -> None:
    async with office.client() as client:
        tool = next(each for each in (await client.list_tools()).tools if each.name == "reads")
        assert list(tool.input_schema["properties"]) == ["urgent", "request"]
        assert tool.input_schema["required"] == ["urgent", "request"]
        found = await client.call_tool("reads", {"urgent": True, "request": "Where is Bea?"})
    assert found.structured_content["output"] == {"room": "Bea"}
    started = (await office.engine.log.read(found.structured_content["run"]))[0].body
    assert (started.request, started.inputs) == ("Where is Bea?", {"urgent": True})
    assert started.principal.id == "ann"


async def test_arguments_that_do_not_fit_are_an_error_of_the_tool_with_a_remedy(office: Office) -> None:
    async with office.client() as client:
        refused = await client.call_tool("leave", {"days": 99, "user": "bob"})
        assert refused.is_error
        assert "help: see the input schema of the tool" in text_of(refused)
        assert refused.structured_content["error"]["code"] == "SW002"
        with pytest.raises(MCPError, match="there is no tool 'fly'"):
            await client.call_tool("fly", {})
    assert await office.engine.log.runs(10) == []


async def test_a_run_that_does_not_complete_is_an_error_that_says_who_goes_on(office: Office) -> None:
    async with office.client() as client:
        handed = await client.call_tool("look", {"who": "nobody"})
    run = handed.structured_content["run"]
    assert handed.is_error
    assert handed.structured_content["status"] == "escalated"
    assert f"sopwith takeover {run} --to STEP" in handed.structured_content["go_on"]


@pytest.mark.parametrize("era", ERAS)
async def test_leave_is_asked_for_only_where_the_principal_may_give_it(era: str, office: Office) -> None:
    person = Person({"answer": True})
    async with office.client(person, era=era) as client:
        waits = await client.call_tool("badge", {"to": "cy"})
        run = waits.structured_content["run"]
        assert waits.structured_content["waits_for"]["what"] == "approval"
        assert f"sopwith approve {run} --by NAME" in waits.structured_content["go_on"]
        assert person.asked == []
        await office.engine.approve(run, by="bea")
        later = await client.call_tool("continue_run", {"run": run})
        assert later.structured_content["output"] == {"number": "B-1"}
    boss = Principal(id="bob", roles=("boss",))
    async with office.client(person, era=era, principal=boss) as client:
        given = await client.call_tool("badge", {"to": "di"})
        assert given.structured_content["status"] == "completed"
    assert [asked.requested_schema["properties"]["answer"]["title"] for asked in person.asked] == [
        "give leave for this call"
    ]
    assert acts(office.folder) == ["badge cy", "badge di"]


@pytest.mark.parametrize("era", ERAS)
async def test_what_is_no_answer_is_asked_for_again_and_then_left_open(era: str, office: Office) -> None:
    person = Person({"answer": "perhaps"}, {}, {"answer": "perhaps"})
    async with office.client(person, era=era) as client:
        waits = await client.call_tool("leave", {"days": 1})
        assert waits.structured_content["status"] == "suspended"
        assert "That was not an answer" in person.asked[1].message
        assert len(person.asked) == 3
        person.answers.append({"answer": True})
        again = await client.call_tool("continue_run", {"run": waits.structured_content["run"]})
        assert again.structured_content["output"] == {"number": "L-1"}
    assert acts(office.folder) == ["leave ann 1"]


async def test_an_answer_counts_once_and_for_the_question_that_was_put(office: Office) -> None:
    async with office.client(Person()) as client:
        asked = await client.session.call_tool("leave", {"days": 1}, allow_input_required=True)
        given = {"answer": (await Person({"answer": True})(None, None))}
        options = {
            "input_responses": given,
            "request_state": asked.request_state,
            "allow_input_required": True,
        }
        first = await client.session.call_tool("leave", {"days": 1}, **options)
        second = await client.session.call_tool("leave", {"days": 1}, **options)
        assert first.structured_content == second.structured_content
        with pytest.raises(MCPError, match="requestState"):
            await client.session.call_tool("leave", {"days": 9}, **options)
    assert acts(office.folder) == ["leave ann 1"]


async def test_nobody_is_asked_at_a_client_that_cannot_ask(office: Office) -> None:
    async with office.client() as client:
        waits = await client.call_tool("leave", {"days": 1})
        run = waits.structured_content["run"]
        assert waits.structured_content["go_on"].endswith(f"call continue_run with run {run}")
        refused = await client.call_tool("continue_run", {"run": run, "answer": True})
        assert refused.is_error  # a model does not answer for a person
    assert acts(office.folder) == []


async def test_a_run_of_somebody_else_is_not_there(office: Office) -> None:
    async with office.client() as client:
        run = (await client.call_tool("leave", {"days": 1})).structured_content["run"]
    async with office.client(principal=Principal(id="eve")) as client:
        for name in ("continue_run", "cancel_run"):
            refused = await client.call_tool(name, {"run": run})
            assert refused.is_error
            assert f"there is no run '{run}'" in text_of(refused)
    async with office.client() as client:
        ended = await client.call_tool("cancel_run", {"run": run})
        assert ended.structured_content["status"] == "cancelled"
        assert (await client.call_tool("cancel_run", {"run": run})).is_error


@pytest.mark.parametrize(("reveal", "room"), [(False, "R <phone:1>"), (True, "R 13800138000")])
async def test_what_is_secret_is_given_where_that_is_wanted(reveal: bool, room: str, office: Office) -> None:
    async with office.client(reveal=reveal) as client:
        found = await client.call_tool("look", {"who": "phone"})
    assert found.structured_content["output"] == {"room": room}


async def test_a_client_is_told_of_each_step(office: Office) -> None:
    told: list[str] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        told.append(f"{done:g} {(message or '').partition(' · ')[0]}")

    async with office.client(Person({"answer": True})) as client:
        done = await client.call_tool("look", {"who": "ann"}, progress_callback=progress)
    assert done.structured_content["status"] == "completed"
    assert told == ["1 find", "2 done"]


async def test_a_chinese_server_speaks_chinese(office: Office) -> None:
    async with office.client(language="zh") as client:
        waits = await client.call_tool("leave", {"days": 1})
        refused = await client.call_tool("leave", {})
    assert "需要有人回答" in text_of(waits)
    assert "建议: 参见该工具的输入 schema" in text_of(refused)
