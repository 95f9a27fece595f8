"""A limit of time that costs a timer only where something is really waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Generator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")


async def within(seconds: float, work: Awaitable[T]) -> T:
    """The result of `work`, in this task. Past `seconds` it is cancelled, and `TimeoutError` is raised."""
    deadline = asyncio.get_running_loop().time() + seconds
    steps = work.__await__()
    try:
        first = next(steps)
    except StopIteration as done:
        return done.value
    async with asyncio.timeout_at(deadline):
        return await _Begun(steps, first)


@dataclass(frozen=True, slots=True)
class _Begun(Generic[T]):
    """Work that has come to its first wait. Awaiting it waits for that, and goes on."""

    steps: Generator[Any, Any, T]
    first: Any

    def __await__(self) -> Generator[Any, Any, T]:
        wait = self.first
        while True:
            thrown: BaseException | None = None
            sent = None
            try:
                sent = yield wait
            except BaseException as error:
                thrown = error
            try:
                wait = self.steps.send(sent) if thrown is None else self.steps.throw(thrown)
            except StopIteration as done:
                return done.value
