"""Python functions as tools: what their specs say, what their calls give."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from sopwith.errors import UserError
from sopwith.ir.tool import Effect, ToolSpec
from sopwith.tools import FunctionSource, ToolError, ToolResult, tool, tools_of
from sopwith.tools.refusal import in_language


class Kind(Enum):
    ANNUAL = "annual"
    SICK = "sick"


class Node(BaseModel):
    name: str
    children: list[Node] = []


class Filed(TypedDict):
    request_id: str
    first: date


@tool(name="hr.submit", effect="write", idempotent=True, timeout=20, scopes=("hr:write",))
def submit(
    user_id: str,
    kind: Kind,
    unit: Literal["day", "hour"],
    start: date,
    tags: list[str] | None = None,
    note: Annotated[str, Field(max_length=3, description="one word")] = "无",
    *,
    idempotency_key: str,
) -> Filed:
    """Submit a leave request.

    It is on its way at once.

    Args:
        user_id: Who asks,
            as in the register.
        kind (Kind): The kind of leave.
        note: This loses against the Field.

    Returns:
        The id of the request.
    """
    return {"request_id": f"{user_id}-{kind.value}-{unit}-{tags}-{note}-{idempotency_key}", "first": start}


async def spec_of(function: Callable[..., Any]) -> ToolSpec:
    return (await FunctionSource([function]).specs())[0]


async def call(function: Callable[..., Any], **arguments: Any) -> ToolResult:
    source = FunctionSource([function], name="t")
    (spec,) = await source.specs()
    try:
        return await source.call(spec.name, arguments, key="key-1", seconds=None)
    finally:
        await source.close()


async def test_a_spec_says_what_the_decorator_and_the_annotations_say() -> None:
    spec = await spec_of(submit)
    assert spec.model_dump(exclude={"input_schema", "output_schema"}) == {
        "name": "hr.submit",
        "description": "Submit a leave request.\n\nIt is on its way at once.",
        "effect": Effect.WRITE,
        "idempotent": True,
        "scopes": ("hr:write",),
        "reconcilable": False,
        "sensitivity": "normal",
        "timeout": 20.0,
    }
    assert spec.input_schema == {
        "type": "object",
        "additionalProperties": False,
        "required": ["user_id", "kind", "unit", "start"],
        "properties": {
            "user_id": {"type": "string", "description": "Who asks, as in the register."},
            "kind": {"$ref": "#/$defs/Kind", "description": "The kind of leave."},
            "unit": {"type": "string", "enum": ["day", "hour"]},
            "start": {"type": "string", "format": "date"},
            "tags": {
                "anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}],
                "default": None,
            },
            "note": {"type": "string", "maxLength": 3, "description": "one word", "default": "无"},
        },
        "$defs": {"Kind": {"type": "string", "enum": ["annual", "sick"]}},
    }  # fmt: skip
    assert spec.output_schema == {
        "type": "object",
        "required": ["request_id", "first"],
        "properties": {"request_id": {"type": "string"}, "first": {"type": "string", "format": "date"}},
    }


async def test_parameters_keep_their_order() -> None:
    assert list((await spec_of(submit)).input_schema["properties"])[:3] == ["user_id", "kind", "unit"]


async def test_a_decorated_function_stays_a_function() -> None:
    assert submit("u", Kind.SICK, "day", date(2026, 1, 2), idempotency_key="k")["request_id"].startswith(
        "u-sick"
    )


async def test_arguments_become_what_the_function_takes_and_the_key_comes_along() -> None:
    result = await call(submit, user_id="u1", kind="annual", unit="day", start="2026-01-02")
    assert result.value == {"request_id": "u1-annual-day-None-无-key-1", "first": "2026-01-02"}


@pytest.mark.parametrize("name", [None, "get", "hr.get", "hr.people.get"])
async def test_a_name_without_a_dot_gets_that_of_the_source(name: str | None) -> None:
    @tool(name=name)
    def get() -> None: ...

    (spec,) = await FunctionSource([get], name="hr").specs()
    assert spec.name == ("hr.people.get" if name == "hr.people.get" else "hr.get")
    assert (await FunctionSource([tool(get)]).specs())[0].name == "local.get"


async def test_parameters_may_have_names_that_models_refuse() -> None:
    @tool
    def odd(schema: str, model_config: int, _x: bool, copy: str, json: str) -> list[Any]:
        return [schema, model_config, _x, copy, json]

    given = {"schema": "a", "model_config": 1, "_x": True, "copy": "b", "json": "c"}
    assert (await call(odd, **given)).value == ["a", 1, True, "b", "c"]


async def test_a_recursive_model_keeps_its_references() -> None:
    @tool
    def depth(root: Node) -> int:
        return 1 + max((depth(child) for child in root.children), default=0)

    spec = await spec_of(depth)
    assert spec.input_schema["properties"]["root"] == {"$ref": "#/$defs/Node"}
    assert spec.input_schema["$defs"]["Node"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Node"}
    assert (await call(depth, root={"name": "a", "children": [{"name": "b", "children": []}]})).value == 2


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"n": True}, "n: "),
        ({"n": "1"}, "n: "),
        ({"n": 1.5}, "n: "),
        ({}, "n: "),
        ({"n": 1, "m": 2}, "m: "),
        ({"n": float("nan")}, "$.n: "),
    ],
)
async def test_arguments_of_another_type_are_refused(given: dict[str, Any], problem: str) -> None:
    @tool
    def double(n: int) -> int:
        raise AssertionError("it must not be called")

    error = (await call(double, **given)).error
    assert error is not None and error.code == "invalid_arguments" and error.message.startswith(problem)


RAISED = [
    (ToolError("no_such_employee", "查无此人"), "no_such_employee", "查无此人"),
    (ValueError("bad"), "exception", "ValueError: bad"),
    (TimeoutError("its own"), "exception", "TimeoutError: its own"),
    (SystemExit(3), "exception", "SystemExit: 3"),
    (asyncio.CancelledError(), "exception", "CancelledError: the tool was cancelled"),
]


@pytest.mark.parametrize("how", ["thread", "inline", "async"])
@pytest.mark.parametrize(("raised", "code", "message"), RAISED)
@pytest.mark.parametrize("seconds", [None, 10.0])
@pytest.mark.parametrize("effect", list(Effect))
async def test_what_is_raised_becomes_a_typed_error_and_only_a_tool_error_proves_that_a_write_did_nothing(
    raised: BaseException, code: str, message: str, how: str, seconds: float | None, effect: Effect
) -> None:
    @tool(inline=how == "inline", name="t.fail", effect=effect)
    def fail() -> None:
        raise raised

    @tool(name="t.fail", effect=effect)
    async def fail_later() -> None:
        raise raised

    source = FunctionSource([fail_later if how == "async" else fail])
    result = await source.call("t.fail", {}, key="k", seconds=seconds)
    assert result.error is not None
    assert (result.error.code, result.error.message) == (code, message)
    assert result.unknown is (effect is not Effect.READ and not isinstance(raised, ToolError))
    await source.close()


async def test_a_tool_error_in_two_languages_is_told_in_that_of_the_run() -> None:
    @tool(name="t.fail")
    def fail() -> None:
        raise ToolError("closed", "closed on Sunday", zh="星期日休息")

    error = (await FunctionSource([fail]).call("t.fail", {}, key="k", seconds=None)).error
    assert error is not None
    assert [in_language(error, one).message for one in ("en", "zh")] == ["closed on Sunday", "星期日休息"]


class Desk:
    def __init__(self) -> None:
        self.written: list[str] = []

    @tool(name="desk.write", effect="write")
    def write(self, text: str) -> int:
        """Write a line."""
        self.written.append(text)
        return len(self.written)

    @tool(name="desk.read")
    async def read(self) -> list[str]:
        return self.written

    def plain(self, n: int) -> int:
        """Not marked."""
        return n + len(self.written)

    async def later(self) -> int:
        return len(self.written)


async def test_marked_methods_are_bound_to_their_object() -> None:
    desk = Desk()
    source = FunctionSource(tools_of(desk))
    assert [spec.name for spec in await source.specs()] == ["desk.read", "desk.write"]
    assert (await source.call("desk.write", {"text": "行"}, key="k", seconds=None)).value == 1
    assert (await source.call("desk.read", {}, key="k", seconds=None)).value == ["行"]
    await source.close()


async def test_a_bound_method_can_be_marked() -> None:
    desk = Desk()
    source = FunctionSource([tool(desk.plain), tool(name="later")(desk.later)], name="desk")
    assert [spec.name for spec in await source.specs()] == ["desk.later", "desk.plain"]
    assert (await source.call("desk.plain", {"n": 2}, key="k", seconds=None)).value == 2
    assert (await source.call("desk.later", {}, key="k", seconds=None)).value == 0
    assert FunctionSource(tools_of(Desk())) is not source
    await source.close()


def positional(n: int, /) -> None: ...


def many(*n: int) -> None: ...


def bare(n) -> None: ...  # type: ignore[no-untyped-def]


def misplaced(n: int = Field(default=3)) -> None: ...


def untyped(n: threading.Thread) -> None: ...


@pytest.mark.parametrize("function", [positional, many, bare, misplaced, untyped])
def test_a_function_that_cannot_be_a_tool_is_named_with_its_place(function: Callable[..., Any]) -> None:
    with pytest.raises(UserError) as caught:
        FunctionSource([tool(function)])
    assert f"test_function.py:{function.__code__.co_firstlineno} {function.__name__}: " in str(caught.value)
    assert caught.value.hint.en and caught.value.hint.zh and caught.value.message.zh


def test_a_function_without_a_mark_is_refused() -> None:
    with pytest.raises(UserError, match="is not a tool"):
        FunctionSource([lambda: None])


def test_two_tools_of_one_name_are_refused_with_both_places() -> None:
    with pytest.raises(UserError, match=r"hr\.submit: .*test_function\.py:\d+, .*test_function\.py:\d+"):
        FunctionSource([submit, submit])


@pytest.mark.parametrize("options", [{"effect": "reads"}, {"timeout": 0}, {"timeout": float("nan")}])
def test_an_option_that_cannot_be_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UserError):
        tool(**options)


@pytest.fixture
async def gate() -> AsyncIterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


async def test_a_thread_that_blocks_is_left_behind(gate: threading.Event) -> None:
    ends: list[str] = []

    @tool(name="t.wait", effect="write")
    def wait() -> str:
        gate.wait()
        ends.append("late")
        done.set()
        return "late"

    @tool(name="t.next")
    def following() -> str:
        return "next"

    done = threading.Event()
    source = FunctionSource([wait, following])
    late = await source.call("t.wait", {}, key="k", seconds=0.05)
    assert late.unknown and late.error is not None and late.error.code == "timeout"
    assert (await source.call("t.next", {}, key="k", seconds=5)).value == "next"
    gate.set()
    assert done.wait(5) and ends == ["late"]
    assert (await source.call("t.next", {}, key="k", seconds=5)).value == "next"
    await source.close()


async def test_an_endless_loop_in_a_read_is_interrupted() -> None:
    ended = threading.Event()

    @tool(name="t.spin")
    def spin() -> None:
        try:
            while True:
                pass
        finally:
            ended.set()

    source = FunctionSource([spin])
    result = await source.call("t.spin", {}, key="k", seconds=0.05)
    assert result.error is not None and result.error.code == "timeout"
    assert ended.wait(5)
    await source.close()


async def test_a_coroutine_that_refuses_its_cancellation_does_not_hold_up_the_call() -> None:
    release = asyncio.Event()
    asked = 0

    @tool(name="t.stubborn")
    async def stubborn() -> str:
        nonlocal asked
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                asked += 1
        return "late"

    source = FunctionSource([stubborn])
    result = await source.call("t.stubborn", {}, key="k", seconds=0.05)
    assert result.error is not None and result.error.code == "timeout"
    await asyncio.wait_for(source.close(), 5)
    assert asked == 2
    release.set()


async def test_the_shorter_of_two_limits_holds() -> None:
    @tool(name="t.wait", timeout=0.05)
    async def wait() -> None:
        await asyncio.Event().wait()

    source = FunctionSource([wait])
    error = (await source.call("t.wait", {}, key="k", seconds=600)).error
    assert error is not None and error.message == "t.wait took longer than 0.05 s"
    await source.close()


async def test_calls_in_threads_overlap_and_reuse_threads() -> None:
    both = threading.Barrier(2)

    @tool(name="t.meet")
    def meet() -> str:
        both.wait(5)
        return threading.current_thread().name

    source = FunctionSource([meet])
    before = {thread.ident for thread in threading.enumerate()}
    for _ in range(20):
        calls = (source.call("t.meet", {}, key="k", seconds=5) for _ in range(2))
        assert all(result.value for result in await asyncio.gather(*calls))
    ours = [t for t in threading.enumerate() if t.name == "sopwith-tool" and t.ident not in before]
    assert len(ours) < 10
    await source.close()


def test_a_source_outlives_an_event_loop() -> None:
    source = FunctionSource([submit])
    arguments = {"user_id": "u", "kind": "sick", "unit": "day", "start": "2026-01-02"}
    for _ in range(2):
        result = asyncio.run(source.call("hr.submit", arguments, key="k", seconds=5))
        assert result.error is None
    asyncio.run(source.close())
