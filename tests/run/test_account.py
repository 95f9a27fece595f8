"""Accounts: what the runs of a principal may use together is reserved atomically, and given back at their end."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.run.desk import Shop, desk
from tests.run.hooked_log import HookedLog
from tests.run.letter import COST, DRAFT, PRICES, USED, paid

from sopwith import Budget, Engine, SqliteLog, ToolError
from sopwith.errors import LogConflict, LogError, Text, UserError
from sopwith.guard.budget import Budgets, PrincipalBudget, settle
from sopwith.guard.price import Prices
from sopwith.guard.redact_rules import RedactRules
from sopwith.guard.vault import MemoryVault
from sopwith.ir.event import Body, BudgetReserved, BudgetSettled, Event, Phase
from sopwith.ir.usage import UNLIMITED, Usage
from sopwith.log.memory import MemoryLog
from sopwith.log.port import ACCOUNT, Log
from sopwith.models.scripted import ScriptedModel
from sopwith.run.account import Accounts, Ledger, ledger
from sopwith.run.journal import Journal
from sopwith.run.redaction import Redaction

DAY = 86_400.0
NOON = 1_800_000_000_000_000 // 86_400_000_000 * 86_400_000_000 + 43_200_000_000


def accounts(log: Log, vault: MemoryVault, limits: Budget, at: int = NOON) -> Accounts:
    return Accounts(log, vault, Redaction(vault), lambda: at, PrincipalBudget(limits, DAY))


async def ledgers(log: Log) -> list[Ledger]:
    return [ledger(await log.read(row.run)) for row in await log.runs(accounts=True)]


def letters(
    log: Log, vault: MemoryVault, model: ScriptedModel, limits: Budget, run: Budget = UNLIMITED
) -> Engine:
    budgets = Budgets(run=run, principal=PrincipalBudget(limits, DAY))
    return Engine(DRAFT, model=model, log=log, vault=vault, budget=budgets, prices=PRICES, clock=lambda: NOON)


async def test_a_run_reserves_and_settles_what_it_used() -> None:
    log, vault = MemoryLog(), MemoryVault()
    engine = letters(log, vault, paid('{"title": "short"}'), Budget(money=1, tokens=1000))
    run = await engine.run("a letter", principal="li")
    assert (run.status, run.state.budget) == ("completed", Budget(money=1, tokens=1000))
    (found,) = await ledgers(log)
    assert (found.used.money, found.used.tokens, found.held) == (COST, USED.tokens, {})
    assert found.left(found.limits) == Budget(money=1 - COST, tokens=840)
    assert found.until - found.since == DAY * 1e6
    assert found.since <= NOON < found.until


async def test_the_next_run_has_what_the_last_one_left() -> None:
    log, vault = MemoryLog(), MemoryVault()
    too_long = '{"title": "far too long"}'
    limits = Budget(money=COST)
    assert (
        await letters(log, vault, paid(too_long), limits).run("a letter", principal="li")
    ).status == "exhausted"
    second = await letters(log, vault, paid(too_long), limits).run("a letter", principal="li")
    assert (second.status, second.state.usage.model_calls, second.state.budget.money) == ("exhausted", 0, 0)
    assert second.outcome is not None and second.outcome.packet is not None
    assert second.outcome.packet.reason == (
        "the principal's limit of money is reached: this run could have 0 of it; sopwith budget shows it"
    )
    other = await letters(log, vault, paid('{"title": "short"}'), limits).run("a letter", principal="han")
    assert other.status == "completed"


async def test_accounts_are_no_runs() -> None:
    log, vault = MemoryLog(), MemoryVault()
    engine = letters(log, vault, paid('{"title": "short"}'), Budget(money=1))
    run = await engine.run("a letter", principal="13800138000")
    assert [row.run for row in await log.runs()] == [run.id]
    (account,) = await log.runs(accounts=True)
    for use in (engine.resume(account.run), engine.cancel(account.run)):
        with pytest.raises(UserError, match="there is no run"):
            await use
    assert "13800138000" not in "".join(str(event) for event in await log.read(account.run))
    (found,) = await ledgers(log)
    assert found.principal == "<phone:1>"


async def test_a_principal_that_is_a_secret_is_none_in_the_account_either() -> None:
    log = MemoryLog()
    budgets = Budgets(principal=PrincipalBudget(Budget(model_calls=9), DAY))
    await desk(Shop(), log=log, budget=budgets, redact=RedactRules(principal=True)).run(
        "hello", principal="Li Wei"
    )
    (found,) = await ledgers(log)
    assert found.principal == "<name:1>"


async def test_a_run_that_waits_holds_its_reservation_until_it_is_resumed_or_cancelled() -> None:
    log, vault = MemoryLog(), MemoryVault()
    budgets = Budgets(run=Budget(model_calls=4), principal=PrincipalBudget(Budget(model_calls=6), DAY))
    options = {"log": log, "vault": vault, "budget": budgets, "policy": None, "clock": lambda: NOON}
    shop = Shop()
    shop.failures = [ToolError("not_found", "no such order")]
    first = await desk(shop, **options).run("A-7 came broken")
    assert first.status == "suspended"
    second = await desk(Shop(), **options).run("A-7 came broken")
    assert (second.status, second.state.budget) == ("exhausted", Budget(model_calls=2))
    (found,) = await ledgers(log)
    assert found.held == {first.id: Budget(model_calls=4)}
    cancelled = await desk(Shop(), **options).cancel(first.id)
    assert cancelled.status == "cancelled"
    (found,) = await ledgers(log)
    assert found.held == {}
    assert found.used.model_calls == first.state.usage.model_calls + second.state.usage.model_calls


async def test_a_window_that_has_passed_counts_no_more() -> None:
    log, vault = MemoryLog(), MemoryVault()
    assert (await accounts(log, vault, Budget(tokens=10)).reserve("li", "r1", UNLIMITED))[0] == Budget(
        tokens=10
    )
    assert (await accounts(log, vault, Budget(tokens=10)).reserve("li", "r2", UNLIMITED))[0] == Budget(
        tokens=0
    )
    tomorrow = accounts(log, vault, Budget(tokens=10), NOON + 86_400_000_000)
    assert (await tomorrow.reserve("li", "r3", UNLIMITED))[0] == Budget(tokens=10)


async def test_a_run_that_a_person_hands_back_is_charged_for_all_that_it_used() -> None:
    log, vault = MemoryLog(), MemoryVault()
    limits = Budget(money=1)
    engine = letters(log, vault, paid(*['{"title": "far too long"}'] * 3, '{"title": "short"}'), limits)
    first = await engine.run("a letter", principal="li")
    assert first.status == "escalated"
    (before,) = await ledgers(log)
    again = await engine.take_over(first.id, by="han", to="draft")
    assert (again.status, again.state.usage.money) == ("completed", COST * again.state.usage.model_calls)
    (after,) = await ledgers(log)
    assert before.used.money is not None
    assert after.used.money == again.state.usage.money > before.used.money


async def test_a_model_without_a_price_does_not_go_on_where_money_is_limited() -> None:
    log, vault = MemoryLog(), MemoryVault()
    first = await letters(log, vault, paid('{"title": "far too long"}'), Budget(money=1)).run("a letter")
    assert first.status == "escalated"
    budget = Budgets(principal=PrincipalBudget(Budget(money=1), DAY))
    engine = Engine(DRAFT, model=paid(), log=log, vault=vault, budget=budget, clock=lambda: NOON)
    seen = len(await log.read(first.id))
    with pytest.raises(UserError, match="the price of paid is not known"):
        await engine.take_over(first.id, by="han", to="draft")
    assert len(await log.read(first.id)) == seen


async def test_room_of_a_run_that_ended_without_settling_is_freed_when_it_is_needed() -> None:
    log, vault = MemoryLog(), MemoryVault()
    engine = letters(log, vault, paid('{"title": "short"}'), Budget(money=1))
    engine._accounts = engine._driving.accounts = _Unsettled(
        log, vault, Redaction(vault), lambda: NOON, PrincipalBudget(Budget(money=1), DAY)
    )
    await engine.run("a letter", principal="li", run_id="r1")
    assert (await ledgers(log))[0].held == {"r1": Budget(money=1)}
    budget, _ = await accounts(log, vault, Budget(money=1)).reserve("li", "r2", UNLIMITED)
    assert budget.money == 1 - COST


class _Unsettled(Accounts):
    """Those of a process that ends before it settles."""

    async def settle(self, state: object) -> None:
        pass


async def test_a_run_id_reserves_once() -> None:
    log, vault = MemoryLog(), MemoryVault()
    held = accounts(log, vault, Budget(tokens=10))
    await held.reserve("li", "r1", Budget(tokens=1))
    with pytest.raises(UserError, match="there is a run 'r1' already"):
        await held.reserve("li", "r1", Budget(tokens=1))


async def test_money_of_a_principal_needs_prices_too() -> None:
    log, vault = MemoryLog(), MemoryVault()
    budgets = Budgets(principal=PrincipalBudget(Budget(money=1), DAY))
    engine = Engine(DRAFT, model=paid(), log=log, vault=vault, budget=budgets, prices=Prices())
    with pytest.raises(UserError, match="the price of paid is not known"):
        await engine.run("a letter")
    assert list(await log.runs(accounts=True)) == []


async def test_runs_side_by_side_never_take_more_than_there_is() -> None:
    log, vault = MemoryLog(), MemoryVault()
    held = accounts(log, vault, Budget(tokens=100))
    got = await asyncio.gather(*(held.reserve("li", f"r{i}", Budget(tokens=40)) for i in range(5)))
    assert sorted(budget.tokens or 0 for budget, _ in got) == [0, 0, 20, 40, 40]


WORKER = """
import asyncio, sys
from sopwith import Budget, SqliteLog
from sopwith.guard.budget import PrincipalBudget
from sopwith.guard.vault import SqliteVault
from sopwith.run.account import Accounts, ledger
from sopwith.run.redaction import Redaction
name = sys.argv[1]
log, vault = SqliteLog("runs.db"), SqliteVault("vault.db")
budget = PrincipalBudget(Budget(tokens=100, money=1), 86400.0)
accounts = Accounts(log, vault, Redaction(vault), lambda: 1_800_000_000_000_000, budget)
print("ready", flush=True)
sys.stdin.readline()
async def main():
    for i in range(10):
        budget, _ = await accounts.reserve("li", f"{name}-{i}", Budget(tokens=9, money=0.09))
        print(budget.tokens, budget.money, flush=True)
    (row,) = await log.runs(accounts=True)
    kept = await accounts._read(row.run)
    assert kept == ledger((await log.read(row.run))[: kept.seq])
    sys.stdin.readline()  # what a process has reserved for runs that it has not started is free when it is gone
    await log.close()
asyncio.run(main())
vault.close()
"""


def test_processes_on_one_store_never_take_more_than_there_is(tmp_path: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(i)],
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for i in range(3)
    ]
    for process in processes:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    lines = [process.stdout.readline() for process in processes if process.stdout for _ in range(10)]
    assert [process.communicate("end\n")[0] for process in processes] == ["", "", ""]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert len(lines) == 30
    assert sum(int(line.split()[0]) for line in lines) == 100
    assert sum(Decimal(line.split()[1]) for line in lines) == 1
    assert asyncio.run(_stored(tmp_path / "runs.db")) == (0, [30])


async def _stored(file: Path) -> tuple[int, list[int]]:
    """How many runs a store lists, and how long each account is."""
    log = SqliteLog(file)
    found = len(await log.runs()), [row.events for row in await log.runs(accounts=True)]
    await log.close()
    return found


AMOUNT = st.integers(0, 20)
STEPS = st.lists(st.tuples(st.sampled_from(["reserve", "settle"]), st.integers(0, 5), AMOUNT), max_size=20)


@given(STEPS)
def test_what_is_used_held_and_left_is_always_the_whole(steps: list[tuple[str, int, int]]) -> None:
    limits = Budget(tokens=50)
    bodies: list[Body] = []
    for what, number, amount in steps:
        found = ledger(_events(bodies))
        run = f"r{number}"
        if what == "reserve" and run not in {*found.held, *found.settled}:
            given_ = min(amount, found.left(limits).tokens or 0)
            bodies.append(
                BudgetReserved(
                    of=run, budget=Budget(tokens=given_), principal="li", limits=limits, since=0, until=1
                )
            )
        elif what == "settle":
            used = min(amount, (found.held.get(run) or Budget(tokens=0)).tokens or 0)
            bodies.append(BudgetSettled(of=run, usage=Usage(input=used)))
        found = ledger(_events(bodies))
        held = sum(each.tokens or 0 for each in found.held.values())
        assert found.used.tokens + held + (found.left(limits).tokens or 0) == 50


RUNS = st.integers(0, 5).map(lambda number: f"r{number}")
SOLD = st.builds(
    Usage,
    input=AMOUNT,
    model_calls=AMOUNT,
    money=st.none() | st.integers(0, 9).map(lambda n: Decimal(n) / 10),
)
"""What a run may have used; at an unknown price it takes the money that it had reserved."""
ACTS = st.lists(
    st.tuples(
        st.integers(0, 2),
        RUNS,
        st.none()
        | st.builds(Budget, tokens=AMOUNT, money=st.integers(0, 9).map(lambda n: Decimal(n) / 10))
        | st.tuples(SOLD, st.integers(0, 9000).map(lambda n: n / 1000)),
    ),
    max_size=30,
)
"""By one of three engines: a run gives back what it has reserved, reserves, or settles."""


@given(ACTS)
def test_ledgers_that_are_kept_are_those_of_the_whole_log(
    acts: list[tuple[int, str, Budget | tuple[Usage, float] | None]],
) -> None:
    async def play() -> None:
        log, vault = MemoryLog(), MemoryVault()
        three = [accounts(log, vault, Budget(tokens=50, money=3)) for _ in range(3)]
        name = (await three[0].reserve("li", "first", Budget(tokens=1, money=0)))[1] or ""
        for number, run, act in acts:
            held = three[number]
            if isinstance(act, Budget):
                with contextlib.suppress(UserError):
                    await held.reserve("li", run, act)
            elif act is None:
                await held.give_back(Journal(log, lambda: NOON, [], run, run), name)
            else:
                body = BudgetSettled(of=run, usage=act[0], seconds=act[1])
                found = await held._read(name)
                assert await held._append(name, found, found.seq, (body,))
        events = await log.read(name)
        for held in three:
            assert await held._read(name) == ledger(events)
        assert _plainly(ledger(events)) == _by_hand(events)

    asyncio.run(play())


def _plainly(found: Ledger) -> tuple[dict[str, Budget], Usage, float]:
    return found.held, found.used, found.seconds


def _by_hand(events: Sequence[Event]) -> tuple[dict[str, Budget], Usage, float]:
    """What runs hold, and what the others have used: added up from the last word on each run."""
    given_: dict[str, Budget] = {}
    last: dict[str, BudgetSettled] = {}
    for event in events:
        body = event.body
        if isinstance(body, BudgetReserved):
            given_[body.of] = body.budget
        elif isinstance(body, BudgetSettled) and not body.started:
            given_.pop(body.of, None)
        elif isinstance(body, BudgetSettled) and body.of in given_:
            last[body.of] = body
    used = sum((settle(Usage(), each.usage, given_[run]) for run, each in last.items()), Usage())
    held = {run: budget for run, budget in given_.items() if run not in last}
    return held, used, round(sum(each.seconds for each in last.values()), 6)


def _events(bodies: list[Body]) -> list[Event]:
    return [Event("a", "a", i, 0, Phase.RECEIVE, None, None, body) for i, body in enumerate(bodies, 1)]


async def test_a_run_without_a_principals_budget_has_no_account() -> None:
    run = await desk(Shop()).run("A-7 came broken")
    assert run.state.account is None


def test_a_reply_without_a_price_takes_all_that_was_reserved() -> None:
    reserved = BudgetReserved(
        of="r", budget=Budget(money=2), principal="li", limits=Budget(money=5), since=0, until=1
    )
    found = ledger(_events([reserved, BudgetSettled(of="r", usage=Usage(money=None))]))
    assert found.left(found.limits) == Budget(money=3)


class _Reads(MemoryLog):
    """Counts the events of accounts that are read."""

    read_events = 0

    async def read(self, run: str, after: int = 0) -> Sequence[Event]:
        found = await super().read(run, after)
        self.read_events += len(found) if run.startswith(ACCOUNT) else 0
        return found


async def test_an_account_is_read_once_however_many_runs_it_has() -> None:
    log, vault = _Reads(), MemoryVault()
    engine = letters(log, vault, paid(*['{"title": "short"}'] * 20), Budget(model_calls=99))
    for _ in range(20):
        assert (await engine.run("a letter", principal="li")).status == "completed"
    assert log.read_events == 0
    other = letters(log, vault, paid('{"title": "short"}'), Budget(model_calls=99))
    await other.run("a letter", principal="li")
    assert log.read_events == 40
    await engine.run("a letter", principal="li", run_id="last")
    assert log.read_events == 42


async def test_ledgers_of_windows_that_have_passed_are_dropped() -> None:
    log, vault = MemoryLog(), MemoryVault()
    day = 86_400_000_000
    now = [NOON]
    held = Accounts(log, vault, Redaction(vault), lambda: now[0], PrincipalBudget(Budget(tokens=9), DAY))
    for i in range(30):
        now[0] = NOON + i * day
        await held.reserve("li", f"r{i}", Budget(tokens=1))
    assert [each.since // day - NOON // day for each in held._ledgers.values()] == [28, 29]


async def test_so_many_ledgers_are_kept_and_the_others_are_read_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sopwith.run.account._KEPT", 3)
    held = accounts(MemoryLog(), MemoryVault(), Budget(tokens=20))
    for i in range(5):
        for who in range(6):
            budget, _ = await held.reserve(f"p{who}", f"r{i}-{who}", Budget(tokens=6))
            assert budget.tokens == (6, 6, 6, 2, 0)[i]
            assert len(held._ledgers) <= 3


async def test_an_account_that_was_set_back_is_read_from_its_beginning() -> None:
    log, vault = MemoryLog(), MemoryVault()
    held = accounts(log, vault, Budget(tokens=20))
    for run in ("r1", "r2", "r3"):
        _, name = await held.reserve("li", run, Budget(tokens=5))
    log._runs.clear()
    assert await held.reserve("li", "r4", Budget(tokens=16)) == (Budget(tokens=16), name)


class _Full(HookedLog):
    """A log that has no room for runs while it is `full`."""

    full = True

    async def before(self, run: str, events: Sequence[Event], *, durable: bool) -> None:
        if self.full and not run.startswith(ACCOUNT):
            raise LogError(Text("the disk is full", "磁盘已满"))


async def test_a_run_that_cannot_be_written_gives_back_what_it_reserved_and_may_be_tried_again() -> None:
    log, vault = _Full(), MemoryVault()
    engine = letters(log, vault, paid(*['{"title": "short"}'] * 2), Budget(model_calls=5))
    with pytest.raises(LogError, match="the disk is full"):
        await engine.run("a letter", principal="li", run_id="r1")
    (found,) = await ledgers(log)
    assert (found.held, found.settled, found.left(found.limits)) == ({}, {}, Budget(model_calls=5))
    assert list(await log.runs()) == []
    log.full = False
    assert (await engine.run("a letter", principal="li", run_id="r1")).status == "completed"
    (found,) = await ledgers(log)
    assert (found.held, found.used.model_calls) == ({}, 1)


async def test_a_run_under_the_id_of_another_principals_gives_back_only_its_own_reservation() -> None:
    log, vault = MemoryLog(), MemoryVault()
    engine = letters(log, vault, paid(*['{"title": "short"}'] * 2), Budget(model_calls=5))
    await engine.run("a letter", principal="li", run_id="r1")
    with pytest.raises(LogConflict):
        await engine.run("a letter", principal="han", run_id="r1")
    left = {each.principal: each.left(each.limits).model_calls for each in await ledgers(log)}
    assert left == {"li": 4, "han": 5}


class _Unanswered(MemoryLog):
    """A log that stores a run, and whose answer to that is lost."""

    async def append(
        self,
        run: str,
        events: Sequence[Event],
        blobs: Mapping[str, bytes] | None = None,
        *,
        durable: bool = False,
    ) -> str:
        head = await super().append(run, events, blobs, durable=durable)
        if not run.startswith(ACCOUNT):
            raise asyncio.CancelledError
        return head


async def test_a_run_that_has_begun_keeps_its_reservation_until_it_has_ended() -> None:
    log, vault = _Unanswered(), MemoryVault()
    engine = letters(log, vault, paid('{"title": "short"}'), Budget(model_calls=5), Budget(model_calls=2))
    with pytest.raises(asyncio.CancelledError):
        await engine.run("a letter", principal="li", run_id="r1")
    (found,) = await ledgers(log)
    assert found.held == {"r1": Budget(model_calls=2)}
