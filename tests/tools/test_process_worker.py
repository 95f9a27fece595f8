"""Functions in a process of their own: they behave as in a thread, and end when their time is up."""

from __future__ import annotations

import asyncio
import functools
import os
import secrets
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.tools import process_tools
from tests.tools.servers import alive, marked, until

from sopwith.errors import Text, ToolSourceError, UserError
from sopwith.tools import FunctionSource, ToolResult, load_module, tool
from sopwith.tools.process_worker import Processes
from sopwith.tools.refusal import both

SOON = 0.3
AMPLE = 30.0
WITHIN = 2.0
"""What a call may take that has a second: the second, and a grace."""


@pytest.fixture
def mark(monkeypatch: pytest.MonkeyPatch) -> str:
    """What stands in the environment of every process that the test starts."""
    found = f"SOPWITH_TEST={secrets.token_hex(8)}"
    monkeypatch.setenv(*found.split("="))
    return found


@pytest.fixture
async def source(mark: str) -> AsyncIterator[FunctionSource]:
    made = FunctionSource(process_tools.ALL, name="odd")
    await made.specs()
    yield made
    await made.close()
    assert marked(mark) == set()


async def call(source: FunctionSource, name: str, seconds: float = AMPLE, **arguments: Any) -> ToolResult:
    prepared = source.prepare(f"odd.{name}", arguments)
    assert isinstance(prepared, dict)
    return await source.call(f"odd.{name}", prepared, key="key-1", seconds=seconds)


async def test_arguments_key_and_result_are_as_in_a_thread(source: FunctionSource) -> None:
    result = await call(source, "book", room="甲", on="2026-01-02")
    assert result == ToolResult(value=["甲", "2026-01-02", "date", "key-1"])


@pytest.mark.parametrize(
    ("name", "arguments", "code", "message", "unknown"),
    [
        ("book", {"room": "none", "on": "2026-01-02"}, "no_room", "there is no room", False),
        ("fails", {}, "exception", "ValueError: no such ticket\n工单不存在", False),
        ("leave", {"how": "sys"}, "exception", "SystemExit: 4", True),
        ("leave", {"how": "exit"}, "process_lost", "ended during the call (exit status 3)", True),
        ("leave", {"how": "segfault"}, "process_lost", "ended during the call (exit status -11)", True),
        ("unstorable", {}, "unstorable_result", "$.steps[0]: a object cannot be stored as JSON", False),
    ],
)
async def test_a_failure_is_typed_and_the_next_call_works(
    source: FunctionSource, name: str, arguments: dict[str, Any], code: str, message: str, unknown: bool
) -> None:
    result = await call(source, name, **arguments)
    assert result.error is not None and result.error.code == code and message in result.error.message
    assert result.unknown is unknown
    assert (await call(source, "echo", value="next")).value == "next"


async def test_the_words_of_a_tool_error_come_in_both_languages(source: FunctionSource) -> None:
    error = (await call(source, "book", room="none", on="2026-01-02")).error
    assert error is not None and both(error) == Text("there is no room", "没有房间")


async def test_what_a_function_prints_or_reads_does_not_get_in_between(
    capfd: pytest.CaptureFixture[str],
) -> None:
    source = FunctionSource(process_tools.ALL, name="odd")
    assert (await call(source, "noise", lines=3)).value == ""
    printed = capfd.readouterr()
    await source.close()
    assert printed.out.count("noise on stdout 噪声") == printed.err.count("noise on stderr") == 3


async def test_a_huge_result_comes_whole(source: FunctionSource) -> None:
    assert (await call(source, "huge", characters=3_000_000)).value == "页" * 3_000_000


async def test_a_process_is_kept_for_the_next_call(source: FunctionSource) -> None:
    first, second = (await call(source, "pid")).value, (await call(source, "pid")).value
    assert first == second != os.getpid()


@pytest.mark.parametrize("name", ["stall", "spin", "power", "swallow"])
async def test_what_no_thread_can_stop_ends_in_time(source: FunctionSource, name: str, mark: str) -> None:
    before = (await call(source, "pid")).value
    clock = asyncio.get_running_loop().time
    began = clock()
    error = (await call(source, name, seconds=1.0)).error
    assert error is not None and error.code == "timeout"
    assert clock() - began < WITHIN
    assert not alive(before)
    after = (await call(source, "pid")).value
    assert after != before and {after} <= marked(mark)


async def test_nothing_that_it_has_started_is_left(source: FunctionSource, mark: str, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    running = asyncio.create_task(call(source, "brood", seconds=AMPLE, ready=str(ready)))
    await until(ready.exists)
    brood = marked(mark)
    assert len(brood) == 5  # the supervisor, the function, and three that it has started
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await until(lambda: not brood & marked(mark))
    assert (await call(source, "echo", value=1)).value == 1


async def test_a_write_past_its_time_is_unknown(source: FunctionSource) -> None:
    result = await call(source, "stall_write", seconds=SOON)
    assert result.unknown and result.error is not None and result.error.code == "timeout"


async def test_so_many_run_at_once_and_the_others_wait_their_turn(mark: str) -> None:
    source = FunctionSource(process_tools.ALL, name="odd")
    source._processes = Processes(most=2)
    await source.specs()
    first = [asyncio.create_task(call(source, "stall_write", seconds=1.0)) for _ in range(2)]
    await until(lambda: len(marked(mark)) == 4)
    result = await call(source, "stall_write", seconds=0.05)
    assert result.error is not None and (result.error.code, result.unknown) == ("unavailable", False)
    assert all(
        done.error and done.error.code in ("timeout", "unavailable") for done in await asyncio.gather(*first)
    )
    assert (await call(source, "echo", value=1)).value == 1
    await source.close()
    assert marked(mark) == set()


async def test_closing_ends_also_what_runs(mark: str) -> None:
    source = FunctionSource(process_tools.ALL, name="odd")
    await source.specs()
    running = asyncio.create_task(call(source, "swallow"))
    await asyncio.sleep(0)
    await source.close()
    assert (await running).error is not None
    await source.close()
    assert marked(mark) == set()


def test_a_source_outlives_an_event_loop(mark: str) -> None:
    source = FunctionSource(process_tools.ALL, name="odd")
    pids = [asyncio.run(call(source, "pid")).value for _ in range(2)]
    assert pids[0] == pids[1]
    asyncio.run(source.close())
    assert marked(mark) == set()


PARENT = """
import asyncio
from tests.tools import process_tools
from sopwith.tools import FunctionSource

async def main():
    source = FunctionSource(process_tools.ALL, name="odd")
    await source.specs()
    await source.call("odd.brood", {"ready": READY}, key="k", seconds=600)

asyncio.run(main())
"""


async def test_the_death_of_the_parent_ends_all(mark: str, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    parent = await asyncio.create_subprocess_exec(
        *[sys.executable, "-c", PARENT.replace("READY", repr(str(ready)))]
    )
    await until(ready.exists)
    assert len(marked(mark)) == 6
    parent.send_signal(signal.SIGKILL)
    await parent.wait()
    await until(lambda: not marked(mark))


class Desk:
    def close(self) -> None: ...


@functools.wraps(process_tools.spin)
def spin() -> None: ...


def in_main() -> None: ...


in_main.__module__ = "__main__"


def elsewhere() -> None: ...


elsewhere.__qualname__ = "in_main"


async def waits() -> None: ...


def closure() -> Callable[[], None]:
    def inner() -> None: ...

    return inner


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (closure(), "not a function of a module's top level"),
        (lambda: None, "not a function of a module's top level"),
        (Desk().close, "not a function of a module's top level"),
        (in_main, "in __main__, which no other process can import"),
        (elsewhere, "is something else"),
        (waits, "it is async"),
    ],
)
def test_a_function_that_no_other_process_can_import_is_refused(function: Any, why: str) -> None:
    with pytest.raises(UserError, match=why) as caught:
        FunctionSource([tool(process=True)(function)])
    assert "test_process_worker.py:" in caught.value.message.en
    assert caught.value.hint.en and caught.value.message.zh and caught.value.hint.zh


def test_a_tool_is_not_both_inline_and_in_a_process() -> None:
    with pytest.raises(UserError, match="inline or in a process"):
        tool(process=True, inline=True)


FILE = """
import neighbour
from sopwith.tools import tool

@tool(name="file.who", process=True)
def who() -> str:
    return neighbour.NAME
"""


async def test_a_function_of_a_file_is_found_there(tmp_path: Path) -> None:
    (tmp_path / "neighbour.py").write_text("NAME = '隔壁'\n", encoding="utf-8")
    (tmp_path / "tools.py").write_text(FILE, encoding="utf-8")
    source = FunctionSource(load_module(tmp_path / "tools.py"))
    await source.specs()
    assert (await source.call("file.who", {}, key="k", seconds=AMPLE)).value == "隔壁"
    await source.close()


async def test_a_module_that_a_process_cannot_import_is_told_at_once(tmp_path: Path) -> None:
    file = tmp_path / "tools.py"
    file.write_text(FILE.replace("import neighbour", "neighbour = 1"), encoding="utf-8")
    source = FunctionSource(load_module(file))
    file.write_text("import no_such_module\n", encoding="utf-8")
    with pytest.raises(ToolSourceError, match=r"tools\.py: who cannot be imported .*no_such_module"):
        await source.specs()
    result = await source.call("file.who", {}, key="k", seconds=AMPLE)
    assert result.error is not None and (result.error.code, result.unknown) == ("unavailable", False)
    await source.close()
