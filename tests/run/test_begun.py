"""A coroutine that is begun at once: it is done when it never waits, and else goes on as any other."""

from __future__ import annotations

import asyncio

import pytest

from sopwith.run.begun import Begun


async def add(one: int, other: int) -> int:
    return one + other


async def test_what_never_waits_is_done_at_once() -> None:
    begun = Begun(add(1, 2))
    assert begun.done
    assert await begun == 3
    assert await begun == 3


async def test_what_is_raised_before_the_first_wait_is_raised_at_the_beginning() -> None:
    async def refuse() -> None:
        raise LookupError("nothing here")

    with pytest.raises(LookupError, match="nothing here"):
        Begun(refuse())


async def test_what_waits_goes_on_in_the_same_task() -> None:
    go = asyncio.Event()
    tasks: list[object] = []

    async def wait() -> str:
        tasks.append(asyncio.current_task())
        await go.wait()
        await asyncio.sleep(0)
        tasks.append(asyncio.current_task())
        return "went"

    begun = Begun(wait())
    assert not begun.done
    asyncio.get_running_loop().call_soon(go.set)
    assert await begun == "went"
    assert tasks == [asyncio.current_task()] * 2


async def test_an_error_after_a_wait_is_raised_by_the_rest() -> None:
    async def fail() -> None:
        await asyncio.sleep(0)
        raise LookupError("later")

    begun = Begun(fail())
    with pytest.raises(LookupError, match="later"):
        await begun


async def test_a_limit_around_the_rest_cancels_the_coroutine() -> None:
    seen: list[str] = []

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    begun = Begun(wait())
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await begun
    assert seen == ["cancelled"]
