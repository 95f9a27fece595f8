"""Tools that do not come back by themselves, each in the way that it is stopped hardest, and one that does."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from sopwith.tools import FunctionSource, McpSource, command, tool

STUBBORN = (
    "import signal, time\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "time.sleep(30)\n"
)  # fmt: skip
CHILD = [sys.executable, "-c", STUBBORN]
SERVER = Path(__file__).with_name("stuck_server.py")


@tool(name="stuck.thread_sleep")
def thread_sleep() -> None:
    """Sleep, in a thread."""
    time.sleep(30)


@tool(name="stuck.thread_loop")
def thread_loop() -> None:
    """Loop, in a thread."""
    while True:
        pass


@tool(name="stuck.async_never")
async def async_never() -> None:
    """Wait for what never comes, also after a cancellation."""
    with suppress(asyncio.CancelledError):
        await asyncio.Event().wait()
    await asyncio.Event().wait()


@tool(name="stuck.sleep", process=True)
def sleep() -> None:
    """Sleep, in a process."""
    time.sleep(30)


@tool(name="stuck.loop", process=True)
def loop() -> None:
    """Loop, in a process."""
    while True:
        pass


@tool(name="stuck.power", process=True)
def power() -> int:
    """Hold the interpreter lock."""
    return (10**10**8).bit_length()


@tool(name="stuck.child", process=True)
def child() -> None:
    """Wait for a child that ignores SIGTERM, and leave another in a session of its own."""
    subprocess.Popen(CHILD, start_new_session=True)
    subprocess.run(CHILD, check=True)


@tool(name="stuck.program")
async def program() -> str:
    """Run a program that ignores SIGTERM."""
    return (await command(*CHILD)).out


@tool(name="stuck.next", process=True)
def following() -> str:
    """Come back."""
    return "next"


@tool(name="stuck.next_thread")
def following_thread() -> str:
    """Come back, in a thread."""
    return "next"


THREADS = (thread_sleep, thread_loop, async_never, program)
PROCESSES = (sleep, loop, power, child)
CASES = {
    **{f"stuck.{function.__name__}": "stuck.next_thread" for function in THREADS},
    **{f"stuck.{function.__name__}": "stuck.next" for function in PROCESSES},
    "server.stall": "server.next",
}
"""Each tool that does not come back, and one of its own kind that is called after it."""


def sources() -> list[FunctionSource | McpSource]:
    """All of them."""
    functions = FunctionSource([*THREADS, *PROCESSES, following, following_thread])
    arguments = ["-I", str(SERVER)]
    reads = {"stall": "read", "next": "read"}
    return [functions, McpSource("server", sys.executable, arguments, effects=reads)]
