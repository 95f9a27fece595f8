"""Runs one command, and lets nothing of it outlive it, its time, or the process that wanted it.

    python -I -S supervisor.py PARENT COMMAND ARGUMENT…

The supervisor stands between the process PARENT (a number) and the command. It ends when the command has ended,
when it gets a SIGTERM, or when the parent dies, also by a kill -9; whatever descends from the command then gets a
SIGTERM and soon after a SIGKILL, also where it has left the session or the process that started it. The exit
status is the command's own. It imports little, so that a start costs milliseconds.
"""

# Importing pathlib would double the time of a start.
# ruff: noqa: PTH123, PTH208
from __future__ import annotations

import ctypes
import errno
import os
import select
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

GRACE_SECONDS = 0.3
"""How long a process may take to end by itself after a SIGTERM."""

_LOST_SECONDS = 5.0
"""What cannot be killed in this time (it waits in the kernel) is left."""

_TICK = 0.5
_SUBREAPER, _DEATH_SIGNAL = 36, 1  # prctl(2)


def supervised(command: Sequence[str]) -> list[str]:
    """`command` as one that runs under a supervisor which belongs to this process."""
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), *command]


def main(parent: int, command: list[str]) -> int:
    """Run `command` to its end; returns its status as `os.waitpid` gives it."""
    _prctl(_SUBREAPER, 1)  # orphans become ours, so nothing gets out of sight
    woken, wake = os.pipe()
    for end in (woken, wake):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    told: list[int] = []
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, frame: told.append(number))
    child = os.fork()
    if child == 0:
        _become(command)
    _let_go({woken, wake})
    ears = [woken, *_parent_ear(parent)]
    status: int | None = None
    while status is None and not told and os.getppid() == parent:
        with suppress(InterruptedError):
            select.select(ears, [], [], _TICK)
        with suppress(BlockingIOError):
            os.read(woken, 512)
        status = _reap(child)
    return _end(child, status, woken)


def _become(command: list[str]) -> None:
    try:
        os.setsid()
        _prctl(_DEATH_SIGNAL, signal.SIGKILL)
        for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python: a command expects them as usual
            signal.signal(ignored, signal.SIG_DFL)
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
        os._exit(126 if error.errno == errno.EACCES else 127)


def _let_go(kept: set[int]) -> None:
    """Hold no pipe of the command open: its reader must see when the command ends."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    for name in os.listdir("/dev/fd"):
        if int(name) > 2 and int(name) not in kept:
            with suppress(OSError):
                os.close(int(name))


def _parent_ear(parent: int) -> list[int]:
    """A descriptor that becomes readable when the parent dies, where the system has one."""
    try:
        return [os.pidfd_open(parent)]
    except (AttributeError, OSError):
        return []


def _reap(child: int) -> int | None:
    """Bury the dead; the status of the command if it is among them."""
    found = None
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if pid == child:
                found = status
    return found


def _end(child: int, status: int | None, woken: int) -> int:
    """End all that is left; the status of the command."""
    began = time.monotonic()
    asked: set[int] = set()
    while left := _left(child):
        waited = time.monotonic() - began
        if waited > _LOST_SECONDS:
            break
        if waited > GRACE_SECONDS:
            _signal(left, signal.SIGKILL)
        else:
            _signal([pid for pid in left if pid not in asked], signal.SIGTERM)
            asked.update(left)
        with suppress(InterruptedError):
            select.select([woken], [], [], 0.01)
        with suppress(BlockingIOError):
            os.read(woken, 512)
        found = _reap(child)
        status = found if found is not None else status
    if status is None:  # it may have ended by itself just before
        status = _reap(child)
    return signal.SIGKILL if status is None else status


def _left(child: int) -> list[int]:
    """The processes that descend from this one and run; without /proc, the command's group as `os.kill` takes it."""
    parents = dict(_processes())
    if not parents:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(-child, 0)
            return [-child]
        return []
    return [pid for pid in parents if os.getpid() in _above(pid, parents)]


def _above(pid: int, parents: Mapping[int, int]) -> Iterator[int]:
    while pid in parents:
        pid = parents[pid]
        yield pid


def _processes() -> Iterator[tuple[int, int]]:
    """Each running process with its parent."""
    names: list[str] = []
    with suppress(FileNotFoundError):
        names = [name for name in os.listdir("/proc") if name.isdigit()]
    for name in names:
        with suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
            state, parent = file.read().rpartition(b")")[2].split()[:2]
            if state not in b"ZX":
                yield int(name), int(parent)


def _signal(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _prctl(option: int, value: int) -> None:
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _exit_as(status: int) -> None:
    """End this process in the way that `status` tells."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


if __name__ == "__main__":
    _exit_as(main(int(sys.argv[1]), sys.argv[2:]))
