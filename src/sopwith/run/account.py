"""Accounts: what the runs of one principal have reserved and used in one window of time.

An account is itself an append-only log, so that compare-and-append makes a reservation atomic between processes. A run
reserves what it may use at most before it starts, and settles when it has ended; until then nobody else may use it. A
run is charged to the window in which it began. A run that could not be started gives back what it had reserved.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sopwith.errors import LogConflict, LogError, Text, UserError
from sopwith.guard.budget import PrincipalBudget, narrower, remaining, settle
from sopwith.guard.vault import Vault
from sopwith.ir.event import Body, BudgetReserved, BudgetSettled, Event, Phase, RunStarted
from sopwith.ir.usage import UNLIMITED, Budget, Usage
from sopwith.log.port import ACCOUNT, Log
from sopwith.run.fold import fold_all
from sopwith.run.journal import Clock, Journal
from sopwith.run.redaction import Redaction
from sopwith.run.state import State

_LOGGER = logging.getLogger("sopwith")

_KEPT = 1024
"""So many ledgers are kept at most; another account is read from its beginning again."""


class Settled(NamedTuple):
    """What a run had reserved, and its last settlement."""

    budget: Budget
    last: BudgetSettled

    @property
    def used(self) -> Usage:
        """What the run is charged for."""
        return settle(Usage(), self.last.usage, self.budget)


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
            case BudgetSettled(started=False) as returned:
                self.held.pop(returned.of, None)
            case BudgetSettled() as last:
                self._settle(last)
            case _:
                pass

    def _settle(self, last: BudgetSettled) -> None:
        earlier = self.settled.get(last.of)
        if (
            earlier is not None
        ):  # the run was handed back, and has ended once more: its last settlement counts
            budget = earlier.budget
            self.used = self.used.since(earlier.used)
            self.seconds -= earlier.last.seconds
        elif last.of in self.held:
            budget = self.held.pop(last.of)
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
    """The accounts in one log. `budget` is that of each principal, None where there is none.

    The ledgers of the accounts in use are kept, so that only what is new in an account is read. Nothing depends on
    that they are up to date: an append that does not follow what was read is refused by the log, and tried again.
    """

    log: Log
    vault: Vault
    redaction: Redaction
    clock: Clock
    budget: PrincipalBudget | None
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
            seq = (
                found.seq
            )  # what is granted follows this event, also where others add to the ledger meanwhile
            if run in found.held or run in found.settled:
                raise UserError(
                    Text(f"there is a run '{run}' already", f"已有运行“{run}”"),
                    Text("give each run an id of its own", "请为每个运行取不同的编号"),
                )
            granted = narrower(asked, found.left(self.budget.limits))
            ended = await self._ended(tuple(found.held)) if granted != asked else ()
            reserved = BudgetReserved(
                of=run,
                budget=granted,
                principal=shown,
                limits=self.budget.limits,
                since=since,
                until=since + size,
            )
            # Room that a run which has ended still holds is freed first.
            if await self._append(name, found, seq, ended or (reserved,)) and not ended:
                return granted, name

    async def settle(self, state: State) -> None:
        """Give back what a run that has ended did not use. Where that cannot be written, the next to need room does."""
        if state.account is None or state.outcome is None:
            return
        settled = _settled(state)
        try:
            while True:
                found = await self._read(state.account)
                known = found.settled.get(state.run)
                if known is not None and known.last == settled:
                    return
                if await self._append(state.account, found, found.seq, (settled,)):
                    return
        except LogError as error:
            _LOGGER.warning("run %s could not settle its account: %s", state.run, error)

    async def give_back(self, journal: Journal, account: str | None) -> None:
        """Give back all that a run has reserved of which nothing could be appended; its id may be used again.

        What `journal` has not appended is dropped. A run that has started keeps its reservation. Where nothing can be
        written, the reservation stands until its window has passed.
        """
        if account is None or journal.head:
            return
        journal.drop()
        try:
            if await self._has_started(journal.run, account):
                return
            returned = BudgetSettled(of=journal.run, started=False)
            while journal.run in (found := await self._read(account)).held:
                if await self._append(account, found, found.seq, (returned,)):
                    return
        except LogError as error:
            _LOGGER.warning("run %s could not give back what it had reserved: %s", journal.run, error)

    async def _has_started(self, run: str, account: str) -> bool:
        """Whether the run in the log is the one that has reserved in `account`, and no other of the same id."""
        events = await self.log.read(run)
        first = events[0].body if events else None
        return isinstance(first, RunStarted) and first.account == account

    async def _ended(self, held: Iterable[str]) -> Sequence[Body]:
        """The settlements that are missing: of runs that have ended, in processes that ended before they settled."""
        found: list[Body] = []
        for run in held:
            events = await self.log.read(run)
            if events and (state := fold_all(events)).outcome is not None:
                found.append(_settled(state))
        return found

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


def _settled(state: State) -> BudgetSettled:
    return BudgetSettled(of=state.run, usage=state.usage, seconds=round(state.seconds, 3))
