"""A store that is damaged, read as far as it goes: for looking at it, never for going on with a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from sopwith.errors import LogDamaged, LogError, Text
from sopwith.ir.event import Event, Phase
from sopwith.log import batch
from sopwith.log.audit import status_of
from sopwith.log.port import RunRow, is_listed
from sopwith.log.scan import Scan
from sopwith.log.sqlite import SqliteLog
from sopwith.log.sqlite_file import RESTORE
from sopwith.log.tampering import follows


class CarefulLog:
    """A `Log` for readers, over the store at `path`. Where it is damaged, what can be read is read.

    `damage` names what was met and cannot be read or trusted; of a run, the events before the first such one are given.
    Raises `LogError` as `SqliteLog` does, and `LogDamaged` where nothing at all can be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damage: list[Text] = []
        self._log: SqliteLog | None = None
        self._opened: Scan | None = None
        try:
            self._log = SqliteLog(path)
        except LogDamaged as error:
            self._scan(error)

    async def append(
        self,
        run: str,
        events: Sequence[Event],
        blobs: Mapping[str, bytes] | None = None,
        *,
        durable: bool = False,
    ) -> str:
        """Refused: this is for reading."""
        raise LogError(Text(f"{self.path} is open for reading", f"{self.path} 只供读取"), RESTORE)

    async def runs(self, limit: int = 100, *, accounts: bool = False) -> Sequence[RunRow]:
        """As `Log.runs`; of a damaged store the rows that are left, with the events that can be read."""
        if self._log is not None:
            try:
                rows = await self._log.runs(limit, accounts=accounts)
                broken = [row for row in rows if row.last_at is None]
                if not broken:
                    return rows
                for row in broken:
                    self._note(batch.damaged(row.run, row.events).message)
            except LogDamaged as error:
                self._note(error.message)
        scan = self._scan()
        found: list[RunRow] = []
        listed = [run for run in reversed(scan.runs()) if is_listed(run.run, accounts=accounts)]
        for run in listed[: max(limit, 0)]:
            events = scan.events(run)
            last = events[-1].at if events else run.started_at
            status = run.status or status_of(events)[0]
            found.append(
                RunRow(run.run, run.task, run.procedure_id, status, len(events), run.started_at, last)
            )
        return found

    async def read(self, run: str, after: int = 0) -> Sequence[Event]:
        """As `Log.read`; of a damaged run the events up to the first that does not follow."""
        if self._log is not None:
            try:
                return await self._log.read(run, after)
            except LogDamaged as error:
                self._note(error.message)
        scan = self._scan()
        row = next((row for row in scan.runs() if row.run == run), None)
        if row is None:
            return []
        stored = scan.events(row)
        good = follows(row, stored)
        if good < len(stored):
            self._note(batch.damaged(run, good + 1).message)
        return [
            Event(
                row.task, run, event.seq, event.at, Phase(event.phase), event.step, event.cause,
                batch.decode(run, event.seq, event.kind, event.body), event.hash.hex(),
            )
            for event in stored[max(after, 0) : good]
        ]  # fmt: skip

    async def blob(self, digest: str) -> bytes:
        """As `Log.blob`."""
        if self._log is not None:
            try:
                return await self._log.blob(digest)
            except LogDamaged as error:
                self._note(error.message)
        data = self._scan().blob(digest)
        if data is None:
            raise batch.no_blob(digest)
        batch.check_blob(digest, data)
        return data

    async def close(self) -> None:
        """As `Log.close`."""
        if self._log is not None:
            await self._log.close()
        if self._opened is not None:
            self._opened.close()

    def _scan(self, error: LogDamaged | None = None) -> Scan:
        """The raw rows, opened when they are first needed; with what cannot be read of them in `damage`."""
        if self._opened is None:
            try:
                self._opened = Scan(self.path)
            except LogDamaged as worse:
                raise error or worse from None
            self._opened.damage = self.damage
            if error is not None:
                self._note(error.message)
        return self._opened

    def _note(self, said: Text) -> None:
        if said not in self.damage:
            self.damage.append(said)
