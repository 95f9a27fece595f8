"""Results that come after their call was given up: each kind of tool tells them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest
from tests.tools import process_tools
from tests.tools.servers import odd

from sopwith.tools import FunctionSource, McpSource, ToolError, ToolResult, tool

SOON = 0.1
AMPLE = 20.0


async def late(result: ToolResult) -> ToolResult:
    assert result.error is not None and result.error.code == "timeout" and result.late is not None
    return await asyncio.wait_for(result.late, AMPLE)


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        ("done", ToolResult(value="done")),
        (ToolError("refused", "no"), ("refused", False)),
        (ValueError("no"), ("exception", True)),
    ],
)
@pytest.mark.parametrize("kind", ["thread", "task"])
async def test_a_function_that_goes_on_tells_its_end(kind: str, outcome: object, told: object) -> None:
    gate = threading.Event()

    def end() -> str:
        if isinstance(outcome, Exception):
            raise outcome
        return str(outcome)

    @tool(name="t.thread", effect="write")
    def thread() -> str:
        gate.wait()
        return end()

    @tool(name="t.task", effect="write")
    async def task() -> str:
        while not gate.is_set():
            try:
                await asyncio.get_running_loop().run_in_executor(None, gate.wait)
            except asyncio.CancelledError:
                continue
        return end()

    source = FunctionSource([thread, task])
    result = await source.call(f"t.{kind}", {}, key="k", seconds=SOON)
    gate.set()
    found = await late(result)
    if isinstance(told, ToolResult):
        assert found == told
    else:
        assert found.error is not None and (found.error.code, found.unknown) == told
    await source.close()


async def test_a_read_that_is_stopped_tells_nothing() -> None:
    ended = threading.Event()

    @tool(name="t.thread")
    def thread() -> None:
        try:
            while True:
                pass
        finally:
            ended.set()

    @tool(name="t.task")
    async def task() -> None:
        await asyncio.Event().wait()

    source = FunctionSource([thread, task, *process_tools.ALL], name="t")
    for name in ("t.thread", "t.task", "t.stall"):
        result = await source.call(name, {}, key="k", seconds=2.0 if name == "t.stall" else SOON)
        assert result.late is not None and not result.late.done()
    assert await asyncio.to_thread(ended.wait, AMPLE)
    await source.close()
    assert not result.late.done() or result.late.cancelled()


@pytest.fixture
async def server() -> AsyncIterator[McpSource]:
    made = odd()
    yield made
    await made.close()


async def test_a_server_that_answers_a_write_late_is_heard(server: McpSource) -> None:
    await server.specs()
    result = await server.call("odd.later", {}, key="k", seconds=SOON)
    assert result.unknown
    assert (await server.call("odd.echo", {"value": "go on"}, key="k", seconds=AMPLE)).value == "go on"
    assert await late(result) == ToolResult(value="it came after all")


async def test_a_server_that_ends_tells_nothing_late(server: McpSource) -> None:
    await server.specs()
    results = [await server.call(f"odd.{name}", {}, key="k", seconds=SOON) for name in ("later", "ignore")]
    await server.call("odd.die", {}, key="k", seconds=AMPLE)
    await server.close()
    assert all(result.late is not None for result in results)
    assert not any(result.late.done() and not result.late.cancelled() for result in results if result.late)
