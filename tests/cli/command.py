"""`sopwith` as the tests run it: in this process, and as a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sopwith.cli.app import app
from sopwith.cli.init import template

PROGRAM = [sys.executable, "-c", "from sopwith.cli.app import main; main()"]


@dataclass(frozen=True)
class Ran:
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one document on stdout."""
        return json.loads(self.out)


@dataclass(frozen=True)
class Command:
    """The command in a folder of its own, without any setting from outside."""

    folder: Path

    def __call__(self, *arguments: str, stdin: str | None = None) -> Ran:
        """Run it in this process, in `folder`."""
        result = CliRunner().invoke(app, list(arguments), input=stdin)
        return Ran(result.exit_code, result.stdout, result.stderr)

    def start(self, *arguments: str, ready: int | None = None, **environment: str) -> subprocess.Popen[str]:
        """Start it as a process. It inherits the descriptor `ready`, and finds its number in READY."""
        if ready is not None:
            environment["READY"] = str(ready)
        return subprocess.Popen(
            [*PROGRAM, *arguments],
            cwd=self.folder,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            pass_fds=() if ready is None else (ready,),
            # also where the tests run in the background, and pass on that an interrupt is ignored
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def process(self, *arguments: str, **environment: str) -> Ran:
        """Run it as a process, to its end."""
        with self.start(*arguments, **environment) as started:
            out, err = started.communicate(timeout=60)
        return Ran(started.returncode, out, err)

    def write(self, name: str, text: str) -> Path:
        """A file in the folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path


def make(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """A command that knows no settings but those of the test."""
    for name in list(os.environ):
        if name.startswith(("SOPWITH_", "LC_", "LANG")) and name != "SOPWITH_MODEL_DIR":
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "no-settings-of-a-user"))
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.chdir(folder)
    return Command(folder)


def lay_out(folder: Path, language: str = "en") -> None:
    """The project that `sopwith init` makes."""
    for name, text in template(language).items():
        (folder / name).write_text(text, encoding="utf-8")
