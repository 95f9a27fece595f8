"""Old runs that have ended are removed with what only they need, and nothing else is."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.log.stores import BLOBS, LONG, PINNED, START, events, replace, sql, stored, write

from sopwith.errors import LogConflict
from sopwith.ir.event import Body, BudgetReserved, BudgetSettled, Event, Phase, RunSuspended
from sopwith.ir.usage import Budget
from sopwith.ir.value import digest
from sopwith.log.audit import verify
from sopwith.log.collect import Collectable, collect, collectable
from sopwith.log.scan import Scan
from sopwith.log.sqlite import SqliteLog

DAY = 86_400_000_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


def old(path: Path, before: int = START + DAY) -> Collectable:
    scan = Scan(path)
    try:
        return collectable(scan, before)
    finally:
        scan.close()


def names(found: Collectable) -> list[str]:
    return [each.run.run for each in found.runs]


async def runs(path: Path) -> list[str]:
    log = SqliteLog(path)
    found = [row.run for row in await log.runs()]
    await log.close()
    return found


async def test_only_ended_and_old_runs_are_removed(path: Path) -> None:
    await write(path, "old", "also old")
    await write(path, "at work", ended=False)
    await write(path, "new", at=START + 2 * DAY)
    log = SqliteLog(path)
    await log.append(
        "at work", [Event("at work", "at work", 11, START + 99, Phase.EXECUTE, None, None, RunSuspended())]
    )
    await log.close()
    found = old(path)
    assert names(found) == ["old", "also old"]
    done = collect(path, found.runs)
    assert (done.runs, done.events, done.blobs) == (2, 20, 0)
    assert await runs(path) == ["new", "at work"]
    scan = Scan(path)
    assert verify(scan).ok
    scan.close()


async def test_what_only_they_name_goes_with_them_and_the_file_shrinks(path: Path) -> None:
    await write(path, "old", count=20)
    big = b'"' + b"x" * 500_000 + b'"'
    log = SqliteLog(path)
    first, *rest = events("big", 20)
    await log.append("big", [first, *rest], {**BLOBS, digest(big): big})
    await log.append("kept", events("kept", 5, at=START + 2 * DAY)[:2], {digest(PINNED): PINNED})
    await log.close()
    done = collect(path, old(path).runs)
    assert done.blobs == 2  # the long value, and the one that no event names
    assert sql(path, "SELECT data FROM blob") == [(PINNED,)]
    assert done.after < done.before - 400_000


async def test_a_family_stays_as_long_as_one_of_it_works(path: Path) -> None:
    log = SqliteLog(path)
    for run, ended in (("parent", False), ("child", True)):
        await log.append(run, [e._replace(task="parent") for e in events(run, ended=ended)], BLOBS)
    await log.close()
    assert names(old(path)) == []


async def test_a_log_beside_a_run_goes_with_it(path: Path) -> None:
    await write(path, "old")
    log = SqliteLog(path)
    beside = Event("old", "inbox:old", 1, START, Phase.EXECUTE, None, None, RunSuspended())
    await log.append("inbox:old", [beside])
    await log.close()
    assert names(old(path)) == ["old", "inbox:old"]
    done = collect(path, old(path).runs)
    assert (done.runs, done.events, names(old(path))) == (1, 10, [])


async def test_a_run_that_was_tampered_with_is_kept(path: Path) -> None:
    await write(path, "fine", "changed")
    replace(path, 2, [e for e in stored(path, 2)[1] if e.seq != 4])
    found = old(path)
    assert names(found) == ["fine"]
    assert [(f.run, f.seq, f.what) for f in found.suspect] == [("changed", 4, "removed")]


async def test_a_run_that_moved_on_meanwhile_stops_it_all(path: Path) -> None:
    await write(path, "first", "second")
    found = old(path)
    log = SqliteLog(path)
    await log.append(
        "second", [Event("second", "second", 11, START + 99, Phase.OUTPUT, None, None, RunSuspended())]
    )
    with pytest.raises(LogConflict, match="second"):
        collect(path, found.runs)
    await log.close()
    assert await runs(path) == ["second", "first"]


async def test_a_process_that_goes_on_stores_again_what_was_removed(path: Path) -> None:
    log = SqliteLog(path)
    await log.append("old", events("old"), BLOBS)
    collect(path, old(path).runs)
    assert sql(path, "SELECT count(*) FROM blob") == [(0,)]
    await log.append("new", events("new"), BLOBS)
    assert await log.blob(digest(LONG)) == LONG
    await log.close()


async def test_others_may_write_while_it_works(path: Path) -> None:
    await write(path, *(f"r{n}" for n in range(20)))
    log = SqliteLog(path)

    async def add() -> None:
        for n in range(20):
            await log.append(f"n{n}", events(f"n{n}", at=START + 2 * DAY), BLOBS)

    adding = asyncio.create_task(add())
    await asyncio.to_thread(collect, path, old(path).runs)
    await adding
    await log.close()
    scan = Scan(path)
    assert verify(scan).ok
    assert {run.run for run in scan.runs()} == {f"n{n}" for n in range(20)}
    scan.close()


def reserved(run: str, until: int = START + DAY) -> BudgetReserved:
    budget = Budget(tool_calls=5)
    return BudgetReserved(of=run, budget=budget, principal="li", limits=budget, since=START, until=until)


async def account(path: Path, *bodies: Body) -> None:
    """A store with one account."""
    log = SqliteLog(path)
    name = "account:1"
    made = [Event(name, name, n, START, Phase.RECEIVE, None, None, body) for n, body in enumerate(bodies, 1)]
    await log.append(name, made)
    await log.close()


async def test_an_account_stays_until_its_window_is_over(path: Path) -> None:
    await write(path, "old")
    await account(path, reserved("old"), BudgetSettled(of="old"))
    assert names(old(path)) == ["old"]
    collect(path, old(path).runs)
    assert names(old(path, START + DAY)) == []
    assert names(old(path, START + DAY + 1)) == ["account:1"]


async def test_an_account_stays_as_long_as_one_of_its_runs(path: Path) -> None:
    await write(path, "at work", ended=False)
    await write(path, "old")
    await account(path, reserved("at work"), reserved("old"), reserved("never started"))
    assert names(old(path, START + 9 * DAY)) == ["old"]


async def test_an_account_goes_with_the_last_of_its_runs(path: Path) -> None:
    await write(path, "old")
    await account(path, reserved("old"), reserved("never started"))
    found = old(path, START + 9 * DAY)
    assert sorted(names(found)) == ["account:1", "old"]
    done = collect(path, found.runs)
    assert (done.runs, done.events) == (1, 10)  # the account is no run


async def test_an_account_without_a_window_is_kept(path: Path) -> None:
    await account(path, BudgetSettled(of="gone"))
    assert names(old(path, START + 9 * DAY)) == []
