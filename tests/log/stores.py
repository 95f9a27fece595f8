"""Stores that the tests of audits write, and change behind the back of the code."""

from __future__ import annotations

import sqlite3
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
from sopwith.log.sqlite import SqliteLog

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
    """A store with these runs."""
    log = SqliteLog(path)
    for run in runs:
        await log.append(run, events(run, count, ended=ended, at=at), BLOBS)
    await log.close()


def sql(path: Path, *statements: str) -> list[tuple[object, ...]]:
    """What whoever has the file can do to it. Gives the rows of the last statement."""
    rows: list[tuple[object, ...]] = []
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            rows = connection.execute(statement).fetchall()
    return rows
