"""The file of an index: opening it, and making it anew where it is of another version or damaged.

What an index holds is derived, so nothing is lost by making it anew: the next `sync` fills it.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from sopwith.errors import IndexFileError, Text
from sopwith.find.entry import KINDS
from sopwith.find.lexical import FIELDS
from sopwith.find.vector_table import TABLES as VECTORS
from sopwith.ir.diagnostic import Diagnostic, Place, Severity
from sopwith.ir.os_reason import os_reason

try:
    import fcntl
except ModuleNotFoundError:  # there is none on Windows
    fcntl = None

APPLICATION = 0x53505746
"""The application id in the header of the file (`SPWF`)."""

VERSION = 3
"""The version of the tables and of the words in them, kept as `user_version` in the header of the file."""

_MAGIC = b"SQLite format 3\x00"
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_MOVED = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
_TRIES = 100
"""How often a file is opened that another process may be taking away at that moment."""

_LENGTHS = ", ".join(f"{field} INTEGER NOT NULL" for field in FIELDS)

# Words come in as they are compared, with spaces between them: the tokenizer only splits.
_TABLES = (
    "CREATE TABLE entry (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, id TEXT NOT NULL, digest BLOB NOT NULL,"
    " data TEXT NOT NULL, dense INTEGER NOT NULL, UNIQUE (kind, id))",
    *VECTORS,
    "CREATE TABLE state (generation INTEGER NOT NULL)",
    "INSERT INTO state VALUES (0)",
    "CREATE TABLE file (name TEXT PRIMARY KEY, mark TEXT NOT NULL, digest TEXT NOT NULL, ids TEXT NOT NULL,"
    " problem TEXT)",
    f"CREATE TABLE size (kind TEXT PRIMARY KEY, entries INTEGER NOT NULL, {_LENGTHS})",
    *(f"INSERT INTO size VALUES ('{kind}', 0{', 0' * len(FIELDS)})" for kind in KINDS),
    *(
        f"CREATE VIRTUAL TABLE words_{kind} USING fts5({', '.join(FIELDS)}, tokenize = 'ascii')"
        for kind in KINDS
    ),
    *(f"CREATE VIRTUAL TABLE held_{kind} USING fts5vocab('words_{kind}', 'row')" for kind in KINDS),
)


def open_index(path: Path, patience: float) -> tuple[sqlite3.Connection, Diagnostic | None]:
    """A connection to the index at `path`, made where there is none, and what was wrong with the one that was.

    Waits `patience` seconds for a lock. Raises `IndexFileError` where the file is of something else, or cannot be
    opened.
    """
    deadline = time.monotonic() + patience
    told: Diagnostic | None = None
    moved = 0
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _refuse_foreign(path)
            connection = sqlite3.connect(
                path, isolation_level=None, check_same_thread=False, timeout=patience
            )
        except OSError as error:
            raise _error(path, os_reason(error)) from error
        except sqlite3.Error as error:
            raise failure(path, error) from error
        seen = identity(path)
        try:
            return connection, _prepare(connection, path) or told
        except sqlite3.Error as error:
            moved += is_moved(error)
            if is_damaged(error):
                remove(path, seen)
                told = damaged(path)
            elif (
                moved > _TRIES
                or not (is_moved(error) or _primary(error) in _BUSY)
                or time.monotonic() > deadline
            ):
                connection.close()
                raise failure(path, error) from error
            connection.close()
            time.sleep(0.005)
        except BaseException:
            connection.close()
            raise


def is_damaged(error: sqlite3.Error) -> bool:
    """Whether the file can only be made anew."""
    return _primary(error) in _DAMAGED


def is_moved(error: sqlite3.Error) -> bool:
    """Whether another process may have taken the file away, or what SQLite keeps beside it."""
    return _primary(error) in _MOVED


def identity(path: Path) -> tuple[int, int] | None:
    """Which file is at `path`; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def remove(path: Path, seen: tuple[int, int] | None) -> None:
    """Take the index away, with what SQLite keeps beside it, unless another process has done that since it was `seen`.

    Whoever calls holds the damaged file open, so that no new one can have its identity.
    """
    with _one_at_a_time(path):
        if identity(path) == seen:
            for name in (f"{path.name}-wal", f"{path.name}-shm", path.name):
                path.with_name(name).unlink(missing_ok=True)


@contextmanager
def _one_at_a_time(path: Path) -> Generator[None]:
    """Hold the lock beside the index, where the system has such locks."""
    if fcntl is None:
        yield
        return
    with path.with_name(f"{path.name}-lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def damaged(path: Path) -> Diagnostic:
    """SW821."""
    return _rebuilt(
        path,
        "SW821",
        Text("the index is damaged, and is made anew", "索引已损坏，将重新建立"),
    )


def failure(path: Path, error: sqlite3.Error) -> IndexFileError:
    """What a failure of SQLite on the index at `path` means, and what to do about it."""
    return _error(path, Text(str(error), str(error)))


def _error(path: Path, why: Text) -> IndexFileError:
    return IndexFileError(
        Text(f"the index {path}: {why.en}", f"索引 {path}：{why.zh}"),
        Text(
            "check the folder, its permissions and free space; the file may be deleted, it is made anew",
            "请检查目录、权限与可用空间；该文件可以删除，会自动重新建立",
        ),
    )


def _rebuilt(path: Path, code: str, message: Text) -> Diagnostic:
    return Diagnostic(
        code=code,
        severity=Severity.WARNING,
        place=Place(file=str(path)),
        message=message,
        hint=Text(
            "nothing to do: it is filled again from the procedures, tools and documents",
            "无需处理：会根据流程、工具与文档重新填充",
        ),
    )


def _refuse_foreign(path: Path) -> None:
    """A file that holds something else is never overwritten: what is ours begins as SQLite does, with our mark."""
    if not path.exists():
        return
    with path.open("rb") as file:
        head = file.read(100)
    ours = head[:16] == _MAGIC and int.from_bytes(head[68:72]) in (APPLICATION, 0)
    if head and not ours:
        raise IndexFileError(
            Text(f"{path} is not an index of Sopwith", f"{path} 不是 Sopwith 的索引"),
            Text("name another file for the index", "请为索引指定其他文件"),
        )


def _prepare(connection: sqlite3.Connection, path: Path) -> Diagnostic | None:
    """Make the tables where they are missing or of another version, and say which version that was."""
    before = None
    if not _current(connection):
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("BEGIN IMMEDIATE")
        try:
            if not _current(connection):  # another process may have made it meanwhile
                before = _make(connection, path)
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
    connection.execute("PRAGMA synchronous = NORMAL")
    return before


def _current(connection: sqlite3.Connection) -> bool:
    return _marks(connection) == (APPLICATION, VERSION)


def _marks(connection: sqlite3.Connection) -> tuple[int, int]:
    application: int = connection.execute("PRAGMA application_id").fetchone()[0]
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return application, version


def _make(connection: sqlite3.Connection, path: Path) -> Diagnostic | None:
    application, version = _marks(connection)
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    if tables and application != APPLICATION:
        raise IndexFileError(
            Text(f"{path} is a database of another program", f"{path} 是其他程序的数据库"),
            Text("name another file for the index", "请为索引指定其他文件"),
        )
    for (name,) in sorted(tables, key=lambda row: not row[0].startswith(("words_", "held_"))):
        if not name.startswith("sqlite_"):  # the tables of a virtual one go with it
            connection.execute(f'DROP TABLE IF EXISTS "{name}"')
    for statement in _TABLES:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    if not tables:
        return None
    return _rebuilt(
        path,
        "SW820",
        Text(
            f"the index is of version {version}; this Sopwith writes version {VERSION}, and makes it anew",
            f"索引版本为 {version}，当前 Sopwith 使用版本 {VERSION}，将重新建立",
        ),
    )


def _primary(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
