"""Results of functions: JSON that can be stored, and what the function declares."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple
from uuid import UUID

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from sopwith.ir.tool import Effect
from sopwith.ir.value import canonical
from sopwith.tools import FunctionSource, ToolResult, tool


class Kind(Enum):
    ANNUAL = "annual"
    SICK = "sick"


class Node(BaseModel):
    name: str
    children: list[Node] = []


class Filed(TypedDict):
    request_id: str
    first: date


@dataclasses.dataclass
class Money:
    amount: Decimal


class Pair(NamedTuple):
    left: int
    right: int


async def call(function: Callable[..., Any], **arguments: Any) -> ToolResult:
    source = FunctionSource([function], name="t")
    (spec,) = await source.specs()
    try:
        return await source.call(spec.name, arguments, key="key-1", seconds=None)
    finally:
        await source.close()


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (Node(name="a"), {"name": "a", "children": []}),
        (Money(Decimal("1.50")), {"amount": "1.50"}),
        (Pair(1, 2), [1, 2]),
        ((1, [date(2026, 1, 2)]), [1, ["2026-01-02"]]),
        ({"k": Kind.SICK}, {"k": "sick"}),
        ({"b", "a"}, ["a", "b"]),
        ("张三\ud800\x00👋", "张三\ufffd\x00👋"),
        (None, None),
        (2**70, 2**70),
    ],
)
async def test_what_is_returned_becomes_plain_json(value: Any, stored: Any) -> None:
    @tool(inline=True)
    def give() -> Any:
        return value

    result = await call(give)
    assert result == ToolResult(value=stored)
    assert canonical(result.value)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"steps": [{}, {"amount": float("nan")}]}, "$.steps[1].amount: "),
        ([Money(Decimal(1)), float("inf")], "$[1]: "),
        ({"a": {1: "x"}}, "$.a: "),
        ([b"bytes"], "$[0]: "),
        ({"f": object()}, "$.f: "),
        pytest.param(10**5000, "$: ", id="digits"),
    ],
)
async def test_what_cannot_be_stored_is_refused_with_its_path(value: Any, path: str) -> None:
    @tool(inline=True)
    def give() -> Any:
        return value

    error = (await call(give)).error
    assert error is not None and error.code == "unstorable_result" and error.message.startswith(path)


async def test_a_value_that_holds_itself_is_refused() -> None:
    @tool(inline=True)
    def give() -> Any:
        value: list[Any] = []
        value.append(value)
        return value

    error = (await call(give)).error
    assert error is not None and error.code == "unstorable_result"


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (bool, "true"),
        (bool, 1),
        (int, True),
        (int, "1"),
        (str, None),
        (None, "x"),
        (list[int], [1, "2"]),
        (Filed, {"request_id": "1"}),
        (Literal["a", "b"], "c"),
        (Annotated[int, Field(ge=0)], -1),
    ],
)
@pytest.mark.parametrize("effect", list(Effect))
async def test_a_result_that_is_not_what_the_tool_declares_is_no_result(
    hint: Any, value: Any, effect: Effect
) -> None:
    def give():  # type: ignore[no-untyped-def]
        return value

    give.__annotations__["return"] = hint
    result = await call(tool(inline=True, effect=effect)(give))
    assert result.error is not None and result.error.code == "invalid_result"
    assert (result.value, result.unknown) == (None, effect is not Effect.READ)


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (float, 3),
        (timedelta, timedelta(days=-1, microseconds=500_000)),
        (timedelta, timedelta(days=400, hours=3)),
        (datetime, datetime(2026, 1, 2)),
        (datetime, datetime(2026, 1, 2, tzinfo=UTC)),
        (time, time(1, 2, 3, 4)),
        (Decimal, Decimal("1E+20")),
        (Decimal | None, None),
        (UUID, UUID(int=1)),
        (Path, Path("a b")),
        (Pair, Pair(1, 2)),
        (Money, Money(Decimal("-0.5"))),
        (Node, Node(name="a", children=[Node(name="b")])),
        (Filed, {"request_id": "1", "first": date(2026, 1, 2)}),
        (set[str], {"a"}),
        (dict[str, Kind], {"k": Kind.SICK}),
        (tuple[int, ...], (1, 2)),
    ],
)
async def test_a_result_that_is_what_the_tool_declares_is_one(hint: Any, value: Any) -> None:
    def give():  # type: ignore[no-untyped-def]
        return value

    give.__annotations__["return"] = hint
    assert (await call(tool(inline=True)(give))).error is None


async def test_a_write_whose_result_cannot_be_stored_has_acted() -> None:
    @tool(effect="write", inline=True)
    def act() -> Any:
        return {"v": float("nan")}

    result = await call(act)
    assert result.unknown and result.value is None
    assert result.error is not None and result.error.code == "unstorable_result"
