"""MCP servers that lie, stall, die and do not start; each is one case, none takes others along."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.tools.servers import alive, odd, program_of, until

from sopwith.errors import ToolSourceError, UserError
from sopwith.ir.tool import Effect, ErrorData
from sopwith.tools import McpSource, ToolResult
from sopwith.tools.arguments import problems

SOON = 0.3
AMPLE = 20.0


@pytest.fixture
async def source(tmp_path: Path) -> AsyncIterator[McpSource]:
    made = odd(journal=tmp_path / "journal")
    yield made
    await made.close()


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "journal"


def called(journal: Path) -> list[str]:
    """The calls that have reached the server."""
    return journal.read_text(encoding="utf-8").split() if journal.exists() else []


async def pid_of(source: McpSource) -> int:
    return (await source.call("odd.pid", {}, key="k", seconds=AMPLE)).value["n"]


async def test_a_recursive_schema_arrives_whole(source: McpSource) -> None:
    spec = next(spec for spec in await source.specs() if spec.name == "odd.tree")
    assert spec.input_schema["$defs"]["node"]["description"] == "a node"
    assert spec.input_schema["properties"]["root"] == {"$ref": "#/$defs/node"}
    assert problems(spec, {"root": {"name": "a", "children": [{"name": "b"}]}}) == ()
    (said,) = problems(spec, {"root": {"name": "a", "children": [{"nome": "b"}]}})
    assert said.en == '$.root.children[0]: "name" is missing'


async def test_bad_tools_are_left_out_and_told_and_the_others_stay(source: McpSource) -> None:
    names = {spec.name for spec in await source.specs()}
    assert {"odd.echo", "odd.tree", "odd.../../etc/x"} <= names
    assert not names & {"odd.no_schema", "odd.bad_schema", "odd.far_schema"}
    told = [problem.en for problem in source.problems]
    assert [line.split(":")[1].strip() for line in told] == ["no_schema", "bad_schema", "far_schema"]
    assert all(line.startswith("odd: ") for line in told)
    assert told[0] == "odd: no_schema: 'inputSchema' is missing"
    assert source.problems[0].zh == "odd：no_schema：缺少“inputSchema”"


async def test_what_a_server_says_about_effects_counts_only_where_it_is_trusted() -> None:
    for trust, effect in (((), Effect.WRITE), (("annotations",), Effect.READ)):
        plain = odd()
        source = McpSource("odd", sys.executable, program_of(plain).args, trust=trust)
        specs = {spec.name: spec.effect for spec in await source.specs()}
        assert specs["odd.count"] is effect
        assert specs["odd.echo"] is Effect.WRITE
        await source.close()


async def test_effects_of_tools_that_do_not_exist_are_told() -> None:
    plain = odd()
    source = McpSource("odd", sys.executable, program_of(plain).args, effects={"cuont": "read"})
    await source.specs()
    assert source.problems[-1].en == "odd: cuont: effects names it, but there is no such tool"
    await source.close()


def test_an_unknown_effect_is_refused() -> None:
    with pytest.raises(UserError, match="'reads' of count is unknown"):
        McpSource("odd", "true", effects={"count": "reads"})


@pytest.mark.parametrize(
    ("name", "arguments", "value"),
    [
        ("echo", {"value": "42"}, "42"),
        ("echo", {"value": '{"a": 1}'}, '{"a": 1}'),
        ("count", {}, {"n": 1}),
        ("nothing", {}, None),
        ("several", {}, [{"type": "text", "text": "一"},
                         {"type": "image", "data": "aGk=", "mimeType": "image/png"}]),
    ],
)  # fmt: skip
async def test_a_result_has_the_type_that_the_tool_declares(
    source: McpSource, name: str, arguments: dict[str, Any], value: Any
) -> None:
    result = await source.call(f"odd.{name}", arguments, key="k", seconds=AMPLE)
    assert result == ToolResult(value=value)


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        ("fails", "tool_error", "no such ticket\n工单不存在"),
        ("protocol_error", "tool_error", "not today"),
        ("die", "server_lost", "the MCP server odd ended during the call: about to die 再见"),
    ],
)
async def test_an_error_is_typed(source: McpSource, name: str, code: str, message: str) -> None:
    error = (await source.call(f"odd.{name}", {}, key="k", seconds=AMPLE)).error
    assert error is not None and (error.code, error.message) == (code, message)


async def test_a_result_that_breaks_its_schema_is_refused(source: McpSource) -> None:
    error = (await source.call("odd.wrong", {}, key="k", seconds=AMPLE)).error
    assert error is not None and error.code == "invalid_result"


async def test_an_error_of_the_protocol_does_not_prove_that_a_write_did_nothing(source: McpSource) -> None:
    result = await source.call("odd.protocol_error", {}, key="k", seconds=AMPLE)
    assert result.unknown and result.error is not None and result.error.message == "not today"
    refused = await source.call("odd.refused", {}, key="k", seconds=AMPLE)
    assert not refused.unknown and refused.error is not None and refused.error.message == "no such tool"


async def test_a_write_that_says_that_it_failed_has_failed() -> None:
    plain = odd()
    source = McpSource("odd", sys.executable, program_of(plain).args)
    result = await source.call("odd.fails", {}, key="k", seconds=AMPLE)
    assert result == ToolResult(error=ErrorData(code="tool_error", message="no such ticket\n工单不存在"))
    await source.close()


async def test_a_result_of_a_write_that_breaks_its_schema_is_unknown() -> None:
    plain = odd()
    source = McpSource("odd", sys.executable, program_of(plain).args)
    result = await source.call("odd.wrong", {}, key="k", seconds=AMPLE)
    assert result.unknown and result.error is not None and result.error.code == "invalid_result"
    await source.close()


async def test_arguments_that_json_cannot_hold_do_not_reach_the_server(
    source: McpSource, journal: Path
) -> None:
    error = (await source.call("odd.echo", {"value": [float("nan")]}, key="k", seconds=AMPLE)).error
    assert error is not None and (error.code, error.message[:12]) == ("invalid_arguments", "$.value[0]: ")
    assert called(journal) == []


async def test_a_kill_in_a_call_is_unknown_for_a_write_and_the_server_comes_back(
    source: McpSource, journal: Path
) -> None:
    before = await pid_of(source)
    result = await source.call("odd.die_write", {}, key="k", seconds=AMPLE)
    assert result.unknown and result.error is not None and result.error.code == "server_lost"
    after = await pid_of(source)
    assert after != before and alive(after) and not alive(before)
    assert called(journal) == ["pid", "die_write", "pid"]


async def test_a_kill_between_calls_is_not_noticed(source: McpSource) -> None:
    before = await pid_of(source)
    connection = source._connection
    assert connection is not None and connection._wire.inbound is not None
    os.kill(before, signal.SIGKILL)
    await asyncio.wait_for(connection._wire.inbound.ended.wait(), AMPLE)
    result = await source.call("odd.protocol_error", {}, key="k", seconds=AMPLE)
    assert result.error is not None and result.error.message == "not today"
    assert await pid_of(source) != before


async def test_calls_of_others_come_back_when_one_is_not_answered(source: McpSource) -> None:
    before = await pid_of(source)
    ignored = source.call("odd.ignore", {}, key="k", seconds=SOON)
    others = [source.call("odd.count", {}, key="k", seconds=AMPLE) for _ in range(3)]
    results = await asyncio.gather(ignored, *others)
    assert results[0].error is not None and results[0].error.code == "timeout"
    assert [result.value["n"] for result in results[1:]] == [1, 2, 3]
    assert (await source.call("odd.count", {}, key="k", seconds=AMPLE)).value == {"n": 4}
    assert await pid_of(source) == before


async def test_a_server_that_hangs_is_replaced(source: McpSource) -> None:
    before = await pid_of(source)
    error = (await source.call("odd.stall", {}, key="k", seconds=SOON)).error
    assert error is not None and error.code == "timeout"
    after = await pid_of(source)
    assert after != before
    await source.close()
    assert not alive(before) and not alive(after)


async def test_a_server_that_hangs_in_a_call_that_was_cancelled_is_replaced(
    source: McpSource, journal: Path
) -> None:
    first = await pid_of(source)
    stalled = asyncio.create_task(source.call("odd.stall", {}, key="k", seconds=None))
    await until(lambda: "stall" in called(journal))
    stalled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stalled
    assert await pid_of(source) != first


async def test_closing_ends_a_server_that_ignores_signals() -> None:
    source = odd("odd", "stubborn")
    pid = await pid_of(source)
    call = asyncio.create_task(source.call("odd.stall_write", {}, key="k", seconds=SOON))
    assert (await call).unknown
    await source.close()
    assert not alive(pid)


async def test_a_closed_source_starts_again_when_it_is_called(source: McpSource) -> None:
    before = await pid_of(source)
    await source.close()
    assert not alive(before)
    assert await pid_of(source) != before


async def test_many_first_calls_start_one_server(source: McpSource) -> None:
    assert len(set(await asyncio.gather(*(pid_of(source) for _ in range(8))))) == 1


def test_a_source_outlives_an_event_loop(source_free_of_loops: McpSource) -> None:
    pids = [asyncio.run(pid_of(source_free_of_loops)) for _ in range(2)]
    assert pids[0] != pids[1]
    assert not any(alive(pid) for pid in pids)
    asyncio.run(source_free_of_loops.close())


@pytest.fixture
def source_free_of_loops() -> McpSource:
    return odd()


SHELL = "/bin/sh"
STARTS = [
    (McpSource("gone", "no-such-command"), "gone (no-such-command) cannot be run", "correct its path"),
    (McpSource("dir", SHELL, cwd="/no/such/folder"), "dir (/bin/sh) cannot be run", "correct its path"),
    (
        McpSource("dies", SHELL, ["-c", "echo first >&2; echo 缺少配置 >&2; exit 3"]),
        "dies (/bin/sh) ended during its start: Connection closed; its last words: first | 缺少配置",
        "by hand",
    ),
    (
        McpSource("silent", SHELL, ["-c", "while read line; do :; done"], start_seconds=0.2),
        "silent (/bin/sh) did not answer within 0.2 s",
        "by hand",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("source", "message", "hint"), STARTS, ids=[s.name for s, _, _ in STARTS])
async def test_a_server_that_does_not_start_is_named_with_the_remedy(
    source: McpSource, message: str, hint: str
) -> None:
    with pytest.raises(ToolSourceError) as caught:
        await source.specs()
    assert caught.value.message.en.startswith(f"the MCP server {message}")
    assert caught.value.message.zh.startswith(f"MCP 服务器 {source.name}")
    assert hint in caught.value.hint.en and caught.value.hint.zh
    result = await source.call(f"{source.name}.x", {}, key="k", seconds=AMPLE)
    assert result.error is not None and result.error.code == "unavailable"
    await source.close()


async def test_a_server_that_does_not_start_in_time_has_not_acted() -> None:
    source = McpSource("slow", SHELL, ["-c", "while read line; do :; done"])
    result = await source.call("slow.x", {}, key="k", seconds=SOON)
    assert result.error is not None and result.error.code == "unavailable" and not result.unknown
    await source.close()


async def test_only_named_variables_reach_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOPWITH_SECRET", "s3cret")
    script = "import os, sys; print(sorted(k for k in os.environ if 'SECRET' in k), file=sys.stderr)"
    source = McpSource("env", sys.executable, ["-c", script], {"MY_SECRET": "x"})
    with pytest.raises(ToolSourceError, match=r"\['MY_SECRET'\]"):
        await source.specs()
    await source.close()


def test_the_sdk_is_imported_only_when_a_server_is_needed() -> None:
    import subprocess

    program = (
        "import sys; from sopwith.tools import McpSource; McpSource('a', 'b'); sys.exit('mcp' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
