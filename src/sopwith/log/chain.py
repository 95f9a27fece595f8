"""The hash chain: each event's hash covers the hash before it, so that a change shows in every later one.

The hash of an event is SHA-256 over

1. the 32 bytes of the hash before (32 zero bytes before the first event),
2. the envelope as a compact JSON array in UTF-8: `["task","run",seq,at,"phase","step",cause,"kind"]`,
3. the bytes of the stored body.

A chain alone shows neither a cut tail nor a full rewrite: keep the last hash elsewhere to show those.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import sha256

from sopwith.ir.event import Event, Phase, body_bytes

GENESIS = bytes(32)
"""What stands before the first event of a run."""

_PHASES = {phase: f'"{phase.value}"' for phase in Phase}


@lru_cache(maxsize=8192)
def _quoted(text: str | None) -> str:
    return json.dumps(text, ensure_ascii=False)


def link(previous: bytes, event: Event, body: bytes) -> bytes:
    """The hash of `event`, 32 bytes. `body` is what is stored of it, `previous` the hash before."""
    return links(previous, (event,), (body,))[0]


def words(events: Iterable[Event]) -> list[str]:
    """The part of each envelope that is text: `"phase","step",cause,"kind"`."""
    return [
        f'{_PHASES[phase]},{_quoted(step)},{"null" if cause is None else cause},"{body.kind}"'
        for (_, _, _, _, phase, step, cause, body, _) in events
    ]


def links(
    previous: bytes, events: Sequence[Event], bodies: Sequence[bytes], told: Sequence[str] | None = None
) -> list[bytes]:
    """The hashes of consecutive events of one run and task, each after the one before.

    `told` are their `words`, where they are known already.
    """
    if not events:
        return []
    told = words(events) if told is None else told
    start = f"[{_quoted(events[0].task)},{_quoted(events[0].run)},"
    hashes: list[bytes] = []
    for event, body, text in zip(events, bodies, told, strict=True):
        envelope = f"{start}{event[2]},{event[3]},{text}]".encode()
        previous = sha256(previous + envelope + body).digest()
        hashes.append(previous)
    return hashes


def stored_link(previous: bytes, envelope: Sequence[str | int | None], body: bytes) -> bytes:
    """The hash of a stored event, from the parts that `link` covers: for rows that may be no valid events."""
    head = json.dumps(envelope, ensure_ascii=False, separators=(",", ":"))
    return sha256(b"%b%b%b" % (previous, head.encode("utf-8", "surrogatepass"), body)).digest()


def verify(events: Iterable[Event], previous: str = "") -> int | None:
    """The seq of the first event that does not follow from the ones before, or None where all is well.

    `events` are consecutive events with their hashes; `previous` is the hash before the first, where that
    is not the first of its run.
    """
    expected: int | None = None
    head = bytes.fromhex(previous) if previous else GENESIS
    for event in events:
        if expected is None:
            expected = event.seq if previous else 1
        head = link(head, event, body_bytes(event.body))
        if event.seq != expected or head.hex() != event.hash:
            return event.seq
        expected += 1
    return None
