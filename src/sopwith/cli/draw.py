"""A procedure drawn for `sopwith show`: in the terminal, or as SVG; and the path of a run over it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from sopwith.cli.output_file import write_output
from sopwith.cli.terminal import Terminal
from sopwith.cli.text_graph import draw_text
from sopwith.cli.version import Version
from sopwith.errors import Text
from sopwith.lang.drawing import Walk, drawing
from sopwith.lang.svg import draw_svg
from sopwith.run.walk import walk_of

_CELLS = 120
"""How wide a drawing is where no terminal says how wide it is."""
_LEAST_CELLS = 40
_WRITTEN = Text("written: {}", "已写入：{}")


def draw(shown: Terminal, version: Version, *, svg: bool, output: Path | None, force: bool) -> None:
    """Draw a procedure on stdout, or into the file `output`. Raises `UserError` where that cannot be written, or
    is something else that is not to be written over (`force`).
    """
    found = drawing(version.procedure, version.writes, shown.language)
    walk = walk_of(version.procedure, version.path) if version.path else None
    text = draw_svg(found, walk, shown.language) if svg else _text(shown, version, walk)
    if output is None:
        shown.out(text.rstrip("\n"))
        return
    write_output(output, text, force=force, ours=(lambda held: held.startswith("<svg")) if svg else None)
    shown.say(shown.text(_WRITTEN).format(output))


def _text(shown: Terminal, version: Version, walk: Walk | None) -> str:
    cells = shutil.get_terminal_size((_CELLS, 1)).columns if sys.stdout.isatty() else _CELLS
    found = drawing(version.procedure, version.writes, shown.language)
    lines = draw_text(found, max(_LEAST_CELLS, cells), walk, shown.language)
    return "\n".join([found.title, "", *lines]) + "\n"
