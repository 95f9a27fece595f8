"""Markdown pages as the tests of the documentation read them.

A code block may be preceded by a comment of its own, which says what a test does with it:

- `<!-- not run: reason -->`: nothing. - `<!-- file: NAME -->`: it is written as NAME beside the page's
other blocks, before any of them runs. - `<!-- run -->`, `<!-- run: exit 4 -->` (console blocks): each `$
sopwith …` line is run; the lines shown after it must come in its output in this order, and a line `…`
stands for any others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

_COMMENT = re.compile(r"<!--\s*(not run|file|run)\s*(?::\s*(.*?))?\s*-->\s*")


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block: its language, its text, the line it starts at (from 1), and the comment before it."""

    page: Path
    language: str
    text: str
    line: int
    mark: str | None = None
    said: str = ""

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


@dataclass(frozen=True, slots=True)
class Table:
    """One table: the number of its columns, and what the first column says, row by row (as it is written)."""

    columns: int
    first: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its blocks, its tables, its headings as their levels (`h1`, `h2` …), the targets of its links and
    pictures, and what stands outside of where it belongs: rows without a table, blocks that hold the fence of
    another."""

    path: Path
    blocks: tuple[Block, ...]
    tables: tuple[Table, ...]
    headings: tuple[str, ...]
    targets: tuple[str, ...]
    strays: tuple[str, ...]


@cache
def read_page(path: Path) -> Page:
    """Parse a Markdown file (CommonMark, with tables)."""
    tokens = MarkdownIt("commonmark").enable("table").parse(path.read_text(encoding="utf-8"))
    blocks: list[Block] = []
    mark: tuple[str | None, str] = (None, "")
    for token in tokens:
        if token.type == "fence" and token.map is not None:
            language = token.info.partition(" ")[0]
            blocks.append(Block(path, language, token.content, token.map[0] + 2, *mark))
        found = _COMMENT.fullmatch(token.content) if token.type == "html_block" else None
        mark = (found.group(1), found.group(2) or "") if found else (None, "")
    inline = [child for token in tokens for child in token.children or ()]
    targets = [str(child.attrs[key]) for child in inline for key in ("href", "src") if key in child.attrs]
    headings = tuple(token.tag for token in tokens if token.type == "heading_open")
    rows = [
        token.content.split("\n")[0]
        for token in tokens
        if token.type == "inline" and token.content[:1] == "|"
    ]
    open_blocks = [str(block) for block in blocks if "\n```" in block.text and block.language != "markdown"]
    strays = (*rows, *open_blocks)
    return Page(path, tuple(blocks), tuple(_tables(tokens)), headings, tuple(targets), strays)


def _tables(tokens: list[Token]) -> Iterator[Table]:
    rows: list[list[str]] = []
    for token, after in pairwise(tokens):
        if token.type == "table_open":
            rows = []
        elif token.type == "tr_open":
            rows.append([])
        elif token.type in ("th_open", "td_open"):
            rows[-1].append(after.content)
        elif after.type == "table_close":
            yield Table(len(rows[0]), tuple(row[0] for row in rows[1:]))
