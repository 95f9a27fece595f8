"""The event log in one SQLite file (WAL), used inline: a thread would cost more than the append.

Tables: `run` (one row a run), `batch` (one row for the events that were appended together, keyed by one integer made
of the run's number and the seq of the first), `blob` (bytes by digest). The view `events` shows events one by one.

A row of `batch` holds the hashes of its events (32 bytes each), their envelopes as a JSON array of `[microseconds since
the run's start, phase, step, cause, kind, where its body begins, its length]`, and the bodies in a row, byte for byte.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import sqlite3
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, cast

from sopwith.errors import LogError, Text
from sopwith.ir.event import Event, Phase
from sopwith.log import batch, chain
from sopwith.log.port import ACCOUNT, RunRow
from sopwith.log.sqlite_file import LAST_SEQ, RUN_BITS, failure, is_busy, open_file, refuse_damaged
from sopwith.log.status import MARKS, procedure_of, status_after

_INSERT = "INSERT INTO batch VALUES (?,?,?,?)"
_LAST_OF = f"""(SELECT max(id) FROM batch
  WHERE id > r.number << {RUN_BITS} AND id <= (r.number << {RUN_BITS}) + {LAST_SEQ})"""
_LAST_SEQ = f"(b.id & {LAST_SEQ}) + length(b.hashes) / 32 - 1"
_FIND = f"""SELECT number, task, started_at, {_LAST_SEQ}, CAST(substr(hashes, -32) AS BLOB)
FROM run r LEFT JOIN batch b ON b.id = {_LAST_OF} WHERE run = ?"""
# As bytes, whatever somebody has put there: text would be decoded before it is checked.
_READ = f"""SELECT id & {LAST_SEQ}, CAST(hashes AS BLOB), CAST(envelopes AS BLOB), CAST(bodies AS BLOB) FROM batch
WHERE id >= (SELECT max(id) FROM batch WHERE id > ?1 AND id <= ?1 + ?2) AND id <= ?1 + {LAST_SEQ} ORDER BY id"""
_SINCE = """(SELECT CASE WHEN json_valid(told) AND json_type(told, '$[#-1][0]') = 'integer'
  THEN told ->> '$[#-1][0]' END FROM (SELECT CAST(envelopes AS TEXT) AS told))"""
_RUNS = f"""SELECT run, task, procedure_id, status, {_LAST_SEQ}, started_at, started_at + {_SINCE}
FROM run r JOIN batch b ON b.id = {_LAST_OF}
WHERE CASE ?1 WHEN 1 THEN run GLOB '{ACCOUNT}*' ELSE instr(run, ':') = 0 END ORDER BY r.number DESC LIMIT ?2"""
_KNOWN_BLOBS = 1024


@dataclass(slots=True)
class _Entry:
    """What is known of a run: where its rows begin, its task, when it started, its last event and that one's hash."""

    base: int
    task: str
    started_at: int
    last: int = 0
    head: bytes = chain.GENESIS


class SqliteLog:
    """A `Log` in the file `path`. Many processes may share it; each waits up to `patience` seconds.

    Raises `LogError` where the file is of another program or a newer version, damaged, or cannot be opened.
    """

    def __init__(self, path: str | Path, *, patience: float = 30.0) -> None:
        self.path = Path(path)
        self._patience = patience
        self._lock = Lock()
        self._open: sqlite3.Connection | None = None
        self._open = connection = open_file(self.path, patience)
        # The event loop waits so many milliseconds at most; after that, the append waits without it.
        connection.execute("PRAGMA busy_timeout = 10")
        self._connection = connection
        self._cursor = connection.cursor()
        self._full = False
        self._data_version = 0
        self._forget()

    async def append(
        self,
        run: str,
        events: Sequence[Event],
        blobs: Mapping[str, bytes] | None = None,
        *,
        durable: bool = False,
    ) -> str:
        """As `Log.append`."""
        bodies = batch.encode(events)
        rows = batch.by_digest(blobs) if blobs else None
        deadline: float | None = None
        while True:
            try:
                return self._write(run, events, bodies, rows, durable)
            except UnicodeEncodeError:
                raise batch.not_text(run) from None
            except sqlite3.Error as error:
                now = time.monotonic()
                deadline = deadline or now + self._patience
                if not is_busy(error) or now > deadline:
                    raise failure(self.path, error) from error
            await asyncio.sleep(random.uniform(0.001, 0.02))

    async def read(self, run: str, after: int = 0) -> Sequence[Event]:
        """As `Log.read`. Raises `LogDamaged` at the first event that does not match the hash chain."""
        with self._lock:
            try:
                return self._read(run, max(after, 0))
            except UnicodeEncodeError:
                return []
            except sqlite3.Error as error:
                raise failure(self.path, error) from error

    async def runs(self, limit: int = 100, *, accounts: bool = False) -> Sequence[RunRow]:
        """As `Log.runs`."""
        with self._lock:
            self._check_open()
            try:
                rows = self._cursor.execute(_RUNS, (accounts, max(limit, 0))).fetchall()
            except sqlite3.Error as error:
                raise failure(self.path, error) from error
        return [RunRow(*row) for row in rows]

    async def blob(self, digest: str) -> bytes:
        """As `Log.blob`. Raises `LogDamaged` where the bytes are not those of the digest."""
        key = batch.by_digest({digest: b""})[0][0]
        with self._lock:
            self._check_open()
            try:
                row = self._cursor.execute("SELECT data FROM blob WHERE digest = ?", (key,)).fetchone()
            except sqlite3.Error as error:
                raise failure(self.path, error) from error
        if row is None:
            raise batch.no_blob(digest)
        batch.check_blob(key.hex(), row[0])
        return row[0]

    def refuse_damaged(self, seconds: float = 0.2) -> None:
        """Look for damage in the file, for so many seconds at most. Raises `LogDamaged` where it is found."""
        with self._lock:
            self._check_open()
            refuse_damaged(self._connection, self.path, seconds)

    async def close(self) -> None:
        """As `Log.close`; what is in the write-ahead log goes into the file, where nobody else holds it."""
        with self._lock:
            if self._open is None:
                return
            self._open = None
            try:
                # Where it cannot be done now, the next one to open the file does it.
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
            finally:
                self._cursor.close()
                self._connection.close()

    def _write(
        self,
        run: str,
        events: Sequence[Event],
        bodies: Sequence[bytes],
        blobs: Sequence[tuple[bytes, bytes]] | None,
        durable: bool,
    ) -> str:
        with self._lock:
            self._check_open()
            cursor = self._cursor
            if durable is not self._full:  # cannot change inside a transaction
                cursor.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
                self._full = durable
            try:
                cursor.execute("BEGIN IMMEDIATE")
                head = self._insert(run, events, bodies)
                if blobs:
                    self._insert_blobs(blobs)
                cursor.execute("COMMIT")
                return head.hex() if head is not None else ""
            except BaseException:
                self._roll_back()
                raise

    def _insert(self, run: str, events: Sequence[Event], bodies: Sequence[bytes]) -> bytes | None:
        """The events as one row, after what is stored already. Returns the last hash.

        Who has taken the run further since it was last looked at has stored a row with the key of this one.
        """
        entry = self._runs.get(run)
        if entry is None or not events or events[0].seq != entry.last + 1:
            entry = self._find(run)
        batch.check(run, entry.task if entry else None, entry.last if entry else 0, events)
        if not events:
            return entry.head if entry and entry.last else None
        if entry is None:
            entry = self._start(run, events)
        if entry.last + len(events) > LAST_SEQ:
            raise _too_long(run)
        told = chain.words(events)
        hashes = chain.links(entry.head, events, bodies, told)
        envelopes = _envelopes(entry.started_at, events, bodies, told)
        row = (entry.base + entry.last + 1, b"".join(hashes), envelopes, b"".join(bodies))
        try:
            self._cursor.execute(_INSERT, row)
        except sqlite3.IntegrityError:
            entry = self._find(run)
            batch.check(run, entry.task if entry else None, entry.last if entry else 0, events)
            raise
        entry.last += len(events)
        entry.head = hashes[-1]
        if not MARKS.isdisjoint([event.body.kind for event in events]):
            self._mark(run, entry, events)
        return entry.head

    def _insert_blobs(self, blobs: Sequence[tuple[bytes, bytes]]) -> None:
        for key, data in blobs:
            if key in self._blobs:
                continue
            if self._cursor.execute("INSERT OR IGNORE INTO blob VALUES (?,?)", (key, data)).rowcount == 1:
                batch.check_blob(key.hex(), data)
            if len(self._blobs) < _KNOWN_BLOBS:
                self._blobs.add(key)

    def _distrust_blobs(self) -> None:
        """Forget which blobs are stored, where another connection may have removed some.

        A run in progress keeps those that it has named; so it is enough to ask at the start of one.
        """
        version = self._cursor.execute("PRAGMA data_version").fetchone()[0]
        if version != self._data_version:
            self._data_version = version
            self._blobs.clear()

    def _find(self, run: str) -> _Entry | None:
        found = self._cursor.execute(_FIND, (run,)).fetchone()
        if found is None:
            return None
        number, task, started_at, last, head = found
        entry = _Entry(number << RUN_BITS, task, started_at, last or 0, head or chain.GENESIS)
        self._runs[run] = entry
        return entry

    def _start(self, run: str, events: Sequence[Event]) -> _Entry:
        self._distrust_blobs()
        first = events[0]
        row = (run, first.task, procedure_of(events), "running", first.at)
        self._cursor.execute(
            "INSERT INTO run (run, task, procedure_id, status, started_at) VALUES (?,?,?,?,?)", row
        )
        number = self._cursor.lastrowid or 0
        entry = self._runs[run] = _Entry(number << RUN_BITS, first.task, first.at)
        return entry

    def _mark(self, run: str, entry: _Entry, events: Sequence[Event]) -> None:
        status = status_after(events) or "running"
        number = entry.base >> RUN_BITS
        self._cursor.execute(
            "UPDATE run SET status = ?1 WHERE number = ?2 AND status <> ?1", (status, number)
        )
        if status not in ("running", "suspended"):
            self._runs.pop(run, None)

    def _read(self, run: str, after: int) -> list[Event]:
        self._check_open()
        entry = self._runs.get(run) or self._find(run)
        if entry is None:
            return []
        rows = self._cursor.execute(_READ, (entry.base, min(max(after, 1), LAST_SEQ))).fetchall()
        events: list[Event] = []
        head = chain.GENESIS
        expected = 1
        for first, hashes, envelopes, bodies in rows:
            own = [hashes[i : i + 32] for i in range(0, len(hashes), 32)]
            if first <= after:  # the first row: the hash of event `after` is the one before
                expected = first
            if first != expected or not own:
                raise batch.damaged(run, expected)
            skipped = max(0, min(after + 1 - first, len(own)))
            if skipped:
                head = own[skipped - 1]
            for i, stored in enumerate(_envelopes_of(run, first, envelopes, len(own))[skipped:], skipped):
                event, body = _event(run, entry, first + i, stored, bodies, own[i])
                head = chain.link(head, event, body)
                if head != own[i]:
                    raise batch.damaged(run, first + i)
                events.append(event)
            expected = first + len(own)
        return events

    def _roll_back(self) -> None:
        self._forget()  # what was learned in the transaction may be gone
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def _forget(self) -> None:
        self._runs: dict[str, _Entry] = {}
        self._blobs: set[bytes] = set()

    def _check_open(self) -> None:
        if self._open is None:
            raise batch.closed()


def _too_long(run: str) -> LogError:
    return LogError(
        Text(f"run {run} has more than {LAST_SEQ} events", f"运行 {run} 的事件超过 {LAST_SEQ} 个"),
        Text("split the work over several runs", "请把工作拆分到多个运行中"),
    )


def _envelopes(start: int, events: Sequence[Event], bodies: Sequence[bytes], told: Sequence[str]) -> str:
    """The envelopes of a batch as they are stored."""
    parts: list[str] = []
    place = 0
    for event, body, words in zip(events, bodies, told, strict=True):
        parts.append(f"[{event[3] - start},{words},{place},{len(body)}]")
        place += len(body)
    return f"[{','.join(parts)}]"


def _envelopes_of(run: str, first: int, stored: bytes, count: int) -> list[Any]:
    """The inverse of `_envelopes`. Raises `LogDamaged` where it is not one envelope a hash."""
    try:
        found = json.loads(stored)
    except ValueError:
        raise batch.damaged(run, first) from None
    if not isinstance(found, list) or len(found := cast("list[Any]", found)) != count:
        raise batch.damaged(run, first)
    return found


def _event(run: str, entry: _Entry, seq: int, stored: Any, bodies: bytes, own: bytes) -> tuple[Event, bytes]:
    """An event out of its batch, and the bytes of its body."""
    try:
        since, phase, step, cause, kind, place, length = stored
        data = bodies[place : place + length]
        body = batch.decode(run, seq, kind, data)
        at = entry.started_at + since
        return Event(entry.task, run, seq, at, Phase(phase), step, cause, body, own.hex()), data
    except (TypeError, ValueError):
        raise batch.damaged(run, seq) from None
