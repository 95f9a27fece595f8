"""MCP servers over streamable HTTP, and of both protocol eras, made with the official SDK."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.tools.servers import HttpServer, until

from sopwith.errors import ToolSourceError
from sopwith.ir.tool import Effect
from sopwith.tools import McpSource, ToolResult, mcp_sources

AMPLE = 30.0
SOON = 0.3
SDK = str(Path(__file__).with_name("sdk_server.py"))
ERAS = {"modern": [], "handshake": ["handshake"]}
VERSIONS = {"modern": "2026-07-28", "handshake": "2025-11-25"}
Opened = Callable[..., McpSource]


@pytest.fixture(params=["http", "stdio"])
def way(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=sorted(ERAS))
def era(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "journal"


@pytest.fixture
async def http(era: str, journal: Path) -> AsyncIterator[HttpServer]:
    server = await HttpServer.start(SDK, *ERAS[era], journal=journal)
    yield server
    await server.stop()


@pytest.fixture
async def source(way: str, era: str, journal: Path) -> AsyncIterator[McpSource]:
    server = None
    if way == "http":
        server = await HttpServer.start(SDK, *ERAS[era], journal=journal)
        made = McpSource("sdk", url=server.url)
    else:
        made = McpSource("sdk", sys.executable, [SDK, "stdio", *ERAS[era]], {"JOURNAL": str(journal)})
    yield made
    await made.close()
    if server is not None:
        await server.stop()


async def test_both_eras_are_spoken_over_both_ways(source: McpSource, era: str) -> None:
    specs = {spec.name: spec for spec in await source.specs()}
    assert source._connection is not None and source._connection._client is not None
    assert source._connection._client.protocol_version == VERSIONS[era]
    assert source.problems == []
    assert specs["sdk.weather"].effect is Effect.WRITE, "a hint that nobody has said to believe"
    assert specs["sdk.weather"].output_schema is not None
    assert specs["sdk.weather"].about == "sdk\n天气与报告 Weather and reports"
    found = await source.call("sdk.weather", {"place": "上海"}, key="k", seconds=AMPLE)
    assert found == ToolResult(value={"degrees": 21.5, "words": ["上海", "晴"]})
    error = (await source.call("sdk.fail", {"why": "x"}, key="k", seconds=AMPLE)).error
    assert error is not None and error.code == "tool_error"


async def test_content_of_other_kinds_is_typed(source: McpSource) -> None:
    assert (await source.call("sdk.mixed", {}, key="k", seconds=AMPLE)).value == [
        {"type": "text", "text": "一张图"},
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        {
            "type": "resource_link",
            "name": "report",
            "uri": "file:///report.pdf",
            "mimeType": "application/pdf",
        },
    ]


async def test_a_stalled_call_is_bounded_and_others_go_on(source: McpSource) -> None:
    await source.specs()
    stalled = await source.call("sdk.stall", {}, key="k", seconds=SOON)
    assert stalled.unknown and stalled.error is not None and stalled.error.code == "timeout"
    assert (await source.call("sdk.pid", {}, key="k", seconds=AMPLE)).error is None


async def test_a_server_that_is_killed_in_a_call_is_back_for_the_next(
    http: HttpServer, journal: Path
) -> None:
    source = McpSource("sdk", url=http.url, effects={"pid": "read"})
    before = (await source.call("sdk.pid", {}, key="k", seconds=AMPLE)).value["result"]
    call = asyncio.create_task(source.call("sdk.stall", {}, key="k", seconds=AMPLE))
    await until(lambda: journal.exists())
    http.process.send_signal(signal.SIGKILL)
    await http.process.wait()
    lost = await call
    assert lost.unknown and lost.error is not None and lost.error.code == "server_lost"
    down = await source.call("sdk.pid", {}, key="k", seconds=AMPLE)
    assert down.error is not None and down.error.code == "unavailable" and not down.unknown
    again = await http.again()
    after = (await source.call("sdk.pid", {}, key="k", seconds=AMPLE)).value["result"]
    assert after != before
    await source.close()
    await again.stop()


async def test_headers_come_from_the_environment_and_are_never_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server = await HttpServer.start(SDK, "token=s3cret-token")
    path = tmp_path / "mcp.json"
    entry: dict[str, Any] = {"type": "http", "url": server.url, "call_seconds": 7}
    entry["headers"] = {"Authorization": "Bearer ${SDK_TOKEN}"}
    path.write_text(json.dumps({"mcpServers": {"sdk": entry}}), encoding="utf-8")

    monkeypatch.setenv("SDK_TOKEN", "wrong-token")
    (source,) = mcp_sources(path)
    with pytest.raises(ToolSourceError, match=r"sdk \(http.*\) refuses access \(HTTP 401\)") as caught:
        await source.specs()
    assert "Authorization" in caught.value.hint.en and "401" in caught.value.message.zh
    assert "wrong-token" not in repr(source.server) + str(caught.value)

    monkeypatch.setenv("SDK_TOKEN", "s3cret-token")
    (source,) = mcp_sources(path)
    assert {spec.timeout for spec in await source.specs()} == {7.0}
    assert (await source.call("sdk.pid", {}, key="k", seconds=AMPLE)).error is None
    await source.close()
    await server.stop()
    assert "s3cret-token" not in caplog.text and "wrong-token" not in caplog.text


async def test_what_a_server_says_of_its_secret_is_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY_OF_SERVER", "s3cret-key")
    script = "import os, sys; sys.exit('bad key ' + os.environ['API'])"
    entry = {"command": sys.executable, "args": ["-c", script], "env": {"API": "${KEY_OF_SERVER}"}}
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"keyed": entry}}), encoding="utf-8")
    (source,) = mcp_sources(path)
    with pytest.raises(ToolSourceError, match="its last words: bad key …") as caught:
        await source.specs()
    assert "s3cret-key" not in caught.value.message.en + caught.value.message.zh
    await source.close()


def test_a_secret_that_is_written_out_is_told(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    entry = {"url": "https://crm.example/mcp", "headers": {"X-Api-Key": "abc", "Accept-Language": "zh"}}
    path.write_text(json.dumps({"mcpServers": {"crm": entry}}), encoding="utf-8")
    (source,) = mcp_sources(path)
    assert [problem.en.partition("crm: ")[2] for problem in source.problems] == [
        "headers.X-Api-Key: a secret is written out: refer to the environment, ${NAME}"
    ]


async def test_an_address_is_shown_without_what_it_may_hide() -> None:
    source = McpSource("far", url="http://me:pass@127.0.0.1:9/mcp?key=abc", start_seconds=AMPLE)
    with pytest.raises(ToolSourceError, match="cannot be reached") as caught:
        await source.specs()
    assert "(http://127.0.0.1:9/mcp)" in caught.value.message.en
    assert "Start the server" in caught.value.hint.en
    await source.close()


async def test_an_address_that_is_no_mcp_server_is_named(http: HttpServer) -> None:
    source = McpSource("odd", url=http.url.removesuffix("/mcp") + "/other")
    with pytest.raises(ToolSourceError, match="answers with HTTP 404") as caught:
        await source.specs()
    assert "/mcp" in caught.value.hint.en
    await source.close()


async def test_a_changed_list_is_heard_of(source: McpSource) -> None:
    before = {spec.name for spec in await source.specs()}
    await source.call("sdk.learn", {"name": "greet"}, key="k", seconds=AMPLE)
    connection = source._connection
    assert connection is not None
    if connection.tells:
        await until(lambda: connection.changed)
    assert {spec.name for spec in await source.specs()} == before
    assert await source.refresh()
    assert {spec.name for spec in await source.specs()} == before | {"sdk.greet"}
    assert (await source.call("sdk.greet", {}, key="k", seconds=AMPLE)).value == "greet"
