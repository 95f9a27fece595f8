"""What a store of events is to the engine: append, read, and blobs next to the events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from sopwith.ir.event import Event

ACCOUNT = "account:"
"""The name of a log that is no run but the account of a principal begins with this."""


def is_listed(name: str, *, accounts: bool) -> bool:
    """Whether a log is in the list of runs, or of accounts. Others with a colon in their id stand beside a run."""
    return name.startswith(ACCOUNT) if accounts else ":" not in name


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run in a list: `status` is `running`, `suspended` or the kind of its outcome; µs since 1970.

    `last_at` is None where the last events are damaged: whoever reads the run is told of it.
    """

    run: str
    task: str
    procedure_id: str
    status: str
    events: int
    started_at: int
    last_at: int | None


class Log(Protocol):
    """An append-only store of events, by run. One contract suite holds for all of them."""

    async def append(
        self,
        run: str,
        events: Sequence[Event],
        blobs: Mapping[str, bytes] | None = None,
        *,
        durable: bool = False,
    ) -> str:
        """Append `events`, whose seqs follow the last stored one without a gap, in one transaction.

        `blobs` are bytes by digest. Returns the hash of the last event. With `durable` it is synced to disk.
        Raises `LogConflict` when the run has moved on, `ValueRefused` for a value that would not come back,
        `LogError` when nothing can be written (disk full, locked); then nothing of the batch is stored.
        """
        ...

    async def read(self, run: str, after: int = 0) -> Sequence[Event]:
        """The events of a run with `seq > after`, in order, with their hashes. An unknown run has none."""
        ...

    async def runs(self, limit: int = 100, *, accounts: bool = False) -> Sequence[RunRow]:
        """The latest runs, newest first; or with `accounts` the latest accounts of principals instead.

        A log with a colon in its id stands beside a run, and is not listed.
        """
        ...

    async def blob(self, digest: str) -> bytes:
        """The bytes stored under a digest. Raises `LogError` where there are none."""
        ...

    async def close(self) -> None:
        """Release the store. May be called twice."""
        ...
