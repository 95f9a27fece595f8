"""A Word document is read like a draft in Markdown; places are numbers of paragraphs, and nothing is lost silently."""

from __future__ import annotations

import struct
import zipfile
import zlib
from io import BytesIO
from pathlib import Path

import docx
import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from sopwith.errors import ProcedureError, UserError
from sopwith.lang.read import read


def png() -> BytesIO:
    """A picture of one pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    data = zlib.compress(b"\0\0")
    return BytesIO(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b""))


def saved(document: object, tmp_path: Path) -> Path:
    path = tmp_path / "draft.docx"
    document.save(str(path))  # pyright: ignore
    return path


def test_headings_lists_and_tables(tmp_path: Path) -> None:
    document = docx.Document()
    document.add_heading("报销审批", 0)
    document.add_paragraph("处理员工报销。")
    document.add_heading("步骤", 1)
    document.add_paragraph("核对身份，使用 hr.get 工具", "List Number")
    document.add_paragraph("看工牌", "List Bullet 2")
    document.add_paragraph("如果金额超过 500 元，则转人工", "List Number")
    table = document.add_table(rows=1, cols=3)
    for cell, words in zip(table.rows[0].cells, ("步骤", "操作", "工具"), strict=True):
        cell.text = words
    for cell, words in zip(table.add_row().cells, ("3", "登记", "fin.book"), strict=True):
        cell.text = words
    found = read(saved(document, tmp_path))
    steps = list(found.procedure.steps.values())
    assert (found.procedure.name, found.procedure.description) == ("报销审批", "处理员工报销。")
    assert [(s.do, s.tool, s.end) for s in steps] == [
        ("核对身份；看工牌", "hr.get", None),
        ("判断是否金额超过 500 元", None, None),
        (None, None, "escalate"),
        ("登记", "fin.book", "complete"),
    ]
    assert [found.place("steps", s.id).line for s in steps] == [4, 6, 6, 10]
    assert found.notes == ()


def test_a_document_full_of_images_names_each_with_its_paragraph_and_caption(tmp_path: Path) -> None:
    document = docx.Document()
    document.add_paragraph("打开系统", "List Number")
    for i in range(40):
        document.add_picture(png())
        document.add_paragraph(f"图 {i + 1}：第 {i + 1} 个界面", "Caption")
    found = read(saved(document, tmp_path))
    assert [(n.code, n.place.line) for n in found.notes] == [("SW712", 2 + 2 * i) for i in range(40)]
    assert all(f"第 {i + 1} 个界面" in note.message.zh for i, note in enumerate(found.notes))


def test_changes_text_boxes_footnotes_and_margins(tmp_path: Path) -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("", "List Number")
    w = nsdecls("w")
    for xml in (
        f"<w:r {w}><w:t>Ask </w:t></w:r>",
        f"<w:del {w}><w:r><w:delText>never </w:delText></w:r></w:del>",
        f"<w:ins {w}><w:r><w:t>politely</w:t></w:r></w:ins>",
        f'<w:r {w}><w:footnoteReference w:id="1"/></w:r>',
        f"<w:r {w}><w:pict><w:txbxContent><w:p><w:r><w:t>Watch out</w:t></w:r></w:p></w:txbxContent></w:pict></w:r>",
    ):
        paragraph._p.append(parse_xml(xml))  # pyright: ignore
    document.sections[0].header.paragraphs[0].text = "Secret"
    found = read(saved(document, tmp_path))
    assert [s.do for s in found.procedure.steps.values()] == ["Ask politely"]
    told = [note.message.en for note in found.notes]
    assert len(told) == 3
    assert all(
        any(words in one for one in told)
        for words in ("a footnote", "Watch out", "a page header is not read: Secret")
    )


def test_numbers_of_several_levels_and_ways_back(tmp_path: Path) -> None:
    document = docx.Document()
    for words in ("步骤 1：受理", "（1）核对", "步骤 2：审批", "如果不通过，则返回步骤 1"):
        document.add_paragraph(words)
    document.add_paragraph("步骤 3：如果不通过，则返回步骤 1")
    found = read(saved(document, tmp_path))
    last = list(found.procedure.steps.values())
    back = [(s.id, e.to) for s in last for e in s.next if e.judge == "不通过"]
    assert back == [("step_4", "step_1")]
    assert [n.code for n in found.notes] == ["SW711"]


@pytest.mark.parametrize(
    ("held", "said"),
    [
        (b"", "empty"), (b"\xd0\xcf\x11\xe0" + b"\0" * 512, "old .doc"), (b"hello", "not a Word document"),
        (b"PK\x03\x04 broken", "not a Word document"), (b"PK\x05\x06" + b"\0" * 18, "damaged"),
    ],
)  # fmt: skip
def test_what_is_no_document_says_so(held: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "x.docx"
    path.write_bytes(held)
    with pytest.raises(ProcedureError) as raised:
        read(path)
    (found,) = raised.value.diagnostics
    assert (found.code, found.place.file) == ("SW716", str(path))  # pyright: ignore
    assert said in found.message.en  # pyright: ignore


def test_a_document_that_unpacks_to_too_much_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bomb.docx"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package,
        package.open("word/document.xml", "w") as part,
    ):
        for _ in range(210):
            part.write(b" " * 1_000_000)
    with pytest.raises(ProcedureError, match="unpacks to 210 MB"):
        read(path)


def test_cut_documents_are_refused_with_a_place(tmp_path: Path) -> None:
    document = docx.Document()
    document.add_paragraph("Ask", "List Number")
    whole = saved(document, tmp_path).read_bytes()
    path = tmp_path / "cut.docx"
    for i in range(1, 40):
        path.write_bytes(whole[: len(whole) * i // 40])
        with pytest.raises(ProcedureError):
            read(path)
    for i in range(40):
        at = len(whole) * i // 40
        path.write_bytes(whole[:at] + b"\xff\x00" + whole[at + 2 :])
        try:
            assert read(path).procedure.steps
        except (ProcedureError, UserError) as error:
            assert error.message.zh
