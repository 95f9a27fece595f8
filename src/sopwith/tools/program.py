"""A command that a tool runs: no shell, a session of its own, and nothing of it left when the call is over."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE

from sopwith.process.supervisor import supervised
from sopwith.tools.declaration import ToolError

_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command gave: its exit `status` (below zero: ended by that signal), and its output as text.

    `cut` says that there was more output than was kept.
    """

    status: int
    out: str
    err: str
    cut: bool = False


async def command(
    *arguments: str,
    text: str | None = None,
    folder: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    seconds: float | None = None,
    most: int = 1_000_000,
) -> Ran:
    """Run the program `arguments[0]` with the other `arguments`, each passed as it is, in an async tool.

    `text` is what it reads; `folder` is where it runs; `env` is its whole environment (by default this process's
    own). Of each output the first `most` bytes are kept. When the command ends, when the call is cancelled, as it
    is when its time is up, when `seconds` have passed (`TimeoutError`), and when this process dies, all that
    descends from the command is ended. Raises `ToolError` where there is no such program: nothing was done.
    """
    program = _program(arguments[0], folder, env)
    process = await asyncio.create_subprocess_exec(
        *supervised([program, *arguments[1:]]),
        stdin=DEVNULL if text is None else PIPE,
        stdout=PIPE,
        stderr=PIPE,
        cwd=folder,
        env=env,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(seconds):
            out, err, _ = await asyncio.gather(
                _kept(process.stdout, most), _kept(process.stderr, most), _feed(process.stdin, text)
            )
            status = await process.wait()
    finally:
        if process.returncode is None:
            process.terminate()
            await asyncio.shield(process.wait())
    cut = len(out) > most or len(err) > most
    return Ran(status, *(part[:most].decode(errors="replace") for part in (out, err)), cut=cut)


def _program(name: str, folder: str | Path | None, env: Mapping[str, str] | None) -> str:
    path = None if env is None else env.get("PATH", "")
    found = name if "/" in name else shutil.which(name, path=path)
    if found is None or not Path(folder or ".", found).exists():
        raise ToolError("no_program", f"there is no program {name}")
    return found


async def _kept(stream: asyncio.StreamReader | None, most: int) -> bytes:
    """The first `most` bytes, and one more where there were more; the rest is read and dropped."""
    data = bytearray()
    while stream is not None and (part := await stream.read(_CHUNK)):
        data += part[: most + 1 - len(data)]
    return bytes(data)


async def _feed(stream: asyncio.StreamWriter | None, text: str | None) -> None:
    if stream is None or text is None:
        return
    try:
        stream.write(text.encode())
        await stream.drain()
    except ConnectionError:
        pass  # it does not read to the end: its own business
    finally:
        stream.close()
