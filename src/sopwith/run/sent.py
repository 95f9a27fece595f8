"""The prompts of a run as they were sent, from its log, and how much of each had been sent before."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from sopwith.ir.event import Event, ModelReplied, ModelRequested, Purpose
from sopwith.ir.usage import Usage
from sopwith.run.fold import begin, fold

OPEN: tuple[Purpose, ...] = ("free", "guide")
"""What a transcript is asked for: its turns are the exchanges before, which the log holds as events."""


@dataclass(frozen=True, slots=True)
class Sent:
    """One prompt: its messages in order (the system text with the tools first), how many of its characters the same
    model had been sent before in this run, at the beginning of one prompt, and what the reply says was used."""

    seq: int
    step: str | None
    purpose: Purpose
    model: str
    messages: tuple[str, ...]
    before: int
    usage: Usage = field(default=Usage())

    @property
    def size(self) -> int:
        """All characters of the prompt."""
        return sum(map(len, self.messages))

    @property
    def new(self) -> tuple[str, ...]:
        """What follows the beginning that had been sent before, message by message."""
        left, found = self.before, list[str]()
        for message in self.messages:
            if left < len(message):
                found.append(message[left:])
            left = max(0, left - len(message))
        return tuple(found)


class Beginnings:
    """The beginnings of all prompts that one model was sent."""

    def __init__(self) -> None:
        self._after: dict[tuple[str, ...], set[str]] = {}
        """The messages that have followed each beginning."""

    def known(self, messages: Sequence[str]) -> int:
        """How many characters of a prompt, from its first on, some prompt before has begun with."""
        size, beginning = 0, tuple[str, ...]()
        for message in messages:
            after = self._after.get(beginning, set())
            if message not in after:
                return size + max((_alike(message, other) for other in after), default=0)
            size, beginning = size + len(message), (*beginning, message)
        return size

    def add(self, messages: Sequence[str]) -> None:
        """One more prompt was sent."""
        for at, message in enumerate(messages):
            self._after.setdefault(tuple(messages[:at]), set()).add(message)


def sent_prompts(
    events: Iterable[Event], blobs: Mapping[str, bytes], known: dict[str, Beginnings] | None = None
) -> list[Sent]:
    """The prompts of a run in order. `blobs` are those that `stable_blobs` names; `known` are the beginnings by the
    id of a model, where other runs have sent prompts before; those of this run are added."""
    beginnings = {} if known is None else known
    found: dict[int, Sent] = {}
    state = None
    for event in events:
        body = event.body
        if isinstance(body, ModelRequested):
            said: list[str] = []
            if body.purpose in OPEN and state is not None:
                said = [text for each in state.transcript for text in (each.tail, each.reply)]
            elif body.turns is not None:
                said = [text for turn in json.loads(blobs[body.turns]) for text in turn]
            messages = (blobs[body.prefix].decode(), *said, body.tail)
            before = beginnings.setdefault(body.model, Beginnings())
            share = before.known(messages)
            found[event.seq] = Sent(event.seq, event.step, body.purpose, body.model, messages, share)
            before.add(messages)
        elif isinstance(body, ModelReplied) and event.cause in found:
            found[event.cause] = replace(found[event.cause], usage=body.usage)
        state = begin(event) if state is None else fold(state, event)
    return list(found.values())


def stable_blobs(events: Iterable[Event]) -> set[str]:
    """The blobs that the prompts of a run begin with."""
    asked = [event.body for event in events if isinstance(event.body, ModelRequested)]
    return {blob for body in asked for blob in (body.prefix, body.turns) if blob is not None}


def _alike(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    if one.startswith(other) or other.startswith(one):
        return min(len(one), len(other))
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
