"""A procedure drawn for `sopwith show`: in the terminal, or as SVG; and the path of a run over it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from sopwith.cli.terminal import Terminal
from sopwith.cli.text_graph import draw_text
from sopwith.cli.version import Version
from sopwith.errors import Text, UserError
from sopwith.lang.drawing import Walk, drawing
from sopwith.lang.svg import draw_svg
from sopwith.run.walk import walk_of

_CELLS = 120
"""How wide a drawing is where no terminal says how wide it is."""
_LEAST_CELLS = 40
_WRITTEN = Text("written: {}", "已写入：{}")
_CANNOT_WRITE = Text("{}: cannot be written: {}", "无法写入 {}：{}")
_NAME_ANOTHER = Text("name another file with --output", "请用 --output 指定其他文件")


def draw(shown: Terminal, version: Version, *, svg: bool, output: Path | None) -> None:
    """Draw a procedure on stdout, or into the file `output`. Raises `UserError` where that cannot be written."""
    found = drawing(version.procedure, version.writes, shown.language)
    walk = walk_of(version.procedure, version.path) if version.path else None
    text = draw_svg(found, walk, shown.language) if svg else _text(shown, version, walk)
    if output is None:
        shown.out(text.rstrip("\n"))
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        why = error.strerror or str(error)
        said = Text(_CANNOT_WRITE.en.format(output, why), _CANNOT_WRITE.zh.format(output, why))
        raise UserError(said, _NAME_ANOTHER) from error
    shown.say(shown.text(_WRITTEN).format(output))


def _text(shown: Terminal, version: Version, walk: Walk | None) -> str:
    cells = shutil.get_terminal_size((_CELLS, 1)).columns if sys.stdout.isatty() else _CELLS
    found = drawing(version.procedure, version.writes, shown.language)
    lines = draw_text(found, max(_LEAST_CELLS, cells), walk, shown.language)
    return "\n".join([found.title, "", *lines]) + "\n"
