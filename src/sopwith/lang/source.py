"""A text that is read: clean, and with the place of every offset in it."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate

from sopwith.ir.diagnostic import Place

HALF = re.compile("[\ud800-\udfff]")
"""Half of a character: what no encoding holds."""


class Source:
    """A text without a byte order mark, with `\\n` at the ends of its lines, and without half characters."""

    def __init__(self, text: str, file: str) -> None:
        plain = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
        self.text = HALF.sub("\ufffd", plain)
        self.file = file
        self._lines = self.text.split("\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in self._lines)]

    def place(self, at: int) -> Place:
        """The line and column of an offset."""
        line = bisect_right(self._starts, at) - 1
        return Place(file=self.file, line=line + 1, column=at - self._starts[line] + 1)

    def line(self, number: int) -> str:
        """A line by its number from 0; "" behind the last."""
        return self._lines[number] if number < len(self._lines) else ""
