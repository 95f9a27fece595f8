"""A line on stderr for every step, while a run goes on."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sopwith.cli.columns import cut, pad, width
from sopwith.cli.record import Record, Recorder
from sopwith.cli.terminal import Terminal, harmless
from sopwith.errors import Text
from sopwith.ir.event import (
    CallStarted,
    Event,
    HumanAsked,
    ModelReplied,
    ModelRequested,
    RunFinished,
    RunSuspended,
    StepEntered,
)
from sopwith.ir.procedure import Procedure
from sopwith.run.state import State

if TYPE_CHECKING:
    from rich.live import Live

    from sopwith.cli.live_view import LiveView

TITLE_CELLS = 28
LINE_CELLS = 108
"""How long a line is where no terminal says how wide it is."""

_USED_CELLS = 21
"""Tokens and seconds, with the spaces before them."""
_PER_SECOND = 8
"""So often the view of a run is drawn again."""
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
        own: Progress | None = None,
    ) -> None:
        self._terminal = terminal
        self._layout = StepLine(procedure, numbers)
        self._recorder = Recorder(procedure, numbers, language, self._print)
        self._told_before = False
        self._own = own or self
        self._console = terminal.console() if own is None else own._console
        self._loads = loads
        """Whether the model is still to be loaded."""
        self._live: Live | None = None
        self._view: LiveView | None = None
        if own is None and terminal.live:
            from sopwith.cli.live_view import LiveView  # rich's parts for it are not needed off a terminal

            self._view = LiveView(procedure, numbers, language, loads=loads)

    def beside(self, procedure: Procedure, numbers: Mapping[str, str], language: str) -> Progress:
        """For another run of the same family: with lines of its own, and drawn as a part of this one, since a terminal
        has room for one drawing."""
        return Progress(self._terminal, procedure, numbers, language, loads=False, own=self._own)

    def take_up(self, events: Sequence[Event]) -> None:
        """Know what the step that a run stopped at has done so far, so that its line says all of it.

        What has had its line before gets no other one.
        """
        entered = [i for i, event in enumerate(events) if isinstance(event.body, StepEntered)]
        self._told_before = True
        for event in events[entered[-1] :] if entered else ():
            self._recorder.take(event)
        self._told_before = False

    def __call__(self, event: Event, state: State) -> None:
        own = self._own
        if own._view is not None:
            own._view.take(event, state)
        body = event.body
        self._recorder.take(event)
        if isinstance(body, HumanAsked | RunFinished | RunSuspended):
            own.still()
        elif isinstance(body, ModelRequested | CallStarted):
            own._wait(body)
        elif isinstance(body, ModelReplied):
            own._loads = False

    def still(self) -> None:
        """Stop drawing, and leave the terminal as it was."""
        live, self._live = self._live, None
        if live is not None:
            live.stop()

    def _wait(self, body: ModelRequested | CallStarted) -> None:
        """Draw while something is waited for; off a terminal say only that the model is loaded, once, since that takes
        long."""
        if self._view is not None:
            self._draw(self._view)
        elif self._loads and isinstance(body, ModelRequested):
            self._terminal.say(self._terminal.text(_LOADING) + " …")
            self._loads = False

    def _draw(self, view: LiveView) -> None:
        if self._live is None:
            from rich.live import Live

            self._live = Live(
                view,
                console=self._console,
                refresh_per_second=_PER_SECOND,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
                vertical_overflow="crop",
            )
            self._live.start(refresh=True)

    def _print(self, record: Record) -> None:
        if self._told_before:
            return
        line = harmless(self._layout.line(record))
        self._console.print(line, style=None if record.good else "yellow")
