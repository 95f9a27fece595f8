"""Room in an account that nobody needs is freed, and whoever goes on in spite of that never uses it twice."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
from collections.abc import Mapping, Sequence

import pytest
from tests.run.hooked_log import HookedLog
from tests.run.letter import DRAFT, PRICES, paid
from tests.run.test_account import DAY, NOON, ledgers

from sopwith import Budget, Engine
from sopwith.guard.budget import Budgets, PrincipalBudget
from sopwith.guard.vault import MemoryVault
from sopwith.ir.event import Event, ModelReplied
from sopwith.ir.usage import UNLIMITED
from sopwith.log.memory import MemoryLog
from sopwith.log.port import ACCOUNT, Log
from sopwith.models.scripted import ScriptedModel
from sopwith.run.account import Accounts
from sopwith.run.lease import LEASE_SECONDS, new_driver
from sopwith.run.redaction import Redaction

SHORT = '{"title": "short"}'
LONG = '{"title": "far too long"}'
ALL = Budget(model_calls=3)
NONE = Budget(model_calls=0)
LATER = NOON + int(LEASE_SECONDS * 1e6)


def accounts(log: Log, vault: MemoryVault, driver: str, at: int = NOON) -> Accounts:
    return Accounts(log, vault, Redaction(vault), lambda: at, PrincipalBudget(ALL, DAY), driver)


def letters(log: Log, vault: MemoryVault, *replies: str, at: int = NOON) -> Engine:
    budgets = Budgets(principal=PrincipalBudget(ALL, DAY))
    return Engine(
        DRAFT, model=paid(*replies), log=log, vault=vault, budget=budgets, prices=PRICES, clock=lambda: at
    )


async def calls(log: Log) -> int:
    """How often a model was called, by all runs of a log."""
    events = [event for row in await log.runs() for event in await log.read(row.run)]
    return sum(isinstance(event.body, ModelReplied) for event in events)


def dead_driver() -> str:
    """The name of a driver of this machine whose process has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    return f"{new_driver().split('/')[0]}/{process.pid}/1/x"


async def test_what_a_process_reserved_that_died_before_its_run_began_is_free() -> None:
    log, vault = MemoryLog(), MemoryVault()
    await accounts(log, vault, dead_driver()).reserve("li", "r1", UNLIMITED)
    assert (await letters(log, vault, SHORT).run("a letter", principal="li")).status == "completed"
    (found,) = await ledgers(log)
    assert (found.held, found.left(ALL)) == ({}, Budget(model_calls=2))


@pytest.mark.parametrize("driver", ["elsewhere/1/1/x", new_driver()])
async def test_one_that_may_still_start_keeps_its_room_as_long_as_a_lease(driver: str) -> None:
    log, vault = MemoryLog(), MemoryVault()
    await accounts(log, vault, driver).reserve("li", "r1", UNLIMITED)
    other = new_driver()
    assert (await accounts(log, vault, other, LATER - 1).reserve("li", "r2", UNLIMITED))[0] == NONE
    assert (await accounts(log, vault, other, LATER).reserve("li", "r3", UNLIMITED))[0] == ALL


async def test_a_reservation_without_a_name_is_never_taken() -> None:
    log, vault = MemoryLog(), MemoryVault()
    await accounts(log, vault, "").reserve("li", "r1", UNLIMITED)
    assert (await accounts(log, vault, new_driver(), LATER).reserve("li", "r2", UNLIMITED))[0] == NONE


class _Slow(HookedLog):
    """Somebody else reserves before the first event of a run is stored."""

    other: Accounts | None = None

    async def before(self, run: str, events: Sequence[Event], *, durable: bool) -> None:
        if self.other is not None and not run.startswith(ACCOUNT):
            other, self.other = self.other, None
            assert (await other.reserve("li", "r2", UNLIMITED))[0] == ALL


async def test_a_run_that_starts_late_does_nothing_where_its_room_was_given_to_another() -> None:
    log, vault = _Slow(), MemoryVault()
    log.other = accounts(log, vault, new_driver(), LATER)
    late = await letters(log, vault, SHORT).run("a letter", principal="li", run_id="r1")
    assert (late.status, late.state.budget, await calls(log)) == ("exhausted", NONE, 0)
    (found,) = await ledgers(log)
    assert found.held == {"r2": ALL}


async def test_a_run_that_is_handed_back_has_what_others_left() -> None:
    log, vault = MemoryLog(), MemoryVault()
    first = await letters(log, vault, LONG, LONG).run("a letter", principal="li")
    assert first.status == "escalated"
    assert (await letters(log, vault, SHORT).run("a letter", principal="li")).status == "completed"
    again = await letters(log, vault, SHORT).take_over(first.id, by="han", to="draft")
    assert (again.status, again.state.budget.model_calls, await calls(log)) == ("exhausted", 2, 3)


async def test_a_run_that_is_handed_back_keeps_others_from_its_room() -> None:
    log, vault = MemoryLog(), MemoryVault()
    first = await letters(log, vault, LONG, LONG).run("a letter", principal="li")
    seen: list[Budget] = []
    engine = letters(log, vault, SHORT)

    class Asked(ScriptedModel):
        async def complete(self, request: object) -> object:  # type: ignore[override]
            seen.append((await accounts(log, vault, new_driver()).reserve("li", "r2", UNLIMITED))[0])
            return await super().complete(request)  # type: ignore[arg-type]

    engine._models = type(engine._models)(Asked([SHORT], id="paid"), {})
    again = await engine.take_over(first.id, by="han", to="draft")
    assert (again.status, again.state.budget, seen) == ("completed", ALL, [NONE])
    (found,) = await ledgers(log)
    assert (found.used.model_calls, found.held) == (3, {"r2": NONE})


async def test_where_the_account_is_gone_a_run_does_nothing_more() -> None:
    log, vault = MemoryLog(), MemoryVault()
    first = await letters(log, vault, LONG, LONG).run("a letter", principal="li")
    (row,) = await log.runs(accounts=True)
    del log._runs[row.run]
    again = await letters(log, vault, SHORT).take_over(first.id, by="han", to="draft")
    assert (again.status, await calls(log)) == ("exhausted", 2)
    assert await ledgers(log) == []


class _Turns(MemoryLog):
    """Every use of the log lets others go first, as often as it is told."""

    def __init__(self, turns: list[int]) -> None:
        super().__init__()
        self.turns = turns

    async def _wait(self) -> None:
        for _ in range(self.turns.pop() if self.turns else 0):
            await asyncio.sleep(0)

    async def append(
        self,
        run: str,
        events: Sequence[Event],
        blobs: Mapping[str, bytes] | None = None,
        *,
        durable: bool = False,
    ) -> str:
        await self._wait()
        head = await super().append(run, events, blobs, durable=durable)
        await self._wait()
        return head

    async def read(self, run: str, after: int = 0) -> Sequence[Event]:
        await self._wait()
        found = await super().read(run, after)
        await self._wait()
        return found


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("handed_back", [True, False])
@pytest.mark.parametrize("apart", [True, False])
def test_no_order_of_things_uses_room_twice(seed: int, handed_back: bool, apart: bool) -> None:
    """One that believes that every other driver is gone needs room, while a run begins or is handed back."""

    async def play() -> None:
        log, vault = _Turns([]), MemoryVault()
        first = await letters(log, vault, LONG, LONG).run("a letter", principal="li", run_id="r1")
        log.turns = random.Random(seed).choices(range(12), k=100)
        slow = letters(log, vault, SHORT, SHORT)
        hasty = letters(log, vault, SHORT, at=LATER) if apart else slow
        going = (
            slow.take_over(first.id, by="han", to="draft")
            if handed_back
            else slow.run("a letter", principal="li", run_id="r2")
        )
        runs = await asyncio.gather(going, hasty.run("a letter", principal="li", run_id="r3"))
        assert await calls(log) == 3
        assert sorted(run.status for run in runs) == ["completed", "exhausted"]
        (found,) = await ledgers(log)
        assert (found.held, found.used.model_calls) == ({}, 3)

    asyncio.run(play())
