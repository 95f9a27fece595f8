"""The lists of a Word document: which paragraphs are items, at which depth, and which number stands before them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_DEEPEST = 8
_LAST_HEADING = 8
_NOT_NUMBERS = frozenset({"bullet", "none"})


@dataclass(frozen=True, slots=True)
class ListItem:
    """An item: its depth from 0, and its number, None for a bullet."""

    depth: int
    number: int | None


class Numbering:
    """Counts the items of a document, which are asked for in their order."""

    def __init__(self, document: Any) -> None:
        self.styles: dict[str, Any] = {
            str(one.get(f"{_W}styleId")): one for one in document.styles.element.iterchildren(f"{_W}style")
        }
        self.formats, self.starts = _definitions(document)
        self.counts: dict[tuple[str, int], int] = defaultdict(int)

    def style_of(self, paragraph: Any) -> str:
        """The id of the style of a paragraph, "" for the usual one."""
        return _value(paragraph.find(f"{_W}pPr/{_W}pStyle")) or ""

    def style_name(self, style: str) -> str:
        """The name of a style as Word shows it."""
        return (_value(self.styles[style].find(f"{_W}name")) or style) if style in self.styles else style

    def outline_level(self, paragraph: Any) -> int | None:
        """The level from 0 of a paragraph that its properties or its style make a heading."""
        found = next(
            (
                _value(p.find(f"{_W}outlineLvl"))
                for p in self._properties(paragraph)
                if p.find(f"{_W}outlineLvl") is not None
            ),
            None,
        )
        level = _integer(found)
        return level if level is not None and level <= _LAST_HEADING else None

    def item(self, paragraph: Any) -> ListItem | None:
        """The item that a paragraph is, or None."""
        numbers = next(
            (p.find(f"{_W}numPr") for p in self._properties(paragraph) if p.find(f"{_W}numPr") is not None),
            None,
        )
        if numbers is None:
            return None
        list_ = _value(numbers.find(f"{_W}numId")) or self._list_of_style(paragraph)
        depth = min(_integer(_value(numbers.find(f"{_W}ilvl"))) or 0, _DEEPEST)
        if not list_ or list_ == "0":
            return None
        if self.formats.get((list_, depth), "decimal") in _NOT_NUMBERS:
            return ListItem(depth, None)
        for deeper in range(depth + 1, _DEEPEST + 1):
            self.counts.pop((list_, deeper), None)
        start = self.starts.get((list_, depth), 1)
        self.counts[list_, depth] = self.counts[list_, depth] + 1 if (list_, depth) in self.counts else start
        return ListItem(depth, self.counts[list_, depth])

    def _list_of_style(self, paragraph: Any) -> str | None:
        return next((_value(p.find(f"{_W}numPr/{_W}numId")) for p in self._properties(paragraph)
                     if p.find(f"{_W}numPr/{_W}numId") is not None), None)  # fmt: skip

    def _properties(self, paragraph: Any) -> list[Any]:
        """The properties of a paragraph: its own, then those of its style and of what that is based on."""
        own = paragraph.find(f"{_W}pPr")
        found = [] if own is None else [own]
        style, seen = self.style_of(paragraph), set[str]()
        while style in self.styles and style not in seen:
            seen.add(style)
            properties = self.styles[style].find(f"{_W}pPr")
            found += [] if properties is None else [properties]
            style = _value(self.styles[style].find(f"{_W}basedOn")) or ""
        return found


def _definitions(document: Any) -> tuple[dict[tuple[str, int], str], dict[tuple[str, int], int]]:
    """The format and the first number of each level of each list."""
    formats: dict[tuple[str, int], str] = {}
    starts: dict[tuple[str, int], int] = {}
    try:
        root = document.part.numbering_part.element
    except (KeyError, NotImplementedError, AttributeError):  # a document without lists
        return formats, starts
    kinds = {str(one.get(f"{_W}abstractNumId")): one for one in root.iterchildren(f"{_W}abstractNum")}
    for number in root.iterchildren(f"{_W}num"):
        list_ = str(number.get(f"{_W}numId"))
        kind = kinds.get(_value(number.find(f"{_W}abstractNumId")) or "")
        for level in () if kind is None else kind.iterchildren(f"{_W}lvl"):
            depth = _integer(level.get(f"{_W}ilvl")) or 0
            formats[list_, depth] = _value(level.find(f"{_W}numFmt")) or "decimal"
            starts[list_, depth] = _integer(_value(level.find(f"{_W}start"))) or 1
        for changed in number.iterchildren(f"{_W}lvlOverride"):
            start = _integer(_value(changed.find(f"{_W}startOverride")))
            if start is not None:
                starts[list_, _integer(changed.get(f"{_W}ilvl")) or 0] = start
    return formats, starts


def _value(element: Any) -> str | None:
    found = None if element is None else element.get(f"{_W}val")
    return None if found is None else str(found)


def _integer(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdecimal() and len(text) < 9 else None
