"""The tools of the supplier check: a company registry, a sanctions list, certificates and cases in one SQLite file.

The file is `compliance.db` in the folder that the environment variable EXAMPLE_DATA names, by default `.sopwith`.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import Literal

from typing_extensions import TypedDict

from sopwith.tools import ToolError, tool

Verdict = Literal["pass", "conditional", "reject"]
REQUIRED = ("license", "tax", "quality")

_SCHEMA = """
CREATE TABLE company (
    supplier TEXT PRIMARY KEY, name TEXT NOT NULL, place TEXT NOT NULL, head TEXT NOT NULL, scope TEXT NOT NULL,
    status TEXT NOT NULL
);
CREATE TABLE sanction (name TEXT NOT NULL, place TEXT NOT NULL, head TEXT NOT NULL);
CREATE TABLE certificate (supplier TEXT NOT NULL, kind TEXT NOT NULL, until TEXT NOT NULL);
CREATE TABLE review (
    number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, supplier TEXT NOT NULL, verdict TEXT NOT NULL
);
"""

_ROWS = """
INSERT INTO company VALUES
    ('S-201', '宏远显示', '苏州', '周立', '显示器制造', 'active'),
    ('S-202', '海通贸易', '上海', '王伟', '贸易', 'active'),
    ('S-203', '恒达电子', '深圳', '何敏', '电子元件', 'revoked'),
    ('S-204', '北方仪器', '沈阳', '杜宁', '仪器仪表', 'active');
INSERT INTO sanction VALUES ('海通贸易', '吉隆坡', 'Tan Wei'), ('北方仪器', '沈阳', '杜宁');
INSERT INTO certificate VALUES
    ('S-201', 'license', '2030-01-01'), ('S-201', 'tax', '2030-01-01'), ('S-201', 'quality', '2030-01-01'),
    ('S-202', 'license', '2030-01-01'), ('S-202', 'tax', '2030-01-01'), ('S-202', 'quality', '2026-04-01');
PRAGMA user_version = 1;
"""


class Company(TypedDict):
    """A company as it is registered."""

    name: str
    place: str
    head: str
    scope: str
    status: Literal["active", "revoked"]


class Entry(TypedDict):
    """An entry of the sanctions list."""

    name: str
    place: str
    head: str


class Papers(TypedDict):
    """How many required certificates are missing or out of date, and how many end within ninety days."""

    missing: int
    expiring: int


class Case(TypedDict):
    """A review that is on file."""

    case_id: str
    verdict: Verdict


@tool(name="risk.registry", effect="read")
def registry(supplier: str) -> Company:
    """Look a supplier up in the company registry.

    Args:
        supplier: The supplier's number, such as S-201.
    """
    with _database() as database:
        row = database.execute(
            "SELECT name, place, head, scope, status FROM company WHERE supplier = ?", (supplier,)
        ).fetchone()
    if row is None:
        raise ToolError("unknown_supplier", f"没有供应商 {supplier}")
    return {"name": row[0], "place": row[1], "head": row[2], "scope": row[3], "status": row[4]}


@tool(name="risk.sanctions", effect="read")
def sanctions(name: str) -> list[Entry]:
    """The entries of the sanctions list with a name.

    Args:
        name: The name of the company.
    """
    with _database() as database:
        rows = database.execute("SELECT name, place, head FROM sanction WHERE name = ?", (name,))
        return [{"name": row[0], "place": row[1], "head": row[2]} for row in rows]


@tool(name="risk.certificates", effect="read")
def certificates(supplier: str, today: str) -> Papers:
    """Whether a supplier's certificates are complete.

    Args:
        supplier: The supplier's number.
        today: The day of the review, in ISO 8601.
    """
    with _database() as database:
        rows = database.execute("SELECT kind, until FROM certificate WHERE supplier = ?", (supplier,))
        valid = {kind: until for kind, until in rows if until >= today}
    soon = (date.fromisoformat(today) + timedelta(days=90)).isoformat()
    return {
        "missing": sum(kind not in valid for kind in REQUIRED),
        "expiring": sum(valid.get(kind, "9999") < soon for kind in REQUIRED),
    }


@tool(name="risk.file_case", effect="write", idempotent=True)
def file_case(supplier: str, verdict: Verdict, *, idempotency_key: str) -> Case:
    """Put a review on file.

    Args:
        supplier: The supplier's number.
        verdict: What the review found.
    """
    with _database() as database:
        database.execute(
            "INSERT OR IGNORE INTO review (key, supplier, verdict) VALUES (?, ?, ?)",
            (idempotency_key, supplier, verdict),
        )
        number = database.execute("SELECT number FROM review WHERE key = ?", (idempotency_key,)).fetchone()[0]
    return {"case_id": f"HG-{number:05}", "verdict": verdict}


@contextmanager
def _database() -> Iterator[sqlite3.Connection]:
    """The registers, as one transaction."""
    path = Path(os.environ.get("EXAMPLE_DATA", ".sopwith")) / "compliance.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path, timeout=10, isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        with database:
            if not database.execute("PRAGMA user_version").fetchone()[0]:
                for statement in (_SCHEMA + _ROWS).split(";"):
                    database.execute(statement)
            yield database
