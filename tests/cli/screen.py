"""`sopwith` at a pseudo terminal, as a person has it: what is drawn, and keys that are pressed."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.cli.command import PROGRAM, Command

SECONDS = 60
SHOW_CURSOR, HIDE_CURSOR = "\x1b[?25h", "\x1b[?25l"
CTRL_C = b"\x03"


@dataclass
class Screen:
    """A process whose streams are a terminal. `shown` is everything that it has written."""

    process: subprocess.Popen[bytes]
    terminal: int
    shown: str = ""
    _rest: bytes = field(default=b"")

    def read_until(self, pattern: str) -> str:
        """Wait until `pattern` is on the screen. What ends before that fails the test."""
        while not re.search(pattern, self.shown):
            if not self._read():
                raise AssertionError(f"{pattern!r} never came:\n{self.shown}")
        return self.shown

    def read_all(self) -> int:
        """Read to the end of the process. Returns its exit code."""
        while self._read():
            pass
        return self.process.wait(SECONDS)

    def press(self, keys: bytes) -> None:
        """Press keys: those that mean a signal reach the process as one."""
        os.write(self.terminal, keys)

    def _read(self) -> bool:
        ready, _, _ = select.select([self.terminal], [], [], SECONDS)
        try:
            data = os.read(self.terminal, 65536) if ready else b""
        except OSError:  # the other side is closed
            data = b""
        self._rest += data
        self.shown += self._rest.decode("utf-8", "ignore")
        self._rest = b""
        return bool(data)

    @property
    def lines(self) -> list[str]:
        """What was written, without escape codes, by lines and redrawn lines."""
        return re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.shown))


def _take(terminal: int) -> None:
    """Make it the terminal of this process, whose keys mean what they mean to a person: also where the tests run in
    the background, and pass on that an interrupt is ignored."""
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def at_a_terminal(
    command: Command, *arguments: str, columns: int = 100, ready: int | None = None, **environment: str
) -> Iterator[Screen]:
    """The command at a terminal of so many columns; it inherits the descriptor `ready` as in `Command.start`."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
    names = {**os.environ, "TERM": "xterm", **environment}
    names.pop("COLUMNS", None)
    if ready is not None:
        names["READY"] = str(ready)
    process = subprocess.Popen(
        [*PROGRAM, *arguments],
        cwd=command.folder, env=names, stdin=theirs, stdout=theirs, stderr=theirs,
        start_new_session=True, preexec_fn=lambda: _take(theirs),
        pass_fds=() if ready is None else (ready,),
    )  # fmt: skip
    os.close(theirs)
    try:
        yield Screen(process, ours)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
