"""Arguments of functions: what is judged is what the function gets, and all of it can be judged."""

from __future__ import annotations

import json
import posixpath
import timeit
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    SecretStr,
    StringConstraints,
    TypeAdapter,
)

from sopwith.errors import UserError
from sopwith.ir.tool import ErrorData
from sopwith.tools import FunctionSource, ToolResult, tool


class Kind(Enum):
    ANNUAL = "annual"
    SICK = "sick"


async def call(function: Callable[..., Any], **arguments: Any) -> ToolResult:
    source = FunctionSource([function], name="t")
    (spec,) = await source.specs()
    try:
        return await source.call(spec.name, arguments, key="key-1", seconds=None)
    finally:
        await source.close()


def prepare(function: Callable[..., Any], **arguments: Any) -> dict[str, Any]:
    source = FunctionSource([tool(inline=True, name="t.prepared")(function)])
    prepared = source.prepare("t.prepared", arguments)
    assert isinstance(prepared, dict), prepared
    return prepared


async def test_a_default_is_there_to_be_judged_and_is_nobodys_to_change() -> None:
    marker: list[str] = ["x"]

    @tool(inline=True)
    def default(of: list[str] = marker, kind: Kind = Kind.SICK, at: date = date(2026, 1, 2)) -> int:
        of.append("more")
        return len(of)

    prepared = prepare(default)
    assert prepared == {"of": ["x"], "kind": "sick", "at": "2026-01-02"}
    for arguments in (prepared, {}):
        assert (await call(default, **arguments)).value == 2
    assert prepare(default) == prepared
    assert prepare(default, kind="annual", of=[]) == {"of": [], "kind": "annual", "at": "2026-01-02"}


class Strict(BaseModel):
    """It drops what it does not know, and knows more than it is given."""

    path: Annotated[str, StringConstraints(to_lower=True)]
    mode: int = 0o600


STRIPPED = Annotated[str, StringConstraints(strip_whitespace=True)]


@pytest.mark.parametrize(
    ("hint", "given", "judged"),
    [
        (STRIPPED, " /etc/passwd", "/etc/passwd"),
        (Annotated[str, BeforeValidator(lambda text: text.replace("\\", "/"))], r"\etc", "/etc"),
        (Annotated[str, AfterValidator(posixpath.normpath)], "/srv/../etc", "/etc"),
        (Path, "/srv//x/./y", "/srv/x/y"),
        (Strict, {"path": "/ETC", "owner": "root"}, {"path": "/etc", "mode": 0o600}),
        (list[STRIPPED], [" a", "b "], ["a", "b"]),
        (dict[str, STRIPPED], {"k": " a"}, {"k": "a"}),
        (float, 3, 3.0),
        (datetime, "2026-01-02 03:04", "2026-01-02T03:04:00"),
        (Decimal, "1.50", "1.50"),
        (set[int], [1, 1], [1]),
        (UUID, "550E8400-E29B-41D4-A716-446655440000", "550e8400-e29b-41d4-a716-446655440000"),
        (STRIPPED | None, None, None),
        (Any, " a", " a"),
    ],
)
async def test_what_is_judged_is_what_the_function_gets(hint: Any, given: Any, judged: Any) -> None:
    got: list[Any] = []

    @tool(name="t.take", inline=True)
    def take(path) -> None:  # type: ignore[no-untyped-def]
        got.append(path)

    take.__annotations__["path"] = hint
    source = FunctionSource([take])
    prepared = source.prepare("t.take", {"path": given})
    assert isinstance(prepared, dict)
    assert json.dumps(prepared) == json.dumps({"path": judged})
    assert source.prepare("t.take", prepared) == prepared
    assert (await source.call("t.take", prepared, key="k", seconds=None)).error is None
    assert TypeAdapter(hint).dump_python(got[0], mode="json") == judged


async def test_a_call_that_was_not_prepared_changes_nothing_on_the_way() -> None:
    @tool(inline=True)
    def take(path: Annotated[str, StringConstraints(strip_whitespace=True)]) -> None:
        raise AssertionError("it must not be called")

    error = (await call(take, path=" /etc/passwd")).error
    assert error is not None and error.code == "not_prepared" and error.message.startswith("$.path: ")


class Hidden(BaseModel):
    path: str = Field(default="/tmp", exclude=True)


@pytest.mark.parametrize(
    ("hint", "given"),
    [
        (SecretStr, "hunter2"),
        (Annotated[str, AfterValidator(lambda text: text + "/")], "/etc"),
        (Annotated[str, AfterValidator(str.split)], "a b"),
        (Annotated[int, AfterValidator(lambda n: n + 1)], 1),
        (Hidden, {"path": "/etc"}),
        (Annotated[str, AfterValidator(lambda _: object())], "a"),
    ],
)
def test_what_does_not_survive_being_written_down_is_refused(hint: Any, given: Any) -> None:
    @tool(name="t.take")
    def take(path) -> None:  # type: ignore[no-untyped-def]
        raise AssertionError("it must not be called")

    take.__annotations__["path"] = hint
    error = FunctionSource([take]).prepare("t.take", {"path": given})
    assert isinstance(error, ErrorData) and error.code == "not_plain"


@pytest.mark.parametrize(
    ("hint", "default"),
    [
        (str, None),
        (Any, object()),
        (float, float("inf")),
        (SecretStr, SecretStr("hunter2")),
        (Annotated[str, Field(max_length=1)], "long"),
    ],
)
def test_a_default_that_nobody_could_judge_is_refused(hint: Any, default: Any) -> None:
    @tool
    def take(path=default) -> None: ...  # type: ignore[no-untyped-def]

    take.__annotations__["path"] = hint
    with pytest.raises(UserError, match="the default of path"):
        FunctionSource([take])


def test_preparing_takes_no_time() -> None:
    @tool(name="t.take")
    def take(user_id: str, n: int, kind: Literal["a", "b"] = "a") -> None: ...

    source = FunctionSource([take])
    given: dict[str, Any] = {"user_id": "u1", "n": 3}
    best = min(timeit.repeat(lambda: source.prepare("t.take", given), number=2000, repeat=7)) / 2000
    assert best < 15e-6  # about 2 µs where nothing else runs
