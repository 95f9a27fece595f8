"""The tools of the access procedure: systems, employees and grants in one SQLite file.

The file is `access.db` in the folder that the environment variable EXAMPLE_DATA names, by default `.sopwith`.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal

from typing_extensions import TypedDict

from sopwith.tools import ToolError, tool

Level = Literal["read", "write", "admin"]

_SCHEMA = """
CREATE TABLE system (id TEXT PRIMARY KEY, title TEXT NOT NULL);
CREATE TABLE employee (
    user_id TEXT PRIMARY KEY, name TEXT NOT NULL, active INTEGER NOT NULL, trained INTEGER NOT NULL
);
CREATE TABLE access (
    user_id TEXT NOT NULL REFERENCES employee, system TEXT NOT NULL REFERENCES system, level TEXT NOT NULL,
    PRIMARY KEY (user_id, system)
);
"""

_ROWS = """
INSERT INTO system VALUES
    ('billing', 'Billing database'), ('shop', 'Web shop'), ('wiki', 'Company wiki'), ('crm', 'Customer records');
INSERT INTO employee VALUES
    ('amira', 'Amira Haddad', 1, 1), ('jonas', 'Jonas Lind', 1, 0), ('petra', 'Petra Novak', 0, 1);
PRAGMA user_version = 1;
"""


class System(TypedDict):
    """A system that access can be granted to."""

    id: str
    title: str


class Employee(TypedDict):
    """An employee: still with the company, and through the security training."""

    name: str
    active: bool
    trained: bool


class Grant(TypedDict):
    """The access that somebody has now."""

    system: str
    level: Level


@tool(name="it.list_systems", effect="read")
def list_systems() -> list[System]:
    """The systems that access can be granted to."""
    with _database() as database:
        return [
            {"id": row[0], "title": row[1]}
            for row in database.execute("SELECT id, title FROM system ORDER BY id")
        ]


@tool(name="it.employee", effect="read")
def employee(user_id: str) -> Employee:
    """Look up an employee.

    Args:
        user_id: The login name.
    """
    with _database() as database:
        row = database.execute(
            "SELECT name, active, trained FROM employee WHERE user_id = ?", (user_id,)
        ).fetchone()
    if row is None:
        raise ToolError("unknown_employee", f"there is no employee {user_id!r}")
    return {"name": row[0], "active": bool(row[1]), "trained": bool(row[2])}


@tool(name="it.grant", effect="write", idempotent=True)
def grant(user_id: str, system: str, level: Level) -> Grant:
    """Give somebody access to a system. Granting twice changes nothing.

    Args:
        user_id: The login name.
        system: The id of the system.
        level: The level of access.
    """
    with _database() as database:
        database.execute(
            "INSERT INTO access VALUES (?, ?, ?) ON CONFLICT (user_id, system) DO UPDATE SET level = excluded.level",
            (user_id, system, level),
        )
    return {"system": system, "level": level}


@contextmanager
def _database() -> Iterator[sqlite3.Connection]:
    """The directory, as one transaction."""
    path = Path(os.environ.get("EXAMPLE_DATA", ".sopwith")) / "access.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path, timeout=10, isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        with database:
            if not database.execute("PRAGMA user_version").fetchone()[0]:
                for statement in (_SCHEMA + _ROWS).split(";"):
                    database.execute(statement)
            yield database
