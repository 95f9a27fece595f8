"""The runs of a data folder, watched: a table that is drawn again and again, or a line for every change."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from sopwith.cli.store import open_to_read
from sopwith.log.port import RunRow

PAUSE = 0.5
"""Seconds between two looks at the log."""


async def looks(data: Path, limit: int, pause: float = PAUSE) -> AsyncIterator[Sequence[RunRow]]:
    """The latest `limit` runs, the latest first: at once, and again whenever one of them has moved."""
    log = open_to_read(data)
    try:
        before: Sequence[RunRow] | None = None
        while True:
            rows = await log.runs(limit)
            if rows != before:
                yield rows
            before = rows
            await asyncio.sleep(pause)
    finally:
        await log.close()


class Changes:
    """Which rows are new, or have another status, since they were last seen."""

    def __init__(self) -> None:
        self._seen: dict[str, str] = {}

    def of(self, rows: Sequence[RunRow]) -> list[RunRow]:
        """Those of `rows`, the oldest first."""
        found = [row for row in reversed(rows) if self._seen.get(row.run) != row.status]
        self._seen |= {row.run: row.status for row in found}
        return found
