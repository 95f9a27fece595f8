"""The journal of one driven run: events are made, folded, shown to subscribers, and appended in batches."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from typing import Any

from sopwith.ir.event import Body, Event, Phase, PhaseEntered
from sopwith.ir.value import Json, digest
from sopwith.log.port import Log
from sopwith.run.fold import begin, fold
from sopwith.run.preview import THRESHOLD, as_stored, is_long, preview
from sopwith.run.state import State

_LOGGER = logging.getLogger("sopwith")

Subscriber = Callable[[Event, State], None]
"""Called with every event as it happens, and the state after it."""

Clock = Callable[[], int]
"""Microseconds since 1970 UTC."""

BATCH = 64
"""So many events are appended at the latest when a step ends."""

BATCH_SECONDS = 0.05
"""So long an event waits at most to be appended, also while a model or a tool is at work."""


class Journal:
    """Makes the events of one run. `events` are those made here, without their hashes; `flush` appends the new ones.

    The events of steps that only read are appended together: `BATCH` of them, or those of the last `BATCH_SECONDS`.
    What a crash can lose is only what may be done again.
    """

    def __init__(
        self, log: Log, clock: Clock, subscribers: Sequence[Subscriber], run: str, task: str
    ) -> None:
        self.run = run
        self.task = task
        self._log = log
        self._clock = clock
        self._subscribers = list(subscribers)
        self._state: State | None = None
        self.events: list[Event] = []
        self.head = ""
        """The hash of the last event that was appended here."""
        self._appended = 0
        """How many of `events` are in the log."""
        self._blobs: dict[str, bytes] = {}
        self._known: dict[str, bytes] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._appending = asyncio.Lock()
        self._sync = False
        """Somebody waits for what is pending to be synced: whoever appends it next does so."""
        self._late: asyncio.Task[None] | None = None

    @property
    def state(self) -> State:
        """The state after the last event, appended or not."""
        if self._state is None:
            raise ValueError("the run has no event yet")
        return self._state

    def take_up(self, state: State) -> None:
        """Go on from a state that was folded from stored events."""
        self._state = state

    def emit(self, body: Body, cause: int | None = None, step: str | None = None) -> int:
        """One more event, at the phase of the state and at `step` (by default the step instance of the state).

        Returns its seq. Time never runs backwards within a run, whatever the clock does.
        """
        state = self._state
        at = self._clock()
        if state is None:
            event = Event(self.task, self.run, 1, at, Phase.RECEIVE, None, cause, body)
            state = begin(event)
        else:
            cursor = state.cursor
            if step is None and cursor is not None and cursor.step:
                step = cursor.instance
            phase = body.name if type(body) is PhaseEntered else state.phase
            at = at if at > state.at else state.at
            event = Event(self.task, self.run, state.seq + 1, at, phase, step, cause, body)
            state = fold(state, event)
        self._state = state
        self.events.append(event)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(BATCH_SECONDS, self._flush_late)
        if self._subscribers:
            self._tell(event, state)
        return event.seq

    def _tell(self, event: Event, state: State) -> None:
        """Show an event to the subscribers. One that fails is dropped: who watches a run cannot change it."""
        for subscriber in list(self._subscribers):
            try:
                subscriber(event, state)
            except Exception as error:
                self._subscribers.remove(subscriber)
                _LOGGER.warning("a subscriber failed with %s and is dropped", type(error).__name__)

    def keep(self, data: bytes, name: str | None = None) -> str:
        """Keep `data` as a blob, to be appended with the next events. Returns its digest."""
        key = name or digest(data)
        if key not in self._known:
            self._known[key] = data
            self._blobs[key] = data
        return key

    def stored(self, value: Json, threshold: int = THRESHOLD) -> dict[str, Any]:
        """How a (redacted) value goes into an event: itself, or its preview with a blob and a size."""
        if not is_long(value, threshold):
            return {"value": value}
        text = as_stored(value)
        return {"value": preview(value, threshold), "blob": self.keep(text.encode()), "size": len(text)}

    async def load(self, blobs: Sequence[str]) -> None:
        """Read blobs of earlier events, so that `blob` finds them."""
        for name in blobs:
            if name not in self._known:
                self._known[name] = await self._log.blob(name)

    def blob(self, name: str) -> bytes:
        """The bytes of a blob that this run has kept or loaded."""
        return self._known[name]

    async def flush(self, *, durable: bool = False) -> None:
        """Append what is pending. On an error nothing is appended, and nothing is forgotten."""
        self._sync = self._sync or durable
        async with self._appending:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            # A copy: while the log waits for its turn, the run may go on.
            events, blobs = self.events[self._appended :], dict(self._blobs)
            sync, self._sync = self._sync or durable, False
            if events:
                self.head = await self._log.append(self.run, events, blobs, durable=sync)
                self._appended += len(events)
                for name in blobs:
                    del self._blobs[name]

    def drop(self) -> None:
        """Forget what is not appended: somebody else has the run."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        del self.events[self._appended :]

    async def end_step(self) -> None:
        """Append what is pending when it is enough for a batch."""
        if len(self.events) - self._appended >= BATCH:
            await self.flush()

    def _flush_late(self) -> None:
        self._late = asyncio.get_running_loop().create_task(self._try_to_flush())

    async def _try_to_flush(self) -> None:
        # Nothing is forgotten: the driver appends it next, and gets the error.
        with contextlib.suppress(Exception):
            await self.flush()
