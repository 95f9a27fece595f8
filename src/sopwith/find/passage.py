"""A passage of a document: a part that is short enough to be read at once, and where it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sopwith.find.entry import Entry

SIZE = 1200
"""How long a passage may be: in characters, of which one of Chinese, Japanese or Korean counts as two."""

_WIDE = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uff60\U00020000-\U000323af]")
_WIDE_BREAK = re.compile(rf"(?<={_WIDE.pattern})[ \t]*\n[ \t]*(?={_WIDE.pattern})")
_BETWEEN_PARAGRAPHS = re.compile(r"\n[ \t]*\n\s*")
_ITEM = r"(?:[-*+•|>·]|\(?[0-9]{1,3}[.)、）]|[（(]?[一二三四五六七八九十]{1,3}[）)、.])"
_BETWEEN_SENTENCES = re.compile(
    rf"(?<=[。！？；])[”’」』）)\"']*\s*|(?<=[.!?])[\"')\]’”]*\s+(?=[^a-z\s])|\n(?=[ \t]*{_ITEM})"
)
_BETWEEN_CLAUSES = re.compile(r"(?<=[，、：])|(?<=[,;:])\s+|\s+")
_LOCATOR = re.compile(r"(?:p(?P<page>\d+))?L(?P<first>\d+)-(?P<last>\d+)(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class Passage:
    """Whole sentences of a document.

    `path` is relative to the folder, with `/`. `heading` is the headings above it, from the outermost (`Leave > Sick
    leave`), and "" where there are none; `page` counts from 1, None where a document has no pages. `first_line` and
    `last_line` count from 1 in the file, or in the text of the page.
    """

    path: str
    text: str
    first_line: int
    last_line: int
    heading: str = ""
    page: int | None = None

    @classmethod
    def of(cls, entry: Entry) -> Passage:
        """The passage that an entry was made of."""
        path, _, place = entry.id.rpartition("#")
        found = _LOCATOR.fullmatch(place)
        if found is None:
            return cls(entry.id, entry.body, 1, 1, entry.name)
        page = None if found["page"] is None else int(found["page"])
        return cls(path, entry.body, int(found["first"]), int(found["last"]), entry.name, page)

    @property
    def place(self) -> str:
        """Where it stands, in one word: `leave.md#L10-14`, `policy.pdf#p3L1-20`."""
        page = "" if self.page is None else f"p{self.page}"
        return f"{self.path}#{page}L{self.first_line}-{self.last_line}"


def entries_of(passages: Sequence[Passage]) -> list[Entry]:
    """The passages as what an index holds. Several of one place, in a long line, are numbered."""
    seen: dict[str, int] = {}
    found: list[Entry] = []
    for each in passages:
        number = seen[each.place] = seen.get(each.place, 0) + 1
        id = each.place if number == 1 else f"{each.place}.{number}"
        found.append(Entry(kind="document", id=id, name=each.heading, body=each.text, source=each.path))
    return found


def cut(text: str, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
    """Where the passages of a text begin and end, between `start` and `end`: none longer than `SIZE`, none empty.

    Paragraphs are put together as they fit; one that is too long is cut between sentences, a sentence that is too
    long between clauses, and a word that is too long anywhere.
    """
    end = len(text) if end is None else end
    held: tuple[int, int] | None = None
    size = 0
    for first, last in _parts(text, start, end, (_BETWEEN_PARAGRAPHS, _BETWEEN_SENTENCES, _BETWEEN_CLAUSES)):
        whole = _size(text, first, last) if held is None else size + _size(text, held[1], last)
        if held is not None and whole > SIZE:
            yield held
            held, whole = None, _size(text, first, last)
        held, size = (first if held is None else held[0], last), whole
    if held is not None:
        yield held


def joined(text: str) -> str:
    """Lines of Chinese, Japanese or Korean that were broken in the middle of a sentence, in one."""
    return _WIDE_BREAK.sub("", text)


def _parts(
    text: str, start: int, end: int, between: tuple[re.Pattern[str], ...]
) -> Iterator[tuple[int, int]]:
    """The largest parts that are not too long, without the space around them."""
    start, end = _stripped(text, start, end)
    if start >= end:
        return
    if _size(text, start, end) <= SIZE:
        yield start, end
        return
    if not between:
        step = SIZE // 2
        yield from ((at, min(at + step, end)) for at in range(start, end, step))
        return
    at = start
    for gap in between[0].finditer(text, start, end):
        # What ends a sentence belongs to it, with the quotes and brackets that close after it.
        stop = gap.start() + len(gap[0].rstrip())
        if stop > at:
            yield from _parts(text, at, stop, between[1:])
            at = gap.end()
    yield from _parts(text, at, end, between[1:])


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _size(text: str, start: int, end: int) -> int:
    return end - start + sum(1 for _ in _WIDE.finditer(text, start, end))
