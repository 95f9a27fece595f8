"""One file of a folder of documents, as passages: Markdown by heading, PDF by page, text by paragraphs."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath

from sopwith.errors import NO_HINT, Text
from sopwith.find.markdown import sections
from sopwith.find.passage import Passage, cut, joined
from sopwith.find.pdf import MOST_PAGES, Damaged, Locked, pages, pdf_reader
from sopwith.ir.diagnostic import Diagnostic, Place, Severity
from sopwith.ir.encoding import likely_encoding

READER = "1"
"""The version of what is made of a file. Another one reads all files anew."""

MARKDOWN, PDF, PLAIN = ("md", "markdown"), ("pdf",), ("txt", "text")
MOST_BYTES = 64 * 1024 * 1024
"""A larger PDF file is not read."""
MOST_TEXT_BYTES = 8 * 1024 * 1024
"""A larger file of text is not read."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The passages of a file, and what of it could not be read."""

    passages: tuple[Passage, ...] = ()
    problem: Diagnostic | None = None


def suffix(path: str) -> str:
    """By which a file is told: `md`, `pdf`, `txt` and others; "" for what is no document."""
    found = PurePosixPath(path).suffix.lower().removeprefix(".")
    return found if found in (*MARKDOWN, *PDF, *PLAIN) else ""


def reader_of(path: str) -> str:
    """What reads a file now, with versions: by another one its passages may be others."""
    return f"{READER} {pdf_reader()}" if suffix(path) in PDF else READER


def most_bytes(path: str) -> int:
    """How large the file may be."""
    return MOST_BYTES if suffix(path) in PDF else MOST_TEXT_BYTES


def read_document(path: str, held: bytes, stopped: Callable[[], bool] = lambda: False) -> Reading:
    """The passages of the file `path` (relative to the folder, with `/`) whose bytes are `held`."""
    if suffix(path) in PDF:
        return _read_pdf(path, held, stopped)
    try:
        text = held.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        return Reading(problem=_other_encoding(path, held, error.start))
    if "\0" in text:
        said = Text("it is no text: it has zero bytes", "不是文本：含有零字节")
        return Reading(problem=problem(path, "SW830", said, _REPLACE))
    if suffix(path) not in MARKDOWN:
        return Reading(tuple(_passages(path, text, 0, len(text))))
    found = [
        passage
        for section in sections(text)
        for passage in _passages(path, text, section.start, section.end, section.heading)
    ]
    return Reading(tuple(found))


def problem(path: str, code: str, said: Text, hint: Text = NO_HINT) -> Diagnostic:
    """A warning about the file `path`."""
    return Diagnostic(
        code=code,
        severity=Severity.WARNING,
        place=Place(file=path),
        message=Text(f"{path}: {said.en}", f"{path}：{said.zh}"),
        hint=hint,
    )


def _passages(
    path: str, text: str, start: int, end: int, heading: str = "", page: int | None = None
) -> list[Passage]:
    found: list[Passage] = []
    line, at = 1 + text.count("\n", 0, start), start
    for first, last in cut(text, start, end):
        line, at = line + text.count("\n", at, first), first
        upto = line + text.count("\n", first, last)
        found.append(Passage(path, joined(text[first:last]), line, upto, heading, page))
    return found


def _read_pdf(path: str, held: bytes, stopped: Callable[[], bool]) -> Reading:
    if not pdf_reader():
        said = Text("nothing that reads PDF files is installed", "未安装读取 PDF 的组件")
        install = Text("pip install 'sopwith[documents]'", "请执行 pip install 'sopwith[documents]'")
        return Reading(problem=problem(path, "SW836", said, install))
    found: list[Passage] = []
    without: list[int] = []
    number = 0
    try:
        for number, text in pages(held, stopped):
            if text is None:
                without.append(number)
            else:
                found += _passages(path, text, 0, len(text), page=number)
    except Locked:
        said = Text("it is encrypted, and needs a password", "文件已加密，需要密码")
        return Reading(problem=problem(path, "SW832", said, _UNLOCK))
    except Damaged as error:
        read = Text(f"it is damaged: {error}", f"文件已损坏：{error}")
        if number:
            read = Text(f"it is damaged after page {number}: {error}", f"第 {number} 页之后已损坏：{error}")
        return Reading(tuple(found), problem(path, "SW830", read, _REPLACE))
    return Reading(tuple(found), _unread(path, number, bool(found), without))


def _unread(path: str, pages: int, any: bool, without: list[int]) -> Diagnostic | None:
    if not any:
        said = Text("it has no text: its pages are pictures, or empty", "没有文本：页面是图片或空白")
        return problem(path, "SW831", said, _RECOGNISE)
    if without:
        some = ", ".join(map(str, without[:10])) + (" …" if len(without) > 10 else "")
        said = Text(f"pages without text: {some}", f"没有文本的页：{some}")
        return problem(path, "SW831", said, _RECOGNISE)
    if pages == MOST_PAGES:
        said = Text(f"no more than {MOST_PAGES} pages are read", f"最多读取 {MOST_PAGES} 页")
        return problem(path, "SW834", said, SPLIT)
    return None


def _other_encoding(path: str, held: bytes, start: int) -> Diagnostic:
    line = held.count(b"\n", 0, start) + 1
    guess = likely_encoding(held)
    likely = Text(f"; it looks like {guess}", f"，看起来是 {guess}") if guess else NO_HINT
    how = f"iconv -f {guess} -t UTF-8 {shlex.quote(path)}" if guess else ""
    said = Text(f"not UTF-8 text (line {line}){likely.en}", f"不是 UTF-8 文本（第 {line} 行）{likely.zh}")
    save = Text(f"save it as UTF-8{': ' if how else ''}{how}", f"请另存为 UTF-8{'：' if how else ''}{how}")
    return problem(path, "SW833", said, save)


SPLIT = Text("split it, or move it out of the folder", "请拆分该文件，或将其移出文件夹")
_REPLACE = Text("replace it by a copy that opens", "请换成能打开的副本")
_UNLOCK = Text(
    "save it without a password, or move it out of the folder", "请另存为无密码的文件，或移出文件夹"
)
_RECOGNISE = Text(
    "recognise its text (OCR) and save it again: ocrmypdf IN.pdf OUT.pdf",
    "请先识别文字（OCR）再保存：ocrmypdf IN.pdf OUT.pdf",
)
