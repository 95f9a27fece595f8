"""The MCP servers that tests talk to: one that misbehaves on demand, and the official ones."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from sopwith.tools import McpSource

ODD = str(Path(__file__).with_name("odd_server.py"))
NPM = {"everything": "2026.8.31", "filesystem": "2026.8.31"}


def odd(name: str = "odd", *args: str, journal: Path | None = None, start_seconds: float = 20.0) -> McpSource:
    """The misbehaving server; its tools that do nothing but read are declared so."""
    reading = (
        "echo",
        "count",
        "pid",
        "tree",
        "several",
        "nothing",
        "fails",
        "stall",
        "ignore",
        "die",
        "wrong",
    )
    return McpSource(
        name,
        sys.executable,
        ["-I", ODD, *args],
        {"JOURNAL": str(journal)} if journal else {},
        effects=dict.fromkeys(reading, "read"),
        start_seconds=start_seconds,
    )


@cache
def npm_server(name: str) -> str:
    """The command of an official npm server, installed into the user's cache where it is not there yet."""
    cache_folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache_folder / "sopwith" / "npm" / f"{name}-{NPM[name]}"
    command = folder / "node_modules" / ".bin" / f"mcp-server-{name}"
    if not command.exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.fail("npm is needed to test against the official MCP servers: install Node.js")
        package = f"@modelcontextprotocol/server-{name}@{NPM[name]}"
        folder.mkdir(parents=True, exist_ok=True)
        quiet = ("--no-audit", "--no-fund", "--loglevel=error")
        subprocess.run([npm, "install", "--prefix", str(folder), *quiet, package], check=True)
    return str(command)


def python_server(name: str) -> str:
    """The command of an official Python server, from the environment that the tests run in."""
    return str(Path(sys.executable).with_name(f"mcp-server-{name}"))


def marked(mark: str) -> set[int]:
    """The processes that run with `mark` in their environment, as all do that descend from one that has it."""
    found: set[int] = set()
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and mark.encode() in (folder / "environ").read_bytes():
                found.add(int(folder.name))
        except OSError:  # it has ended, or is not ours
            continue
    return {pid for pid in found if pid != os.getpid() and alive(pid)}


def alive(pid: int) -> bool:
    """Whether the process runs (a zombie that nobody has waited for does not)."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"


async def until(true: Callable[[], object]) -> None:
    """Wait for what other processes make true; nothing tells when."""
    async with asyncio.timeout(60):
        while not true():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
