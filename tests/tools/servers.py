"""The MCP servers that tests talk to: one that misbehaves on demand, and the official ones."""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from sopwith.tools import McpSource
from sopwith.tools.mcp_server import Program

ODD = str(Path(__file__).with_name("odd_server.py"))
NPM = dict.fromkeys(("everything", "filesystem", "memory", "sequential-thinking"), "2026.8.31")
SQLITE = "2025.4.25"


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


def program_of(source: McpSource) -> Program:
    """How a source's server is run."""
    assert isinstance(source.server, Program)
    return source.server


@dataclass
class HttpServer:
    """A server made with the SDK that runs, reached at `url`."""

    process: asyncio.subprocess.Process
    port: int
    args: tuple[str, ...]
    journal: Path | None

    @classmethod
    async def start(cls, *args: str, port: int = 0, journal: Path | None = None) -> HttpServer:
        """Run the script and its options `args`, and wait until it can be reached."""
        script, *options = args
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            script,
            str(port),
            *options,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, **({"JOURNAL": str(journal)} if journal else {})},
        )
        assert process.stdout is not None
        word, _, told = (await process.stdout.readline()).decode().partition(" ")
        assert word == "up"
        return cls(process, int(told), args, journal)

    @property
    def url(self) -> str:
        """Where the server is."""
        return f"http://127.0.0.1:{self.port}/mcp"

    async def again(self) -> HttpServer:
        """The same server in another process, at the same place."""
        return await self.start(*self.args, port=self.port, journal=self.journal)

    async def stop(self) -> None:
        """End it."""
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()


@cache
def npm_server(name: str) -> str:
    """The command of an official npm server, installed into the user's cache where it is not there yet."""
    package = f"@modelcontextprotocol/server-{name}@{NPM[name]}"

    def install(folder: Path) -> None:
        npm = shutil.which("npm")
        if npm is None:
            pytest.fail("npm is needed to test against the official MCP servers: install Node.js")
        quiet = ("--no-audit", "--no-fund", "--loglevel=error")
        subprocess.run([npm, "install", "--prefix", str(folder), *quiet, package], check=True)

    folder = _installed(f"npm/{name}-{NPM[name]}", install)
    return str(folder / "node_modules" / ".bin" / f"mcp-server-{name}")


@cache
def sqlite_server() -> str:
    """The command of the official SQLite server: it needs an SDK before 2, so it has an environment of its own."""

    def install(folder: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, f"mcp-server-sqlite=={SQLITE}", "mcp<2"], check=True)

    return str(_installed(f"pip/mcp-server-sqlite-{SQLITE}", install) / "bin" / "mcp-server-sqlite")


def _installed(name: str, install: Callable[[Path], None]) -> Path:
    """A folder in the user's cache that something is installed in: once, also for tests that run side by side."""
    cache_folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sopwith"
    folder, done = cache_folder / name, cache_folder / f"{name}.installed"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (cache_folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            folder.mkdir(exist_ok=True)
            install(folder)
            done.touch()
    return folder


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
