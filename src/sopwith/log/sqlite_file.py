"""A store in one SQLite file: opening, making and refusing it, and what its failures mean."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from sopwith.errors import LogDamaged, LogError, Text
from sopwith.ir.os_reason import os_reason

APPLICATION = 0x53505754
"""The application id in the header of the file (`SPWT`)."""

VERSION = 1
"""The version of the tables, kept as `user_version` in the header of the file."""

RUN_BITS = 24
"""A batch's row id is its run's number, shifted by so many bits, plus the seq of its first event."""

LAST_SEQ = (1 << RUN_BITS) - 1

# The hashes come first: what follows them may lie in overflow pages, which finding the last hash need not read.
_TABLES = f"""
CREATE TABLE run (
  number INTEGER PRIMARY KEY, run TEXT NOT NULL UNIQUE, task TEXT NOT NULL, procedure_id TEXT NOT NULL,
  status TEXT NOT NULL, started_at INTEGER NOT NULL
);
CREATE TABLE batch (
  id INTEGER PRIMARY KEY, hashes BLOB NOT NULL, envelopes TEXT NOT NULL, bodies BLOB NOT NULL
);
CREATE TABLE blob (digest BLOB PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID;
CREATE VIEW events AS
  SELECT r.task, r.run, (b.id & {LAST_SEQ}) + e.key AS seq, r.started_at + (e.value ->> 0) AS at,
         e.value ->> 1 AS phase, e.value ->> 2 AS step, e.value ->> 3 AS cause, e.value ->> 4 AS kind,
         CAST(substr(b.bodies, 1 + (e.value ->> 5), (e.value ->> 6)) AS TEXT) AS data,
         lower(hex(substr(b.hashes, 1 + 32 * e.key, 32))) AS hash
  FROM batch b JOIN run r ON r.number = b.id >> {RUN_BITS} JOIN json_each(b.envelopes) e;
"""

RESTORE = Text(
    "restore the store from a backup; `sopwith runs`, `trace` and `audit verify` show what is left of it",
    "请从备份恢复存储；sopwith runs、trace 与 audit verify 可查看剩余内容",
)
"""What to do about a damaged store."""

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)

_CAUSES: dict[int, tuple[Text, Text]] = {
    sqlite3.SQLITE_FULL: (
        Text("the disk is full", "磁盘已满"),
        Text(
            "free some space, then resume the run: nothing was half stored",
            "请腾出空间后恢复运行：没有写入半截内容",
        ),
    ),
    sqlite3.SQLITE_READONLY: (
        Text("the file is read-only", "文件为只读"),
        Text(
            "give this user write permission on the file and its folder",
            "请授予当前用户对该文件及其目录的写权限",
        ),
    ),
    sqlite3.SQLITE_CANTOPEN: (
        Text("the file cannot be opened", "文件无法打开"),
        Text("check that the folder exists and may be written", "请检查目录是否存在、是否可写"),
    ),
    sqlite3.SQLITE_IOERR: (
        Text("the disk does not take or give the data", "磁盘读写失败"),
        Text(
            "check free space, quotas and the disk, then resume the run: nothing was half stored",
            "请检查剩余空间、配额与磁盘后恢复运行：没有写入半截内容",
        ),
    ),
    sqlite3.SQLITE_BUSY: (
        Text("another process keeps it locked", "另一个进程一直锁定它"),
        Text("end the process that holds it, then resume the run", "请结束占用它的进程后恢复运行"),
    ),
    sqlite3.SQLITE_TOOBIG: (
        Text("one value is larger than SQLite can store", "单个值超过 SQLite 可存储的大小"),
        Text("let the tool return a reference instead of the data", "请让工具返回引用而不是数据本身"),
    ),
    sqlite3.SQLITE_CORRUPT: (
        Text("the file is damaged", "文件已损坏"),
        RESTORE,
    ),
    sqlite3.SQLITE_NOTADB: (
        Text("the file is not a SQLite database", "文件不是 SQLite 数据库"),
        Text(
            "name another file for the log, or restore this one from a backup",
            "请为日志指定其他文件，或从备份恢复",
        ),
    ),
}


_MALFORMED = "malformed JSON"


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another connection holds the lock, so that trying again helps."""
    return _primary(error) in _BUSY


def failure(path: Path, error: sqlite3.Error) -> LogError:
    """What a failure of SQLite on the store at `path` means, and what to do about it."""
    code = _primary(error)
    cause, hint = _CAUSES.get(
        code,
        (Text(str(error), str(error)), Text("check the file and its folder", "请检查该文件及其目录")),
    )
    if _MALFORMED in str(error):  # what a row holds, not the pages
        code = sqlite3.SQLITE_CORRUPT
        cause, hint = _CAUSES[code]
    damaged = code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
    kind = LogDamaged if damaged else LogError
    return kind(Text(f"the event log {path}: {cause.en}", f"事件日志 {path}：{cause.zh}"), hint)


def open_file(path: Path, patience: float) -> sqlite3.Connection:
    """A connection to the store at `path`, made where there is none. Waits `patience` seconds for a lock."""
    connection: sqlite3.Connection | None = None
    deadline = time.monotonic() + patience
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(
                path, isolation_level=None, check_same_thread=False, timeout=patience
            )
            migrate(connection, path)
            _prepare(connection, path)
            return connection
        except OSError as error:
            why = os_reason(error)
            raise LogError(
                Text(f"the event log {path}: {why.en}", f"事件日志 {path}：{why.zh}"),
                _CAUSES[sqlite3.SQLITE_CANTOPEN][1],
            ) from error
        except sqlite3.Error as error:
            if connection is not None:
                connection.close()
            if not is_busy(error) or time.monotonic() > deadline:
                raise failure(path, error) from error
            time.sleep(0.005)
        except BaseException:
            if connection is not None:
                connection.close()
            raise


def refuse_damaged(connection: sqlite3.Connection, path: Path, seconds: float) -> None:
    """Look for damage in the pages of the file, for so many seconds at most. Raises `LogDamaged` where it is found."""
    until = time.monotonic() + seconds
    connection.set_progress_handler(lambda: time.monotonic() > until, 10_000)
    try:
        found = [str(row[0]) for row in connection.execute("PRAGMA quick_check(1)")]
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
            raise failure(path, error) from error
        return
    except sqlite3.Error as error:
        raise failure(path, error) from error
    finally:
        connection.set_progress_handler(None, 0)
    if found != ["ok"]:
        what = " ".join(" ".join(found).split())
        cause, hint = _CAUSES[sqlite3.SQLITE_CORRUPT]
        raise LogDamaged(
            Text(f"the event log {path}: {cause.en}: {what}", f"事件日志 {path}：{cause.zh}：{what}"), hint
        )


def _primary(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    if not _known(connection, path):
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("BEGIN IMMEDIATE")
        try:
            if not _known(connection, path):  # another process may have made it meanwhile
                for statement in _TABLES.split(";\n"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {VERSION}")
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA fullfsync = 1")


def _known(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether the file is a store of ours; False for an empty one. Anything else is refused."""
    application, version = marks(connection)
    empty = not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if not application and not version and empty:
        return False
    check_version(connection, path)
    return True


STEPS: dict[int, Callable[[sqlite3.Connection], None]] = {}
"""How to bring the tables of a version to the next: what a step does is one transaction with all the others."""


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring an older store to the current version, all of it or nothing. A copy of the old one stays beside it.

    Raises `LogError` where that fails; the store is then as it was.
    """
    application, version = marks(connection)
    if application != APPLICATION or version >= VERSION:
        return
    copy = path.with_name(f"{path.name}.v{version}")
    try:
        if not copy.exists():
            with contextlib.closing(sqlite3.connect(copy)) as kept:
                connection.backup(kept)
        connection.execute("BEGIN IMMEDIATE")
        for step in range(marks(connection)[1], VERSION):  # another process may have been faster
            STEPS[step](connection)
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except (sqlite3.Error, KeyError) as error:
        raise LogError(
            Text(
                f"the event log {path} cannot be brought from version {version} to {VERSION}: {error}",
                f"无法将事件日志 {path} 从版本 {version} 升级到 {VERSION}：{error}",
            ),
            Text(
                f"it is as it was, and there is a copy in {copy}; use the Sopwith that wrote it",
                f"原文件未变，副本在 {copy}；请使用写入它的 Sopwith 版本",
            ),
        ) from error
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def check_version(connection: sqlite3.Connection, path: Path) -> None:
    """Raise `LogError` where the file is not a store of the version that is known here."""
    application, version = marks(connection)
    if application != APPLICATION:
        raise LogError(
            Text(f"{path} is a database of another program", f"{path} 是其他程序的数据库"),
            Text("name another file for the event log", "请为事件日志指定其他文件"),
        )
    if version != VERSION:
        raise LogError(
            Text(
                f"the event log {path} has tables of version {version}; this Sopwith knows {VERSION}",
                f"事件日志 {path} 的表结构版本为 {version}，当前 Sopwith 只认识版本 {VERSION}",
            ),
            Text("upgrade Sopwith, or name another file", "请升级 Sopwith，或指定其他文件")
            if version > VERSION
            else Text("`sopwith runs` brings it up to date", "运行 sopwith runs 可将其升级"),
        )


def marks(connection: sqlite3.Connection) -> tuple[int, int]:
    """The application id and the version in the header of the file."""
    application: int = connection.execute("PRAGMA application_id").fetchone()[0]
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return application, version
