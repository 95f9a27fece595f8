"""Stores that the tests of audits write, and change behind the back of the code."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from sopwith.ir.event import (
    CallFinished,
    Event,
    Outcome,
    Phase,
    Principal,
    RunFinished,
    RunStarted,
    StepEntered,
)
from sopwith.ir.value import digest
from sopwith.log.scan import RawEvent, RawRun, Scan
from sopwith.log.sqlite import SqliteLog
from sopwith.log.sqlite_file import RUN_BITS

START = 1_790_000_000_000_000
PINNED = b'{"steps":[]}'
LONG = b'"a long value"'
BLOBS = {digest(PINNED): PINNED, digest(LONG): LONG}


def started(language: str = "en") -> RunStarted:
    """The first body of a run; its pinned parts are `PINNED`."""
    pinned = digest(PINNED)
    return RunStarted(
        procedure_id="refund",
        procedure=pinned,
        tools=pinned,
        policy=pinned,
        prompts="0" * 64,
        model="none",
        principal=Principal(id="li"),
        request="money back",
        date="2026-09-22",
        language=language,
    )


def events(run: str, count: int = 10, *, ended: bool = True, at: int = START) -> list[Event]:
    """`count` events of a run: it starts, works, and ends where it has `ended`."""
    bodies = [
        started(),
        *(StepEntered(visit=n) for n in range(2, count)),
        CallFinished(name="x", value=count),
    ]
    if ended:
        bodies[-1] = RunFinished(outcome=Outcome(kind="completed", output=count))
    bodies[2] = CallFinished(name="long", value="a l…", blob=digest(LONG), size=12)
    return [
        Event(run, run, seq, at + seq * 1000, Phase.EXECUTE, f"s{seq % 3}", seq - 1 or None, body)
        for seq, body in enumerate(bodies, 1)
    ]


async def write(path: Path, *runs: str, count: int = 10, ended: bool = True, at: int = START) -> None:
    """A store with these runs, each appended in two batches."""
    log = SqliteLog(path)
    for run in runs:
        made = events(run, count, ended=ended, at=at)
        await log.append(run, made[: count // 2], BLOBS)
        await log.append(run, made[count // 2 :])
    await log.close()


def stored(path: Path, number: int) -> tuple[RawRun, list[RawEvent]]:
    """The row and the events of the run with this number."""
    scan = Scan(path)
    try:
        run = next(run for run in scan.runs() if run.number == number)
        return run, scan.events(run)
    finally:
        scan.close()


def replace(path: Path, number: int, events: Sequence[RawEvent]) -> None:
    """Put other events in the place of those of a run, with the hashes that they have: each a batch of its own."""
    run, _ = stored(path, number)
    base = number << RUN_BITS
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM batch WHERE id >> ? = ?", (RUN_BITS, number))
        for event in events:
            envelope = [
                event.at - run.started_at,
                event.phase,
                event.step,
                event.cause,
                event.kind,
                0,
                len(event.body),
            ]
            row = (base + event.seq, event.hash, json.dumps([envelope], ensure_ascii=False), event.body)
            connection.execute("INSERT INTO batch VALUES (?,?,?,?)", row)


def sql(path: Path, *statements: str) -> list[tuple[object, ...]]:
    """What whoever has the file can do to it. Gives the rows of the last statement."""
    rows: list[tuple[object, ...]] = []
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            rows = connection.execute(statement).fetchall()
    return rows
