"""Whatever is done to a store shows in an audit, with its run, its place and its kind."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.log.stores import BLOBS, LONG, events, sql, write

from sopwith.ir.value import digest
from sopwith.log.audit import Report, verify
from sopwith.log.chain import GENESIS
from sopwith.log.scan import Scan, StoredEvent
from sopwith.log.sqlite import SqliteLog
from sopwith.log.sqlite_file import RUN_BITS
from sopwith.log.tampering import link_of

BASE = 2 << RUN_BITS
"""What the events of the second run are filed under."""


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    path = tmp_path / "runs.db"
    await write(path, "r1", "r2", "r3")
    return path


def audit(path: Path, *runs: str) -> Report:
    scan = Scan(path)
    try:
        return verify(scan, runs or None)
    finally:
        scan.close()


def found(path: Path) -> list[tuple[str, int | None, str]]:
    return [(f.run, f.seq, f.what) for f in audit(path).findings]


def row(seq: int) -> str:
    return f"id = {BASE + seq}"


def shift(path: Path, first: int, by: int) -> None:
    """Renumber the events of the second run from `first` on."""
    away = 1 << 50
    sql(
        path,
        f"UPDATE event SET id = id + {away} WHERE id >= {BASE + first} AND id < {3 << RUN_BITS}",
        f"UPDATE event SET id = id - {away} + {by} WHERE id >= {away}",
    )


def stored(path: Path) -> tuple[object, list[StoredEvent]]:
    scan = Scan(path)
    try:
        run = scan.runs()[1]
        return run, scan.events(run)
    finally:
        scan.close()


def forge(path: Path, seq: int, after: bytes, body: bytes = b'{"visit":99}') -> bytes:
    """Give event `seq` another body, and the hash that it would have after the hash `after`."""
    sql(path, f"UPDATE event SET body = x'{body.hex()}' WHERE {row(seq)}")
    run, rows = stored(path)
    event = next(each for each in rows if each.seq == seq)
    own = link_of(run, event, after, seq)
    sql(path, f"UPDATE event SET hash = x'{own.hex()}' WHERE {row(seq)}")
    return own


def hash_of(path: Path, seq: int) -> bytes:
    return next(each.hash for each in stored(path)[1] if each.seq == seq)


def test_nothing_is_found_in_a_store_as_it_was_written(path: Path) -> None:
    report = audit(path)
    assert report.ok
    assert (report.runs, report.events, report.blobs, report.heads) == (3, 30, 2, None)


@pytest.mark.parametrize("seq", [1, 2, 5, 9, 10])
@pytest.mark.parametrize(
    "change",
    ["body = x'7b7d'", "at", "cause = 77", "step = 1", "kind = phase", "hash = zeroblob(32)", "hash = NULL"],
)
async def test_a_changed_event_is_named(path: Path, seq: int, change: str) -> None:
    change = "after = after + 1" if change == "at" else change
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET sql = replace(sql, 'hash BLOB NOT NULL', 'hash BLOB')")
    sql(path, f"UPDATE event SET {change} WHERE {row(seq)}")
    assert ("r2", seq, "changed") in found(path)
    assert {what for _, at, what in found(path) if at == seq} <= {"changed"}
    assert {at for _, at, _ in found(path) if at is not None} <= {seq, 11}


async def test_two_changed_events_are_both_named(path: Path) -> None:
    sql(path, f"UPDATE event SET body = x'7b7d' WHERE {row(4)} OR {row(5)} OR {row(9)}")
    assert found(path) == [("r2", 4, "changed"), ("r2", 5, "changed"), ("r2", 9, "changed")]


async def test_findings_in_several_runs_are_all_reported(path: Path) -> None:
    sql(
        path,
        f"UPDATE event SET body = x'7b7d' WHERE {row(4)}",
        f"DELETE FROM event WHERE id = {(3 << 24) + 6}",
    )
    assert found(path) == [("r2", 4, "changed"), ("r3", 6, "removed")]
    assert audit(path, "r1").ok and not audit(path, "r3").ok


async def test_a_change_with_its_hash_made_anew_shows_in_the_next_event(path: Path) -> None:
    forge(path, 4, hash_of(path, 3))
    assert found(path) == [("r2", 5, "changed")]


@pytest.mark.parametrize("first", [2, 5, 8])
@pytest.mark.parametrize("other", [3, 7, 9])
async def test_two_swapped_events_are_both_named(path: Path, first: int, other: int) -> None:
    sql(
        path,
        f"UPDATE event SET id = -1 WHERE {row(first)}",
        f"UPDATE event SET id = {BASE + first} WHERE {row(other)}",
        f"UPDATE event SET id = {BASE + other} WHERE id = -1",
    )
    assert found(path) == [("r2", seq, "reordered") for seq in sorted((first, other))]


@pytest.mark.parametrize("seq", [1, 2, 6, 9])
async def test_a_removed_event_is_named(path: Path, seq: int) -> None:
    sql(path, f"DELETE FROM event WHERE {row(seq)}")
    assert found(path) == [("r2", seq, "removed")]


@pytest.mark.parametrize("seqs", [(6,), (3, 4, 5), (2, 7)])
async def test_removed_events_are_named_when_the_others_close_up(path: Path, seqs: tuple[int, ...]) -> None:
    for seq in reversed(seqs):
        sql(path, f"DELETE FROM event WHERE {row(seq)}")
        shift(path, seq + 1, -1)
    assert found(path) == [("r2", seq, "removed") for seq in seqs]


@pytest.mark.parametrize("seq", [2, 5, 10])
@pytest.mark.parametrize("hashed", [True, False])
async def test_an_inserted_event_is_named(path: Path, seq: int, hashed: bool) -> None:
    before = hash_of(path, seq - 1)
    shift(path, seq, 1)
    sql(
        path,
        f"INSERT INTO event SELECT {BASE + seq}, after, phase, step, cause, kind, body, hash"
        f" FROM event WHERE {row(seq - 1)}",
    )
    if hashed:
        forge(path, seq, before)
    # Of two last events that both fit, nothing in the store says which was there first.
    places = {10, 11} if hashed and seq == 10 else {seq}
    assert [(run, what) for run, _, what in found(path)] == [("r2", "inserted")]
    assert found(path)[0][1] in places


async def test_a_copy_of_an_event_is_inserted(path: Path) -> None:
    sql(
        path,
        f"INSERT INTO event SELECT {BASE + 11}, after, phase, step, cause, kind, body, hash"
        f" FROM event WHERE {row(5)}",
    )
    assert ("r2", 11, "inserted") in found(path)


async def test_a_cut_tail_of_an_ended_run_shows_in_its_row(path: Path) -> None:
    sql(path, f"DELETE FROM event WHERE id > {BASE + 7} AND id < {3 << RUN_BITS}")
    assert found(path) == [("r2", 8, "cut tail")]


async def test_a_cut_tail_or_a_full_rewrite_with_the_row_in_step_needs_heads(path: Path) -> None:
    sql(path, f"DELETE FROM event WHERE id > {BASE + 7} AND id < {3 << RUN_BITS}")
    sql(path, "UPDATE run SET status = 'running' WHERE run = 'r2'")
    assert audit(path).ok


async def test_a_run_that_was_written_anew_fits_its_own_chain(path: Path) -> None:
    rewrite(path)
    assert audit(path).ok


def rewrite(path: Path) -> None:
    """Change event 4 of the second run, and make every hash after it anew."""
    previous = GENESIS
    run, rows = stored(path)
    for event in rows:
        body = b'{"visit":99}' if event.seq == 4 else event.body
        previous = link_of(run, event._replace(body=body), previous, event.seq)
        sql(
            path,
            f"UPDATE event SET body = x'{body.hex()}', hash = x'{previous.hex()}' WHERE {row(event.seq)}",
        )


@pytest.mark.parametrize(
    "change",
    ["task = 'other'", "run = 'r9'", "started_at = 5", "procedure_id = 'other'", "status = 'denied'"],
)
async def test_a_changed_row_of_a_run_is_found(path: Path, change: str) -> None:
    sql(path, f"UPDATE run SET {change} WHERE run = 'r2'")
    assert [(seq, what) for _, seq, what in found(path)] == [(None, "run changed")]


async def test_a_removed_row_of_a_run_is_found(path: Path) -> None:
    sql(path, "DELETE FROM run WHERE run = 'r2'")
    assert found(path) == [("", None, "run removed")]


async def test_a_changed_name_shows_in_every_event_that_has_it(path: Path) -> None:
    sql(path, "UPDATE name SET text = 'step.left' WHERE text = 'step.entered'")
    assert {what for _, _, what in found(path)} == {"changed"}
    assert {run for run, _, _ in found(path)} == {"r1", "r2", "r3"}


async def test_a_changed_blob_is_found_with_who_names_it(path: Path) -> None:
    sql(path, f"UPDATE blob SET data = x'00' WHERE digest = x'{digest(LONG)}'")
    assert found(path) == [("r1", 3, "blob changed")]


async def test_a_missing_blob_is_found_with_who_names_it(path: Path) -> None:
    sql(path, f"DELETE FROM blob WHERE digest = x'{digest(LONG)}'")
    assert found(path) == [("r1", 3, "blob missing")]
    report = audit(path, "r3")
    assert [(f.run, f.seq, f.what) for f in report.findings] == [("r3", 3, "blob missing")]


async def test_a_long_run_is_told_apart_in_the_same_way(tmp_path: Path) -> None:
    path = tmp_path / "long.db"
    log = SqliteLog(path)
    await log.append("r1", events("r1", 3000), BLOBS)
    await log.close()
    sql(path, f"DELETE FROM event WHERE id = {(1 << RUN_BITS) + 1500}")
    assert found(path) == [("r1", 1500, "removed")]


async def test_findings_say_so_in_both_languages(path: Path) -> None:
    sql(path, f"DELETE FROM event WHERE {row(6)}")
    (finding,) = audit(path).findings
    assert finding.to_json() == {
        "run": "r2",
        "seq": 6,
        "what": "removed",
        "why": "the events go on without event 6",
    }
    assert finding.to_json("zh")["why"] == "缺少事件 6，后面的事件仍在"
