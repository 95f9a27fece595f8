"""Two processes and one run: who is alive keeps it, who is killed holds nothing, and nothing acts twice."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from contextlib import nullcontext
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from sopwith import Engine, Policy, SqliteLog, tool
from sopwith.errors import LogConflict, RunBusy
from sopwith.ir.event import LeaseTaken
from sopwith.models.port import ModelReply, ModelRequest
from sopwith.models.scripted import ScriptedModel
from sopwith.run import lease
from sopwith.run.journal import Clock
from sopwith.run.lease import LEASE_SECONDS
from sopwith.tools import tools_of

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload([__name__])
PAY = """
schema: sopwith/procedure/1
id: pay
start: note
steps:
  note: {tool: bank.note, next: word}
  word: {do: Say a word, returns: {type: string}, next: pay}
  pay: {tool: bank.pay, with: {amount: 5}, end: complete}
"""
ANOTHER_MACHINE = "000000000000"
"""The machine part of the driver's name, as if it ran elsewhere."""


class Bank:
    """A tool that leaves a line in a file for each payment; `halt` is called at each instant of interest."""

    def __init__(self, folder: Path, halt: Callable[[str], None]) -> None:
        self.paid = folder / "paid"
        self.halt = halt

    @tool(name="bank.note", effect="write", idempotent=True)
    def note(self) -> dict[str, bool]:
        """Write a note."""
        return {"ok": True}

    @tool(name="bank.pay", effect="irreversible")
    def pay(self, amount: int) -> dict[str, bool]:
        """Pay."""
        self.halt("arrived")
        with self.paid.open("a", encoding="utf-8") as paid:
            paid.write(f"{amount}\n")
        self.halt("acted")
        return {"ok": True}


def payments(folder: Path) -> int:
    """How often it was paid."""
    paid = folder / "paid"
    return len(paid.read_text(encoding="utf-8").splitlines()) if paid.exists() else 0


def nowhere(instant: str) -> None:
    """Go on."""


class HaltingLog(SqliteLog):
    """A log that halts before and after it stores the intent to pay."""

    def __init__(self, path: Path, halt: Callable[[str], None]) -> None:
        super().__init__(path)
        self._halt = halt

    async def append(self, run: str, events: Any, blobs: Any = None, *, durable: bool = False) -> str:
        """As `Log.append`."""
        pays = any(event.body.kind == "call.started" and event.step == "pay" for event in events)
        if pays:
            self._halt("before intent")
        head = await super().append(run, events, blobs, durable=durable)
        if pays:
            self._halt("intent")
        return head


def later(seconds: float) -> Clock:
    """The clock, so far ahead."""
    return lambda: time.time_ns() // 1000 + int(seconds * 1e6)


def engine(
    folder: Path,
    halt: Callable[[str], None] = nowhere,
    log: SqliteLog | None = None,
    clock: Clock | None = None,
) -> Engine:
    def reply(request: ModelRequest) -> str | ModelReply:
        halt("model")
        return '"paid"'

    return Engine(
        PAY,
        tools=tools_of(Bank(folder, halt)),
        model=ScriptedModel(reply),
        policy=Policy(allow_writes=["bank.*"]),
        log=log or HaltingLog(folder / "log.db", halt),
        clock=clock or later(0),
    )


def live(folder: Path, instant: str, machine: str | None, parent: Connection) -> None:
    """Drive the run `r1`, and say to the parent when `instant` is reached, and how it ended."""
    if machine is not None:
        lease._machine = lambda: machine  # type: ignore[assignment]
    halted: list[str] = []

    def halt(reached: str) -> None:
        if reached == instant and not halted:
            halted.append(reached)
            parent.send(reached)
            parent.recv()

    async def drive() -> None:
        async with engine(folder, halt) as mine:
            await mine.run("pay", run_id="r1")

    try:
        asyncio.run(drive())
        parent.send("done")
    except BaseException as error:
        parent.send(type(error).__name__)


class Child:
    """Another process that drives the run `r1`, and stands still at `instant` until it is told to go on."""

    def __init__(self, folder: Path, instant: str, machine: str | None = None) -> None:
        self._here, there = PROCESSES.Pipe()
        self.process = PROCESSES.Process(target=live, args=(folder, instant, machine, there))
        self.process.start()
        there.close()
        assert self._here.poll(60)
        assert self._here.recv() == instant

    @property
    def pid(self) -> int:
        assert self.process.pid is not None
        return self.process.pid

    def go_on(self) -> None:
        """Let it move."""
        self._here.send("")

    def end(self) -> str:
        """How it ended."""
        assert self._here.poll(60)
        told = self._here.recv()
        self.process.join()
        return told

    def kill(self) -> None:
        """End it with SIGKILL."""
        os.kill(self.pid, signal.SIGKILL)
        self.process.join()


async def kinds(folder: Path) -> list[str]:
    log = SqliteLog(folder / "log.db")
    found = [event.body.kind for event in await log.read("r1")]
    await log.close()
    return found


async def test_a_run_whose_driver_is_alive_is_busy(tmp_path: Path) -> None:
    child = Child(tmp_path, "acted")
    async with engine(tmp_path, clock=later(10 * LEASE_SECONDS)) as other:
        with pytest.raises(RunBusy, match=f"process {child.pid} "):
            await other.resume("r1")
        with pytest.raises(RunBusy):
            await other.take_over("r1", by="lee")
    child.go_on()
    assert child.end() == "done"
    assert payments(tmp_path) == 1


@pytest.mark.parametrize(
    ("instant", "paid_before", "status"),
    [("model", 0, "completed"), ("intent", 0, "escalated"), ("acted", 1, "escalated")],
)
async def test_a_killed_driver_holds_nothing(
    tmp_path: Path, instant: str, paid_before: int, status: str
) -> None:
    child = Child(tmp_path, instant)
    child.kill()
    assert payments(tmp_path) == paid_before
    async with engine(tmp_path) as other:
        run = await other.resume("r1")
    assert run.status == status
    assert payments(tmp_path) == (1 if status == "completed" else paid_before)
    assert run.outcome is not None
    assert run.outcome.packet is None or run.outcome.packet.open == ("bank.pay",)


async def test_a_driver_on_another_machine_is_believed_until_its_lease_ends(tmp_path: Path) -> None:
    Child(tmp_path, "acted", ANOTHER_MACHINE).kill()
    async with engine(tmp_path, clock=later(LEASE_SECONDS - 5)) as early:
        with pytest.raises(RunBusy, match=f"machine {ANOTHER_MACHINE}"):
            await early.resume("r1")
    async with engine(tmp_path, clock=later(LEASE_SECONDS + 5)) as late:
        run = await late.resume("r1")
    assert run.status == "escalated"
    assert payments(tmp_path) == 1


@pytest.mark.parametrize(
    ("instant", "status"), [("model", "completed"), ("before intent", "completed"), ("acted", "escalated")]
)
async def test_a_driver_that_lost_its_lease_never_acts_again(
    tmp_path: Path, instant: str, status: str
) -> None:
    zombie = Child(tmp_path, instant, ANOTHER_MACHINE)
    os.kill(zombie.pid, signal.SIGSTOP)
    async with engine(tmp_path, clock=later(LEASE_SECONDS + 5)) as other:
        run = await other.resume("r1")
    os.kill(zombie.pid, signal.SIGCONT)
    zombie.go_on()
    assert zombie.end() == "LogConflict"
    assert payments(tmp_path) == 1
    assert run.status == status
    assert await kinds(tmp_path) == [event.body.kind for event in run.events]


class StoodStill(HaltingLog):
    """A log that returns long after it has stored the intent to pay; somebody else may have `taken` the run then."""

    def __init__(self, path: Path, *, taken: bool) -> None:
        super().__init__(path, nowhere)
        self._taken = taken
        self.passed = 0.0

    async def append(self, run: str, events: Any, blobs: Any = None, *, durable: bool = False) -> str:
        """As `Log.append`."""
        head = await super().append(run, events, blobs, durable=durable)
        if events[-1].body.kind == "call.started" and events[-1].step == "pay":
            self.passed = LEASE_SECONDS
            if self._taken:
                other = SqliteLog(self.path)
                taken = LeaseTaken(driver="another", seconds=LEASE_SECONDS)
                await other.append(run, [events[-1]._replace(seq=events[-1].seq + 1, body=taken)])
                await other.close()
        return head


@pytest.mark.parametrize(("taken", "paid"), [(False, 1), (True, 0)])
async def test_a_driver_that_stood_still_asks_for_its_run_before_it_acts(
    tmp_path: Path, taken: bool, paid: int
) -> None:
    log = StoodStill(tmp_path / "log.db", taken=taken)
    expected = pytest.raises(LogConflict) if taken else nullcontext()
    async with engine(tmp_path, log=log, clock=lambda: later(log.passed)()) as mine:
        with expected:
            await mine.run("pay", run_id="r1")
    assert payments(tmp_path) == paid


async def test_a_run_is_cancelled_where_it_is_driven_while_its_tool_is_at_work(tmp_path: Path) -> None:
    child = Child(tmp_path, "acted")
    async with engine(tmp_path) as other:
        run = await other.cancel("r1", by="lee")
    assert child.end() == "done"
    assert run.status == "cancelled"
    assert run.outcome is not None and run.outcome.packet is not None
    assert run.outcome.packet.open == ("bank.pay",)
    assert payments(tmp_path) == 1
