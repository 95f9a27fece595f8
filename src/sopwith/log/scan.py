"""A store as its raw rows, read-only: nothing is judged, and what cannot be read is passed over and named.

This is the face for audits and for damaged files; a healthy store is read with `SqliteLog`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast
from urllib.parse import quote

from sopwith.errors import LogDamaged, Text
from sopwith.log.sqlite_file import LAST_SEQ, RESTORE, RUN_BITS, check_version, failure

TRIES = 2000
"""So many reads at most go into finding what is readable around the damage of one table or run."""


class RawRun(NamedTuple):
    """The row of a run. `number` is what its events are filed under; `started_at` is in µs since 1970."""

    number: int
    run: str
    task: str
    procedure_id: str
    status: str
    started_at: int


class RawEvent(NamedTuple):
    """An event as it is stored, with the bytes of its body and of its hash. What is not there, or is not of its
    type, is empty."""

    seq: int
    at: int
    phase: str
    step: str | None
    cause: int | None
    kind: str
    body: bytes
    hash: bytes


class Scan:
    """The rows of the store at `path`. `damage` names what could not be read, as far as it has been met.

    Raises `LogDamaged` where nothing at all can be read, `LogError` for a file that is not a store of a known version.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damage: list[Text] = []
        self._connection = _open(path)
        try:
            check_version(self._connection, path)
        except sqlite3.Error as error:
            self._connection.close()
            raise failure(path, error) from error
        except BaseException:
            self._connection.close()
            raise

    def runs(self) -> list[RawRun]:
        """The runs in the order in which they were started."""
        columns = "number, run, task, procedure_id, status, started_at"
        rows = self._rows("run", columns, 0, None)
        return [
            RawRun(number, _text(run), _text(task), _text(procedure), _text(status), _number(at))
            for number, run, task, procedure, status, at in rows
        ]

    def events(self, run: RawRun) -> list[RawEvent]:
        """The events of a run in the order of their seqs."""
        base = run.number << RUN_BITS
        columns = f"id & {LAST_SEQ}, CAST(hashes AS BLOB), CAST(envelopes AS BLOB), CAST(bodies AS BLOB)"
        rows = self._rows("batch", columns, base, base + LAST_SEQ, run.run)
        found = [event for row in rows for event in _unpacked(run.started_at, *row)]
        return sorted(found, key=lambda event: event.seq)

    def numbers(self) -> list[int]:
        """The numbers of runs that events are filed under, whether the run has a row or not."""
        found: list[int] = []
        after = 0
        try:
            while True:
                row = self._connection.execute("SELECT min(id) FROM batch WHERE id >= ?", (after,)).fetchone()
                if row[0] is None:
                    return found
                found.append(row[0] >> RUN_BITS)
                after = (found[-1] + 1) << RUN_BITS
        except sqlite3.Error as error:
            self._note("batch", error)
            return found

    def blobs(self) -> Iterator[tuple[str, bytes]]:
        """All blobs: the digest each lies under, and its bytes."""
        try:
            digests = [row[0] for row in self._connection.execute("SELECT digest FROM blob")]
        except sqlite3.Error as error:
            self._note("blob", error)
            return
        for key in digests:
            data = self._blob(key)
            if data is not None:
                yield _bytes(key).hex(), data

    def blob(self, digest: str) -> bytes | None:
        """The bytes under a digest, None where there are none that can be read."""
        try:
            return self._blob(bytes.fromhex(digest))
        except ValueError:
            return None

    def close(self) -> None:
        """Release the file."""
        self._connection.close()

    def _blob(self, key: bytes) -> bytes | None:
        try:
            row = self._connection.execute("SELECT data FROM blob WHERE digest = ?", (key,)).fetchone()
        except sqlite3.Error as error:
            self._note("blob", error)
            return None
        return None if row is None else _bytes(row[0])

    def _rows(self, table: str, columns: str, first: int, last: int | None, of: str = "") -> list[Any]:
        """The rows of a table whose key lies in a range, in order; what is damaged is left out and noted."""
        key = "id" if table == "batch" else "number"
        select = f"SELECT {columns} FROM {table} WHERE {key} >= ? AND {key} <= ? ORDER BY {key}"
        found: list[Any] = []
        tries = 0
        ranges = [(first, (1 << 40) if last is None else last)]
        while ranges:
            low, high = ranges.pop()
            try:
                found += self._connection.execute(select, (low, high)).fetchall()
                continue
            except sqlite3.DatabaseError as error:
                self._note(table, error, of)
            tries += 1
            if low < high and tries < TRIES:
                middle = (low + high) // 2
                ranges += [(middle + 1, high), (low, middle)]
        return found

    def _note(self, table: str, error: sqlite3.Error, run: str = "") -> None:
        of = f" (run {run})" if run else ""
        of_zh = f"（运行 {run}）" if run else ""
        said = Text(
            f"{self.path}: rows of the table `{table}`{of} cannot be read: {error}",
            f"{self.path}：表 {table}{of_zh} 有无法读取的行：{error}",
        )
        if said not in self.damage:
            self.damage.append(said)


def _open(path: Path) -> sqlite3.Connection:
    """A connection that cannot write; also for a file that lies where nothing may be written."""
    place = f"file:{quote(str(path.absolute()))}?mode=ro"
    for options in ("", "&immutable=1"):
        connection = sqlite3.connect(place + options, uri=True, isolation_level=None, check_same_thread=False)
        connection.text_factory = _lenient
        try:
            # With this, SQLite also reads a file that is shorter than its header says.
            connection.execute("PRAGMA writable_schema = ON")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            return connection
        except sqlite3.Error as error:
            connection.close()
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_CANTOPEN or options:
                raise failure(path, error) from error
    raise LogDamaged(Text(f"{path} cannot be read", f"无法读取 {path}"), RESTORE)


def _unpacked(start: int, first: int, hashes: bytes, envelopes: bytes, bodies: bytes) -> list[RawEvent]:
    """The events of one batch: as many as it has envelopes or hashes."""
    try:
        told: Any = json.loads(envelopes)
    except (TypeError, ValueError):
        told = None
    listed = cast("list[Any]", told) if isinstance(told, list) else []
    hashes, bodies = _bytes(hashes), _bytes(bodies)
    found: list[RawEvent] = []
    for index in range(max(len(listed), len(hashes) // 32)):
        envelope: Any = listed[index] if index < len(listed) else None
        parts = cast("list[Any]", envelope) if isinstance(envelope, list) else []
        since, phase, step, cause, kind, place, length = (*parts, *[None] * 7)[:7]
        begin = _number(place)
        found.append(
            RawEvent(
                first + index,
                start + _number(since),
                _text(phase),
                step if isinstance(step, str) else None,
                cause if isinstance(cause, int) else None,
                _text(kind),
                bodies[begin : begin + _number(length)],
                hashes[32 * index : 32 * index + 32],
            )
        )
    return found


def _lenient(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _bytes(value: object) -> bytes:
    if isinstance(value, str):
        return value.encode()
    return value if isinstance(value, bytes) else b""
