"""What others have to say to a run that somebody drives: a log of its own beside it, so that the run has one writer."""

from __future__ import annotations

from collections.abc import Sequence

from sopwith.errors import LogConflict
from sopwith.ir.event import Body, Event, Phase
from sopwith.log.port import Log

TRIES = 16
"""So many others may write at once."""


def inbox_of(run: str) -> str:
    """The id of the log that holds the messages to a run."""
    return f"inbox:{run}"


async def send(log: Log, run: str, task: str, body: Body, at: int) -> None:
    """Put a message into the inbox of a run, on the disk. Raises `LogError` where that cannot be done."""
    name = inbox_of(run)
    for left in reversed(range(TRIES)):
        seq = 1 + max((event.seq for event in await log.read(name)), default=0)
        try:
            message = Event(task, name, seq, at, Phase.EXECUTE, None, None, body)
            await log.append(name, [message], durable=True)
            return
        except LogConflict:
            if not left:
                raise


async def messages(log: Log, run: str, after: int = 0) -> Sequence[Event]:
    """The messages to a run with `seq > after`, in order."""
    return await log.read(inbox_of(run), after)
