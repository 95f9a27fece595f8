"""Whatever is done to a store shows in an audit, with its run, its place and its kind."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.log.stores import BLOBS, LONG, events, replace, sql, stored, write

from sopwith.ir.value import digest
from sopwith.log.audit import Report, verify
from sopwith.log.chain import GENESIS
from sopwith.log.scan import RawEvent, Scan
from sopwith.log.sqlite import SqliteLog
from sopwith.log.tampering import link_of

RUN = 2
"""The number of the run `r2`, which is tampered with."""

FORGED = b'{"visit":99}'


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


def of_run(path: Path) -> list[RawEvent]:
    return stored(path, RUN)[1]


def alter(path: Path, seq: int, **fields: object) -> None:
    """Change fields of one event and nothing else."""
    replace(path, RUN, [e._replace(**fields) if e.seq == seq else e for e in of_run(path)])  # type: ignore[arg-type]


def renumbered(events: Sequence[RawEvent]) -> list[RawEvent]:
    return [event._replace(seq=seq) for seq, event in enumerate(events, 1)]


def forged(path: Path, event: RawEvent, after: bytes) -> RawEvent:
    """The event with another body, and the hash that it would have after the hash `after`."""
    run, _ = stored(path, RUN)
    event = event._replace(kind="step.entered", body=FORGED)
    return event._replace(hash=link_of(run, event, after, event.seq))


def rewrite(path: Path, number: int = RUN) -> None:
    """Change event 4 of a run, and make every hash from there on anew."""
    run, rows = stored(path, number)
    previous, made = GENESIS, list[RawEvent]()
    for event in rows:
        event = event._replace(body=FORGED) if event.seq == 4 else event
        previous = link_of(run, event, previous, event.seq)
        made.append(event._replace(hash=previous))
    replace(path, number, made)


def test_nothing_is_found_in_a_store_as_it_was_written(path: Path) -> None:
    report = audit(path)
    assert report.ok
    assert (report.runs, report.events, report.blobs, report.heads) == (3, 30, 2, None)


def test_it_does_not_matter_in_which_batches_events_lie(path: Path) -> None:
    replace(path, RUN, of_run(path))
    assert audit(path).ok


@pytest.mark.parametrize("seq", [1, 2, 5, 9, 10])
@pytest.mark.parametrize(
    "fields",
    [
        {"body": b"{}"},
        {"body": b"\xff"},
        {"at": 5},
        {"cause": 77},
        {"step": None},
        {"phase": "PLAN"},
        {"phase": ""},
        {"kind": "value.stored"},
        {"hash": bytes(32)},
        {"hash": b""},
    ],
    ids=str,
)
async def test_a_changed_event_is_named(path: Path, seq: int, fields: dict[str, object]) -> None:
    alter(path, seq, **fields)
    assert ("r2", seq, "changed") in found(path)
    # Of the first and the last event, the row of the run says something as well.
    assert {(at, what) for _, at, what in found(path)} <= {
        (seq, "changed"),
        (None, "run changed"),
        (11, "cut tail"),
    }


@pytest.mark.parametrize(
    "change",
    [
        "bodies = CAST(replace(CAST(bodies AS TEXT), 'money', 'honey') AS BLOB)",
        "envelopes = json_set(envelopes, '$[0][4]', 'step.entered')",
        "envelopes = json_set(envelopes, '$[0]', 7)",
        "hashes = zeroblob(32) || substr(hashes, 33)",
    ],
)
async def test_a_changed_event_within_a_batch_is_named(path: Path, change: str) -> None:
    sql(path, f"UPDATE batch SET {change} WHERE id = {(RUN << 24) + 1}")
    assert ("r2", 1, "changed") in found(path)


@pytest.mark.parametrize(
    "change",
    [
        "envelopes = '['",
        "envelopes = '{}'",
        "envelopes = NULL",
        "bodies = zeroblob(0)",
        "hashes = zeroblob(9)",
    ],
)
async def test_a_broken_batch_is_found(path: Path, change: str) -> None:
    schema = "UPDATE sqlite_master SET sql = replace(sql, ' NOT NULL', '')"
    sql(path, "PRAGMA writable_schema = ON", schema)
    sql(path, f"UPDATE batch SET {change} WHERE id = {(RUN << 24) + 1}")
    assert ("r2", 1, "changed") in found(path)
    assert {run for run, _, _ in found(path)} == {"r2"}


async def test_several_changed_events_are_all_named(path: Path) -> None:
    rows = of_run(path)
    replace(path, RUN, [e._replace(body=b"{}") if e.seq in (4, 5, 9) else e for e in rows])
    assert found(path) == [("r2", 4, "changed"), ("r2", 5, "changed"), ("r2", 9, "changed")]


async def test_findings_in_several_runs_are_all_reported(path: Path) -> None:
    alter(path, 4, body=b"{}")
    replace(path, 3, [e for e in stored(path, 3)[1] if e.seq != 6])
    assert found(path) == [("r2", 4, "changed"), ("r3", 6, "removed")]
    assert audit(path, "r1").ok and not audit(path, "r3").ok


async def test_a_change_with_its_hash_made_anew_shows_in_the_next_event(path: Path) -> None:
    rows = of_run(path)
    rows[3] = forged(path, rows[3], rows[2].hash)
    replace(path, RUN, rows)
    assert found(path) == [("r2", 5, "changed")]


@pytest.mark.parametrize("first", [2, 5, 8])
@pytest.mark.parametrize("other", [3, 7, 9])
async def test_two_swapped_events_are_both_named(path: Path, first: int, other: int) -> None:
    rows = of_run(path)
    rows[first - 1], rows[other - 1] = rows[other - 1], rows[first - 1]
    replace(path, RUN, renumbered(rows))
    assert found(path) == [("r2", seq, "reordered") for seq in sorted((first, other))]


async def test_an_event_that_was_moved_is_named(path: Path) -> None:
    rows = of_run(path)
    rows.insert(2, rows.pop(7))
    replace(path, RUN, renumbered(rows))
    assert found(path) == [("r2", 3, "reordered")]
    assert audit(path).findings[0].why.en == "it was written as event 8"


@pytest.mark.parametrize("seq", [1, 2, 6, 9])
async def test_a_removed_event_is_named(path: Path, seq: int) -> None:
    replace(path, RUN, [event for event in of_run(path) if event.seq != seq])
    assert found(path) == [("r2", seq, "removed")]


async def test_a_removed_batch_is_named_by_its_events(path: Path) -> None:
    sql(path, f"DELETE FROM batch WHERE id = {(RUN << 24) + 1}")
    assert found(path) == [("r2", seq, "removed") for seq in range(1, 6)]


@pytest.mark.parametrize("seqs", [(6,), (3, 4, 5), (2, 7)])
async def test_removed_events_are_named_when_the_others_close_up(path: Path, seqs: tuple[int, ...]) -> None:
    replace(path, RUN, renumbered([event for event in of_run(path) if event.seq not in seqs]))
    assert found(path) == [("r2", seq, "removed") for seq in seqs]


@pytest.mark.parametrize("seq", [2, 5, 9])
@pytest.mark.parametrize("hashed", [True, False])
async def test_an_inserted_event_is_named(path: Path, seq: int, hashed: bool) -> None:
    rows = of_run(path)
    copy = rows[seq - 2]._replace(seq=seq)
    rows.insert(seq - 1, forged(path, copy, copy.hash) if hashed else copy)
    replace(path, RUN, renumbered(rows))
    assert found(path) == [("r2", seq, "inserted")]


async def test_of_two_last_events_that_both_fit_one_was_inserted(path: Path) -> None:
    rows = of_run(path)
    rows.insert(9, forged(path, rows[8]._replace(seq=10), rows[8].hash))
    replace(path, RUN, renumbered(rows))
    # Nothing in the store says which of them was there first.
    assert [(run, what) for run, _, what in found(path)] == [("r2", "inserted")]


async def test_a_copy_of_an_event_at_the_end_is_inserted(path: Path) -> None:
    rows = of_run(path)
    replace(path, RUN, renumbered([*rows, rows[4]]))
    assert found(path) == [("r2", 11, "inserted")]


async def test_a_cut_tail_of_an_ended_run_shows_in_its_row(path: Path) -> None:
    replace(path, RUN, of_run(path)[:7])
    assert found(path) == [("r2", 8, "cut tail")]


async def test_a_run_without_any_event_is_cut(path: Path) -> None:
    replace(path, RUN, [])
    assert found(path) == [("r2", 1, "cut tail")]


async def test_a_cut_tail_or_a_full_rewrite_with_the_row_in_step_needs_heads(path: Path) -> None:
    replace(path, RUN, of_run(path)[:7])
    sql(path, "UPDATE run SET status = 'running' WHERE run = 'r2'")
    rewrite(path, 3)
    assert audit(path).ok


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
    replace(path, 1, [event for event in stored(path, 1)[1] if event.seq != 1500])
    assert found(path) == [("r1", 1500, "removed")]


async def test_findings_say_so_in_both_languages(path: Path) -> None:
    replace(path, RUN, [event for event in of_run(path) if event.seq != 6])
    (finding,) = audit(path).findings
    assert finding.to_json() == {
        "run": "r2",
        "seq": 6,
        "what": "removed",
        "why": "the events go on without event 6",
    }
    assert finding.to_json("zh")["why"] == "缺少事件 6，后面的事件仍在"
