"""Functions that run in a process of their own, and do there what functions should not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from datetime import date
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict

from sopwith.tools import ToolError, tool

STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("up", flush=True)
time.sleep(600)
"""
_state = {"count": 0}


class Number(TypedDict):
    n: int


@tool(process=True)
def echo(value: Any) -> Any:
    return value


@tool(process=True)
def count() -> Number:
    _state["count"] += 1
    return {"n": _state["count"]}


@tool(process=True)
def fails() -> str:
    raise ValueError("no such ticket\n工单不存在")


@tool(process=True)
def stall() -> None:
    time.sleep(600)


@tool(process=True, effect="write")
def stall_write() -> None:
    time.sleep(600)


@tool(process=True)
def spin() -> None:
    while True:
        pass


@tool(process=True)
def power() -> int:
    return len(str(10**10**8))


@tool(process=True)
def swallow() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        try:
            time.sleep(600)
        except BaseException:
            continue


@tool(process=True)
def brood(ready: str) -> None:
    """A child that ignores SIGTERM, one in a session of its own, and one whose parent has ended."""
    python = [sys.executable, "-c", STUBBORN]
    for options in ({}, {"start_new_session": True}):
        child = subprocess.Popen(python, stdout=subprocess.PIPE, **options)
        assert child.stdout is not None and child.stdout.readline()
    orphaning = f"import subprocess, sys; subprocess.Popen({python!r}, start_new_session=True)"
    orphan = subprocess.Popen([sys.executable, "-c", orphaning], stdout=subprocess.PIPE)
    assert orphan.stdout is not None and orphan.stdout.readline() and orphan.wait() == 0
    Path(ready).write_text("up", encoding="utf-8")
    time.sleep(600)


@tool(process=True, effect="write")
def leave(how: str) -> None:
    if how == "exit":
        os._exit(3)
    if how == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    sys.exit(4)


@tool(process=True)
def noise(lines: int) -> str:
    for _ in range(lines):
        print("noise on stdout 噪声")
        print("noise on stderr", file=sys.stderr)
    return sys.stdin.read()


@tool(process=True)
def huge(characters: int) -> str:
    return "页" * characters


@tool(process=True, effect="write", idempotent=True)
def book(room: str, on: date, *, idempotency_key: str) -> list[Any]:
    if room == "none":
        raise ToolError("no_room", "there is no room", zh="没有房间")
    return [room, on, type(on).__name__, idempotency_key]


@tool(process=True)
def unstorable() -> Any:
    return {"steps": [object()]}


@tool(process=True)
def pid() -> int:
    return os.getpid()


ALL = [
    echo,
    count,
    fails,
    stall,
    stall_write,
    spin,
    power,
    swallow,
    brood,
    leave,
    noise,
    huge,
    book,
    unstorable,
    pid,
]
