"""What every source of tools promises; each test runs against functions (threads, processes), MCP and OpenAPI."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.tools import process_tools
from tests.tools.ledger_server import DOCUMENTS, LedgerServer
from tests.tools.servers import odd
from typing_extensions import TypedDict

from sopwith.ir.schema import validator
from sopwith.ir.tool import Effect, ErrorData
from sopwith.ir.value import canonical
from sopwith.tools import FunctionSource, OpenApiSource, ToolSource, tool

SOON = 0.3
AMPLE = 20.0


class Number(TypedDict):
    n: int


class Functions:
    """The tools of the misbehaving server, as functions."""

    def __init__(self) -> None:
        self.calls = 0

    @tool
    def echo(self, value: Any) -> Any:
        return value

    @tool
    def count(self) -> Number:
        self.calls += 1
        return {"n": self.calls}

    @tool
    def fails(self) -> str:
        raise ValueError("no such ticket\n工单不存在")

    @tool
    async def stall(self) -> None:
        await asyncio.Event().wait()

    @tool(effect="write")
    async def stall_write(self) -> None:
        await asyncio.Event().wait()


@pytest.fixture(params=["functions", "processes", "mcp", "openapi"])
async def source(request: pytest.FixtureRequest) -> AsyncIterator[ToolSource]:
    from sopwith.tools import tools_of

    made: ToolSource
    match request.param:
        case "functions":
            made = FunctionSource(tools_of(Functions()), name="odd")
        case "processes":
            made = FunctionSource(process_tools.ALL, name="odd")
        case "openapi":
            server = LedgerServer()
            request.addfinalizer(server.close)
            made = OpenApiSource("odd", DOCUMENTS / "odd.json", url=server.url)
        case _:
            made = odd()
    yield made
    await made.close()


async def test_specs_are_sorted_and_the_same_every_time(source: ToolSource) -> None:
    first, second = await source.specs(), await source.specs()
    names = [spec.name for spec in first]
    assert names == sorted(names)
    assert {"odd.echo", "odd.count", "odd.stall"} <= set(names)
    assert canonical([s.digest() for s in first]) == canonical([s.digest() for s in second])


async def test_every_schema_can_judge_values(source: ToolSource) -> None:
    for spec in await source.specs():
        assert spec.input_schema["type"] == "object"
        validator(spec.input_schema)
        if spec.output_schema is not None:
            validator(spec.output_schema)


async def test_a_call_gives_its_value(source: ToolSource) -> None:
    result = await source.call("odd.echo", {"value": "你好 👋\x00\x07"}, key="k", seconds=AMPLE)
    assert (result.value, result.error, result.unknown) == ("你好 👋\x00\x07", None, False)


async def test_a_lone_surrogate_survives_as_a_replacement_character(source: ToolSource) -> None:
    await source.specs()
    prepared = source.prepare("odd.echo", {"value": "a\ud800b"})
    assert isinstance(prepared, dict)
    result = await source.call("odd.echo", prepared, key="k", seconds=AMPLE)
    assert result.value == "a\ufffdb"


async def test_prepared_arguments_are_prepared_as_themselves_and_are_what_is_called(
    source: ToolSource,
) -> None:
    await source.specs()
    given: dict[str, Any] = {"value": {"名": ["a", 1, 1.5, None, True, {"b": "\ud800"}]}}
    prepared = source.prepare("odd.echo", given)
    assert prepared == {"value": {"名": ["a", 1, 1.5, None, True, {"b": "\ufffd"}]}}
    assert given["value"]["名"][5] == {"b": "\ud800"}
    assert source.prepare("odd.echo", prepared) == prepared


async def test_arguments_that_were_not_prepared_are_not_changed_but_refused(source: ToolSource) -> None:
    result = await source.call("odd.echo", {"value": "a\ud800b"}, key="k", seconds=AMPLE)
    assert result.error is not None and (result.error.code, result.unknown) == ("not_prepared", False)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"value": "1", "role": "owner"}, "role"),
        ({}, "value"),
        ({"value": float("nan")}, "$.value"),
    ],
)
async def test_arguments_that_a_tool_does_not_list_or_take_are_a_typed_error(
    source: ToolSource, arguments: dict[str, Any], told: str
) -> None:
    await source.specs()
    error = source.prepare("odd.echo", arguments)
    assert isinstance(error, ErrorData) and error.code == "invalid_arguments" and told in error.message
    result = await source.call("odd.echo", arguments, key="k", seconds=AMPLE)
    assert (result.error, result.unknown) == (error, False)


async def test_arguments_of_an_unknown_tool_are_a_typed_error(source: ToolSource) -> None:
    await source.specs()
    error = source.prepare("odd.nonsense", {})
    assert isinstance(error, ErrorData) and error.code == "unknown_tool"


async def test_a_structured_value_is_typed(source: ToolSource) -> None:
    assert (await source.call("odd.count", {}, key="k", seconds=AMPLE)).value == {"n": 1}
    assert (await source.call("odd.count", {}, key="k", seconds=None)).value == {"n": 2}


async def test_a_failure_is_a_typed_error(source: ToolSource) -> None:
    result = await source.call("odd.fails", {}, key="k", seconds=AMPLE)
    assert result.error is not None
    assert result.error.code in {"exception", "tool_error", "http_409"}
    assert result.error.message.endswith("no such ticket\n工单不存在")


async def test_an_unknown_tool_is_a_typed_error(source: ToolSource) -> None:
    result = await source.call("odd.nonsense", {}, key="k", seconds=AMPLE)
    assert result.error is not None and result.error.code == "unknown_tool"


async def test_a_read_past_its_time_is_a_timeout_and_the_next_call_works(source: ToolSource) -> None:
    await source.specs()
    clock = asyncio.get_running_loop().time
    began = clock()
    result = await source.call("odd.stall", {}, key="k", seconds=SOON)
    assert result.error is not None and result.error.code == "timeout"
    assert clock() - began < SOON + 1
    assert (await source.call("odd.count", {}, key="k", seconds=AMPLE)).value == {"n": 1}


async def test_a_write_past_its_time_is_unknown(source: ToolSource) -> None:
    specs = {spec.name: spec for spec in await source.specs()}
    assert specs["odd.stall_write"].effect is Effect.WRITE
    result = await source.call("odd.stall_write", {}, key="k", seconds=SOON)
    assert (result.unknown, result.value) == (True, None)
    assert result.error is not None and result.error.code == "timeout"


async def test_nobody_is_sure_about_a_call_that_cannot_be_asked_about(source: ToolSource) -> None:
    specs = {spec.name: spec for spec in await source.specs()}
    for name in ("odd.stall_write", "odd.nonsense"):
        assert name not in specs or not specs[name].reconcilable
        found = await source.reconcile(name, {}, key="k", seconds=AMPLE)
        assert (found.happened, found.value) == (None, None) and found.reason


async def test_a_cancelled_call_is_cancelled(source: ToolSource) -> None:
    await source.specs()
    call = asyncio.create_task(source.call("odd.stall", {}, key="k", seconds=AMPLE))
    asyncio.get_running_loop().call_soon(call.cancel)
    with pytest.raises(asyncio.CancelledError):
        await call
    assert (await source.call("odd.echo", {"value": "next"}, key="k", seconds=AMPLE)).value == "next"


async def test_calls_overlap(source: ToolSource) -> None:
    calls = [source.call("odd.echo", {"value": f"{i}"}, key="k", seconds=AMPLE) for i in range(20)]
    assert [result.value for result in await asyncio.gather(*calls)] == [f"{i}" for i in range(20)]


async def test_closing_twice_is_harmless(source: ToolSource) -> None:
    await source.specs()
    await source.close()
    await source.close()
