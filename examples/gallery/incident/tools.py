"""The tools of the incident procedure: services, their errors and releases, and incidents in one SQLite file.

The file is `incident.db` in the folder that the environment variable EXAMPLE_DATA names, by default `.sopwith`.
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

Cause = Literal["bad_release", "out_of_memory", "unknown"]

_SCHEMA = """
CREATE TABLE service (name TEXT PRIMARY KEY, error_rate REAL NOT NULL, version TEXT NOT NULL, before TEXT NOT NULL);
CREATE TABLE error (service TEXT NOT NULL REFERENCES service, at TEXT NOT NULL, text TEXT NOT NULL);
CREATE TABLE incident (
    number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, service TEXT NOT NULL REFERENCES service, title TEXT NOT NULL,
    cause TEXT
);
CREATE TABLE measure (key TEXT PRIMARY KEY, service TEXT NOT NULL, what TEXT NOT NULL);
"""

_ROWS = """
INSERT INTO service VALUES
    ('checkout', 0.34, '4.2.0', '4.1.9'), ('search', 0.12, '1.8.3', '1.8.2'), ('accounts', 0.0, '9.0.1', '9.0.0');
INSERT INTO error VALUES
    ('checkout', '10:05', 'TypeError in release 4.2.0: cart.total is not a function'),
    ('checkout', '10:06', 'TypeError in release 4.2.0: cart.total is not a function'),
    ('search', '10:01', 'worker 3 was killed: out of memory');
PRAGMA user_version = 1;
"""


class Release(TypedDict):
    """The version that runs now, and the one before."""

    version: str
    before: str


class Incident(TypedDict):
    """An incident that is on file."""

    incident_id: str
    service: str


class Measure(TypedDict):
    """What was done to a service."""

    done: str


class Health(TypedDict):
    """The share of requests that fail, 0 to 1."""

    error_rate: float


class Closed(TypedDict):
    """An incident that is closed."""

    status: Literal["closed"]


@tool(name="ops.services", effect="read")
def services() -> list[str]:
    """The services that we run."""
    with _database() as database:
        return [row[0] for row in database.execute("SELECT name FROM service ORDER BY name")]


@tool(name="ops.errors", effect="read")
def errors(service: str) -> list[str]:
    """The latest errors of a service.

    Args:
        service: The name of the service.
    """
    with _database() as database:
        rows = database.execute("SELECT at, text FROM error WHERE service = ? ORDER BY at", (service,))
        return [f"{at} {text}" for at, text in rows]


@tool(name="ops.releases", effect="read")
def releases(service: str) -> Release:
    """The latest releases of a service.

    Args:
        service: The name of the service.
    """
    with _database() as database:
        row = database.execute("SELECT version, before FROM service WHERE name = ?", (service,)).fetchone()
    if row is None:
        raise ToolError("unknown_service", f"there is no service {service!r}")
    return {"version": row[0], "before": row[1]}


@tool(name="ops.open_incident", effect="write", idempotent=True)
def open_incident(service: str, title: str, *, idempotency_key: str) -> Incident:
    """Open an incident.

    Args:
        service: The service in trouble.
        title: What is wrong, in at most ten words.
    """
    with _database() as database:
        database.execute(
            "INSERT OR IGNORE INTO incident (key, service, title) VALUES (?, ?, ?)",
            (idempotency_key, service, title),
        )
        number = database.execute("SELECT number FROM incident WHERE key = ?", (idempotency_key,)).fetchone()[
            0
        ]
    return {"incident_id": f"INC-{number:05}", "service": service}


@tool(name="ops.roll_back", effect="write", idempotent=True)
def roll_back(service: str, *, idempotency_key: str) -> Measure:
    """Put the release before back into service.

    Args:
        service: The name of the service.
    """
    return _act(service, "roll back", "version = before, error_rate = 0.0", idempotency_key)


@tool(name="ops.restart", effect="write", idempotent=True)
def restart(service: str, *, idempotency_key: str) -> Measure:
    """Restart a service.

    Args:
        service: The name of the service.
    """
    return _act(service, "restart", "error_rate = 0.002", idempotency_key)


@tool(name="ops.health", effect="read")
def health(service: str) -> Health:
    """How a service is doing.

    Args:
        service: The name of the service.
    """
    with _database() as database:
        return {
            "error_rate": database.execute(
                "SELECT error_rate FROM service WHERE name = ?", (service,)
            ).fetchone()[0]
        }


@tool(name="ops.close_incident", effect="write", idempotent=True)
def close_incident(incident_id: str, cause: Cause) -> Closed:
    """Close an incident. Closing twice changes nothing.

    Args:
        incident_id: The incident's number.
        cause: What the cause was.
    """
    with _database() as database:
        number = int(incident_id.removeprefix("INC-"))
        database.execute("UPDATE incident SET cause = ? WHERE number = ?", (cause, number))
    return {"status": "closed"}


def _act(service: str, what: str, change: str, key: str) -> Measure:
    """Do something to a service, once."""
    with _database() as database:
        if database.execute("INSERT OR IGNORE INTO measure VALUES (?, ?, ?)", (key, service, what)).rowcount:
            database.execute(f"UPDATE service SET {change} WHERE name = ?", (service,))
    return {"done": what}


@contextmanager
def _database() -> Iterator[sqlite3.Connection]:
    """The operations centre, as one transaction."""
    path = Path(os.environ.get("EXAMPLE_DATA", ".sopwith")) / "incident.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path, timeout=10, isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        with database:
            if not database.execute("PRAGMA user_version").fetchone()[0]:
                for statement in (_SCHEMA + _ROWS).split(";"):
                    database.execute(statement)
            yield database
