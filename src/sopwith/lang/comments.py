"""The comments and blank lines of a YAML text, each with the part that it belongs to, so that they move
with it."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from sopwith.lang.document import Path
from sopwith.lang.tree import Row, Tree

_COMMENT = re.compile(r"(?<![^\s])#[^\n]*")
BLANK = ""


@dataclass(slots=True)
class Comments:
    """`before` are the lines above a row (`BLANK` for an empty one), `beside` the comment on its line,
    `foot` the lines after the last row of a collection, `head` those above everything."""

    head: list[str] = field(default_factory=list[str])
    before: dict[Path, list[str]] = field(default_factory=dict[Path, list[str]])
    beside: dict[Path, str] = field(default_factory=dict[Path, str])
    foot: dict[Path, list[str]] = field(default_factory=dict[Path, list[str]])
    _holders: set[Path] | None = None

    def inside(self, path: Path) -> bool:
        """Whether a comment belongs to a part of `path`. Asked only once all comments are read."""
        if self._holders is None:
            held = (*self.beside, *(p for p, lines in self.before.items() if any(lines)))
            self._holders = {p[:n] for p in (*held, *self.foot) for n in range(len(p))} | set(self.foot)
        return path in self._holders

    def all(self) -> list[str]:
        """Every comment, sorted."""
        groups = (self.head, *self.before.values(), *self.foot.values(), self.beside.values())
        return sorted(line for group in groups for line in group if line != BLANK)


def read_comments(text: str, tree: Tree) -> Comments:
    """The comments of a text (with `\\n` line ends) whose tree is `tree`."""
    return _Reader(text, tree).read()


class _Reader:
    """One reading of the comments of a text."""

    def __init__(self, text: str, tree: Tree) -> None:
        self.text = text
        self.rows = tree.rows
        self.offsets = [row.offset for row in tree.rows]
        self.block_rows = [row for row in tree.rows if not row.flow]
        self.block_offsets = [row.offset for row in self.block_rows]
        self.row_at = {row.path: row for row in tree.rows}
        self.scalars = sorted(_content(text, span) for span in tree.scalars)
        self.scalar_starts = [start for start, _ in self.scalars]
        self.brackets = tree.brackets
        self.bracket_starts = [start for start, _ in tree.brackets]
        self.found = Comments()

    def read(self) -> Comments:
        at = 0
        while match := _COMMENT.search(self.text, at):
            inside = self._scalar_at(match.start())
            if inside is None:
                self._attach(match.start(), match.group().rstrip())
            at = match.end() if inside is None else inside[1]
        for match in re.finditer(r"\n[ \t]*(?=\n)", self.text):
            at = match.end()
            if self._scalar_at(at) is None and not self._in_brackets(at):
                self._blank(at)
        return self.found

    def _scalar_at(self, at: int) -> tuple[int, int] | None:
        """The span of the scalar that holds the offset `at`."""
        i = bisect_right(self.scalar_starts, at) - 1
        return self.scalars[i] if i >= 0 and at < self.scalars[i][1] else None

    def _in_brackets(self, at: int) -> bool:
        i = bisect_right(self.bracket_starts, at) - 1
        return i >= 0 and self.brackets[i][0] < at < self.brackets[i][1]

    def _attach(self, at: int, comment: str) -> None:
        line_start = self.text.rfind("\n", 0, at) + 1
        if self.text[line_start:at].strip():
            self._beside(at, line_start, comment)
        elif self._in_brackets(at):
            following = bisect_right(self.offsets, at)
            self._above(self.rows[min(following, len(self.rows) - 1)], comment)
        else:
            self._own_line(at, at - line_start, comment)

    def _beside(self, at: int, line_start: int, comment: str) -> None:
        """A comment at the end of a line belongs to the last row that begins before it."""
        rows, offsets = (
            (self.rows, self.offsets) if self._in_brackets(at) else (self.block_rows, self.block_offsets)
        )
        i = bisect_right(offsets, at) - 1
        if i < 0:
            self.found.head.append(comment)
        elif rows[i].path in self.found.beside:
            self._above(rows[i], comment)
        else:
            self.found.beside[rows[i].path] = comment

    def _own_line(self, at: int, column: int, comment: str) -> None:
        """A comment on its own line belongs to the row below, or to the end of a collection that it is
        inside."""
        i = bisect_right(self.block_offsets, at)
        if i == 0:
            self.found.head.append(comment)
            return
        below = self.block_rows[i] if i < len(self.block_rows) else None
        last = self._enclosing(self.block_rows[i - 1].path, column)
        if below is not None and (self._column(below) >= column or last[:-1] == below.path[:-1]):
            self._above(below, comment)
        else:
            self.found.foot.setdefault(last[:-1], []).append(comment)

    def _enclosing(self, path: Path, column: int) -> Path:
        """The deepest of a row and the rows it is inside that begins no further right than `column`."""
        for length in range(len(path), 0, -1):
            row = self.row_at.get(path[:length])
            if row is not None and self._column(row) <= column:
                return path[:length]
        return path[:1]

    def _column(self, row: Row) -> int:
        """Where a row begins on its line: the dash, for a list item."""
        line_start = self.text.rfind("\n", 0, row.offset) + 1
        if not isinstance(row.path[-1], int):
            return row.offset - line_start
        dash = self.text.rfind("-", line_start, row.offset)
        return (dash if dash >= 0 else max(row.offset - 2, line_start)) - line_start

    def _above(self, row: Row, comment: str) -> None:
        self.found.before.setdefault(row.path, []).append(comment)

    def _blank(self, at: int) -> None:
        """A blank line is kept above a row, and above the comments above that row."""
        i = bisect_right(self.block_offsets, at)
        if 0 < i < len(self.block_rows):
            lines = self.found.before.setdefault(self.block_rows[i].path, [])
            if lines[:1] != [BLANK]:
                lines.insert(0, BLANK)


def _content(text: str, span: tuple[int, int]) -> tuple[int, int]:
    """The span of a scalar; that of a block scalar begins on the line after its header."""
    start, end = span
    if text[start : start + 1] in ("|", ">"):
        return text.find("\n", start) + 1 or end, end
    return span
