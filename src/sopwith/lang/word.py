"""A Word document (.docx) read as a draft. A place is the number of a paragraph, from 1, those in tables included."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, cast

from sopwith.errors import ProcedureError, Text, UserError
from sopwith.ir.diagnostic import Diagnostic, Place, Severity
from sopwith.lang.document import Document
from sopwith.lang.draft import Block, Draft, Heading, Item, Paragraph, Picture, Row, Table, Unread
from sopwith.lang.draft_steps import read_draft
from sopwith.lang.problem import Problems
from sopwith.lang.text_file import read_bytes
from sopwith.lang.tree import too_long
from sopwith.lang.word_numbering import Numbering

MOST_UNPACKED = 200_000_000
"""A document that unpacks to more bytes is not read at all."""
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_DOC_PROPERTIES = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}docPr"
_OLD = b"\xd0\xcf\x11\xe0"
_PICTURES = frozenset({f"{_W}drawing", f"{_W}pict", f"{_W}object"})
_GONE = frozenset({f"{_W}del", f"{_W}moveFrom", f"{_W}pPr", f"{_W}rPr", _FALLBACK})
_NOTES = {
    f"{_W}footnoteReference": ("a footnote", "脚注"),
    f"{_W}endnoteReference": ("an endnote", "尾注"),
    f"{_W}commentReference": ("a comment", "批注"),
}
_HEADING = re.compile(r"(?:heading|标题)\s*(?P<level>[1-9])", re.IGNORECASE)
_CAPTION = re.compile(r"caption|题注|图注", re.IGNORECASE)


def read_word(path: Path, shown: str = "") -> Document:
    """The procedure in a Word document. `shown` is what messages call it, else the path.

    Raises `UserError` for a file that cannot be opened, and `ProcedureError` (SW716) for one that is no Word document.
    """
    file = shown or str(path)
    held = read_bytes(path, file)
    problems = Problems(file)
    reader = _Reader(_open(held, file), problems)
    draft = reader.draft()
    text = "\n".join(reader.texts)
    if too_long(text, problems):
        draft = Draft()
    return read_draft(draft, problems, text)


def _open(held: bytes, file: str) -> Any:
    """The document in the bytes of a file, after a look at how much it unpacks to."""
    if not held:
        raise _refusal(file, Text("the file is empty", "文件是空的"), _SAVE)
    if held.startswith(_OLD):
        raise _refusal(
            file, Text("an old .doc, or a file with a password", "旧的 .doc 格式，或带密码的文件"), _SAVE
        )
    try:
        with zipfile.ZipFile(BytesIO(held)) as package:
            unpacked = sum(part.file_size for part in package.infolist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError):
        raise _refusal(file, Text("not a Word document (.docx)", "不是 Word 文档（.docx）"), _SAVE) from None
    if unpacked > MOST_UNPACKED:
        millions = unpacked // 1_000_000
        raise _refusal(
            file,
            Text(f"the document unpacks to {millions} MB: too much", f"文档解压后有 {millions} MB，过大"),
            Text("remove its images, or split it", "请删除图片，或拆分文档"),
        )
    try:
        from docx import Document as open_document
    except ImportError:
        raise UserError(
            Text("Word documents need the package python-docx", "读取 Word 文档需要 python-docx 包"),
            Text("pip install 'sopwith[word]'", "pip install 'sopwith[word]'"),
        ) from None
    try:
        return open_document(BytesIO(held))
    except Exception as error:  # whatever a damaged package makes of the XML and ZIP libraries below
        why = str(error).split("\n")[0][:200] or type(error).__name__
        raise _refusal(file, Text(f"the document is damaged: {why}", f"文档已损坏：{why}"), _SAVE) from None


_SAVE = Text("open it in Word and save it as .docx", "请用 Word 打开并另存为 .docx")


def _refusal(file: str, message: Text, hint: Text) -> ProcedureError:
    """The error for a file that is no document."""
    found = Diagnostic(
        code="SW716", severity=Severity.ERROR, place=Place(file=file), message=message, hint=hint
    )
    told = Text(
        f"{file} cannot be read: 1 problem\n{found.render('en')}",
        f"无法读取 {file}：1 个问题\n{found.render('zh')}",
    )
    return ProcedureError(told, diagnostics=(found,))


class _Reader:
    """Turns the body of a document into the blocks of a draft."""

    def __init__(self, document: Any, problems: Problems) -> None:
        self.document = document
        self.problems = problems
        self.numbering = Numbering(document)
        self.blocks: list[Block] = []
        self.texts: list[str] = []

    def draft(self) -> Draft:
        for element in _content(self.document.element.body):
            if element.tag == f"{_W}p":
                self._paragraph(element)
            elif element.tag == f"{_W}tbl":
                self._table(element)
        self._margins()
        return Draft(self.blocks)

    def _paragraph(self, element: Any) -> None:
        words, place = self._words(element)
        style = self.numbering.style_of(element)
        name = self.numbering.style_name(style)
        if not words:
            return
        if _CAPTION.search(name) and self.blocks and isinstance(self.blocks[-1], Picture):
            before = self.blocks[-1]
            self.blocks[-1] = Picture(words, before.place)
            return
        heading, level = _HEADING.fullmatch(name), self.numbering.outline_level(element)
        if name.lower() in ("title", "标题"):
            self.blocks.append(Heading(words, 1, place))
        elif heading is not None or level is not None:
            self.blocks.append(Heading(words, int(heading["level"]) if heading else (level or 0) + 1, place))
        elif (item := self.numbering.item(element)) is not None:
            self.blocks.append(Item(words, item.depth, item.number, place))
        else:
            self.blocks.append(Paragraph(words, place))

    def _table(self, element: Any) -> None:
        rows: list[Row] = []
        for row in element.iter(f"{_W}tr"):
            if next(row.iterancestors(f"{_W}tbl")) is not element:
                continue
            place = Place(file=self.problems.file, line=len(self.texts) + 1)
            above = rows[-1].cells if rows else ()
            rows.append(Row(tuple(self._cells(row, above)), place))
        width = max((len(row.cells) for row in rows), default=0)
        padded = tuple(Row(row.cells + ("",) * (width - len(row.cells)), row.place) for row in rows)
        if padded:
            self.blocks.append(Table(padded))

    def _cells(self, row: Any, above: tuple[str, ...]) -> Iterator[str]:
        """The words of the cells of a row; a cell that spans several columns or rows stands in each of them."""
        column = 0
        for cell in row.iterchildren(f"{_W}tc"):
            words: list[str] = []
            for element in _content(cell):
                if element.tag == f"{_W}p":
                    words.append(self._words(element)[0])
                elif element.tag == f"{_W}tbl":
                    self._inner_table(element)
            properties = cell.find(f"{_W}tcPr")
            merged = None if properties is None else properties.find(f"{_W}vMerge")
            said = " ".join(one for one in words if one)
            if merged is not None and merged.get(f"{_W}val") != "restart" and column < len(above):
                said = above[column]
            span = None if properties is None else properties.find(f"{_W}gridSpan")
            for _ in range(_small_int(span)):
                yield said
                column += 1

    def _inner_table(self, element: Any) -> None:
        words = [self._words(paragraph)[0] for paragraph in element.iter(f"{_W}p")]
        place = Place(file=self.problems.file, line=len(self.texts))
        self.blocks.append(Unread(("a table inside a table", "表格中的表格"), " | ".join(words), place))

    def _words(self, element: Any) -> tuple[str, Place]:
        """The words of a paragraph as they are with all changes accepted; what is no words is noted."""
        place = Place(file=self.problems.file, line=len(self.texts) + 1)
        parts: list[str] = []
        for one in _visible(element):
            tag = one.tag
            if tag == f"{_W}t":
                parts.append(one.text or "")
            elif tag in (f"{_W}tab", f"{_W}br", f"{_W}cr"):
                parts.append(" ")
            elif tag == f"{_W}noBreakHyphen":
                parts.append("-")
            elif tag in _PICTURES:
                self._drawing(one, place)
            elif tag in _NOTES:
                self.blocks.append(Unread(_NOTES[tag], "".join(parts), place))
        words = " ".join("".join(parts).replace("\0", "").split())
        self.texts.append(words)
        return words, place

    def _drawing(self, element: Any, place: Place) -> None:
        """A picture, or a text box with its words."""
        boxes = [
            " ".join("".join(cast("str", t.text or "") for t in box.iter(f"{_W}t")).split())
            for box in element.iter(f"{_W}txbxContent")
        ]
        for words in dict.fromkeys(boxes):
            self.blocks.append(Unread(("a text box", "文本框"), words, place))
        if not boxes:
            about = next(element.iter(_DOC_PROPERTIES), None)
            words = "" if about is None else about.get("descr") or about.get("title") or ""
            self.blocks.append(Picture(" ".join(str(words).split()), place))

    def _margins(self) -> None:
        """Words at the head and foot of the pages."""
        place = Place(file=self.problems.file, line=max(len(self.texts), 1))
        seen: set[str] = set()
        for section in self.document.sections:
            for what, part in (
                (("a page header", "页眉"), section.header),
                (("a page footer", "页脚"), section.footer),
            ):
                words = " ".join(" ".join(p.text for p in part.paragraphs).split())
                if words and words not in seen:
                    seen.add(words)
                    self.blocks.append(Unread(what, words, place))


def _content(element: Any) -> Iterator[Any]:
    """The paragraphs and tables of a body or cell, also those in content controls and changes."""
    for child in element.iterchildren():
        if child.tag in (f"{_W}p", f"{_W}tbl"):
            yield child
        elif child.tag in (f"{_W}sdt", f"{_W}sdtContent", f"{_W}ins", f"{_W}moveTo", f"{_W}customXml"):
            yield from _content(child)


def _visible(element: Any) -> Iterator[Any]:
    """The elements of a paragraph that are shown, from left to right; a drawing is one."""
    for child in element.iterchildren():
        if child.tag in _GONE:
            continue
        yield child
        if child.tag not in _PICTURES:
            yield from _visible(child)


def _small_int(span: Any) -> int:
    """The number of columns that a cell spans: at least one, and no more than a table has."""
    value = None if span is None else str(span.get(f"{_W}val"))
    return min(max(int(value), 1), 63) if value is not None and value.isascii() and value.isdecimal() else 1
