"""Many processes on one store: nothing is lost, nobody meets a lock, and a run is driven by one of them.

Appends: eight processes open a store that is not there yet at the same instant, and append 200 times each to a run of
their own, one event or three, synced or not, while another process reads all of their runs. Afterwards every event is
there in its order, and an audit of the store finds nothing.

Parked: 1,000 runs wait for an answer. Four processes give it to every run, each in an order of its own, several at
once. The step after the question is a write that can neither be repeated nor asked about, against a ledger that counts:
`driven_twice` are the runs with a second effect, or with a lease that was taken while another driver had one.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import random
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from benchmarks.ledger import Ledger
from benchmarks.measure import Measure, options, publish, result
from benchmarks.verdict import read_log
from benchmarks.victim import Tools
from sopwith import Engine, Event, Policy, SopwithError, SqliteLog, UserError
from sopwith.errors import LogError, RunBusy
from sopwith.ir.event import AlertRaised, Phase
from sopwith.log.audit import verify
from sopwith.log.scan import Scan
from sopwith.tools import FunctionSource, tools_of

PARKED = """
schema: sopwith/procedure/1
id: parked
inputs: {account: {type: string}}
start: ask
steps:
  ask: {ask: Shall it be sent?, returns: {type: boolean}, next: send}
  send: {tool: ledger.send, with: {account: "${inputs.account}", step: send}, end: complete}
"""
FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True, slots=True)
class Size:
    """`writers` with so many `appends` each; `parked` runs and so many `drivers`."""

    writers: int
    appends: int
    parked: int
    drivers: int


FULL = Size(writers=8, appends=200, parked=1_000, drivers=4)
QUICK = Size(writers=4, appends=20, parked=12, drivers=3)


def together(jobs: list[Callable[[Barrier], Counter[str]]]) -> Counter[str]:
    """The sum of what the jobs count, each in a process of its own; they meet at the barrier first."""
    start, counts = FORK.Barrier(len(jobs)), Counter[str]()
    running: list[tuple[Any, Connection]] = []
    for job in jobs:
        here, there = FORK.Pipe(duplex=False)
        process = FORK.Process(target=_tell, args=(job, start, there))
        process.start()
        there.close()
        running.append((process, here))
    for process, here in running:
        counts.update(here.recv())
        process.join()
    return counts


def _tell(job: Callable[[Barrier], Counter[str]], start: Barrier, there: Connection) -> None:
    there.send(job(start))


def run_of(writer: int) -> str:
    """The run of a writer."""
    return f"run-{writer}"


async def _append(path: Path, writer: int, appends: int) -> Counter[str]:
    counts: Counter[str] = Counter()
    run, seq = run_of(writer), 0
    try:
        log = SqliteLog(path)
        for turn in range(appends):
            size = 3 if turn % 4 == 0 else 1
            batch = [_event(run, seq + 1 + i, turn) for i in range(size)]
            await log.append(run, batch, durable=turn % 10 == 0)
            seq += size
            counts["appended"] += size
        await log.close()
    except LogError:
        counts["lock_errors"] += 1
    return counts


def _event(run: str, seq: int, turn: int) -> Event:
    body = AlertRaised(code="turn", message=f"{turn}")
    return Event(run, run, seq, time.time_ns() // 1000, Phase.EXECUTE, None, None, body)


async def _read(path: Path, writers: int, expected: int) -> Counter[str]:
    """Read all runs again and again, until everything is there or a writer has not come on for a minute."""
    counts: Counter[str] = Counter()
    seen, since = dict.fromkeys(range(writers), 0), time.monotonic()
    try:
        log = SqliteLog(path)
        while sum(seen.values()) < expected and time.monotonic() - since < 60:
            for writer, before in seen.items():
                seqs = [event.seq for event in await log.read(run_of(writer))]
                counts["disorder"] += seqs != [*range(1, len(seqs) + 1)] or len(seqs) < before
                if len(seqs) > before:
                    seen[writer], since = len(seqs), time.monotonic()
            counts["reads"] += 1
        await log.close()
    except LogError:
        counts["lock_errors"] += 1
    return counts


def appends(size: Size, folder: Path) -> list[Measure]:
    """The measures of the first part."""
    path = folder / "appends.db"
    expected = sum(3 if turn % 4 == 0 else 1 for turn in range(size.appends)) * size.writers

    def writing(writer: int) -> Callable[[Barrier], Counter[str]]:
        def job(start: Barrier) -> Counter[str]:
            start.wait()
            return asyncio.run(_append(path, writer, size.appends))

        return job

    def reading(start: Barrier) -> Counter[str]:
        start.wait()
        return asyncio.run(_read(path, size.writers, expected))

    counts = together([*map(writing, range(size.writers)), reading])
    stored = read_log(path, "SELECT run, data FROM events ORDER BY run, seq", ())
    turns = {run_of(writer): [] for writer in range(size.writers)}
    for run, data in stored:
        turns[run].append(int(json.loads(data)["message"]))
    disorder = counts["disorder"] + sum(told != sorted(told) for told in turns.values())
    n = size.writers * size.appends
    return [
        Measure("appends_lost", expected - len(stored), "events", n),
        Measure("lock_errors", counts["lock_errors"], "processes", size.writers + 1),
        Measure("runs_out_of_order", disorder, "runs", size.writers),
        Measure("audit_findings", len(verify(Scan(path)).findings), "findings", size.writers),
        Measure("reads_meanwhile", counts["reads"], "reads", counts["reads"]),
    ]


def _engine(folder: Path, actor: str) -> Engine:
    tools = Tools(Ledger(folder / "ledger.db", actor))
    return Engine(
        PARKED,
        [FunctionSource(tools_of(tools), "ledger")],
        policy=Policy(allow_writes=["ledger.*"]),
        log=SqliteLog(folder / "parked.db"),
    )


async def _park(folder: Path, runs: list[str]) -> Counter[str]:
    async with _engine(folder, "park") as engine:
        for run in runs:
            await engine.run("send it", inputs={"account": run}, run_id=run)
    return Counter(parked=len(runs))


async def _resume(folder: Path, driver: int, runs: list[str]) -> Counter[str]:
    """Answer every run, eight at a time."""
    counts: Counter[str] = Counter()
    left = list(runs)
    random.Random(driver).shuffle(left)
    async with _engine(folder, f"driver-{driver}") as engine:

        async def answer() -> None:
            while left:
                try:
                    run = await engine.resume(left.pop(), answer=True)
                    counts[run.status] += 1
                except RunBusy:
                    counts["busy"] += 1
                except UserError as error:
                    late = "has ended" in error.message.en or "asks nothing" in error.message.en
                    counts["late" if late else f"error {error.code}: {error.message.en}"] += 1
                except SopwithError as error:
                    counts[f"error {error.code}: {error.message.en}"] += 1

        await asyncio.gather(*(answer() for _ in range(8)))
    return counts


def taken_twice(rows: list[tuple[str, str]]) -> bool:
    """Whether somebody took the run while another driver had it; `rows` are kinds and data, in order."""
    holder = None
    for kind, data in rows:
        if kind in ("run.suspended", "run.finished"):
            holder = None
        elif kind == "lease.taken":
            told = json.loads(data)
            if holder not in (None, told["driver"]):
                return True
            holder = told["driver"] if told.get("seconds") else None
    return False


def parked(size: Size, folder: Path) -> list[Measure]:
    """The measures of the second part."""
    runs = [f"run-{number}" for number in range(size.parked)]

    def resuming(driver: int) -> Callable[[Barrier], Counter[str]]:
        def job(start: Barrier) -> Counter[str]:
            start.wait()
            return asyncio.run(_resume(folder, driver, runs))

        return job

    together([lambda start: asyncio.run(_park(folder, runs))])
    counts = together([resuming(driver) for driver in range(size.drivers)])
    with closing(sqlite3.connect(folder / "ledger.db")) as db:
        sent = Counter(row[0] for row in db.execute("SELECT account FROM entry"))
    logs: dict[str, list[tuple[str, str]]] = {run: [] for run in runs}
    for run, kind, data in read_log(
        folder / "parked.db", "SELECT run, kind, data FROM events ORDER BY run, seq", ()
    ):
        logs[run].append((kind, data))
    twice = {run for run in runs if sent[run] > 1 or taken_twice(logs[run])}
    ended = sum(logs[run][-1][0] == "run.finished" and sent[run] == 1 for run in runs)
    errors = {name: count for name, count in counts.items() if name.startswith("error")}
    for name, count in errors.items():
        print(f"{count} × {name}")
    tried = size.drivers * size.parked
    return [
        Measure("driven_twice", len(twice), "runs", size.parked),
        Measure("runs_not_completed", size.parked - ended, "runs", size.parked),
        Measure("resume_errors", sum(errors.values()), "resumes", tried),
        Measure("resumes_refused_busy", counts["busy"], "resumes", tried),
        Measure("resumes_refused_late", counts["late"], "resumes", tried),
    ]


def main() -> None:
    """Run, count, keep."""
    given = options(__doc__.partition("\n")[0])
    size = QUICK if given.quick else FULL
    with tempfile.TemporaryDirectory() as folder:
        found = [*appends(size, Path(folder)), *parked(size, Path(folder))]
    publish(result("concurrency", found), given)


if __name__ == "__main__":
    main()
