"""What a failure of SQLite on a vault means, and what to do about it."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from sopwith.errors import LogDamaged, LogError, Text
from sopwith.ir.os_reason import os_reason

_RESTORE = Text(
    "restore the vault from a backup, together with its key; every log stays valid, and keeps its placeholders",
    "请从备份恢复保险库及其密钥；所有日志仍然有效，其中的占位符保持不变",
)
_BROKEN = Text("the file is damaged", "文件已损坏")
_WHOLE = Text("nothing was half stored", "没有写入半截内容")
_CAUSES: dict[int, tuple[Text, Text]] = {
    sqlite3.SQLITE_FULL: (Text("the disk is full", "磁盘已满"), Text("free some space", "请腾出空间")),
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
        Text("check free space, quotas and the disk", "请检查剩余空间、配额与磁盘"),
    ),
    sqlite3.SQLITE_BUSY: (
        Text("another process keeps it locked", "另一个进程一直锁定它"),
        Text("end the process that holds it", "请结束占用它的进程"),
    ),
}
_OTHER = Text("check the file, its folder and free space", "请检查该文件、其目录与剩余空间")
# A file whose pages are whole may hold a list of tables that is not: then the text alone tells.
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_SIGNS = ("no such table", "no such column", "malformed", "Could not decode")


def vault_failure(path: Path, error: Exception) -> LogError:
    """The error to raise for a failure of SQLite, or of the file system, on the vault at `path`."""
    if isinstance(error, OSError):
        return _failed(path, os_reason(error), _CAUSES[sqlite3.SQLITE_CANTOPEN][1])
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _DAMAGED or any(sign in str(error) for sign in _SIGNS):
        return vault_damaged(path, _BROKEN)
    cause, hint = _CAUSES.get(code, (Text(str(error), str(error)), _OTHER))
    return _failed(path, cause, hint)


def refuse_damaged(connection: sqlite3.Connection, path: Path, seconds: float) -> None:
    """Look for damage in the pages of the vault, for so many seconds at most. Raises `LogDamaged` where it is found."""
    until = time.monotonic() + seconds
    connection.set_progress_handler(lambda: time.monotonic() > until, 10_000)
    try:
        found = connection.execute("PRAGMA quick_check(1)").fetchall()
    except sqlite3.Error as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
            raise vault_failure(path, error) from error
        return
    finally:
        connection.set_progress_handler(None, 0)
    if found != [("ok",)]:
        raise vault_damaged(path, _BROKEN)


def vault_damaged(path: Path, what: Text) -> LogDamaged:
    """The error to raise for a vault whose bytes are not as they were written."""
    return LogDamaged(Text(f"the vault {path}: {what.en}", f"保险库 {path}：{what.zh}"), _RESTORE)


def _failed(path: Path, cause: Text, hint: Text) -> LogError:
    return LogError(
        Text(f"the vault {path}: {cause.en}", f"保险库 {path}：{cause.zh}"),
        Text(f"{hint.en}; {_WHOLE.en}", f"{hint.zh}；{_WHOLE.zh}"),
    )
