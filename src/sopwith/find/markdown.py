"""The sections of a Markdown document, by its headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it.token import Token

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n.*?^(?:---|\.\.\.)[ \t]*$\n?", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Section:
    """What stands under one heading: `heading` names it and those above it; `start` and `end` are offsets."""

    heading: str
    start: int
    end: int


def sections(text: str) -> Iterator[Section]:
    """The sections of a text in Markdown, without front matter; what comes before the first heading is one too."""
    from markdown_it import MarkdownIt

    starts = [0, *(match.end() for match in re.finditer("\n", text)), len(text)]
    front = _FRONT_MATTER.match(text)
    begin = 0 if front is None else front.end()
    blank = "\n" * text.count("\n", 0, begin) + text[begin:]
    trail: list[tuple[int, str]] = []
    tokens = MarkdownIt("commonmark", {"maxNesting": 60}).parse(blank)
    for token, inline in pairwise(tokens):
        if token.type != "heading_open" or token.level or token.map is None:
            continue
        first, last = token.map
        yield Section(_titles(trail), begin, starts[first])
        begin = starts[min(last, len(starts) - 1)]
        depth = int(token.tag[1:])
        trail = [each for each in trail if each[0] < depth]
        trail.append((depth, _words(inline)))
    yield Section(_titles(trail), begin, len(text))


def _titles(trail: list[tuple[int, str]]) -> str:
    return " > ".join(title for _, title in trail if title)


def _words(inline: Token) -> str:
    """What is read of a heading: without its markup."""
    shown = (each.content or " " for each in inline.children or () if each.type != "html_inline")
    return " ".join("".join(shown).split())
