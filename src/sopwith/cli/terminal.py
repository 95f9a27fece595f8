"""What a command writes: data to stdout, everything else to stderr, in the language of the user.

Whoever reads may stop reading (`| head`): what is written then is lost, and the command goes on to its end.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TextIO

import typer

from sopwith.cli.exit_code import ExitCode, known, of_error
from sopwith.errors import LogDamaged, ProcedureError, SopwithError, Text, UserError
from sopwith.guard.secret import SecretRule, masked
from sopwith.ir.diagnostic import Diagnostic
from sopwith.ir.value import Json
from sopwith.log.sqlite_file import RESTORE

if TYPE_CHECKING:
    from rich.console import Console

DEBUG = "SOPWITH_DEBUG"
_INTERNAL = Text(
    "set SOPWITH_DEBUG=1 to see where, and please report it", "设置 SOPWITH_DEBUG=1 可查看位置，欢迎反馈"
)

View = Literal["live", "plain", "quiet"]


@dataclass(slots=True)
class Terminal:
    """The two streams of one command. With `json`, stdout gets exactly one document, also for an error."""

    language: str = "en"
    json: bool = False
    secrets: Sequence[SecretRule] = ()
    """What a policy calls secret, beyond what always is."""
    view: View = "live"
    """How a run is followed: drawn again and again where that can be, in plain lines, or not at all."""

    def text(self, text: Text | str) -> str:
        """A sentence in the language of this terminal."""
        return text if isinstance(text, str) else text.in_(self.language)

    def out(self, text: Text | str) -> None:
        """Data: a line on stdout."""
        _write(self.text(text) + "\n", sys.stdout)

    def line(self, text: str) -> None:
        """Data that somebody follows: a line on stdout, at once."""
        _write(text + "\n", sys.stdout, flush=True)

    def say(self, text: Text | str) -> None:
        """Progress: a line on stderr."""
        _write(self.text(text) + "\n", sys.stderr, flush=True)

    def say_part(self, text: str) -> None:
        """The beginning of a line on stderr, such as a prompt."""
        _write(text, sys.stderr, flush=True)

    def document(self, value: Any) -> None:
        """The one document of a command with `--json`."""
        _write(json.dumps(value, ensure_ascii=False, indent=2) + "\n", sys.stdout)

    @property
    def asks(self) -> bool:
        """Whether somebody sits here who can be asked."""
        return sys.stdin.isatty() and sys.stderr.isatty()

    @property
    def live(self) -> bool:
        """Whether lines on stderr may be drawn again."""
        return self.view == "live" and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    @property
    def draws(self) -> bool:
        """Whether lines on stdout may be drawn again."""
        return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"

    def console(self) -> Console:
        """stderr with colours, where it is a terminal."""
        return _console(sys.stderr)

    def screen(self) -> Console:
        """stdout with colours, where it is a terminal."""
        return _console(sys.stdout)

    def failed(self, error: BaseException) -> ExitCode:
        """Say what went wrong and what to do about it. Returns the exit code."""
        if os.environ.get(DEBUG) == "1":
            self.say(self._masked("".join(traceback.format_exception(error)).rstrip()))
        diagnostics = diagnostics_of(error)
        for diagnostic in diagnostics:
            self.say(diagnostic.render(self.language))
        shown = self._without_secrets(as_error(error))
        self.say(_first_line(shown, self.language) if diagnostics else shown.render(self.language))
        if self.json:
            self.document({"error": self.error_json(shown, diagnostics)})
        return of_error(error)

    def damaged(self, damage: Sequence[Text]) -> ExitCode:
        """Say what of the store could not be read, after what could. Returns the exit code."""
        if damage:
            whole = Text("; ".join(said.en for said in damage), "；".join(said.zh for said in damage))
            self.say(LogDamaged(whole, RESTORE).render(self.language))
        return ExitCode.DAMAGED if damage else ExitCode.OK

    def misused(self, message: Text, hint: Text) -> ExitCode:
        """Say that the command line cannot be understood."""
        error = self._without_secrets(UserError(message, hint))
        self.say(error.render(self.language))
        if self.json:
            self.document({"error": self.error_json(error, ())})
        return ExitCode.USAGE

    def _without_secrets(self, error: SopwithError) -> SopwithError:
        """An error for a reader: what it quotes may come from a tool, a server, a request."""
        message = Text(*map(self._masked, error.message))
        return error if message == error.message else SopwithError(message, error.hint, error.code)

    def _masked(self, text: str) -> str:
        return masked(text, self.secrets)

    def error_json(self, error: SopwithError, diagnostics: Sequence[Diagnostic]) -> dict[str, Json]:
        """An error as the object that `--json` prints."""
        found: dict[str, Json] = {
            "code": error.code,
            "message": error.message.in_(self.language),
            "hint": error.hint.in_(self.language),
        }
        if diagnostics:
            found["diagnostics"] = [d.to_json(self.language) for d in diagnostics]
        return found


_CONTROLS = {
    code: f"\\u{code:04x}"
    for code in (*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
    if chr(code) not in "\n\t"
}
"""Characters that would move, colour or turn round what a terminal shows, as they are printed: also valid in JSON."""


def harmless(text: str) -> str:
    """What may come from anybody, so that nothing in it commands the terminal."""
    return text.translate(_CONTROLS)


def _write(text: str, stream: TextIO, *, flush: bool = False) -> None:
    """Print what may come from anybody."""
    text = harmless(text)
    try:
        print(text, end="", file=stream, flush=flush)
    except BrokenPipeError:
        unread(stream)


def unread(stream: TextIO) -> None:
    """Nobody reads `stream` any more: what is still in it and what follows goes nowhere, also at the exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _console(stream: TextIO) -> Console:
    from rich.console import Console

    class Piped(Console):
        def on_broken_pipe(self) -> None:
            unread(stream)

    return Piped(file=stream, highlight=False, markup=False, emoji=False, soft_wrap=True)


def terminal(context: typer.Context) -> Terminal:
    """The terminal of the command that runs in `context`."""
    found = context.find_root().obj
    return found if isinstance(found, Terminal) else Terminal()


def diagnostics_of(error: BaseException) -> list[Diagnostic]:
    """The diagnostics that an error carries."""
    found = error.diagnostics if isinstance(error, ProcedureError) else ()
    return [item for item in found if isinstance(item, Diagnostic)]


def as_error(error: BaseException) -> SopwithError:
    """`error`, or what stands for an error that nobody foresaw."""
    if isinstance(error, SopwithError) and known(error):
        return error
    what = f"{type(error).__name__}: {error}"
    return SopwithError(Text(f"something broke: {what}", f"出现内部错误：{what}"), _INTERNAL)


def _first_line(error: SopwithError, language: str) -> str:
    """The error without the diagnostics that its message lists again."""
    return error.render(language).partition("\n")[0]
