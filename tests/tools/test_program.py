"""Commands that tools run: what they give, and that nothing is left of them."""

from __future__ import annotations

import asyncio
import secrets
import sys
from pathlib import Path

import pytest
from tests.tools.process_tools import STUBBORN
from tests.tools.servers import alive, marked, until

from sopwith.tools import FunctionSource, Ran, ToolError, command, tool


@pytest.fixture
def mark(monkeypatch: pytest.MonkeyPatch) -> str:
    found = f"SOPWITH_TEST={secrets.token_hex(8)}"
    monkeypatch.setenv(*found.split("="))
    return found


async def test_arguments_are_passed_as_they_are_without_a_shell() -> None:
    ran = await command("printf", "%s|", "$HOME", "a b", "*", "; echo", "重")
    assert ran == Ran(0, "$HOME|a b|*|; echo|重|", "")


async def test_status_and_both_outputs_are_told() -> None:
    assert await command("sh", "-c", "echo out; echo err >&2; exit 3") == Ran(3, "out\n", "err\n")
    assert (await command("sh", "-c", "kill -9 $$")).status == -9


async def test_text_folder_and_environment_are_what_it_is_given(tmp_path: Path) -> None:
    (tmp_path / "文.txt").write_text("x", encoding="utf-8")
    given = {"PATH": "/usr/bin:/bin", "WHO": "me"}
    ran = await command("sh", "-c", 'cat; ls; echo "$WHO$HOME"', text="读\n", folder=tmp_path, env=given)
    assert ran == Ran(0, "读\n文.txt\nme\n", "")
    assert await command("true", text="nobody reads this" * 100_000) == Ran(0, "", "")


async def test_long_output_is_cut_and_does_not_hold_the_command_up() -> None:
    ran = await command("sh", "-c", "yes | head -c 3000000; echo end >&2", most=10)
    assert ran == Ran(0, "y\n" * 5, "end\n", cut=True)


@pytest.mark.parametrize("name", ["no-such-program", "/no/such/program", "./program"])
async def test_a_program_that_is_not_there_has_done_nothing(name: str, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="there is no program"):
        await command(name, folder=tmp_path)


async def test_what_takes_too_long_is_ended_with_its_children(mark: str) -> None:
    script = f'{sys.executable} -c "$0" & {sys.executable} -c "$0"'
    with pytest.raises(TimeoutError):
        await command("sh", "-c", script, STUBBORN, seconds=0.5)
    assert marked(mark) == set()


async def test_what_a_command_leaves_behind_is_ended() -> None:
    ran = await asyncio.wait_for(command("sh", "-c", "setsid sleep 600 & echo $!"), 30)
    assert not alive(int(ran.out))


async def test_a_tool_that_runs_a_command_returns_in_time_and_leaves_nothing(mark: str) -> None:
    @tool(name="t.run", timeout=1.0)
    async def run() -> str:
        return (await command(sys.executable, "-c", STUBBORN)).out

    source = FunctionSource([run])
    clock = asyncio.get_running_loop().time
    began = clock()
    error = (await source.call("t.run", {}, key="k", seconds=None)).error
    assert error is not None and error.code == "timeout" and clock() - began < 2
    await until(lambda: not marked(mark))
    await source.close()
