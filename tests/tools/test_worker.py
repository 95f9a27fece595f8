"""Threads for functions that block: never more than so many, and nobody waits longer than they may."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from sopwith.tools import FunctionSource, tool
from sopwith.tools.bounded import OutOfTime
from sopwith.tools.worker import NotStarted, Workers


@pytest.fixture
async def gate() -> AsyncIterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def threads() -> int:
    return sum(thread.name == "sopwith-tool" for thread in threading.enumerate())


async def test_a_thousand_calls_at_once_take_turns() -> None:
    before = threads()
    most = 0

    @tool(name="t.nap")
    def nap(n: int) -> int:
        nonlocal most
        most = max(most, threads() - before)
        time.sleep(0.001)
        return n

    source = FunctionSource([nap])
    calls = (source.call("t.nap", {"n": n}, key="k", seconds=30) for n in range(1000))
    assert [result.value for result in await asyncio.gather(*calls)] == list(range(1000))
    assert 1 < most <= 64
    await source.close()


async def test_waiting_counts_and_what_was_not_called_has_not_acted(gate: threading.Event) -> None:
    called: list[int] = []

    @tool(name="t.wait", effect="write")
    def wait(n: int) -> None:
        called.append(n)
        begun.release()
        gate.wait()

    begun = threading.Semaphore(0)
    source = FunctionSource([wait])
    source._workers = Workers(most=2)
    clock = asyncio.get_running_loop().time
    first = [asyncio.create_task(source.call("t.wait", {"n": n}, key="k", seconds=5)) for n in range(2)]
    for _ in first:
        await asyncio.to_thread(begun.acquire)
    began = clock()
    third = await source.call("t.wait", {"n": 2}, key="k", seconds=0.1)
    assert clock() - began < 1
    assert third.error is not None and (third.error.code, third.unknown) == ("unavailable", False)
    gate.set()
    await asyncio.gather(*first)
    assert sorted(called) == [0, 1]
    assert (await source.call("t.wait", {"n": 3}, key="k", seconds=5)).error is None
    await source.close()


async def test_the_time_of_a_call_begins_before_it_waits(gate: threading.Event) -> None:
    workers = Workers(most=1)
    begun, free = threading.Event(), threading.Event()

    def hold() -> None:
        begun.set()
        free.wait(5)

    first = asyncio.create_task(workers.run(hold, 5, interrupt=False))
    await asyncio.to_thread(begun.wait)
    asyncio.get_running_loop().call_later(0.2, free.set)
    began = asyncio.get_running_loop().time()
    with pytest.raises(OutOfTime):
        await workers.run(gate.wait, 0.4, interrupt=False)
    assert asyncio.get_running_loop().time() - began < 0.55
    await first
    workers.close()


async def test_a_turn_is_not_lost_by_one_who_stops_waiting(gate: threading.Event) -> None:
    workers = Workers(most=1)
    holder = asyncio.create_task(workers.run(gate.wait, None, interrupt=False))
    await asyncio.sleep(0)
    waiting = [asyncio.create_task(workers.run(lambda: 1, None, interrupt=False)) for _ in range(4)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    gate.set()
    await holder
    waiting[1].cancel()  # it has just been given the turn
    assert await asyncio.wait_for(waiting[2], 5) == 1
    assert await asyncio.wait_for(waiting[3], 5) == 1
    assert await workers.run(lambda: 2, 5, interrupt=False) == 2
    workers.close()


async def test_threads_that_hang_hold_up_nobody_until_there_are_too_many(gate: threading.Event) -> None:
    workers = Workers(most=1, lost=3)
    for _ in range(3):
        with pytest.raises(OutOfTime):
            await workers.run(gate.wait, 0.02, interrupt=False)
    with pytest.raises(NotStarted):
        await workers.run(lambda: 1, 5, interrupt=False)
    gate.set()
    for worker in workers._lost:
        worker._thread.join(5)
    assert await workers.run(lambda: 1, 5, interrupt=False) == 1
    workers.close()


def test_calls_of_several_event_loops_share_the_turns() -> None:
    workers = Workers(most=2)
    inside = 0
    most = 0
    lock = threading.Lock()

    def work() -> None:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        time.sleep(0.001)
        with lock:
            inside -= 1

    async def many() -> list[Any]:
        return await asyncio.gather(*(workers.run(work, 30, interrupt=False) for _ in range(30)))

    runners = [threading.Thread(target=lambda: asyncio.run(many())) for _ in range(4)]
    for runner in runners:
        runner.start()
    for runner in runners:
        runner.join(30)
    assert not any(runner.is_alive() for runner in runners)
    assert most == 2
    workers.close()
