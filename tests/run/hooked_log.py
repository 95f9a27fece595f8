"""A log in memory that lets a test in before each append."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sopwith import MemoryLog
from sopwith.ir.event import Event


class HookedLog(MemoryLog):
    """Calls `before` with what is about to be appended: it may wait, append something else first, or raise."""

    async def before(self, run: str, events: Sequence[Event], *, durable: bool) -> None:
        """What a test does here."""

    async def append(
        self,
        run: str,
        events: Sequence[Event],
        blobs: Mapping[str, bytes] | None = None,
        *,
        durable: bool = False,
    ) -> str:
        """As `Log.append`, after `before`."""
        await self.before(run, events, durable=durable)
        return await super().append(run, events, blobs, durable=durable)

    async def rival(self, run: str, events: Sequence[Event]) -> None:
        """Append as somebody else would, unhooked."""
        await super().append(run, events)
