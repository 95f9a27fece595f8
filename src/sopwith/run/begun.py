"""A coroutine that is begun at once, in the task of its caller."""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")


class Begun(Generic[T]):
    """Runs a coroutine up to where it first waits, and is awaited for the rest.

    What never waits is `done` then, and needs no timer: a scripted model, a recorded one, an answer from a cache.
    Whatever the coroutine raises before it waits is raised here. Await it in the task that has begun it.
    """

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._coroutine = coroutine
        self._waits_for: Any = None
        self._value: T | None = None
        self.done = False
        self._go_on(coroutine.send, None)

    def _go_on(self, resume: Any, given: object) -> None:
        try:
            self._waits_for = resume(given)
        except StopIteration as stop:
            self.done = True
            self._value = stop.value

    def __await__(self) -> Generator[Any, Any, T]:
        while not self.done:
            try:
                sent = yield self._waits_for
            except BaseException as error:  # cancelled: for the coroutine to see
                self._go_on(self._coroutine.throw, error)
            else:
                self._go_on(self._coroutine.send, sent)
        return cast("T", self._value)
