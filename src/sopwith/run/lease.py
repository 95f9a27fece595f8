"""The lease: one run has one driver, also among many processes, and a dead driver holds nothing.

A driver is named `machine/pid/start/engine`. On its own machine it is looked up; on another one it is believed to live
until its lease has run out. Two that take a run at once are kept apart by the log's compare-and-append.
"""

from __future__ import annotations

import os
import secrets
import socket
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

from sopwith.run.state import Lease, State

LEASE_SECONDS = 60.0
"""How long a driver has a run to itself after its last event."""

RENEW_SECONDS = 20.0
"""A driver that has written nothing for so long renews its lease."""


DRIVEN: set[tuple[str, str]] = set()
"""What the engines of this process drive right now: the name of the driver, and the run."""


def new_driver() -> str:
    """A name for a driver of this process."""
    pid = os.getpid()
    return f"{_machine()}/{pid}/{_start_of(pid) or 0}/{secrets.token_hex(4)}"


def holder(state: State, now: int) -> str | None:
    """Who drives the run at `now` (microseconds), or None where nobody does."""
    lease = state.lease
    if lease is None or not _is_alive(lease, state, now):
        return None
    return lease.driver


def may_start(driver: str, at: int, now: int) -> bool:
    """Whether one that has announced a run `at`, and written nothing since, is believed to start it still at `now`."""
    machine, pid, start, *_ = (*driver.split("/"), "", "", "")
    if now - at >= LEASE_SECONDS * 1e6:
        return False
    return machine != _machine() or not pid.isdigit() or _lives(int(pid), start)


def _is_alive(lease: Lease, state: State, now: int) -> bool:
    machine, pid, start, *_ = (*lease.driver.split("/"), "", "", "")
    if machine != _machine() or not pid.isdigit():
        return now - state.at < lease.seconds * 1e6
    if int(pid) == os.getpid():
        return (lease.driver, state.run) in DRIVEN
    return _lives(int(pid), start)


def _lives(pid: int, start: str) -> bool:
    """Whether the process is there, and is the same one that had this number then."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it lives, and belongs to somebody else
    return str(_start_of(pid) or 0) == start


@cache
def _machine() -> str:
    """This machine since it was started: processes with the same one can see each other."""
    facts = [socket.gethostname()]
    with suppress(OSError):
        facts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii"))
        facts.append(str(Path("/proc/self/ns/pid").readlink()))
    return sha256("\n".join(facts).encode()).hexdigest()[:12]


def _start_of(pid: int) -> int | None:
    """When a process was started, in ticks since the machine was; None where the system does not say."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    state, *fields = stat.rpartition(")")[2].split()
    return None if state == "Z" else int(fields[18])
