"""The runs that have called others: as they are now, and whether they still wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sopwith.ir.event import Event
from sopwith.log.port import Log
from sopwith.run.fold import begin, fold
from sopwith.run.state import State
from sopwith.run.stored_run import no_run

KEPT = 64
"""So many callers are kept, so that of a long log only what is new is read."""


@dataclass(frozen=True, slots=True)
class Callers:
    """The runs of one log that have called others, as they are now."""

    log: Log
    _kept: dict[str, tuple[list[Event], State]] = field(default_factory=dict[str, tuple[list[Event], State]])

    async def wait_for(self, called: State) -> bool:
        """Whether all callers of a run wait for exactly that run, up to the first one.

        A run asks this when its own last event is in the log, and a caller that gives a run up writes that down before
        it looks for it: so one of the two sees the other.
        """
        while called.parent is not None:
            found = await self._now(called.parent)
            if found is None or found[1].outcome is not None or found[1].stopping:
                return False
            if called.run not in found[1].children:
                return False
            called = found[1]
        return True

    async def read(self, run: str) -> tuple[list[Event], State]:
        """The events of a run that has called others, and the state after them. Raises `UserError` where there is no
        such run."""
        found = await self._now(run)
        if found is None:
            raise no_run(run)
        return list(found[0]), found[1]

    async def _now(self, run: str) -> tuple[Sequence[Event], State] | None:
        kept = self._kept.get(run)
        events, state = ([], None) if kept is None else kept
        new = await self.log.read(run, len(events))
        for event in new:
            state = begin(event) if state is None else fold(state, event)
        if state is None:
            return None
        found = ([*events, *new] if new else events, state)
        self._kept.pop(run, None)
        self._kept[run] = found
        if len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]
        return found
