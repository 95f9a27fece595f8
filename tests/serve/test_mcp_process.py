"""`sopwith serve mcp` as a process of its own, called by the official client over both transports and in both eras."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from tests.cli.command import PROGRAM, Command, make
from tests.serve.office import BROKEN, Person, acts, lay_out, text_of

from sopwith.cli.store import open_log

ERAS = ("auto", "legacy")
TRANSPORTS = ("stdio", "http")


@pytest.fixture
def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command in the folder of the office."""
    command = make(tmp_path, monkeypatch)
    lay_out(tmp_path)
    return command


def config(folder: Path) -> Path:
    """The server in a file that clients of MCP read."""
    server = {
        "command": PROGRAM[0],
        "args": [*PROGRAM[1:], "serve", "mcp", str(folder)],
        "env": {
            name: os.environ[name] for name in ("PYTHONPATH", "PATH", "XDG_CONFIG_HOME") if name in os.environ
        },
        "cwd": str(folder),
    }
    file = folder / ".client.json"
    file.write_text(json.dumps({"mcpServers": {"office": server}}), encoding="utf-8")
    return file


@contextmanager
def over_http(office: Command, *more: str, **environment: str) -> Iterator[str]:
    """The server as a process that listens on a free port; gives its address."""
    process = subprocess.Popen(
        [*PROGRAM, "serve", "mcp", "--http", "127.0.0.1:0", *more],
        cwd=office.folder,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if "http://" in line:
                address = next(word for word in line.split() if word.startswith("http://"))
                yield address.rstrip(":")
                break
        else:
            pytest.fail("the server has ended")
    finally:
        process.terminate()
        process.communicate(timeout=30)


@asynccontextmanager
async def client(transport: str, office: Command, era: str, person: Person | None) -> AsyncGenerator[Client]:
    """The official client, connected to a server that was started for it."""
    if transport == "stdio":
        entry = json.loads(config(office.folder).read_text())["mcpServers"]["office"]
        async with Client(StdioServerParameters(**entry), mode=era, elicitation_callback=person) as connected:
            yield connected
    else:
        with over_http(office) as address:
            async with Client(address, mode=era, elicitation_callback=person) as connected:
                yield connected


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_procedure_is_called_and_a_person_asked(transport: str, era: str, office: Command) -> None:
    person = Person({"answer": True}, "decline")
    async with client(transport, office, era, person) as connected:
        tools = {tool.name: tool for tool in (await connected.list_tools()).tools}
        assert list(tools) == ["badge", "leave", "look", "slow", "continue_run", "cancel_run"]
        leave = tools["leave"]
        assert leave.title == "Ask for leave"
        assert leave.description == "Files a request for leave; does not cancel one\n- I need two days off"
        assert leave.input_schema["properties"] == {"days": {"type": "integer", "minimum": 1, "maximum": 30}}
        assert leave.input_schema["required"] == ["days"]
        assert leave.output_schema is not None
        assert leave.output_schema["properties"]["output"]["required"] == ["number"]
        hints = {name: tool.annotations.read_only_hint for name, tool in tools.items() if tool.annotations}
        assert hints["look"] is True and hints["leave"] is False

        done = await connected.call_tool("leave", {"days": 2})
        assert not done.is_error
        assert done.structured_content["status"] == "completed"
        assert done.structured_content["output"] == {"number": "L-1"}
        assert acts(office.folder) == ["leave ann 2"]

        waits = await connected.call_tool("leave", {"days": 3})
        assert waits.structured_content["status"] == "suspended"
        run = waits.structured_content["run"]
        assert waits.structured_content["waits_for"] == {
            "what": "answer",
            "question": "Shall 3 days of leave be filed?",
            "run": run,
        }
        assert f"sopwith resume {run} --answer" in text_of(waits)

        answered = await asyncio.to_thread(office.process, "resume", run, "--answer", "yes", "--by", "ann")
        assert answered.code == 0, answered.err
        later = await connected.call_tool("continue_run", {"run": run})
        assert later.structured_content["output"] == {"number": "L-1"}
        assert acts(office.folder) == ["leave ann 2", "leave ann 3"]
    assert person.asked[0].message.startswith(
        "Shall 2 days of leave be filed?\n(procedure Ask for leave, run "
    )
    assert person.asked[0].requested_schema["properties"] == {"answer": {"type": "boolean"}}
    assert await ended(office) == ["completed", "completed"]


async def ended(office: Command) -> list[str]:
    """How the runs have ended, once they have; nothing tells when."""
    log = open_log(office.folder / ".sopwith")
    try:
        async with asyncio.timeout(60):
            while True:
                found = [row.status for row in await log.runs(10)]
                if found and not {"running", "suspended"} & set(found):
                    return found
                await asyncio.sleep(0.01)
    finally:
        await log.close()


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_request_that_is_cancelled_cancels_its_run(transport: str, office: Command) -> None:
    async with client(transport, office, "auto", None) as connected:
        call = asyncio.ensure_future(connected.call_tool("slow", {}))
        async with asyncio.timeout(60):
            while not acts(office.folder):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        assert await ended(office) == ["cancelled"]
        (office.folder / "answer.txt").write_text("here")


async def test_over_http_only_who_has_the_token_may_call(office: Command) -> None:
    with over_http(office, SOPWITH_SERVE_TOKEN="a-long-secret") as address:
        async with httpx2.AsyncClient() as http:
            refused = await http.post(address, json={"jsonrpc": "2.0", "id": 1, "method": "ping"})
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        async with httpx2.AsyncClient(headers={"Authorization": "Bearer a-long-secret"}) as http:
            from mcp.client.streamable_http import streamable_http_client

            async with Client(streamable_http_client(address, http_client=http)) as connected:
                found = await connected.call_tool("look", {"who": "ann"})
                assert found.structured_content["output"] == {"room": "R 101"}


async def test_what_is_pinned_in_the_library_is_served(office: Command) -> None:
    assert (await asyncio.to_thread(office.process, "library", "add", "look.yaml", "--pin")).code == 0
    (office.folder / "look.yaml").write_text("schema: sopwith/procedure/9\n")
    with over_http(office, "library:") as address:
        async with Client(address) as connected:
            tools = [tool.name for tool in (await connected.list_tools()).tools]
            assert tools == ["look", "continue_run", "cancel_run"]
            found = await connected.call_tool("look", {"who": "ann"})
            assert found.structured_content["output"] == {"room": "R 101"}


async def test_what_does_not_pass_its_checks_is_left_out(office: Command) -> None:
    office.write("broken.yaml", BROKEN)
    with over_http(office, "broken.yaml", "look.yaml") as address:
        async with Client(address) as connected:
            tools = [tool.name for tool in (await connected.list_tools()).tools]
            assert tools == ["look", "continue_run", "cancel_run"]


def test_a_place_that_others_can_reach_wants_a_token(office: Command) -> None:
    refused = office("serve", "mcp", "--http", "0.0.0.0:0")
    assert refused.code == 2
    assert "SOPWITH_SERVE_TOKEN" in refused.err


def test_what_is_no_port_is_refused(office: Command) -> None:
    assert "--http 8765" in office("serve", "mcp", "--http", "web").err
