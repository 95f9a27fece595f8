"""The tools of the report procedure: sales and published reports in one SQLite file.

The file is `report.db` in the folder that the environment variable EXAMPLE_DATA names, by default `.sopwith`.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal

from typing_extensions import TypedDict

from sopwith.tools import tool

By = Literal["region", "product"]

_SCHEMA = """
CREATE TABLE month (month TEXT PRIMARY KEY, closed INTEGER NOT NULL);
CREATE TABLE sale (
    month TEXT NOT NULL REFERENCES month, region TEXT NOT NULL, product TEXT NOT NULL, cents INTEGER NOT NULL
);
CREATE TABLE report (
    number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, month TEXT NOT NULL, grouped TEXT NOT NULL, rows TEXT NOT NULL
);
"""

_ROWS = """
INSERT INTO month VALUES ('2026-01', 1), ('2026-02', 1), ('2026-03', 0);
INSERT INTO sale VALUES
    ('2026-01', 'north', 'lamp', 125000), ('2026-02', 'north', 'lamp', 98050), ('2026-02', 'south', 'lamp', 41000),
    ('2026-02', 'south', 'chair', 220000), ('2026-03', 'north', 'chair', 15000);
PRAGMA user_version = 1;
"""


class Books(TypedDict):
    """Whether the books of a month are closed."""

    closed: bool


class Row(TypedDict):
    """What was sold under one heading, in euros."""

    heading: str
    amount: float


class Figures(TypedDict):
    """The sales of a month, in euros."""

    rows: list[Row]
    total: float


class Report(TypedDict):
    """A report that is published."""

    report_id: str
    total: float


@tool(name="data.months", effect="read")
def months() -> list[str]:
    """The months that there are sales for, such as 2026-02."""
    with _database() as database:
        return [row[0] for row in database.execute("SELECT month FROM month ORDER BY month")]


@tool(name="data.books", effect="read")
def books(month: str) -> Books:
    """Whether the books of a month are closed.

    Args:
        month: The month.
    """
    with _database() as database:
        row = database.execute("SELECT closed FROM month WHERE month = ?", (month,)).fetchone()
    return {"closed": row is not None and bool(row[0])}


@tool(name="data.sales", effect="read")
def sales(month: str, by: By) -> Figures:
    """Add up the sales of a month.

    Args:
        month: The month.
        by: What to add them up by.
    """
    with _database() as database:
        found = database.execute(
            f"SELECT {by}, sum(cents) FROM sale WHERE month = ? GROUP BY 1 ORDER BY 1", (month,)
        ).fetchall()
    rows: list[Row] = [{"heading": heading, "amount": cents / 100} for heading, cents in found]
    return {"rows": rows, "total": sum(cents for _, cents in found) / 100}


@tool(name="data.publish", effect="write", idempotent=True)
def publish(month: str, by: By, rows: list[Row], *, idempotency_key: str) -> Report:
    """Publish a report.

    Args:
        month: The month.
        by: What the sales are added up by.
        rows: The figures.
    """
    with _database() as database:
        database.execute(
            "INSERT OR IGNORE INTO report (key, month, grouped, rows) VALUES (?, ?, ?, ?)",
            (idempotency_key, month, by, json.dumps(rows)),
        )
        number = database.execute("SELECT number FROM report WHERE key = ?", (idempotency_key,)).fetchone()[0]
    return {"report_id": f"R-{number:05}", "total": sum(round(row["amount"] * 100) for row in rows) / 100}


@contextmanager
def _database() -> Iterator[sqlite3.Connection]:
    """The warehouse, as one transaction."""
    path = Path(os.environ.get("EXAMPLE_DATA", ".sopwith")) / "report.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path, timeout=10, isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        with database:
            if not database.execute("PRAGMA user_version").fetchone()[0]:
                for statement in (_SCHEMA + _ROWS).split(";"):
                    database.execute(statement)
            yield database
