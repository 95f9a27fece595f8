"""Whether a run is still waited for: by the run that has called it, and by all above that one."""

from __future__ import annotations

from dataclasses import dataclass, field

from sopwith.log.port import Log
from sopwith.run.fold import begin, fold
from sopwith.run.state import State

KEPT = 64
"""So many states of callers are kept, so that of a long log only what is new is read."""


@dataclass(frozen=True, slots=True)
class Callers:
    """The runs of one log that have called others, as they are now."""

    log: Log
    _states: dict[str, State] = field(default_factory=dict[str, State])

    async def wait_for(self, called: State) -> bool:
        """Whether all callers of a run wait for exactly that run, up to the first one.

        A run asks this when its own last event is in the log, and a caller that gives a run up writes that down before
        it looks for it: so one of the two sees the other.
        """
        while called.parent is not None:
            caller = await self._state(called.parent)
            if caller is None or caller.outcome is not None or caller.stopping:
                return False
            if called.run not in caller.children:
                return False
            called = caller
        return True

    async def _state(self, run: str) -> State | None:
        state = self._states.pop(run, None)
        for event in await self.log.read(run, 0 if state is None else state.seq):
            state = begin(event) if state is None else fold(state, event)
        if state is not None:
            self._states[run] = state
            if len(self._states) > KEPT:
                del self._states[next(iter(self._states))]
        return state
