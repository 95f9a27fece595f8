"""The events of waiting: for a time, or for something that happens outside."""

from __future__ import annotations

from typing import Literal

from sopwith.ir.body import Blob, Body
from sopwith.ir.value import Json


class WaitBegan(Body):
    """A step waits: until `until`, or for `event`, and for that until `deadline` at the latest. Times are µs since
    1970. `past`: the time had come before the step was entered, and nothing is waited for."""

    kind: Literal["wait.began"] = "wait.began"
    until: int | None = None
    event: str | None = None
    deadline: int | None = None
    past: bool = False


class WaitEnded(Body):
    """What was waited for has come: the time, the event, or the deadline of the event (`timeout`); `dry` in a dry run,
    which waits for nothing.

    `signal` is the seq of the event in the inbox of the run, `who` has sent it; its payload has the name `name` where
    the step gives it one. Long values as in `call.finished`. `passed_over` are the seqs of events that came before,
    and whose payload had been erased.
    """

    kind: Literal["wait.ended"] = "wait.ended"
    by: Literal["time", "event", "timeout", "dry"]
    event: str | None = None
    signal: int | None = None
    who: str | None = None
    name: str | None = None
    value: Json = None
    blob: Blob | None = None
    size: int | None = None
    passed_over: tuple[int, ...] = ()


class SignalSent(Body):
    """Something has happened outside that a run waits for, or may wait for later. It lies in the inbox of the run."""

    kind: Literal["signal.sent"] = "signal.sent"
    event: str
    payload: Json = None
    by: str
