"""Lines that are drawn again and again: one a row of the terminal, never wrapped, harmless whatever they hold."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment

from sopwith.cli.columns import cut_right
from sopwith.cli.terminal import harmless


class Lines:
    """A renderable of plain lines; `styles` are those of the first ones."""

    def __init__(self, lines: Sequence[str], styles: Sequence[str] = ()) -> None:
        self.lines = lines
        self.styles = styles

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for i, line in enumerate(self.lines):
            style = console.get_style(self.styles[i]) if i < len(self.styles) else None
            yield Segment(cut_right(harmless(line), options.max_width), style)
            yield Segment.line()
