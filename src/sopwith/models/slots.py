"""Which of a local model's prompt caches a prompt goes to, so that what it begins with is read once."""

from __future__ import annotations

import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(slots=True)
class _Slot:
    number: int
    busy: bool = False
    used: int = 0
    messages: tuple[str, ...] = ()


class Slots:
    """The caches of one model, each holding the last prompt that went to it.

    A prompt belongs where the same messages before its last one are (the same step, another run), or where it
    continues what is there (a transcript that grew). Otherwise it takes an unused slot, or the one that was not used
    for longest. Likeness is not enough: two steps of a procedure begin alike and would drive out each other's examples.
    """

    def __init__(self, count: int) -> None:
        self._slots = [_Slot(number) for number in range(count)]
        self._lock = threading.Lock()
        self._clock = 0

    @contextmanager
    def take(self, messages: Sequence[str]) -> Generator[int]:
        """The number of the slot for a prompt of these messages, which is busy while the block runs.

        At most as many blocks may run side by side as there are slots.
        """
        prompt = tuple(messages)
        with self._lock:
            slot = self._choose(prompt)
            self._clock += 1
            slot.busy, slot.used, slot.messages = True, self._clock, prompt
        try:
            yield slot.number
        finally:
            slot.busy = False

    def _choose(self, prompt: tuple[str, ...]) -> _Slot:
        free = [slot for slot in self._slots if not slot.busy]
        for slot in free:
            if slot.messages and prompt[: len(slot.messages)] == slot.messages:
                return slot
        for slot in free:
            if slot.messages and slot.messages[:-1] == prompt[:-1]:
                return slot
        return min(free, key=lambda slot: slot.used)
