"""Accounts: what the runs of one principal have reserved and used in one window of time.

An account is itself an append-only log, so that compare-and-append makes a reservation atomic between processes. A run
reserves what it may use at most before it starts, and settles when it has ended; until then nobody else may use it. A
run is charged to the window in which it began, also when a person hands it back later. A run that could not be started
gives back what it had reserved.

Who needs room frees that of runs that have ended unsettled, or were never started by a driver that is gone. It takes
the reservation in a name of its own, then looks at the run, then frees it. Who drives a run looks at the account after
its first append (`renew`). So whatever the order, one of the two sees the other: either the run is seen to go on, or
the driver finds another name, and takes the reservation back, or reserves once more. No clock decides who is right.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sopwith.errors import LogConflict, LogError, Text, UserError
from sopwith.guard.budget import LIMITS, PrincipalBudget, narrower, remaining, settle, within_all
from sopwith.guard.vault import Vault
from sopwith.ir.event import Body, BudgetReserved, BudgetSettled, Event, Phase, RunStarted
from sopwith.ir.usage import UNLIMITED, Budget, Usage
from sopwith.log.port import ACCOUNT, Log
from sopwith.run.fold import fold_all
from sopwith.run.journal import Clock, Journal
from sopwith.run.lease import may_start, new_driver
from sopwith.run.redaction import Redaction
from sopwith.run.state import State

_LOGGER = logging.getLogger("sopwith")

_KEPT = 1024
"""So many ledgers are kept at most; another account is read from its beginning again."""


class Holder(NamedTuple):
    """In whose name a reservation stands, and since when (µs since 1970)."""

    driver: str
    at: int


class Settled(NamedTuple):
    """What a run had reserved in all, and its last settlement."""

    budget: Budget
    last: BudgetSettled

    @property
    def used(self) -> Usage:
        """What the run is charged for."""
        return settle(Usage(), self.last.usage, self.budget)

    def whole(self, more: Budget) -> Budget:
        """What the run may use in all where it may use so much `more`."""
        return within_all(self.used, self.last.seconds, more)


_NOBODY = Holder("", 0)
_NOTHING_MORE = Budget.model_validate(dict.fromkeys(LIMITS, 0))


@dataclass(slots=True)
class Ledger:
    """An account, added up to its event `seq`: what runs hold that have not settled, and what the others have used.

    `add` takes it one event further, at the same cost however long the account is.
    """

    limits: Budget = UNLIMITED
    principal: str = ""
    since: int = 0
    until: int = 0
    held: dict[str, Budget] = field(default_factory=dict[str, Budget])
    holders: dict[str, Holder] = field(default_factory=dict[str, Holder])
    settled: dict[str, Settled] = field(default_factory=dict[str, Settled])
    used: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    seq: int = 0
    at: int = 0

    def left(self, limits: Budget) -> Budget:
        """What of `limits` nobody holds and nobody has used."""
        return remaining(limits, self.used, self.seconds, self.held.values())

    def add(self, event: Event) -> None:
        """The next event of the account; one that was added before changes nothing."""
        if event.seq <= self.seq:
            return
        self.seq, self.at = event.seq, event.at
        match event.body:
            case BudgetReserved() as reserved:
                self.limits, self.principal = reserved.limits, reserved.principal
                self.since, self.until = reserved.since, reserved.until
                self.held[reserved.of] = reserved.budget
                self.holders[reserved.of] = Holder(reserved.driver, event.at)
            case BudgetSettled(started=False) as returned:
                self._free(returned.of)
            case BudgetSettled() as last:
                self._settle(last)
            case _:
                pass

    def _free(self, run: str) -> Budget | None:
        self.holders.pop(run, None)
        return self.held.pop(run, None)

    def _settle(self, last: BudgetSettled) -> None:
        earlier, held = self.settled.get(last.of), self._free(last.of)
        if earlier is not None:  # the run has gone on, and has ended once more: its last settlement counts
            budget = earlier.budget if held is None else earlier.whole(held)
            self.used = self.used.since(earlier.used)
            self.seconds -= earlier.last.seconds
        elif held is not None:
            budget = held
        else:
            return
        self.settled[last.of] = now = Settled(budget, last)
        self.used += now.used
        self.seconds = round(self.seconds + last.seconds, 6)


def ledger(events: Iterable[Event]) -> Ledger:
    """The ledger after the events of an account. Pure; the last settlement of a run counts."""
    found = Ledger()
    for event in events:
        found.add(event)
    return found


@dataclass(frozen=True, slots=True)
class Accounts:
    """The accounts in one log. `budget` is that of each principal, None where there is none; `driver` names who drives
    the runs.

    The ledgers of the accounts in use are kept, so that only what is new in an account is read. Nothing depends on
    that they are up to date: an append that does not follow what was read is refused by the log, and tried again.
    """

    log: Log
    vault: Vault
    redaction: Redaction
    clock: Clock
    budget: PrincipalBudget | None
    driver: str = field(default_factory=new_driver)
    _ledgers: dict[str, Ledger] = field(default_factory=dict[str, Ledger], init=False, repr=False)
    """By account; what was used last is last."""

    async def reserve(
        self, principal: str, run: str, asked: Budget, names: Sequence[str] = ()
    ) -> tuple[Budget, str | None]:
        """Reserve `asked` for a run that is about to start, cut to what the principal has left. `names` are secret.

        Returns what the run may use, and the account. Raises `UserError` where a run of this name has reserved before.
        """
        if self.budget is None:
            return asked, None
        size = max(1, round(self.budget.window * 1e6))
        since = self.clock() // size * size
        name = ACCOUNT + self.vault.keyed_hash(f"{principal}\n{size}\n{since}".encode())
        redactor = self.redaction.of(name)
        redactor.learn(names)
        shown = str(redactor.redact(principal))
        while True:
            found = await self._read(name)
            # What is granted follows this event, also where others add to the ledger meanwhile.
            seq = found.seq
            if run in found.held or run in found.settled:
                raise UserError(
                    Text(f"there is a run '{run}' already", f"已有运行“{run}”"),
                    Text("give each run an id of its own", "请为每个运行取不同的编号"),
                )
            granted = narrower(asked, found.left(self.budget.limits))
            reserved = BudgetReserved(
                of=run,
                budget=granted,
                principal=shown,
                limits=self.budget.limits,
                since=since,
                until=since + size,
                driver=self.driver,
            )
            if granted != asked and await self._free(name, found, run):
                continue
            if await self._append(name, found, seq, (reserved,)):
                return granted, name

    async def renew(self, state: State) -> Budget:
        """Make sure that the account holds what the run may use, after it was appended that it begins or goes on.

        Returns what it may use in all: its budget, or less where that had been freed and others have taken of it.
        Where the account is gone nobody knows what is left, and the run may use nothing more.
        """
        name, run = state.account, state.run
        if name is None:
            return state.budget
        while True:
            found = await self._read(name)
            seq, held, earlier = found.seq, found.held.get(run), found.settled.get(run)
            if not found.until:
                return narrower(state.budget, within_all(state.usage, state.seconds, _NOTHING_MORE))
            if held is None:
                asked = remaining(state.budget, *_so_far(state, earlier))
                more = narrower(asked, found.left(found.limits))
                if more != asked and await self._free(name, found, run):
                    continue
                whole = within_all(*_so_far(state, earlier), more)
            else:
                more, whole = held, held if earlier is None else earlier.whole(held)
            allowed = narrower(state.budget, whole)
            if held is not None and found.holders[run].driver == self.driver:
                return allowed
            if await self._append(name, found, seq, (_held(found, run, more, self.driver),)):
                return allowed

    async def settle(self, state: State) -> None:
        """Give back what a run that has ended did not use. Where that cannot be written, the next to need room does."""
        if state.account is None or state.outcome is None:
            return
        settled = _settled(state)
        try:
            while True:
                found = await self._read(state.account)
                known = found.settled.get(state.run)
                if state.run not in found.held and (known is None or known.last == settled):
                    return
                if await self._append(state.account, found, found.seq, (settled,)):
                    return
        except LogError as error:
            _LOGGER.warning("run %s could not settle its account: %s", state.run, error)

    async def give_back(self, journal: Journal, account: str | None) -> None:
        """Give back all that a run has reserved of which nothing could be appended; its id may be used again.

        What `journal` has not appended is dropped. A run that has started keeps its reservation. Where nothing can be
        written, the reservation stands until somebody needs the room.
        """
        if account is None or journal.head:
            return
        journal.drop()
        try:
            if _is_of(await self.log.read(journal.run), account):
                return
            returned = BudgetSettled(of=journal.run, started=False)
            while (found := await self._read(account)).holders.get(
                journal.run, _NOBODY
            ).driver == self.driver:
                if await self._append(account, found, found.seq, (returned,)):
                    return
        except LogError as error:
            _LOGGER.warning("run %s could not give back what it had reserved: %s", journal.run, error)

    async def _free(self, name: str, found: Ledger, but: str) -> bool:
        """Free what runs hold that need it no more, all `but` one; whether the account has to be read again."""
        seq = found.seq
        unneeded = [
            run
            for run, holder in tuple(found.holders.items())
            if run != but and await self._release(name, run, holder) is not None
        ]
        if not unneeded or found.seq != seq:
            return found.seq != seq
        mine = new_driver()  # nobody else's, so that a driver of this process too sees that it was taken
        taken = [_held(found, run, found.held[run], mine) for run in unneeded]
        if await self._append(name, found, seq, taken):
            freed = [body for run in unneeded if (body := await self._release(name, run, None)) is not None]
            if freed:
                await self._append(name, found, seq + len(taken), freed)
        return True

    async def _release(self, name: str, run: str, holder: Holder | None) -> Body | None:
        """How a run leaves its account: it has ended in a process that did not settle, or it was not started and
        `holder`, where there is one, is gone. None where it may need what it holds."""
        events = await self.log.read(run)
        if _is_of(events, name):
            state = fold_all(events)
            return None if state.outcome is None else _settled(state)
        if holder is not None and (not holder.driver or may_start(*holder, self.clock())):
            return None
        return BudgetSettled(of=run, started=False)

    async def _read(self, name: str) -> Ledger:
        """The ledger of an account, with what others have appended since it was last read."""
        found = self._ledgers.pop(name, None)
        if found is None:
            self._drop()
            found = Ledger()
        self._ledgers[name] = found
        for event in await self.log.read(name, after=found.seq):
            found.add(event)
        return found

    def _drop(self) -> None:
        """Make room for one more ledger. Runs also settle in the window after their own; then it is in use no more."""
        now = self.clock()
        while self._ledgers:
            name, oldest = next(iter(self._ledgers.items()))
            if len(self._ledgers) < _KEPT and now < 2 * oldest.until - oldest.since:
                return
            del self._ledgers[name]

    async def _append(self, name: str, found: Ledger, seq: int, bodies: Sequence[Body]) -> bool:
        """Append to an account after its event `seq`. False where somebody else has been faster."""
        at = max(found.at, self.clock())
        made = [
            Event(name, name, seq + i, at, Phase.RECEIVE, None, None, body)
            for i, body in enumerate(bodies, 1)
        ]
        try:
            await self.log.append(name, made, durable=True)
        except LogConflict:
            if not await self.log.read(name, after=seq):  # the account is shorter than it was: begin again
                self._ledgers.pop(name, None)
            return False
        for event in made:
            found.add(event)
        return True


def _is_of(events: Sequence[Event], account: str) -> bool:
    """Whether these are events of the run that has reserved in `account`, and of no other run of the same id."""
    first = events[0].body if events else None
    return isinstance(first, RunStarted) and first.account == account


def _so_far(state: State, earlier: Settled | None) -> tuple[Usage, float]:
    """What a run has used, as its account has it where it has settled before."""
    return (state.usage, state.seconds) if earlier is None else (earlier.used, earlier.last.seconds)


def _held(found: Ledger, run: str, budget: Budget, driver: str) -> BudgetReserved:
    return BudgetReserved(
        of=run,
        budget=budget,
        principal=found.principal,
        limits=found.limits,
        since=found.since,
        until=found.until,
        driver=driver,
    )


def _settled(state: State) -> BudgetSettled:
    return BudgetSettled(of=state.run, usage=state.usage, seconds=round(state.seconds, 3))
