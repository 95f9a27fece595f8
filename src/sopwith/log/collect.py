"""Collecting garbage: old runs that have ended are removed from a store, with the blobs that no other run names."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

from sopwith.errors import LogConflict, Text
from sopwith.log.audit import status_of
from sopwith.log.finding import Finding
from sopwith.log.head import Head
from sopwith.log.port import ACCOUNT, is_listed
from sopwith.log.scan import RawEvent, RawRun, Scan
from sopwith.log.sqlite_file import LAST_SEQ, RUN_BITS, failure, open_file
from sopwith.log.tampering import tampering

PATIENCE = 30.0
"""So many seconds it waits for another process to release the store."""

_DIGEST = re.compile(rb"[0-9a-f]{64}")


class Old(NamedTuple):
    """A run that may be removed: its row, how many events it has, when the last one was, and that one's hash."""

    run: RawRun
    events: int
    last_at: int
    hash: str

    def tombstone(self, at: int) -> Head:
        """What a heads file says about its removal at `at`."""
        return Head(self.run.run, self.events, self.hash, at, "collected")


@dataclass(frozen=True, slots=True)
class Collectable:
    """What there is to remove, and the old runs that are kept since something was found in them."""

    runs: tuple[Old, ...]
    suspect: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Collected:
    """What was removed, and the size of the file before and after, in bytes. Inboxes and accounts are removed too, and
    counted neither as `runs` nor with their `events`."""

    runs: int
    events: int
    blobs: int
    before: int
    after: int


def collectable(scan: Scan, before: int) -> Collectable:
    """The runs whose family has ended, with no event at or after `before` (µs since 1970).

    A family (the runs of one task) goes together: one that still works may ask for what another has done. A run that
    was tampered with is kept, since it is evidence; so is one whose events are gone, which goes into `scan.damage`.
    The account of a principal goes when its window ended before `before` and none of the runs in it is left: until then
    it says what they may use.
    """
    runs = scan.runs()
    families: dict[str, list[tuple[RawRun, list[RawEvent]]]] = defaultdict(list)
    for run in runs:
        if run.run.startswith(ACCOUNT):
            continue
        families[run.task].append((run, scan.events(run)))
    found: list[Old] = []
    suspect: list[Finding] = []
    for family in families.values():
        lost = [run.run for run, events in family if not events]
        scan.damage += [_without_events(scan.path, run) for run in lost]
        if lost or not all(_is_old(run, events, before) for run, events in family):
            continue
        wrong = [finding for run, events in family for finding in tampering(run, events)]
        suspect += wrong
        if not wrong:
            found += [_old(run, events) for run, events in family]
    left = {run.run for run in runs} - {old.run.run for old in found}
    for run in runs:
        if not run.run.startswith(ACCOUNT):
            continue
        events = scan.events(run)
        if not events:
            scan.damage.append(_without_events(scan.path, run.run))
        if _is_over(events, before, left):
            wrong = tampering(run, events)
            suspect += wrong
            found += [] if wrong else [_old(run, events)]
    return Collectable(tuple(sorted(found, key=lambda old: old.run.number)), tuple(suspect))


def _is_old(run: RawRun, events: Sequence[RawEvent], before: int) -> bool:
    if (
        run.procedure_id == "" and ":" in run.run
    ):  # a log beside a run, such as its inbox: it goes with the others
        return all(event.at < before for event in events)
    ended = status_of(events)[0] not in ("running", "suspended") and run.status not in (
        "running",
        "suspended",
    )
    return ended and events[-1].at < before


def _is_over(events: Sequence[RawEvent], before: int, left: Collection[str]) -> bool:
    """Whether nobody needs an account any more. What cannot be read, and has no window, is kept."""
    window = 0
    for event in events:
        try:
            body: Any = json.loads(event.body)
        except ValueError:
            return False
        if not isinstance(body, dict):
            return False
        told = cast("dict[str, Any]", body)
        if told.get("of") in left:
            return False
        until: Any = told.get("until", 0)
        if not isinstance(until, int) or event.at >= before:
            return False
        window = max(window, until)
    return 0 < window < before


def _old(run: RawRun, events: Sequence[RawEvent]) -> Old:
    return Old(run, len(events), events[-1].at, events[-1].hash.hex())


def _without_events(path: Path, run: str) -> Text:
    return Text(f"{path}: the events of run {run} are missing", f"{path}：运行 {run} 的事件缺失")


def collect(path: Path, old: Sequence[Old]) -> Collected:
    """Remove these runs, and the blobs that no other run names; then the file shrinks.

    Raises `LogConflict` where one of them was taken up meanwhile; then nothing is removed.
    """
    size = path.stat().st_size
    connection = open_file(path, PATIENCE)
    try:
        connection.execute("BEGIN IMMEDIATE")
        for each in old:
            _remove(connection, each)
        blobs = _remove_blobs(connection)
        connection.execute("COMMIT")
        # Where others hold the file, it keeps its size, and what is free in it is used first.
        with contextlib.suppress(sqlite3.OperationalError):
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error as error:
        raise failure(path, error) from error
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        connection.close()
    runs = [each for each in old if is_listed(each.run.run, accounts=False)]
    return Collected(len(runs), sum(each.events for each in runs), blobs, size, path.stat().st_size)


def _remove(connection: sqlite3.Connection, old: Old) -> None:
    base = old.run.number << RUN_BITS
    within = (base, base + LAST_SEQ)
    hashes: bytes = b"".join(
        row[0]
        for row in connection.execute("SELECT hashes FROM batch WHERE id > ? AND id <= ? ORDER BY id", within)
    )
    if len(hashes) != 32 * old.events or hashes[-32:].hex() != old.hash:
        raise LogConflict(
            Text(f"run {old.run.run} was changed meanwhile", f"运行 {old.run.run} 同时被改动"),
            Text("nothing was removed; collect again", "未删除任何内容；请重新回收"),
        )
    connection.execute("DELETE FROM batch WHERE id > ? AND id <= ?", within)
    connection.execute("DELETE FROM run WHERE number = ?", (old.run.number,))


def _remove_blobs(connection: sqlite3.Connection) -> int:
    """Remove the blobs whose digest stands in no event that is left; in whatever field it may stand."""
    needed: set[bytes] = set()
    for (bodies,) in connection.execute("SELECT CAST(bodies AS BLOB) FROM batch"):
        needed.update(bytes.fromhex(found.decode()) for found in _DIGEST.findall(bodies or b""))
    stored = [row[0] for row in connection.execute("SELECT digest FROM blob")]
    gone = [(key,) for key in stored if key not in needed]
    connection.executemany("DELETE FROM blob WHERE digest = ?", gone)
    return len(gone)
