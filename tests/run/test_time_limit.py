"""A limit of time holds for work that waits, and work that does not wait needs none."""

from __future__ import annotations

import asyncio

import pytest

from sopwith.run.time_limit import within


async def test_work_that_does_not_wait_is_done_at_once() -> None:
    async def work() -> str:
        return "done"

    assert await within(30, work()) == "done"


async def test_an_error_at_once_is_passed_on() -> None:
    async def work() -> None:
        raise LookupError("none")

    with pytest.raises(LookupError):
        await within(30, work())


async def test_work_may_wait_more_than_once_and_stays_in_its_task() -> None:
    first, second = asyncio.Event(), asyncio.Event()
    seen: list[object] = []

    async def work() -> str:
        seen.append(asyncio.current_task())
        await first.wait()
        second.set()
        async with asyncio.timeout(30):
            await asyncio.sleep(0)
            await second.wait()
        seen.append(asyncio.current_task())
        return "done"

    task = asyncio.create_task(within(30, work()))
    await asyncio.sleep(0)
    first.set()
    assert await task == "done"
    assert seen == [task, task]


async def test_past_the_limit_it_is_cancelled() -> None:
    never = asyncio.Event()
    ended: list[str] = []

    async def work() -> None:
        try:
            await never.wait()
        finally:
            ended.append("cancelled")

    with pytest.raises(TimeoutError):
        await within(0.001, work())
    assert ended == ["cancelled"]


async def test_work_that_goes_on_after_its_first_cancellation_is_waited_for() -> None:
    never, go = asyncio.Event(), asyncio.Event()

    async def work() -> str:
        try:
            await never.wait()
        except asyncio.CancelledError:
            go.set()
            await go.wait()
            await asyncio.sleep(0)
        return "cleaned up"

    assert await within(0.001, work()) == "cleaned up"


async def test_the_cancellation_of_the_caller_reaches_the_work() -> None:
    never, begun = asyncio.Event(), asyncio.Event()
    ended: list[str] = []

    async def work() -> None:
        begun.set()
        try:
            await never.wait()
        finally:
            ended.append("cancelled")

    task = asyncio.create_task(within(30, work()))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == ["cancelled"]
