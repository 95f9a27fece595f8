"""A Markdown document read as a procedure: Routine text, a flowchart, or a draft in headings, lists and tables."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

from sopwith.ir.diagnostic import Place
from sopwith.lang.document import Document
from sopwith.lang.draft import Block, Draft, Heading, Item, Paragraph, Picture, Row, Table, Unread
from sopwith.lang.draft_mark import NUMBERED
from sopwith.lang.draft_steps import read_draft
from sopwith.lang.mermaid_text import read_mermaid
from sopwith.lang.problem import Problems
from sopwith.lang.routine import read_routine
from sopwith.lang.source import Source
from sopwith.lang.tree import too_long

_ROUTINE = re.compile(r"(?im)^[ \t　]*(?:[-*•]\s+)?(?:step|步骤|branch|分支)\s*[0-9０-９]")
_MARKUP = re.compile(r"(?m)^ {0,3}(?:#{1,6} |\||```|[0-9]{1,9}[.)] |!\[|> )")
_FENCE = re.compile(r"(?m)^(?:```|~~~)[ \t]*(?P<word>\S*)[ \t]*$")

_LEAD = "\ue002"
_AFTER_LEAD = re.compile(f"[.。]?{_LEAD}\\s*(?:[-–—]+\\s+|[.。]\\s*|(?<=[.。]{_LEAD})\\s*)(?=\\S)")


def read_markdown(text: str, file: str = "<text>") -> Document:
    """The procedure in a Markdown document. Raises `ProcedureError` with a diagnostic for every problem.

    Routine text is read as such; a document whose only list of steps is one Mermaid flowchart is read as that; anything
    else is a draft, and what of it cannot be read is among the notes.
    """
    if is_routine(text):
        return read_routine(text, file)
    problems = Problems(file)
    draft = Draft()
    if not too_long(text, problems):
        charts = _charts(text)
        if len(charts) == 1 and re.search(r"(?m)^[ \t]*(?:flowchart|graph)\b", text[slice(*charts[0])]):
            start, end = charts[0]
            return read_mermaid("\n" * text.count("\n", 0, start) + text[start:end], file)
        source = Source(text, file)
        draft = _Reader(source).draft()
    return read_draft(draft, problems, text)


def _charts(text: str) -> list[tuple[int, int]]:
    """Where each block of Mermaid begins and ends that is closed."""
    found: list[tuple[int, int]] = []
    start: int | None = None
    for fence in _FENCE.finditer(text):
        if start is None and fence["word"] == "mermaid":
            start = fence.end() + 1
        elif start is not None and not fence["word"]:
            found.append((start, fence.start()))
            start = None
    return found


def is_routine(text: str) -> bool:
    """Whether a text is Routine text: it has steps in that form, and no markup after the first."""
    first = _ROUTINE.search(text)
    return first is not None and _MARKUP.search(text, first.start()) is None


class _Reader:
    """Turns the tokens of a document into the blocks of a draft."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.blocks: list[Block] = []
        self.lists: list[int | None] = []
        self.fresh: tuple[int | None, int] | None = None

    def draft(self) -> Draft:
        parser = MarkdownIt("commonmark", {"maxNesting": 60}).enable("table")
        tokens = parser.parse(_without_front(self.source.text))
        at = 0
        while at < len(tokens):
            at = self._block(tokens, at)
        return Draft(self.blocks)

    def _block(self, tokens: Sequence[Token], at: int) -> int:
        """Read the block that begins at a token; the index after it."""
        token = tokens[at]
        kind = token.type
        if kind == "table_open":
            return self._table(tokens, at)
        if kind == "heading_open":
            words = self._inline(tokens[at + 1])
            if words:
                self.blocks.append(Heading(words, int(token.tag[1:]), self._place(token)))
            return at + 3
        if kind in ("ordered_list_open", "bullet_list_open"):
            start = token.attrGet("start") if kind[0] == "o" else None
            self.lists.append(int(start) if start is not None else (1 if kind[0] == "o" else None))
        elif kind in ("ordered_list_close", "bullet_list_close"):
            self.lists.pop()
        elif kind == "list_item_open":
            self._open_item()
        elif kind == "list_item_close":
            self._item("", self._place(token))
        elif kind == "inline":
            self._paragraph(token)
        elif kind in ("fence", "code_block", "html_block"):
            what = ("HTML", "HTML") if kind == "html_block" else ("code", "代码")
            if not (kind == "html_block" and re.fullmatch(r"\s*<!--.*-->\s*", token.content, re.DOTALL)):
                self.blocks.append(Unread(what, token.content, self._place(token)))
        return at + 1

    def _open_item(self) -> None:
        """The item begins with its first words, which come next."""
        number = self.lists[-1]
        self.fresh = (number, len(self.lists) - 1)
        if number is not None:
            self.lists[-1] = number + 1

    def _paragraph(self, token: Token) -> None:
        words = self._inline(token)
        place = self._place(token)
        if self.fresh is not None:
            self._item(words, place)
        elif self.lists:
            self.blocks += [Paragraph(words, place, len(self.lists) - 1)] if words else []
        else:
            self._lines(token, words, place)

    def _lines(self, token: Token, words: str, place: Place) -> None:
        """A paragraph outside of lists; lines that somebody has numbered by hand are paragraphs of their own."""
        lines = token.content.split("\n")
        if sum(NUMBERED.match(line) is not None for line in lines) < 2:
            self.blocks += [Paragraph(words, place)] if words else []
            return
        for i, line in enumerate(lines):
            if line.strip():
                self.blocks.append(
                    Paragraph(" ".join(line.split()), place.model_copy(update={"line": place.line + i}))
                )

    def _item(self, words: str, place: Place) -> None:
        """The item that has begun, unless it has been noted before."""
        if self.fresh is not None and words:
            number, depth = self.fresh
            self.blocks.append(Item(words, depth, number, place))
        self.fresh = None

    def _table(self, tokens: Sequence[Token], at: int) -> int:
        rows: list[Row] = []
        while tokens[at].type != "table_close":
            token = tokens[at]
            if token.type == "tr_open":
                rows.append(Row((), self._place(token)))
            elif token.type == "inline":
                rows[-1] = Row((*rows[-1].cells, self._inline(token)), rows[-1].place)
            at += 1
        self.blocks.append(Table(tuple(rows)))
        return at + 1

    def _inline(self, token: Token) -> str:
        """The words of a paragraph; code keeps its backticks, bold words before others are a name: `name: words`."""
        parts: list[str] = []
        children = token.children or []
        for i, child in enumerate(children):
            if child.type == "text":
                parts.append(child.content)
            elif child.type == "code_inline":
                parts.append(f"`{child.content}`")
            elif child.type in ("softbreak", "hardbreak"):
                parts.append(" ")
            elif child.type == "image":
                self.blocks.append(
                    Picture(child.content or str(child.attrGet("src") or ""), self._place(token))
                )
            elif child.type == "html_inline":
                parts.append(" " if child.content.lower().startswith("<br") else "")
            elif child.type == "strong_close" and _begins(children, i):
                parts.append(_LEAD)
        words = " ".join("".join(parts).split())
        return _AFTER_LEAD.sub(": " if words.isascii() else "：", words).replace(_LEAD, "")

    def _place(self, token: Token) -> Place:
        line = token.map[0] if token.map is not None else 0
        row = self.source.line(line)
        return Place(file=self.source.file, line=line + 1, column=len(row) - len(row.lstrip()) + 1)


def _begins(children: Sequence[Token], at: int) -> bool:
    """Whether the bold words that end at `at` are the first of the paragraph."""
    kinds = [child.type for child in children[:at] if child.content or child.type == "strong_open"]
    return kinds[:1] == ["strong_open"] and kinds.count("strong_open") == 1


def _without_front(text: str) -> str:
    """`text` with the lines of a YAML head blank, so that the lines below keep their numbers."""
    front = re.match(r"---[ \t]*\n.*?\n---[ \t]*(?:\n|\Z)", text, re.DOTALL)
    return text if front is None else "\n" * front.group().count("\n") + text[front.end() :]
