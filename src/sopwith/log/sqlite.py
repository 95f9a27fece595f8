"""The event log in one SQLite file (WAL), used inline: a thread would cost more than the append.

Tables: `run` (one row a run), `name` (kinds, phases and steps, each text once), `event` (one row an event,
keyed by one integer made of the run's number and the seq), `blob` (bytes by digest). The view `events` shows
them in words.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import sqlite3
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from sopwith.errors import LogError, Text
from sopwith.ir.event import Event, Phase
from sopwith.log import batch, chain
from sopwith.log.port import RunRow
from sopwith.log.sqlite_file import LAST_SEQ, RUN_BITS, failure, is_busy, open_file
from sopwith.log.status import MARKS, procedure_of, status_after

_INSERT = "INSERT INTO event VALUES (?,?,?,?,?,?,?,?)"
_HEAD = "SELECT id, hash FROM event WHERE id > ? AND id <= ? ORDER BY id DESC LIMIT 1"
_READ = f"""SELECT id & {LAST_SEQ}, after, phase, step, cause, kind, body, hash FROM event
WHERE id >= ? AND id <= ? ORDER BY id"""
_RUNS = f"""SELECT run, task, procedure_id, status, e.id & {LAST_SEQ}, started_at, started_at + e.after
FROM run r JOIN event e ON e.id = (
  SELECT max(id) FROM event WHERE id > r.number << {RUN_BITS} AND id <= (r.number << {RUN_BITS}) + {LAST_SEQ})
ORDER BY r.number DESC LIMIT ?"""


class _Entry(NamedTuple):
    """What does not change about a run: where its rows begin, its task, and when it started."""

    base: int
    task: str
    started_at: int


class _Names(dict[str | None, int]):
    """Texts as numbers, each stored once; a new one is stored in the running transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__({None: None})  # type: ignore[dict-item]
        self._connection = connection

    def __missing__(self, text: str) -> int:
        text = str(text)
        row = self._connection.execute("SELECT number FROM name WHERE text = ?", (text,)).fetchone()
        if row is None:
            row = self._connection.execute(
                "INSERT INTO name (text) VALUES (?) RETURNING number", (text,)
            ).fetchone()
        self[text] = row[0]
        return row[0]


class _Texts(dict[int | None, str]):
    """The texts of numbers."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__({None: None})  # type: ignore[dict-item]
        self._connection = connection

    def __missing__(self, number: int) -> str:
        row = self._connection.execute("SELECT text FROM name WHERE number = ?", (number,)).fetchone()
        if row is None:
            raise KeyError(number)
        self[number] = row[0]
        return row[0]


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

    async def runs(self, limit: int = 100) -> Sequence[RunRow]:
        """As `Log.runs`."""
        with self._lock:
            self._check_open()
            try:
                rows = self._cursor.execute(_RUNS, (max(limit, 0),)).fetchall()
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
        """The events as rows, after what is stored already. Returns the last hash."""
        entry = self._runs.get(run) or self._find(run)
        last, head = 0, chain.GENESIS
        if entry is not None:
            row = self._cursor.execute(_HEAD, (entry.base, entry.base + LAST_SEQ)).fetchone()
            if row is not None:
                last, head = row[0] - entry.base, row[1]
        batch.check(run, entry.task if entry else None, last, events)
        if not events:
            return head if last else None
        if entry is None:
            entry = self._start(run, events)
        base, _, started_at = entry
        names = self._names
        hashes = chain.links(head, events, bodies)
        rows: list[tuple[int, int, int, int, int | None, int, bytes, bytes]] = []
        marked = False
        for (_, _, seq, at, phase, step, cause, content, _), body, own in zip(
            events, bodies, hashes, strict=True
        ):
            kind = content.kind
            rows.append(
                (base + seq, at - started_at, names[phase], names[step], cause, names[kind], body, own)
            )
            if kind in MARKS:
                marked = True
        if rows[-1][0] - base > LAST_SEQ:
            raise _too_long(run)
        self._cursor.executemany(_INSERT, rows)
        if marked:
            self._mark(run, events)
        return hashes[-1]

    def _insert_blobs(self, blobs: Sequence[tuple[bytes, bytes]]) -> None:
        for key, data in blobs:
            if self._cursor.execute("INSERT OR IGNORE INTO blob VALUES (?,?)", (key, data)).rowcount == 1:
                batch.check_blob(key.hex(), data)

    def _find(self, run: str) -> _Entry | None:
        found = self._cursor.execute(
            "SELECT number, task, started_at FROM run WHERE run = ?", (run,)
        ).fetchone()
        if found is None:
            return None
        entry = self._runs[run] = _Entry(found[0] << RUN_BITS, found[1], found[2])
        return entry

    def _start(self, run: str, events: Sequence[Event]) -> _Entry:
        first = events[0]
        row = (run, first.task, procedure_of(events), "running", first.at)
        self._cursor.execute(
            "INSERT INTO run (run, task, procedure_id, status, started_at) VALUES (?,?,?,?,?)", row
        )
        number = self._cursor.lastrowid or 0
        entry = self._runs[run] = _Entry(number << RUN_BITS, first.task, first.at)
        return entry

    def _mark(self, run: str, events: Sequence[Event]) -> None:
        status = status_after(events) or "running"
        self._cursor.execute("UPDATE run SET status = ?1 WHERE run = ?2 AND status <> ?1", (status, run))
        if status not in ("running", "suspended"):
            self._runs.pop(run, None)

    def _read(self, run: str, after: int) -> list[Event]:
        self._check_open()
        entry = self._runs.get(run) or self._find(run)
        if entry is None:
            return []
        base, task, started_at = entry
        rows = self._cursor.execute(_READ, (base + after, base + LAST_SEQ)).fetchall()
        head = chain.GENESIS
        if after and rows and rows[0][0] == after:
            head = rows.pop(0)[-1]
        events: list[Event] = []
        for expected, (seq, since, phase, step, cause, kind, data, own) in enumerate(rows, after + 1):
            if seq != expected:
                raise batch.damaged(run, expected)
            body = batch.decode(run, seq, self._text(run, seq, kind), data)
            place = self._phase(run, seq, phase)
            name = self._text(run, seq, step)
            event = Event(task, run, seq, started_at + since, place, name, cause, body, own.hex())
            head = chain.link(head, event, data)
            if head != own:
                raise batch.damaged(run, seq)
            events.append(event)
        return events

    def _phase(self, run: str, seq: int, number: int) -> Phase:
        try:
            return Phase(self._text(run, seq, number))
        except ValueError:
            raise batch.damaged(run, seq) from None

    def _text(self, run: str, seq: int, number: int) -> str:
        try:
            return self._texts[number]
        except KeyError:
            raise batch.damaged(run, seq) from None

    def _roll_back(self) -> None:
        self._forget()  # what was learned in the transaction may be gone
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def _forget(self) -> None:
        self._runs: dict[str, _Entry] = {}
        self._names = _Names(self._connection)
        self._texts = _Texts(self._connection)

    def _check_open(self) -> None:
        if self._open is None:
            raise batch.closed()


def _too_long(run: str) -> LogError:
    return LogError(
        Text(f"run {run} has more than {LAST_SEQ} events", f"运行 {run} 的事件超过 {LAST_SEQ} 个"),
        Text("split the work over several runs", "请把工作拆分到多个运行中"),
    )
