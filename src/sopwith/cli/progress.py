"""A line on stderr for every step, while a run goes on."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sopwith.cli.columns import cut, pad, width
from sopwith.cli.record import Record, Recorder
from sopwith.cli.terminal import Terminal
from sopwith.errors import Text
from sopwith.ir.event import (
    CallStarted,
    Event,
    HumanAsked,
    ModelReplied,
    ModelRequested,
    RunFinished,
    StepEntered,
)
from sopwith.ir.procedure import Procedure
from sopwith.run.state import State

if TYPE_CHECKING:
    from rich.status import Status

TITLE_CELLS = 28
LINE_CELLS = 108
"""How long a line is where no terminal says how wide it is."""

_USED_CELLS = 21
"""Tokens and seconds, with the spaces before them."""
_READING = Text("the model reads", "模型处理中")
_LOADING = Text("loading the model and reading", "正在载入模型并处理")
_TOKENS = Text("tok", "tok")


class StepLine:
    """How the records of one procedure are laid out in lines."""

    def __init__(self, procedure: Procedure, numbers: Mapping[str, str]) -> None:
        self.number = max((width(number) for number in numbers.values()), default=1)
        titles = (width(step.title) for step in procedure.steps.values())
        self.title = min(TITLE_CELLS, max(titles, default=1))
        room = shutil.get_terminal_size((LINE_CELLS, 1)).columns - _USED_CELLS - self.number - self.title - 6
        self.what = max(20, min(room, LINE_CELLS // 2))

    def head(self, number: str, title: str) -> str:
        """The columns that are known when a step begins."""
        return f"  {pad(number, self.number, right=True)}  {pad(cut(title, self.title), self.title)}"

    def line(self, record: Record) -> str:
        """A whole line: number, name, what it did, tokens that were newly read or written, seconds."""
        what = self._what(record.parts)
        used = record.usage
        new = used.input + used.cache_write + used.output
        tokens = f"+{new} {_TOKENS.en}" if used.model_calls else ""
        seconds = f"{record.seconds:.1f} s"
        head = self.head(record.number, record.title)
        return f"{head}  {pad(what, self.what)}  {pad(tokens, 10, right=True)}  {pad(seconds, 7, right=True)}"

    def _what(self, parts: Sequence[str]) -> str:
        """What a step did, in its column: of several things the last is the one that counts."""
        whole = "; ".join(parts)
        if width(whole) <= self.what or len(parts) < 2:
            return cut(whole, self.what)
        last = cut(parts[-1], self.what * 2 // 3)
        return f"{cut('; '.join(parts[:-1]), self.what - width(last) - 2)}; {last}"


class Progress:
    """A subscriber to the events of one run."""

    def __init__(
        self,
        terminal: Terminal,
        procedure: Procedure,
        numbers: Mapping[str, str],
        language: str,
        *,
        loads: bool,
    ) -> None:
        self._terminal = terminal
        self._layout = StepLine(procedure, numbers)
        self._recorder = Recorder(procedure, numbers, language, self._print)
        self._console = terminal.console()
        self._status: Status | None = None
        self._loads = loads
        """Whether the model is still to be loaded."""

    def take_up(self, events: Sequence[Event]) -> None:
        """Know what the step that a run stopped at has done so far, so that its line says all of it."""
        entered = [i for i, event in enumerate(events) if isinstance(event.body, StepEntered)]
        for event in events[entered[-1] :] if entered else ():
            self._recorder.take(event)

    def __call__(self, event: Event, state: State) -> None:
        body = event.body
        self._recorder.take(event)
        if isinstance(body, ModelRequested):
            self._wait(self._terminal.text(_LOADING if self._loads else _READING))
        elif isinstance(body, ModelReplied):
            self._loads = False
            self.still()
        elif isinstance(body, CallStarted):
            self._wait(body.tool)
        elif isinstance(body, HumanAsked | RunFinished):
            self.still()

    def still(self) -> None:
        """Stop drawing."""
        if self._status is not None:
            self._status.stop()
            self._status = None

    def _wait(self, what: str) -> None:
        """Say what is being waited for; off a terminal only that the model is loaded, once, since that takes long."""
        record = self._recorder.current
        if record is None:
            return
        if not self._terminal.live:
            if self._loads and what == self._terminal.text(_LOADING):
                self._terminal.say(what + " …")
                self._loads = False
            return
        # The spinner stands in the two cells of the margin.
        shown = f"{self._layout.head(record.number, record.title)[2:]}  {what} …"
        if self._status is None:
            self._status = self._console.status(shown, spinner="dots")
            self._status.start()
        else:
            self._status.update(shown)

    def _print(self, record: Record) -> None:
        self.still()
        self._console.print(self._layout.line(record), style=None if record.good else "yellow")
