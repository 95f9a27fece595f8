"""The event log in memory: for tests and trials. It ends with its process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sopwith.ir.event import Event, Phase
from sopwith.log import batch, chain
from sopwith.log.port import RunRow, is_listed
from sopwith.log.status import procedure_of, status_after


class _Row(NamedTuple):
    """An event as it is kept: its body apart, as the bytes that were hashed."""

    seq: int
    at: int
    phase: Phase
    step: str | None
    cause: int | None
    kind: str
    body: bytes
    hash: bytes


@dataclass(slots=True)
class _Run:
    task: str
    procedure_id: str
    status: str = "running"
    head: bytes = chain.GENESIS
    rows: list[_Row] = field(default_factory=list[_Row])


class MemoryLog:
    """A `Log` that keeps its events as the bytes a file would hold, so that it answers as a file would."""

    def __init__(self) -> None:
        self._runs: dict[str, _Run] = {}
        self._blobs: dict[str, bytes] = {}
        self._closed = False

    async def append(
        self,
        run: str,
        events: Sequence[Event],
        blobs: Mapping[str, bytes] | None = None,
        *,
        durable: bool = False,
    ) -> str:
        """As `Log.append`; nothing in memory is `durable`."""
        if self._closed:
            raise batch.closed()
        bodies = batch.encode(events)
        entry = self._runs.get(run)
        batch.check(run, entry and entry.task, len(entry.rows) if entry else 0, events)
        batch.by_digest(blobs)
        for name, data in (blobs or {}).items():
            batch.check_blob(name, data)
        try:
            hashes = chain.links(entry.head if entry else chain.GENESIS, events, bodies)
        except UnicodeEncodeError:
            raise batch.not_text(run) from None
        self._blobs.update(blobs or {})
        if not events:
            return entry.head.hex() if entry else ""
        if entry is None:
            entry = self._runs[run] = _Run(events[0].task, procedure_of(events))
        for (_, _, seq, at, phase, step, cause, content, _), body, own in zip(
            events, bodies, hashes, strict=True
        ):
            entry.rows.append(_Row(seq, at, phase, step, cause, content.kind, body, own))
        entry.head = hashes[-1]
        entry.status = status_after(events) or entry.status
        return entry.head.hex()

    async def read(self, run: str, after: int = 0) -> Sequence[Event]:
        """As `Log.read`."""
        if self._closed:
            raise batch.closed()
        entry = self._runs.get(run)
        if entry is None:
            return []
        return [
            Event(
                entry.task,
                run,
                row.seq,
                row.at,
                row.phase,
                row.step,
                row.cause,
                batch.decode(run, row.seq, row.kind, row.body),
                row.hash.hex(),
            )
            for row in entry.rows[max(after, 0) :]
        ]

    async def runs(self, limit: int = 100, *, accounts: bool = False) -> Sequence[RunRow]:
        """As `Log.runs`."""
        if self._closed:
            raise batch.closed()
        listed = [
            (run, entry) for run, entry in reversed(self._runs.items()) if is_listed(run, accounts=accounts)
        ]
        latest = listed[: max(limit, 0)]
        return [
            RunRow(run, r.task, r.procedure_id, r.status, len(r.rows), r.rows[0].at, r.rows[-1].at)
            for run, r in latest
        ]

    async def blob(self, digest: str) -> bytes:
        """As `Log.blob`."""
        if self._closed:
            raise batch.closed()
        if digest not in self._blobs:
            raise batch.no_blob(digest)
        return self._blobs[digest]

    async def close(self) -> None:
        """Forget everything."""
        self._closed = True
        self._runs.clear()
        self._blobs.clear()
