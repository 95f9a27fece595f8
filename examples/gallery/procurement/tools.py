"""The tools of the purchase procedure: a catalogue, quotes and orders in one SQLite file.

The file is `procurement.db` in the folder that the environment variable EXAMPLE_DATA names, by default `.sopwith`.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from typing_extensions import TypedDict

from sopwith.tools import ToolError, tool

_SCHEMA = """
CREATE TABLE article (article TEXT PRIMARY KEY, title TEXT NOT NULL);
CREATE TABLE price (
    supplier TEXT NOT NULL, article TEXT NOT NULL REFERENCES article, each REAL NOT NULL, stock INTEGER NOT NULL
);
CREATE TABLE purchase (
    number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, supplier TEXT NOT NULL, article TEXT NOT NULL,
    pieces INTEGER NOT NULL, total REAL NOT NULL
);
"""

_ROWS = """
INSERT INTO article VALUES ('monitor', '27 inch monitor'), ('stand', 'measuring stand'),
    ('cable', 'network cable, 2 m');
INSERT INTO price VALUES
    ('S-201', 'monitor', 189, 400), ('S-202', 'monitor', 205, 50), ('S-203', 'monitor', 150, 5),
    ('S-204', 'stand', 640, 12), ('S-202', 'cable', 4.5, 5000);
PRAGMA user_version = 1;
"""


class Article(TypedDict):
    """Goods that can be bought."""

    article: str
    title: str


class Quote(TypedDict):
    """What a supplier wants for the whole lot, in euros."""

    supplier: str
    total: float


class Order(TypedDict):
    """An order that was placed."""

    order_id: str
    total: float


@tool(name="buy.catalogue", effect="read")
def catalogue() -> list[Article]:
    """The goods that can be bought."""
    with _database() as database:
        rows = database.execute("SELECT article, title FROM article ORDER BY article")
        return [{"article": article, "title": title} for article, title in rows]


@tool(name="buy.suppliers", effect="read")
def suppliers(article: str) -> list[str]:
    """The numbers of the suppliers that have an article.

    Args:
        article: The article.
    """
    with _database() as database:
        rows = database.execute("SELECT supplier FROM price WHERE article = ? ORDER BY supplier", (article,))
        return [row[0] for row in rows]


@tool(name="buy.quote", effect="read")
def quote(supplier: str, article: str, pieces: int) -> Quote:
    """Ask a supplier for a quote.

    Args:
        supplier: The supplier's number.
        article: The article.
        pieces: How many.
    """
    with _database() as database:
        each, stock = database.execute(
            "SELECT each, stock FROM price WHERE supplier = ? AND article = ?", (supplier, article)
        ).fetchone()
    if stock < pieces:
        raise ToolError("out_of_stock", f"{supplier} has only {stock} pieces of {article}")
    return {"supplier": supplier, "total": round(each * pieces, 2)}


@tool(name="buy.cheapest", effect="read")
def cheapest(quotes: list[Quote]) -> Quote:
    """The quote with the lowest total; of equal ones the first.

    Args:
        quotes: At least one quote.
    """
    return min(quotes, key=lambda quote: quote["total"])


@tool(name="buy.order", effect="irreversible", idempotent=True)
def order(supplier: str, article: str, pieces: int, total: float, *, idempotency_key: str) -> Order:
    """Place an order, once.

    Args:
        supplier: The supplier's number.
        article: The article.
        pieces: How many.
        total: The price of the whole lot, in euros.
    """
    with _database() as database:
        database.execute(
            "INSERT OR IGNORE INTO purchase (key, supplier, article, pieces, total) VALUES (?, ?, ?, ?, ?)",
            (idempotency_key, supplier, article, pieces, total),
        )
        number = database.execute("SELECT number FROM purchase WHERE key = ?", (idempotency_key,)).fetchone()[
            0
        ]
    return {"order_id": f"PO-{number:05}", "total": total}


@contextmanager
def _database() -> Iterator[sqlite3.Connection]:
    """The purchase ledger, as one transaction."""
    path = Path(os.environ.get("EXAMPLE_DATA", ".sopwith")) / "procurement.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path, timeout=10, isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        with database:
            if not database.execute("PRAGMA user_version").fetchone()[0]:
                for statement in (_SCHEMA + _ROWS).split(";"):
                    database.execute(statement)
            yield database
