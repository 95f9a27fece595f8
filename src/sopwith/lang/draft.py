"""A draft as data: what a document says, block by block, before anybody knows which of it are steps."""

from __future__ import annotations

from dataclasses import dataclass, field

from sopwith.ir.diagnostic import Place


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of level 1 (the title is 1, or 0) and deeper."""

    text: str
    level: int
    place: Place


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a list: its depth from 0, and the number that is seen before it, None for a bullet."""

    text: str
    depth: int
    number: int | None
    place: Place


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Words outside of a list (`depth` None), or a further paragraph of the item at `depth`."""

    text: str
    place: Place
    depth: int | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table: its cells as words, all rows of equal length."""

    cells: tuple[str, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Table:
    """A table; the first row is its header."""

    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """An image, and the words that are known of it: its caption or alternative text."""

    words: str
    place: Place


@dataclass(frozen=True, slots=True)
class Unread:
    """Something that is no part of a procedure; `what` names it in English and Chinese: ("code", "代码")."""

    what: tuple[str, str]
    words: str
    place: Place


Block = Heading | Item | Paragraph | Table | Picture | Unread


@dataclass(slots=True)
class Draft:
    """The blocks of a document, in its order."""

    blocks: list[Block] = field(default_factory=list[Block])
