"""The watchdog: it looks at the log from outside, and raises alerts also where no driver is alive to do it."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress

from sopwith.errors import LogConflict, SopwithError, Text
from sopwith.guard.alert import Alert, AlertSink
from sopwith.ir.event import AlertRaised, Body, Event, HumanAsked, LeaseTaken
from sopwith.log.port import Log, RunRow
from sopwith.run.arrival import next_time
from sopwith.run.inbox import messages, send
from sopwith.run.journal import Clock
from sopwith.run.lease import holder
from sopwith.run.limits import outlasted
from sopwith.run.state import State
from sopwith.run.stored_run import pinned_book, read_state
from sopwith.run.telling import tell

_LOGGER = logging.getLogger("sopwith.alerts")

ORPHANED = Text("nobody drives the run any more, since {:.0f} s", "运行已无人执行，已过 {:.0f} 秒")
LATE = Text("{} > {:g} s, and its driver has not stopped it", "{} 超过 {:g} 秒，而执行者没有停止它")
EXPIRED = Text("the approval can no longer be given", "批准已过期")
OVERDUE = Text(
    "due for {:.0f} s, and nobody has gone on with it: sopwith wake",
    "已到时间 {:.0f} 秒而无人继续：sopwith wake",
)
GRACE_SECONDS = 60.0
"""So long after its time a run may still be woken by somebody."""
WAITING = Text("a person has been waited for {:.0f} s", "已等待人工 {:.0f} 秒")


class Watchdog:
    """Looks at all runs that have not ended.

    An alert is written into the run's log where nobody drives it, and into its inbox otherwise; it is raised once for
    as long as nothing else happens in the run. `waiting` is how many seconds a person may be waited for; None: forever.
    """

    def __init__(
        self, log: Log, sinks: Sequence[AlertSink], clock: Clock, *, waiting: float | None = None
    ) -> None:
        self._log = log
        self._sinks = tuple(sinks)
        self._clock = clock
        self._waiting = waiting

    async def look(self) -> list[Alert]:
        """Look once at every run. Returns the alerts that are new; a damaged run does not hide the others."""
        raised: list[Alert] = []
        for row in await self._log.runs(_ALL):
            if row.status not in ("running", "suspended"):
                continue
            try:
                raised += await self._look_at(row.run)
            except SopwithError as error:  # damaged, or of a newer version
                raised += await self._unreadable(row, error)
        return raised

    async def _look_at(self, run: str) -> list[Alert]:
        events, state = await read_state(self._log, run)
        now = max(self._clock(), state.at)
        found = list(await self._wrong(events, state, now)) if state.outcome is None else []
        raised: list[Alert] = []
        for code, text in found:
            body = AlertRaised(code=code, message=text)
            if await self._is_new(run, events, code) and await self._write(state, body, now):
                alert = Alert(
                    run, state.task, state.procedure_id, state.cursor and state.cursor.step, now, code, text
                )
                tell(self._sinks, alert)
                raised.append(alert)
        return raised

    async def _unreadable(self, row: RunRow, error: SopwithError) -> list[Alert]:
        """An alert for a run that nobody can read; it is written into its inbox."""
        body = AlertRaised(code="run.unreadable", message=error.message.en)
        with suppress(SopwithError):  # what cannot be written is told again
            told = await messages(self._log, row.run)
            if any(isinstance(m.body, AlertRaised) and m.body.code == body.code for m in told):
                return []
            await send(self._log, row.run, row.task, body, self._clock())
        alert = Alert(row.run, row.task, row.procedure_id, None, self._clock(), body.code, body.message)
        tell(self._sinks, alert)
        return [alert]

    async def _wrong(self, events: Sequence[Event], state: State, now: int) -> Iterator[tuple[str, str]]:
        language = state.language
        if state.suspended_at is not None:
            return self._waits_too_long(events, state, now)
        if holder(state, now) is None:
            said = ORPHANED.in_(language).format((now - state.at) / 1e6)
            return iter([("run.orphaned", said)])
        book = await pinned_book(self._log, events[0].body)
        late = outlasted(book, state, now)
        return ((f"timeout.{scope}", LATE.in_(language).format(scope, limit)) for scope, limit in late)

    def _waits_too_long(self, events: Sequence[Event], state: State, now: int) -> Iterator[tuple[str, str]]:
        asked = next((e.body for e in reversed(events) if isinstance(e.body, HumanAsked)), None)
        waits = state.cursor is not None and state.cursor.question == "approval"
        if waits and asked is not None and asked.expires_at is not None and now > asked.expires_at:
            yield "approval.expired", EXPIRED.in_(state.language)
        at = next_time(state)
        if at is not None and now > at + GRACE_SECONDS * 1e6:
            yield "run.overdue", OVERDUE.in_(state.language).format((now - at) / 1e6)
        waited = (now - (state.suspended_at or now)) / 1e6
        human = state.waiting_for in (None, "human")
        if self._waiting is not None and human and waited > self._waiting:
            yield "run.waiting", WAITING.in_(state.language).format(waited)

    async def _is_new(self, run: str, events: Sequence[Event], code: str) -> bool:
        """Whether something has happened in the run since the same alert was raised."""
        moved = max((e.at for e in events if not isinstance(e.body, AlertRaised | LeaseTaken)), default=0)
        told = (e for e in (*events, *await messages(self._log, run)) if isinstance(e.body, AlertRaised))
        return not any(e.body.code == code and e.at >= moved for e in told)

    async def _write(self, state: State, body: AlertRaised, now: int) -> bool:
        """Write an alert down; False where somebody has taken the run meanwhile, so that nothing is wrong any more."""
        if holder(state, now) is not None:
            await send(self._log, state.run, state.task, body, now)
            return True
        step = state.cursor.instance if state.cursor is not None and state.cursor.step else None
        # An event would make the lease of the dead driver last longer: the run is given free with it.
        bodies: list[Body] = [body]
        if state.lease is not None:
            bodies.insert(0, LeaseTaken(driver=state.lease.driver, seconds=0.0))
        events = [
            Event(state.task, state.run, seq, now, state.phase, step, None, each)
            for seq, each in enumerate(bodies, state.seq + 1)
        ]
        try:
            await self._log.append(state.run, events)
        except LogConflict:
            return False
        return True


_ALL = 2**31 - 1
