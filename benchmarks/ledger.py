"""A ledger in a SQLite file of its own: the world that tools act on, and what is counted when they were killed.

Only the standard library, so that the MCP server that writes to it starts in a moment.
"""

from __future__ import annotations

import os
import sqlite3
import time
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import NamedTuple

_TABLE = """CREATE TABLE IF NOT EXISTS entry (
  id INTEGER PRIMARY KEY, account TEXT NOT NULL, step TEXT NOT NULL, key TEXT NOT NULL, actor TEXT NOT NULL,
  at INTEGER NOT NULL)"""
_ADD = "INSERT INTO entry (account, step, key, actor, at) VALUES (?,?,?,?,?)"


class Entry(NamedTuple):
    """One effect: on which account, by which step, with which key, by whom, and when (ns since 1970)."""

    id: int
    account: str
    step: str
    key: str
    actor: str
    at: int


@dataclass(frozen=True, slots=True)
class Gate:
    """The instant at which a process is to be killed: it says so through the named pipe `pipe` and, with `hold`,
    does nothing more until the process `owner` is gone, or it is killed itself."""

    pipe: str = ""
    instant: str = ""
    hold: bool = False
    owner: int = field(default_factory=os.getpid)

    def reach(self, instant: str) -> None:
        """The process is at `instant`."""
        if instant != self.instant:
            return
        pipe = os.open(self.pipe, os.O_WRONLY)
        os.write(pipe, b"!")
        os.close(pipe)
        while self.hold and _lives(self.owner):
            time.sleep(0.001)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


class Ledger:
    """The ledger at `path`. `actor` is written beside each of its entries."""

    def __init__(self, path: str | Path, actor: str = "", gate: Gate | None = None) -> None:
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.execute(_TABLE)
        self._lock = Lock()  # tools run in threads
        self._actor = actor
        self._gate = gate or Gate()

    def add(self, account: str, step: str, key: str, *, once: bool) -> int:
        """One more entry, committed; its id. With `once` a key that is there already adds nothing."""
        self._gate.reach(f"arrived {step}")
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            known = self._found(key) if once else None
            row = (account, step, key, self._actor, time.time_ns())
            added = 0 if known else self._db.execute(_ADD, row).lastrowid
            self._db.execute("COMMIT")
        self._gate.reach(f"acted {step}")
        return known or added or 0

    def find(self, key: str) -> int | None:
        """The id of the entry with this key."""
        self._gate.reach("asked")
        return self._found(key)

    def balance(self, account: str) -> int:
        """How many entries an account has."""
        return self._db.execute("SELECT count(*) FROM entry WHERE account = ?", (account,)).fetchone()[0]

    def entries(self) -> list[Entry]:
        """Everything that was done, in order."""
        return [Entry(*row) for row in self._db.execute("SELECT * FROM entry ORDER BY id")]

    def close(self) -> None:
        """Release the file."""
        self._db.close()

    def _found(self, key: str) -> int | None:
        row = self._db.execute("SELECT id FROM entry WHERE key = ?", (key,)).fetchone()
        return None if row is None else row[0]
