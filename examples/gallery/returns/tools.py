"""The tools of the return procedure: a shop's orders and refunds in one SQLite file.

The file is `returns.db` in the folder that the environment variable EXAMPLE_DATA names, by default `.sopwith`.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import date
from pathlib import Path
from typing import Literal

from typing_extensions import TypedDict

from sopwith.tools import ToolError, tool

Reason = Literal["damaged", "wrong_item", "changed_mind", "none_of_these"]
DAYS: dict[str, int] = {"damaged": 30, "wrong_item": 30, "changed_mind": 7}
"""How many days after delivery goods are taken back, by the reason."""
FREIGHT = 12.0
"""What a return costs in yuan; whoever is at fault bears it."""

_SCHEMA = """
CREATE TABLE purchase (
    number TEXT PRIMARY KEY, customer TEXT NOT NULL, goods TEXT NOT NULL, amount REAL NOT NULL, delivered TEXT NOT NULL
);
CREATE TABLE refund (
    number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, purchase TEXT NOT NULL UNIQUE REFERENCES purchase,
    amount REAL NOT NULL
);
"""

_ROWS = """
INSERT INTO purchase VALUES
    ('D1001', 'c-zhou', '外套', 399, '2026-03-01'), ('D1002', 'c-zhou', '玻璃杯', 68, '2026-02-10'),
    ('D1003', 'c-qian', '耳机', 249, '2026-01-05');
PRAGMA user_version = 1;
"""


class Order(TypedDict):
    """An order that was delivered."""

    number: str
    goods: str


class Terms(TypedDict):
    """Whether the goods are taken back, what is refunded in yuan, and who pays the freight."""

    allowed: bool
    amount: float
    freight: Literal["商家", "顾客"]


class Refund(TypedDict):
    """A refund that was made."""

    refund_id: str
    amount: float


@tool(name="shop.orders", effect="read")
def orders(customer: str) -> list[Order]:
    """The delivered orders of a customer.

    Args:
        customer: The customer's id.
    """
    with _database() as database:
        rows = database.execute("SELECT number, goods FROM purchase WHERE customer = ?", (customer,))
        return [{"number": number, "goods": goods} for number, goods in rows]


@tool(name="shop.return_terms", effect="read")
def return_terms(number: str, reason: Reason, today: str) -> Terms:
    """Whether an order can be returned, and what is refunded.

    Args:
        number: The order number.
        reason: Why it is returned.
        today: The day of the request, in ISO 8601.
    """
    with _database() as database:
        row = database.execute(
            "SELECT amount, delivered FROM purchase WHERE number = ?", (number,)
        ).fetchone()
    if row is None:
        raise ToolError("unknown_order", f"没有订单 {number}")
    age = (date.fromisoformat(today) - date.fromisoformat(row[1])).days
    ours = reason != "changed_mind"
    return {
        "allowed": age <= DAYS.get(reason, -1),
        "amount": row[0] if ours else row[0] - FREIGHT,
        "freight": "商家" if ours else "顾客",
    }


@tool(name="shop.refund", effect="irreversible", idempotent=True)
def refund(number: str, amount: float, *, idempotency_key: str) -> Refund:
    """Pay money back for an order, once.

    Args:
        number: The order number.
        amount: How much, in yuan.
    """
    with _database() as database:
        known = database.execute("SELECT number FROM refund WHERE key = ?", (idempotency_key,)).fetchone()
        if (
            known is None
            and database.execute("SELECT 1 FROM refund WHERE purchase = ?", (number,)).fetchone()
        ):
            raise ToolError("refunded", f"订单 {number} 已退过款")
        if known is None:
            known = database.execute(
                "INSERT INTO refund (key, purchase, amount) VALUES (?, ?, ?) RETURNING number",
                (idempotency_key, number, amount),
            ).fetchone()
    return {"refund_id": f"TK-{known[0]:05}", "amount": amount}


@contextmanager
def _database() -> Iterator[sqlite3.Connection]:
    """The shop, as one transaction."""
    path = Path(os.environ.get("EXAMPLE_DATA", ".sopwith")) / "returns.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path, timeout=10, isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        with database:
            if not database.execute("PRAGMA user_version").fetchone()[0]:
                for statement in (_SCHEMA + _ROWS).split(";"):
                    database.execute(statement)
            yield database
