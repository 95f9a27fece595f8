"""The tools of the leave procedure: an HR system in one SQLite file that really keeps what is filed.

The file is `.sopwith/leave.db` under the current folder, or what the environment variable LEAVE_DB names. The
first tool that opens it makes it, with twelve employees and their balances.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import date
from pathlib import Path
from typing import Literal

from period import resolve_period as resolve_period
from typing_extensions import TypedDict

from sopwith.tools import ToolError, tool

Kind = Literal["annual", "sick", "personal"]
EmployeeType = Literal["regular", "intern", "contractor"]

_KINDS: dict[str, str] = {"annual": "年假", "sick": "病假", "personal": "事假"}
_TABLES = """
CREATE TABLE employee (user_id TEXT PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL, mentor TEXT);
CREATE TABLE balance (
    user_id TEXT NOT NULL REFERENCES employee, kind TEXT NOT NULL, days REAL NOT NULL CHECK (days >= 0),
    PRIMARY KEY (user_id, kind)
);
CREATE TABLE request (
    number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, user_id TEXT NOT NULL REFERENCES employee,
    kind TEXT NOT NULL, start_date TEXT NOT NULL, days REAL NOT NULL, reason TEXT NOT NULL
);
CREATE TABLE notice (
    number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, user_id TEXT NOT NULL REFERENCES employee,
    mentor TEXT NOT NULL
);
"""

_EMPLOYEES: tuple[tuple[str, str, EmployeeType, str | None], ...] = (
    ("u1001", "王芳", "regular", None),
    ("u1002", "李强", "regular", None),
    ("u1003", "张敏", "regular", None),
    ("u1004", "陈晨", "intern", "u1001"),
    ("u1005", "赵雷", "intern", "u1002"),
    ("u1006", "孙丽", "contractor", None),
    ("u2001", "Alice Carter", "regular", None),
    ("u2002", "Ben Okafor", "regular", None),
    ("u2003", "Chloe Martin", "regular", None),
    ("u2004", "Diego Ruiz", "intern", "u2001"),
    ("u2005", "Emma Novak", "intern", None),
    ("u2006", "Frank Weber", "contractor", None),
)

_BALANCES: dict[str, dict[Kind, float]] = {
    "u1001": {"annual": 10, "sick": 12, "personal": 3},
    "u1002": {"annual": 0, "sick": 5, "personal": 0.5},
    "u1003": {"annual": 2.5, "sick": 10, "personal": 1},
    "u2001": {"annual": 15, "sick": 10, "personal": 3},
    "u2002": {"annual": 0.5, "sick": 0, "personal": 2},
    "u2003": {"annual": 5, "sick": 8.5, "personal": 0},
}


class Employee(TypedDict):
    """An employee; `mentor` is the user id of the mentor of an intern, empty where there is none."""

    user_id: str
    name: str
    type: EmployeeType
    mentor: str


class Balance(TypedDict):
    """The days that are left."""

    days: float


class Filed(TypedDict):
    """A leave request that is on file."""

    request_id: str
    status: Literal["ok"]


class Notice(TypedDict):
    """A message that a mentor was sent."""

    notice_id: str
    mentor: str


@tool(name="hr.get_employee", effect="read")
def get_employee(user_id: str) -> Employee:
    """Look up an employee.

    Args:
        user_id: The employee's user id.
    """
    with _database() as database:
        return _employee(database, user_id)


@tool(name="hr.leave_balance", effect="read")
def leave_balance(user_id: str, kind: Kind) -> Balance:
    """How many days of leave of one kind an employee has left.

    Args:
        user_id: The employee's user id.
        kind: The kind of leave.
    """
    with _database() as database:
        _employee(database, user_id)
        return {"days": _days_left(database, user_id, kind)}


@tool(name="hr.submit_leave", effect="write", idempotent=True)
def submit_leave(
    user_id: str, kind: Kind, start_date: str, days: float, reason: str, *, idempotency_key: str
) -> Filed:
    """File a leave request and take its days off the balance.

    Args:
        user_id: The employee's user id.
        kind: The kind of leave.
        start_date: The first day, in ISO 8601.
        days: The number of working days; half days are .5.
        reason: The reason, in one sentence.
    """
    _refuse_wrong(start_date, days, reason)
    asked = (user_id, kind, start_date, days)
    with _database(write=True) as database:
        _employee(database, user_id)
        filed = database.execute(
            "SELECT number, user_id, kind, start_date, days FROM request WHERE key = ?", (idempotency_key,)
        ).fetchone()
        if filed is not None:
            if filed[1:] != asked:
                raise ToolError(
                    "key_conflict",
                    "this idempotency key has already filed another request",
                    zh="该幂等键已用于另一份申请",
                )
            return {"request_id": f"LR-{filed[0]:05}", "status": "ok"}
        left = _days_left(database, user_id, kind)
        if left < days:
            raise ToolError(
                "insufficient_balance",
                f"{left:g} days of {kind} leave are left, not {days:g}",
                zh=f"{_KINDS[kind]}只剩 {left:g} 天，不足 {days:g} 天",
            )
        database.execute(
            "UPDATE balance SET days = days - ? WHERE user_id = ? AND kind = ?", (days, user_id, kind)
        )
        number = database.execute(
            "INSERT INTO request (key, user_id, kind, start_date, days, reason) VALUES (?, ?, ?, ?, ?, ?)",
            (idempotency_key, *asked, reason.strip()),
        ).lastrowid
    return {"request_id": f"LR-{number:05}", "status": "ok"}


@tool(name="hr.notify_mentor", effect="write", idempotent=True)
def notify_mentor(user_id: str, *, idempotency_key: str) -> Notice:
    """Tell the mentor of an intern that the intern asks for leave.

    Args:
        user_id: The intern's user id.
    """
    with _database(write=True) as database:
        mentor = _employee(database, user_id)["mentor"]
        if not mentor:
            raise ToolError("no_mentor", f"{user_id} has no mentor", zh=f"{user_id} 没有导师")
        database.execute(
            "INSERT INTO notice (key, user_id, mentor) VALUES (?, ?, ?) ON CONFLICT (key) DO NOTHING",
            (idempotency_key, user_id, mentor),
        )
        number, told = database.execute(
            "SELECT number, mentor FROM notice WHERE key = ?", (idempotency_key,)
        ).fetchone()
    return {"notice_id": f"NT-{number:05}", "mentor": told}


def _refuse_wrong(start_date: str, days: float, reason: str) -> None:
    try:
        date.fromisoformat(start_date)
    except ValueError as error:
        raise ToolError(
            "invalid_date",
            f"{start_date!r} is not a date in ISO 8601",
            zh=f"“{start_date}”不是 ISO 8601 日期",
        ) from error
    if not 0 < days <= 366 or days % 0.5:
        raise ToolError(
            "invalid_days",
            f"leave is taken in whole and half days, not {days:g}",
            zh=f"请假以整天或半天计，不能是 {days:g} 天",
        )
    if not reason.strip():
        raise ToolError("no_reason", "a leave request needs a reason", zh="请假申请需要事由")


def _employee(database: sqlite3.Connection, user_id: str) -> Employee:
    row = database.execute(
        "SELECT user_id, name, type, coalesce(mentor, '') FROM employee WHERE user_id = ?", (user_id,)
    ).fetchone()
    if row is None:
        raise ToolError("unknown_employee", f"there is no employee {user_id!r}", zh=f"没有员工 {user_id}")
    return {"user_id": row[0], "name": row[1], "type": row[2], "mentor": row[3]}


def _days_left(database: sqlite3.Connection, user_id: str, kind: str) -> float:
    row = database.execute(
        "SELECT days FROM balance WHERE user_id = ? AND kind = ?", (user_id, kind)
    ).fetchone()
    if row is None:
        raise ToolError(
            "no_balance",
            f"{user_id} has no account for {kind} leave",
            zh=f"{user_id} 没有{_KINDS.get(kind, kind)}额度",
        )
    return float(row[0])


@contextmanager
def _database(*, write: bool = False) -> Iterator[sqlite3.Connection]:
    """The HR system, as one transaction: kept when the block ends, undone when it raises."""
    path = Path(os.environ.get("LEAVE_DB") or Path(".sopwith") / "leave.db")
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path, timeout=10, isolation_level=None)) as database:
        database.execute("PRAGMA foreign_keys = ON")
        _make(database)
        database.execute("BEGIN IMMEDIATE" if write else "BEGIN")
        with database:
            yield database


def _make(database: sqlite3.Connection) -> None:
    if database.execute("PRAGMA user_version").fetchone()[0]:
        return
    database.execute("BEGIN IMMEDIATE")
    with database:
        if database.execute("PRAGMA user_version").fetchone()[0]:
            return  # another process was faster
        for statement in filter(str.strip, _TABLES.split(";")):
            database.execute(statement)
        database.executemany("INSERT INTO employee VALUES (?, ?, ?, ?)", _EMPLOYEES)
        rows = [(user_id, kind, days) for user_id, kinds in _BALANCES.items() for kind, days in kinds.items()]
        database.executemany("INSERT INTO balance VALUES (?, ?, ?)", rows)
        database.execute("PRAGMA user_version = 1")
