"""Lists that MCP servers give: long, wrong, and changing ones."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from tests.tools.servers import ODD, odd

from sopwith.tools import Catalogue, McpSource

AMPLE = 30.0
Opened = Callable[..., McpSource]


@pytest.fixture
async def opened() -> AsyncIterator[Opened]:
    made: list[McpSource] = []

    def open_one(*args: str, **more: Any) -> McpSource:
        made.append(McpSource("odd", sys.executable, ["-I", ODD, *args], **more))
        return made[-1]

    yield open_one
    for source in made:
        await source.close()


async def test_each_bad_tool_is_named_and_left_out_and_the_good_ones_stay(opened: Opened) -> None:
    source = opened("bad")
    assert [spec.name for spec in await source.specs()] == ["odd.good", "odd.last", "odd.titled"]
    name = "its name is not 1 to 128 of A-Z a-z 0-9 _ . - /"
    circle = "its $ref goes in a circle that no value can end"
    assert [(told.code, told.message.en) for told in source.diagnostics] == [
        ("SW430", "odd: list: type: must be 'object'"),
        ("SW433", "odd: good: listed twice"),
        ("SW440", "odd: silent: it has no description: nobody could tell when to use it"),
        ("SW431", "odd: huge: the schema has 2,000,055 bytes, and 1,000,000 are the most"),
        ("SW432", f"odd: endless: {circle}"),
        ("SW432", f"odd: endless_result: {circle}"),
        ("SW437", f"odd: two words: {name}"),
        ("SW437", f"odd: 行: {name}"),
        ("SW437", f"odd: '\\x1b[2J': {name}"),
        ("SW437", f"odd: {'l' * 79}…: {name}"),
        ("SW437", f"odd: : {name}"),
    ]
    assert "odd：good：重复列出" in {problem.zh for problem in source.problems}


async def test_the_owner_can_describe_a_tool_that_its_server_does_not(opened: Opened) -> None:
    source = opened("bad", descriptions={"silent": "Say nothing.", "gone": "x"})
    described = {spec.name: spec.description for spec in await source.specs()}
    assert described["odd.silent"] == "Say nothing." and described["odd.titled"] == "It has a title"
    assert source.problems[-1].en == "odd: gone: descriptions names it, but there is no such tool"


@pytest.mark.parametrize("how", ["many", "once"])
async def test_three_thousand_tools_are_all_there(opened: Opened, how: str) -> None:
    source = opened(how)
    specs = await source.specs()
    assert [spec.name for spec in specs] == [f"odd.t{number:04}" for number in range(3000)]
    assert source.problems == []


async def test_a_list_that_never_ends_ends(opened: Opened) -> None:
    source = opened("round")
    assert {spec.name for spec in await source.specs()} == {"odd.after_None", "odd.after_a", "odd.after_b"}
    assert source.diagnostics[0].code == "SW438"
    assert source.problems[-1].en == "odd: its list of tools has no end; the rest is left out"


@pytest.mark.parametrize("tells", [True, False])
async def test_a_changed_list_is_seen_by_whoever_asks_anew_and_by_nobody_else(
    opened: Opened, tells: bool
) -> None:
    source = opened(*(["tells"] if tells else []))
    catalogue = Catalogue([source])
    before, digest = dict(await catalogue.specs()), await catalogue.digest()
    assert not await catalogue.refresh()
    assert (await source.call("odd.learn", {"name": "new"}, key="k", seconds=AMPLE)).value == "learned"
    assert await catalogue.specs() == before and await catalogue.digest() == digest
    assert await catalogue.refresh()
    assert set(await catalogue.specs()) - set(before) == {"odd.new"}
    assert not await catalogue.refresh()


async def test_a_tool_that_is_gone_is_still_called_for_those_who_had_it(opened: Opened) -> None:
    source = opened("tells")
    catalogue = Catalogue([source])
    await catalogue.specs()
    await source.call("odd.learn", {"name": "first"}, key="k", seconds=AMPLE)
    assert await catalogue.refresh()
    await source.call("odd.learn", {"name": "second"}, key="k", seconds=AMPLE)
    assert await catalogue.refresh()
    assert "odd.first" not in await catalogue.specs()
    assert source.prepare("odd.first", {}) == {}
    assert (await source.call("odd.first", {}, key="k", seconds=AMPLE)).value == "first"


async def test_a_server_that_vanishes_and_returns_has_the_same_list(opened: Opened) -> None:
    source = opened()
    catalogue = Catalogue([source])
    digest = await catalogue.digest()
    assert (await source.call("odd.die", {}, key="k", seconds=AMPLE)).error is not None
    assert not await catalogue.refresh()
    assert await catalogue.digest() == digest


async def test_a_source_that_fails_is_an_error_only_where_it_is_needed() -> None:
    gone = McpSource("gone", "no-such-command")
    catalogue = Catalogue([odd(), gone])
    specs = await catalogue.specs(needed=["odd.echo"])
    assert "odd.echo" in specs
    (told,) = [one for one in catalogue.diagnostics() if one.code == "SW439"]
    assert "gone (no-such-command) cannot be run" in told.message.en and "Install" in told.hint.en
    with pytest.raises(Exception, match="gone"):
        await catalogue.specs(needed=["gone.x"])
    with pytest.raises(Exception, match="gone"):
        await catalogue.specs()
    await catalogue.close()
    await asyncio.sleep(0)
