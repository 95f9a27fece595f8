"""What every store of events promises; each test runs against all of them."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.golden.write import filled

from sopwith.errors import LogConflict, LogDamaged, LogError, ValueRefused
from sopwith.ir.event import (
    BODIES,
    BudgetSettled,
    CallFinished,
    Event,
    FeedbackGiven,
    InputsBound,
    Outcome,
    Phase,
    Principal,
    RunFinished,
    RunResumed,
    RunStarted,
    RunSuspended,
    StepEntered,
)
from sopwith.log.chain import GENESIS, link, verify
from sopwith.log.memory import MemoryLog
from sopwith.log.port import Log
from sopwith.log.sqlite import SqliteLog

START = 1_790_000_000_000_000


@pytest.fixture(params=["memory", "sqlite"])
async def log(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Log]:
    store = MemoryLog() if request.param == "memory" else SqliteLog(tmp_path / "log.db")
    yield store
    await store.close()


def event(
    seq: int, body: Any = None, *, run: str = "r1", task: str = "t1", step: str | None = "search"
) -> Event:
    body = body if body is not None else CallFinished(name="hits", value=[seq], ms=seq)
    return Event(task, run, seq, START + seq, Phase.EXECUTE, step, seq - 1 or None, body)


def started(run: str = "r1", procedure: str = "leave_request") -> Event:
    body = RunStarted(
        procedure_id=procedure, procedure="p", tools="t", policy="y", prompts="m", model="scripted",
        principal=Principal(id="u1"), request="我下周一请一天年假", date="2026-11-30",
    )  # fmt: skip
    return event(1, body, run=run, step=None)


def blob(data: bytes) -> dict[str, bytes]:
    return {hashlib.sha256(data).hexdigest(): data}


async def test_events_come_back_as_they_were_appended_each_with_its_hash(log: Log) -> None:
    events = [event(1), event(2, StepEntered(visit=2), step="search#2"), event(3, step=None)]
    last = await log.append("r1", events)
    got = await log.read("r1")
    assert [e._replace(hash="") for e in got] == events
    assert got[-1].hash == last
    assert all(len(e.hash) == 64 for e in got)


async def test_every_kind_of_event_can_be_stored(log: Log) -> None:
    events = [event(seq, filled(kind)) for seq, kind in enumerate(BODIES, 1)]
    await log.append("r1", events)
    assert [e.body for e in await log.read("r1")] == [e.body for e in events]


async def test_the_hashes_are_a_chain_over_the_stored_bytes(log: Log) -> None:
    await log.append("r1", [event(1, StepEntered())])
    (first,) = await log.read("r1")
    envelope = f'["t1","r1",1,{START + 1},"EXECUTE","search",null,"step.entered"]'
    assert first.hash == hashlib.sha256(bytes(32) + envelope.encode() + b"{}").hexdigest()
    assert first.hash == link(GENESIS, first, b"{}").hex()


async def test_how_events_are_batched_does_not_change_the_chain(log: Log) -> None:
    one_by_one = [await log.append("r1", [event(seq)]) for seq in (1, 2, 3)]
    other = MemoryLog()
    assert await other.append("r1", [event(1), event(2), event(3)]) == one_by_one[-1]
    assert verify(await log.read("r1")) is None


async def test_read_after_a_seq_gives_the_rest(log: Log) -> None:
    await log.append("r1", [event(1), event(2), event(3)])
    whole = await log.read("r1")
    assert [list(await log.read("r1", after)) for after in (0, 1, 3, 9)] == [whole, whole[1:], [], []]


async def test_an_unknown_run_has_no_events(log: Log) -> None:
    assert list(await log.read("nobody")) == []
    assert list(await log.runs()) == []


@pytest.mark.parametrize("seqs", [(4,), (2,), (1,), (3, 5), (3, 3), (0,)], ids=str)
async def test_a_gap_or_a_repeated_seq_is_a_conflict_and_stores_nothing(
    log: Log, seqs: tuple[int, ...]
) -> None:
    await log.append("r1", [event(1), event(2)])
    with pytest.raises(LogConflict):
        await log.append("r1", [event(seq) for seq in seqs], blob(b"never"))
    assert [e.seq for e in await log.read("r1")] == [1, 2]
    with pytest.raises(LogError):
        await log.blob(next(iter(blob(b"never"))))
    await log.append("r1", [event(3)])


async def test_the_first_event_of_a_run_has_seq_1(log: Log) -> None:
    with pytest.raises(LogConflict):
        await log.append("r1", [event(2)])
    assert list(await log.runs()) == []


@pytest.mark.parametrize("stranger", [event(2, run="r2"), event(2, task="t2")], ids=["run", "task"])
async def test_an_event_of_another_run_or_task_is_refused(log: Log, stranger: Event) -> None:
    await log.append("r1", [event(1)])
    with pytest.raises(LogError, match="given to run"):
        await log.append("r1", [stranger])
    assert len(await log.read("r1")) == 1


async def test_runs_do_not_see_each_other(log: Log) -> None:
    await log.append("r1", [event(1)])
    await log.append("r2", [event(1, run="r2")])
    await log.append("r1", [event(2)])
    assert [e.seq for e in await log.read("r1")] == [1, 2]
    assert [e.run for e in await log.read("r2")] == ["r2"]


async def test_runs_are_listed_newest_first_with_what_the_events_say(log: Log) -> None:
    await log.append("r1", [started("r1", "leave_request"), event(2)])
    await log.append("r2", [started("r2", "support_desk")])
    await log.append("r1", [event(3)])
    newest, oldest = await log.runs()
    assert (newest.run, newest.procedure_id, newest.events) == ("r2", "support_desk", 1)
    assert (oldest.run, oldest.task, oldest.procedure_id, oldest.status) == (
        "r1",
        "t1",
        "leave_request",
        "running",
    )
    assert (oldest.events, oldest.started_at, oldest.last_at) == (3, START + 1, START + 3)
    assert [r.run for r in await log.runs(limit=1)] == ["r2"]
    assert list(await log.runs(limit=0)) == []


async def test_accounts_are_listed_apart_from_runs(log: Log) -> None:
    settled = BudgetSettled(of="r1")
    account = "account:1"
    await log.append("r1", [started("r1")])
    await log.append(account, [Event("t1", account, 1, START, Phase.RECEIVE, None, None, settled)])
    assert [row.run for row in await log.runs()] == ["r1"]
    assert [row.run for row in await log.runs(limit=1)] == ["r1"]
    assert [row.run for row in await log.runs(accounts=True)] == [account]


async def test_the_status_of_a_run_follows_its_events(log: Log) -> None:
    async def status(*bodies: Any) -> str:
        for body in bodies:
            count = len(await log.read("r1"))
            await log.append("r1", [event(count + 1, body)])
        return (await log.runs())[0].status

    assert await status(StepEntered()) == "running"
    assert await status(RunSuspended()) == "suspended"
    assert await status(StepEntered()) == "suspended"
    assert await status(RunResumed()) == "running"
    assert await status(RunFinished(outcome=Outcome(kind="escalated"))) == "escalated"
    assert await status(FeedbackGiven(good=True, by="u1")) == "escalated"


async def test_a_blob_is_kept_by_its_digest_and_may_be_given_again(log: Log) -> None:
    data = "一段很长的提示".encode() * 1000
    await log.append("r1", [event(1)], blob(data))
    await log.append("r2", [event(1, run="r2")], blob(data))
    assert await log.blob(next(iter(blob(data)))) == data


async def test_an_unknown_blob_is_an_error(log: Log) -> None:
    with pytest.raises(LogError):
        await log.blob("0" * 64)
    with pytest.raises(LogError):
        await log.blob("not a digest")


async def test_a_blob_under_the_wrong_digest_is_refused_with_its_batch(log: Log) -> None:
    with pytest.raises(LogDamaged):
        await log.append("r1", [event(1)], {"0" * 64: b"something else"})
    assert list(await log.read("r1")) == []


async def test_an_empty_batch_changes_nothing(log: Log) -> None:
    assert await log.append("r1", []) == ""
    last = await log.append("r1", [event(1)])
    assert await log.append("r1", [], durable=True) == last
    assert len(await log.runs()) == 1


@pytest.mark.parametrize("value", [float("nan"), {"a": [float("inf")]}, "\ud800", {"\udfff": 1}], ids=ascii)
async def test_a_value_that_would_not_come_back_is_refused_at_write(log: Log, value: Any) -> None:
    with pytest.raises(ValueRefused, match=r"\$\[2\]\.call\.finished"):
        await log.append("r1", [event(1), event(2, CallFinished(name="x", value=value))])
    assert list(await log.read("r1")) == []


@pytest.mark.parametrize("odd", [{"step": "\ud800"}, {"task": "\ud800"}, {"run": "\ud800"}], ids=ascii)
async def test_an_envelope_that_is_no_text_is_refused(log: Log, odd: dict[str, str]) -> None:
    run = odd.get("run", "r1")
    with pytest.raises(ValueRefused):
        await log.append(run, [event(1)._replace(run=run)._replace(**odd)])
    assert list(await log.read(run)) == []


async def test_nesting_that_no_reader_follows_is_refused_at_write(log: Log) -> None:
    deep: Any = 1
    for _ in range(250):
        deep = [deep]
    with pytest.raises(ValueRefused):
        await log.append("r1", [event(1, CallFinished(name="x", value=deep))])


@pytest.mark.parametrize(
    "value",
    [
        "NaN and Infinity as words",
        [[{}] for _ in range(300)],
        "\x00\x7f\u2028\ufeff",
        2**70,
        -0.0,
        5e-324,
        1e300,
        {"": None},
    ],
    ids=lambda v: ascii(v)[:20],
)
async def test_odd_values_come_back_exactly(log: Log, value: Any) -> None:
    await log.append("r1", [event(1, CallFinished(name="x", value=value))])
    (got,) = await log.read("r1")
    assert repr(got.body.value) == repr(value)


async def test_what_is_stored_does_not_change_with_the_object_that_was_appended(log: Log) -> None:
    values = {"days": [1]}
    await log.append("r1", [event(1, InputsBound(values=values))])
    values["days"].append(2)
    (got,) = await log.read("r1")
    assert got.body.values == {"days": [1]}


async def test_a_closed_log_says_so(log: Log) -> None:
    await log.append("r1", [event(1)])
    await log.close()
    await log.close()
    for use in (log.append("r1", [event(2)]), log.read("r1"), log.runs(), log.blob("0" * 64)):
        with pytest.raises(LogError, match="closed"):
            await use
