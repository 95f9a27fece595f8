"""Accounts: what the runs of one principal have reserved and used in one window of time.

An account is itself an append-only log, so that compare-and-append makes a reservation atomic between processes. A run
reserves what it may use at most before it starts, and settles when it has ended; until then nobody else may use it. A
run is charged to the window in which it began.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sopwith.errors import LogConflict, LogError, Text, UserError
from sopwith.guard.budget import PrincipalBudget, narrower, remaining, settle
from sopwith.guard.vault import Vault
from sopwith.ir.event import Body, BudgetReserved, BudgetSettled, Event, Phase
from sopwith.ir.usage import UNLIMITED, Budget, Usage
from sopwith.log.port import ACCOUNT, Log
from sopwith.run.fold import fold_all
from sopwith.run.journal import Clock
from sopwith.run.redaction import Redaction
from sopwith.run.state import State

_LOGGER = logging.getLogger("sopwith")


@dataclass(frozen=True, slots=True)
class Ledger:
    """An account, added up: what runs hold that have not settled, and what the others have used."""

    limits: Budget = UNLIMITED
    principal: str = ""
    since: int = 0
    until: int = 0
    held: Mapping[str, Budget] = field(default_factory=dict[str, Budget])
    settled: Mapping[str, BudgetSettled] = field(default_factory=dict[str, BudgetSettled])
    used: Usage = field(default_factory=Usage)
    seconds: float = 0.0

    def left(self, limits: Budget) -> Budget:
        """What of `limits` nobody holds and nobody has used."""
        return remaining(limits, self.used, self.seconds, self.held.values())


def ledger(events: Iterable[Event]) -> Ledger:
    """The ledger after the events of an account. Pure; the last settlement of a run counts."""
    latest: BudgetReserved | None = None
    given: dict[str, Budget] = {}
    settled: dict[str, BudgetSettled] = {}
    for event in events:
        match event.body:
            case BudgetReserved() as latest:
                given[latest.of] = latest.budget
            case BudgetSettled() as last if last.of in given:
                settled[last.of] = last
            case _:
                pass
    if latest is None:
        return Ledger()
    used = Usage()
    for run, last in settled.items():
        used = settle(used, last.usage, given[run])
    held = {run: budget for run, budget in given.items() if run not in settled}
    return Ledger(
        limits=latest.limits,
        principal=latest.principal,
        since=latest.since,
        until=latest.until,
        held=held,
        settled=settled,
        used=used,
        seconds=sum(last.seconds for last in settled.values()),
    )


@dataclass(frozen=True, slots=True)
class Accounts:
    """The accounts in one log. `budget` is that of each principal, None where there is none."""

    log: Log
    vault: Vault
    redaction: Redaction
    clock: Clock
    budget: PrincipalBudget | None

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
            events = await self.log.read(name)
            found = ledger(events)
            if run in found.held or run in found.settled:
                raise UserError(
                    Text(f"there is a run '{run}' already", f"已有运行“{run}”"),
                    Text("give each run an id of its own", "请为每个运行取不同的编号"),
                )
            granted = narrower(asked, found.left(self.budget.limits))
            ended = await self._ended(found.held) if granted != asked else ()
            reserved = BudgetReserved(
                of=run,
                budget=granted,
                principal=shown,
                limits=self.budget.limits,
                since=since,
                until=since + size,
            )
            # Room that a run which has ended still holds is freed first.
            if await self._append(name, events, ended or (reserved,)) and not ended:
                return granted, name

    async def settle(self, state: State) -> None:
        """Give back what a run that has ended did not use. Where that cannot be written, the next to need room does."""
        if state.account is None or state.outcome is None:
            return
        try:
            while True:
                events = await self.log.read(state.account)
                # A run that a person has handed back ends once more, and has used more.
                settled = _settled(state)
                if ledger(events).settled.get(state.run) == settled:
                    return
                if await self._append(state.account, events, (settled,)):
                    return
        except LogError as error:
            _LOGGER.warning("run %s could not settle its account: %s", state.run, error)

    async def _ended(self, held: Iterable[str]) -> Sequence[Body]:
        """The settlements that are missing: of runs that have ended, in processes that ended before they settled."""
        found: list[Body] = []
        for run in held:
            events = await self.log.read(run)
            if events and (state := fold_all(events)).outcome is not None:
                found.append(_settled(state))
        return found

    async def _append(self, name: str, events: Sequence[Event], bodies: Sequence[Body]) -> bool:
        """Append to an account as it was read. False where somebody else has been faster."""
        seq, at = (events[-1].seq, events[-1].at) if events else (0, 0)
        at = max(at, self.clock())
        made = [
            Event(name, name, seq + i, at, Phase.RECEIVE, None, None, body)
            for i, body in enumerate(bodies, 1)
        ]
        try:
            await self.log.append(name, made, durable=True)
        except LogConflict:
            return False
        return True


def _settled(state: State) -> BudgetSettled:
    return BudgetSettled(of=state.run, usage=state.usage, seconds=round(state.seconds, 3))
