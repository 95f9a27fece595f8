"""Several sources as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, cast

import pytest
from pydantic import StringConstraints

from sopwith.errors import Text, ToolSourceError, UserError
from sopwith.ir.tool import ErrorData, ToolSpec
from sopwith.ir.value import Json
from sopwith.tools import Catalogue, FunctionSource, McpSource, ToolResult, ToolSource, tool
from sopwith.tools.refusal import unknown_tool


@tool(name="b.second", inline=True)
def second(n: int) -> int:
    return n + 1


@tool(name="a.first", inline=True)
def first() -> str:
    return "first"


async def test_tools_are_sorted_whatever_the_order_of_sources() -> None:
    one = Catalogue([FunctionSource([second]), FunctionSource([first])])
    other = Catalogue([FunctionSource([first]), FunctionSource([second])])
    assert list(await one.specs()) == ["a.first", "b.second"]
    assert await one.digest() == await other.digest()


async def test_the_digest_changes_with_any_spec() -> None:
    @tool(name="a.first", inline=True)
    def changed() -> str:
        """Now it is described."""
        return ""

    before = Catalogue([FunctionSource([first])])
    after = Catalogue([FunctionSource([changed])])
    assert await before.digest() != await after.digest()


async def test_a_call_goes_to_its_source() -> None:
    catalogue = Catalogue([FunctionSource([first]), FunctionSource([second])])
    assert await catalogue.call("b.second", {"n": 1}, key="k", seconds=None) == ToolResult(value=2)


async def test_arguments_are_prepared_by_the_source() -> None:
    @tool(name="b.third", inline=True)
    def third(path: Annotated[str, StringConstraints(strip_whitespace=True)], deep: bool = False) -> str:
        return f"{path} {deep}"

    catalogue = Catalogue([FunctionSource([first]), FunctionSource([third])])
    await catalogue.specs()
    prepared = catalogue.prepare("b.third", {"path": " /etc"})
    assert prepared == {"path": "/etc", "deep": False}
    assert await catalogue.call("b.third", prepared, key="k", seconds=None) == ToolResult(value="/etc False")
    error = catalogue.prepare("b.fourth", {})
    assert isinstance(error, ErrorData) and error.code == "unknown_tool"


async def test_an_unknown_tool_is_a_typed_error() -> None:
    result = await Catalogue([]).call("a.first", {}, key="k", seconds=None)
    assert result.error is not None and result.error.code == "unknown_tool"


async def test_two_tools_of_one_name_are_refused_with_both_sources() -> None:
    catalogue = Catalogue([FunctionSource([first], name="one"), FunctionSource([first], name="two")])
    with pytest.raises(UserError) as caught:
        await catalogue.specs()
    assert caught.value.message == Text(
        "two sources have a tool named a.first: FunctionSource one, FunctionSource two",
        "两个来源都有名为 a.first 的工具：FunctionSource one, FunctionSource two",
    )


async def test_a_source_that_does_not_start_is_named_and_the_others_can_be_closed() -> None:
    catalogue = Catalogue([FunctionSource([first]), McpSource("gone", "no-such-command")])
    with pytest.raises(ToolSourceError, match="gone"):
        await catalogue.specs()
    await catalogue.close()


class Ending:
    """A source that counts how often it is closed; `problem` is raised then."""

    def __init__(self, problem: Exception | None = None) -> None:
        self.closed = 0
        self.problem = problem
        self.problems = [Text("x: left out", "x：已略过")]

    async def specs(self) -> list[ToolSpec]:
        return []

    def prepare(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return arguments

    async def call(self, name: str, arguments: object, *, key: str, seconds: float | None) -> ToolResult:
        return ToolResult()

    async def close(self) -> None:
        self.closed += 1
        if self.problem:
            raise self.problem


async def test_all_sources_are_closed_even_if_one_fails_to() -> None:
    bad, good = Ending(RuntimeError("no")), Ending()
    with pytest.raises(RuntimeError):
        await Catalogue([bad, good]).close()
    assert (bad.closed, good.closed) == (1, 1)


async def test_what_was_left_out_is_told() -> None:
    assert [problem.en for problem in Catalogue([Ending(), Ending()]).problems()] == ["x: left out"] * 2


class Bad:
    """A source one of whose tools demands itself, and one of which is far too large."""

    name = "bad"

    def __init__(self) -> None:
        node: Json = {"type": "object", "required": ["next"], "properties": {"next": {"$ref": "#"}}}
        large: Json = {"type": "object", "properties": {f"p{i}": {"type": "string"} for i in range(90_000)}}
        self.listed = [
            ToolSpec(name="bad.endless", input_schema=node),
            ToolSpec(name="bad.fine"),
            ToolSpec(name="bad.large", output_schema=large),
        ]

    async def specs(self) -> Sequence[ToolSpec]:
        return self.listed

    async def close(self) -> None:
        pass


async def test_a_tool_with_an_impossible_schema_is_left_out_with_a_code_and_the_others_stay() -> None:
    catalogue = Catalogue([cast("ToolSource", Bad())])
    assert set(await catalogue.specs()) == {"bad.fine"}
    told = [(d.code, d.place.file, d.message.en.partition(":")[0]) for d in catalogue.diagnostics()]
    assert told == [("SW432", "bad", "bad.endless"), ("SW431", "bad", "bad.large")]
    assert [said.zh.partition("：")[0] for said in catalogue.problems()] == ["bad.endless", "bad.large"]
    assert catalogue.prepare("bad.endless", {}) == unknown_tool("bad.endless")


class Odd:
    """A source that lists whatever it is given."""

    name = "odd"

    def __init__(self, *specs: ToolSpec) -> None:
        self._specs = specs

    async def specs(self) -> Sequence[ToolSpec]:
        """What it was given."""
        return self._specs


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("input_schema", {"type": "object", "properties": {"a": {"default": float("nan")}}}),
        ("output_schema", {"const": float("inf")}),
        ("name", "odd.\ud83d"),
    ],
)
async def test_a_tool_that_cannot_be_written_down_is_left_out_and_named(field: str, value: Json) -> None:
    bad = ToolSpec.model_validate({"name": "odd.bad", field: value})
    catalogue = Catalogue([cast("ToolSource", Odd(bad, ToolSpec(name="odd.good")))])
    assert list(await catalogue.specs()) == ["odd.good"]
    (told,) = catalogue.diagnostics()
    assert told.code == "SW430"
    told.message.en.encode()
    assert len(await catalogue.digest()) == 64


async def test_half_a_character_in_the_words_of_a_tool_is_replaced() -> None:
    schema = {"type": "object", "properties": {"a\ud83d": {"title": "\ude00"}}}
    spec = ToolSpec(name="odd.words", description="说\ud83d", input_schema=schema)
    found = (await Catalogue([cast("ToolSource", Odd(spec))]).specs())["odd.words"]
    assert found.description == "说\ufffd"
    assert found.input_schema["properties"] == {"a\ufffd": {"title": "\ufffd"}}
