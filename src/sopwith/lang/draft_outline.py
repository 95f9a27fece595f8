"""The outline of a draft: which of its blocks are steps, what belongs to each, and what is left over."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from sopwith.errors import Text
from sopwith.ir.diagnostic import Place
from sopwith.lang.draft import Block, Draft, Heading, Item, Paragraph, Picture, Table
from sopwith.lang.draft_frame import frames, is_section
from sopwith.lang.draft_mark import NUMBERED
from sopwith.lang.draft_sentence import number_of
from sopwith.lang.problem import Problems

_HAN = "一二三四五六七八九十"
_ENOUGH = 2
"""So many numbered headings are steps; a single one is a coincidence."""
_DEEP = 10
"""Headings are above all items: their depths are negative."""


@dataclass(slots=True)
class Entry:
    """One step of a draft as it stands there.

    `number` is how the draft refers to it (`2`, `2.1`); `parts` is what stands below it: its own steps (`ordered`),
    bullets and further paragraphs, and tables. `scope` is the list that it is an item of; `headed` are the numbers of
    headings that it is the first step below.
    """

    text: str
    place: Place
    number: str = ""
    is_heading: bool = False
    ordered: bool = True
    parts: list[Entry | Table] = field(default_factory=list["Entry | Table"])
    scope: int = 0
    headed: tuple[str, ...] = ()


@dataclass(slots=True)
class Outline:
    """The steps of a draft, its title, and the words before the first step."""

    title: str = ""
    title_place: Place | None = None
    description: list[str] = field(default_factory=list[str])
    entries: list[Entry | Table] = field(default_factory=list["Entry | Table"])


def outline(draft: Draft, problems: Problems) -> Outline:
    """The outline of `draft`; each block that is no part of it is noted (SW711, SW712)."""
    return _Outliner(draft, problems).outline()


class _Outliner:
    """Goes through the blocks once; `open` holds the entries that further items may belong to, by their depth."""

    def __init__(self, draft: Draft, problems: Problems) -> None:
        self.problems = problems
        self.blocks = _with_numbers(draft.blocks)
        self.numbered = any(isinstance(b, Item) and b.number is not None for b in self.blocks)
        headings = [b for b in self.blocks if isinstance(b, Heading)]
        self.headings_are_steps = sum(NUMBERED.match(h.text) is not None for h in headings) >= _ENOUGH
        self.frames = frames(self.blocks)
        self.plain_headings = not self.numbered and not any(isinstance(b, Item | Table) for b in self.blocks)
        self.found = Outline()
        self.open: list[tuple[int, Entry]] = []
        self.frame: Heading | None = None
        self.section = ""
        self.headed: tuple[str, ...] = ()
        self.scopes: dict[int, int] = {}
        self.lists = 0

    def outline(self) -> Outline:
        for block in self.blocks:
            if isinstance(block, Heading):
                self._heading(block)
            elif isinstance(block, Item):
                self._item(block)
            elif isinstance(block, Paragraph):
                self._paragraph(block)
            elif isinstance(block, Table):
                self._frame()
                self.open = [(depth, entry) for depth, entry in self.open if entry.is_heading]
                (self.open[-1][1].parts if self.open else self.found.entries).append(block)
            elif isinstance(block, Picture):
                self._picture(block)
            else:
                self._unread(block.what, block.words, block.place)
        self._frame()
        return self.found

    def _heading(self, heading: Heading) -> None:
        self._frame()
        self.open = [(depth, entry) for depth, entry in self.open if depth < heading.level - _DEEP]
        number = NUMBERED.match(heading.text) if self.headings_are_steps else None
        framed = self.frames.get(id(heading))
        self.section, self.headed, self.lists = "", (), self.lists + 1
        if framed is not None and (number is not None or framed.section):
            self.open = []
            self.frame = replace(heading, text=framed.words)
            if number is not None and not framed.section:
                self.section, self.headed = _label(number), (_label(number),)
        elif number is not None:
            text = heading.text[number.end() :].strip() or heading.text
            self._add(Entry(text, heading.place, _label(number), is_heading=True), heading.level - _DEEP)
        elif not self.found.title and not self.found.entries:
            self.found.title, self.found.title_place = heading.text, heading.place
        elif self.plain_headings:
            self._add(Entry(heading.text, heading.place, is_heading=True), heading.level - _DEEP)
        else:
            self.open = []
            self.frame = heading

    def _frame(self) -> None:
        """A heading that is neither the title nor a step is only a frame around what follows."""
        frame, self.frame = self.frame, None
        if frame is not None and not (self.headed or is_section(frame.text)):
            self._unread(("a heading", "标题"), frame.text, frame.place)

    def _item(self, item: Item) -> None:
        depth, entry = item.depth, Entry(item.text, item.place, ordered=item.number is not None)
        if item.number is None and self.numbered:
            # Bullets that somebody did not indent below the numbered item that they explain.
            above = next((at for at, one in reversed(self.open) if one.ordered), None)
            if above is None:
                self._left_over(item.text, item.place)
                return
            depth = max(depth, above + 1, 0)
        elif item.number is None:
            entry.ordered = depth == 0
        self._frame()
        parent = next((one for at, one in reversed(self.open) if at < depth), None)
        if item.number is not None:
            above = parent.number if parent is not None else self.section
            entry.number = f"{above}.{item.number}" if above else f"{item.number}"
        self._add(entry, depth)

    def _add(self, entry: Entry, depth: int) -> None:
        while self.open and self.open[-1][0] >= depth:
            self.open.pop()
        above = self.open[-1][1] if self.open else None
        (self.found.entries if above is None else above.parts).append(entry)
        entry.scope = self.scopes.setdefault(id(above), len(self.scopes) + 1) if above else -self.lists
        entry.headed, self.headed = self.headed, ()
        self.open.append((depth, entry))

    def _paragraph(self, paragraph: Paragraph) -> None:
        if paragraph.depth is not None:
            self.open = [(depth, entry) for depth, entry in self.open if depth <= paragraph.depth]
        else:
            self.open = [(depth, entry) for depth, entry in self.open if entry.is_heading]
        if self.open:
            self.open[-1][1].parts.append(Entry(paragraph.text, paragraph.place, ordered=False))
        else:
            self._left_over(paragraph.text, paragraph.place)

    def _left_over(self, text: str, place: Place) -> None:
        """Words outside of all steps: before the first they describe the procedure."""
        words = " ".join(text.split())
        if self.found.entries:
            self._unread(("a paragraph outside of the steps", "步骤之外的段落"), words, place)
            return
        if self.frame is not None:
            words = f"{self.frame.text}{': ' if self.frame.text.isascii() else '：'}{words}"
            self.frame = None
        self.found.description.append(words)

    def _picture(self, picture: Picture) -> None:
        said = Text(f": {picture.words}", f"：{picture.words}") if picture.words else Text("", "")
        self.problems.warn(
            "SW712",
            picture.place,
            Text(f"an image is not read{said.en}", f"未读取图片{said.zh}"),
            Text("write what it shows as steps", "请把图中内容写成步骤"),
        )

    def _unread(self, what: tuple[str, str], words: str, place: Place) -> None:
        said = " ".join(words.split())
        said = said if len(said) <= 80 else said[:79] + "…"
        self.problems.warn(
            "SW711",
            place,
            Text(f"{what[0]} is not read: {said}", f"未读取{what[1]}：{said}"),
            Text("make it a step or a part of one, or remove it", "请改写成步骤或步骤的一部分，或者删除"),
        )


def _with_numbers(blocks: list[Block]) -> list[Block]:
    """`blocks`, with an item for each paragraph that somebody has numbered by hand.

    Its depth follows from the ways of numbering that the document uses, from outside in: `一、` `（一）` `1.` `1.1`
    `(1)`.
    """
    found = {i: match for i, block in enumerate(blocks) if (match := _number_before(block)) is not None}
    ranks = sorted({_rank(match) for match in found.values()})
    return [
        _as_item(block, found[i], ranks.index(_rank(found[i]))) if i in found else block
        for i, block in enumerate(blocks)
    ]


def _number_before(block: Block) -> re.Match[str] | None:
    if not isinstance(block, Paragraph) or block.depth is not None:
        return None
    number = NUMBERED.match(block.text)
    return number if number is not None and number.end() < len(block.text) else None


def _rank(number: re.Match[str]) -> tuple[int, int]:
    """How far inside a way of numbering stands."""
    label = next(part for part in number.groups() if part is not None)
    inner = number["inner"] is not None
    if number["dotted"] is not None:
        return 3, label.count(".") + label.count("．")
    if number["step"] is not None or number["th"] is not None:
        return 0, 0
    return (1 if label[0] in _HAN else 4, 0) if inner else (0 if label[0] in _HAN else 2, 0)


def _as_item(block: Block, number: re.Match[str], depth: int) -> Block:
    if not isinstance(block, Paragraph):
        return block
    return Item(block.text[number.end() :], depth, int(_label(number).split(".")[-1]), block.place)


def _label(number: re.Match[str]) -> str:
    return number_of(next(part for part in number.groups() if part is not None))
