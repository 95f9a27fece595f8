"""A process that calls another procedure is killed at every append: the child is made once, and comes back once."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.run.family import PARENT, PAYMENT, Paid

from sopwith import Engine, Policy, Rule, tool
from sopwith.ir.event import Event
from sopwith.log.sqlite import SqliteLog

PROGRAM = """
import asyncio, sys
from tests.run.test_call_killed import drive
asyncio.run(drive(sys.argv[1], int(sys.argv[2])))
"""


class Killed(SqliteLog):
    """A log that kills its process with `after` appends done: before the next one, or right after the last."""

    def __init__(self, path: Path, after: int) -> None:
        super().__init__(path)
        self.left = after

    async def append(
        self,
        run: str,
        events: Sequence[Event],
        blobs: dict[str, bytes] | None = None,  # type: ignore[override]
        *,
        durable: bool = False,
    ) -> str:
        """As `Log.append`, as long as the process lives."""
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1
        return await super().append(run, events, blobs, durable=durable)


def engine(folder: Path, log: SqliteLog) -> Engine:
    """An engine whose payments are lines of a file; the intent of each is known by its key."""

    @tool(name="bank.pay", effect="write", idempotent=True)
    def pay(amount: float) -> Paid:
        """Pay."""
        with (folder / "paid.txt").open("a", encoding="utf-8") as paid:
            paid.write(f"{amount}\n")
        return Paid(receipt="R-1")

    @tool(name="bank.note", effect="read")
    def note(text: str) -> str:
        """Note."""
        return text

    policy = Policy([Rule(id="writes", verdict="allow", effect="write")])
    return Engine([(PARENT % "").strip(), (PAYMENT % "").strip()], [pay, note], log=log, policy=policy)


async def drive(folder: str, after: int) -> None:
    """The whole run, in a process that is killed before append number `after`."""
    place = Path(folder)
    async with engine(place, Killed(place / "runs.db", after)) as made:
        await made.run("go", procedure="parent", inputs={"amount": 5.0}, run_id="root")


@pytest.mark.slow
@pytest.mark.parametrize("wakes", [False, True], ids=["resume", "wake"])
@pytest.mark.parametrize("after", range(1, 14))
async def test_a_killed_caller_goes_on_with_one_child(after: int, wakes: bool, tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path), str(after)]
    ended = await asyncio.to_thread(subprocess.run, command, check=False, timeout=60)
    assert ended.returncode in (0, -signal.SIGKILL)
    async with engine(tmp_path, SqliteLog(tmp_path / "runs.db")) as made:
        if ended.returncode:
            waits = any(row.run == "root" and row.status == "suspended" for row in await made.log.runs())
            run = (await made.wake())[-1] if wakes and waits else await made.resume("root")
            assert run.output == {"receipt": "R-1"}
        events = await made.log.read("root")
        kinds = [event.body.kind for event in events]
        assert events[-1].body.outcome.output == {"receipt": "R-1"}
        assert kinds.count("message.sent") == kinds.count("message.received") == 1
        children = [row.run for row in await made.log.runs() if row.run != "root"]
        assert len(children) == 1
        started = [e for e in await made.log.read(children[0]) if e.body.kind == "call.started"]
        assert len({event.body.key for event in started}) == 1
