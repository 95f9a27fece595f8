"""The tools of the expense procedure: invoices, limits and claims in one SQLite file.

The file is `expense.db` in the folder that the environment variable EXAMPLE_DATA names, by default `.sopwith`.
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

Category = Literal["travel", "meal", "office"]

_SCHEMA = """
CREATE TABLE invoice (number TEXT PRIMARY KEY, amount REAL NOT NULL, seller TEXT NOT NULL);
CREATE TABLE spending_limit (category TEXT PRIMARY KEY, amount REAL NOT NULL);
CREATE TABLE claim (
    number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, user_id TEXT NOT NULL,
    invoice TEXT NOT NULL UNIQUE REFERENCES invoice, category TEXT NOT NULL
);
"""

_ROWS = """
INSERT INTO invoice VALUES
    ('FP-2031', 553, '铁路客运'), ('FP-2040', 420, '江南饭庄'), ('FP-2052', 58.5, '文具商店'),
    ('FP-2077', 4860, '远航航空');
INSERT INTO spending_limit VALUES ('travel', 2000), ('meal', 500), ('office', 300);
PRAGMA user_version = 1;
"""


class Invoice(TypedDict):
    """An invoice; `used` says whether a claim has used it already. Amounts are in yuan."""

    number: str
    amount: float
    used: bool


class Limit(TypedDict):
    """What may be claimed without a manager's leave, in yuan."""

    amount: float


class Claim(TypedDict):
    """A claim that is on file."""

    claim_id: str
    amount: float


@tool(name="finance.find_invoice", effect="read")
def find_invoice(number: str) -> Invoice:
    """Look up an invoice.

    Args:
        number: The invoice number, such as FP-2031.
    """
    with _database() as database:
        return _invoice(database, number)


@tool(name="finance.limit", effect="read")
def limit(category: Category) -> Limit:
    """What may be claimed in a category without leave.

    Args:
        category: The category of the expense.
    """
    with _database() as database:
        row = database.execute("SELECT amount FROM spending_limit WHERE category = ?", (category,)).fetchone()
        return {"amount": row[0]}


@tool(name="finance.file_claim", effect="write", idempotent=True)
def file_claim(user_id: str, invoice: str, category: Category, *, idempotency_key: str) -> Claim:
    """File a claim for an invoice, which can be claimed once.

    Args:
        user_id: Who claims.
        invoice: The invoice number.
        category: The category of the expense.
    """
    with _database() as database:
        found = _invoice(database, invoice)
        known = database.execute("SELECT number FROM claim WHERE key = ?", (idempotency_key,)).fetchone()
        if known is None and found["used"]:
            raise ToolError("invoice_used", f"发票 {invoice} 已报销过")
        if known is None:
            known = database.execute(
                "INSERT INTO claim (key, user_id, invoice, category) VALUES (?, ?, ?, ?) RETURNING number",
                (idempotency_key, user_id, invoice, category),
            ).fetchone()
        return {"claim_id": f"BX-{known[0]:05}", "amount": found["amount"]}


def _invoice(database: sqlite3.Connection, number: str) -> Invoice:
    row = database.execute(
        "SELECT amount, EXISTS (SELECT 1 FROM claim WHERE invoice = number) FROM invoice WHERE number = ?",
        (number,),
    ).fetchone()
    if row is None:
        raise ToolError("unknown_invoice", f"没有发票 {number}")
    return {"number": number, "amount": row[0], "used": bool(row[1])}


@contextmanager
def _database() -> Iterator[sqlite3.Connection]:
    """The books, as one transaction."""
    path = Path(os.environ.get("EXAMPLE_DATA", ".sopwith")) / "expense.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path, timeout=10, isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        with database:
            if not database.execute("PRAGMA user_version").fetchone()[0]:
                for statement in (_SCHEMA + _ROWS).split(";"):
                    database.execute(statement)
            yield database
