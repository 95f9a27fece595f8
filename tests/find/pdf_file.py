"""PDF files for tests: pages of lines in any script, and pages that are pictures."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from io import BytesIO

from pypdf import PdfReader, PdfWriter

PICTURE: tuple[str, ...] = ()
"""A page that a scanner made."""


def pdf(*pages: Sequence[str]) -> bytes:
    """A PDF file whose pages have these lines; `PICTURE` is a page with an image and no text."""
    letters = sorted({letter for page in pages for line in page for letter in line})
    code = {letter: number for number, letter in enumerate(letters, 1)}
    objects: list[bytes] = []

    def put(body: str, stream: bytes | None = None) -> int:
        tail = b"" if stream is None else b"\nstream\n" + stream + b"\nendstream"
        objects.append(body.encode() + tail)
        return len(objects)

    meanings = "\n".join(f"<{code[c]:04x}> <{c.encode('utf-16-be').hex()}>" for c in letters)
    table = f"begincmap\n1 begincodespacerange <0000> <ffff> endcodespacerange\n{len(letters)} beginbfchar\n"
    table += f"{meanings}\nendbfchar\nendcmap"
    unicode = put(f"<< /Length {len(table)} >>", table.encode())
    info = "/CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >>"
    below = put(f"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Sans {info} /DW 600 >>")
    font = put(
        "<< /Type /Font /Subtype /Type0 /BaseFont /Sans /Encoding /Identity-H"
        f" /DescendantFonts [{below} 0 R] /ToUnicode {unicode} 0 R >>"
    )
    pixels = zlib.compress(b"\xff" * 3)
    image = put(
        "<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceRGB /BitsPerComponent 8"
        f" /Filter /FlateDecode /Length {len(pixels)} >>",
        pixels,
    )
    root = len(objects) + 2 * len(pages) + 1
    kids: list[int] = []
    for page in pages:
        drawn = "".join(f"0 -14 Td <{''.join(f'{code[c]:04x}' for c in line)}> Tj\n" for line in page)
        text = f"BT /F 11 Tf 50 800 Td\n{drawn}ET" if page else "500 0 0 500 0 0 cm /I Do"
        content = put(f"<< /Length {len(text)} >>", text.encode())
        resources = f"/Font << /F {font} 0 R >>" if page else f"/XObject << /I {image} 0 R >>"
        kids.append(
            put(
                f"<< /Type /Page /Parent {root} 0 R /MediaBox [0 0 595 842] /Contents {content} 0 R"
                f" /Resources << {resources} >> >>"
            )
        )
    listed = " ".join(f"{kid} 0 R" for kid in kids)
    put(f"<< /Type /Pages /Kids [{listed}] /Count {len(kids)} >>")
    put(f"<< /Type /Catalog /Pages {root} 0 R >>")
    return _file(objects)


def locked(held: bytes, password: str) -> bytes:
    """The same file, encrypted."""
    writer = PdfWriter(clone_from=PdfReader(BytesIO(held)))
    writer.encrypt(password, algorithm="AES-256")
    out = BytesIO()
    writer.write(out)
    return out.getvalue()


def _file(objects: Sequence[bytes]) -> bytes:
    out = BytesIO()
    out.write(b"%PDF-1.7\n")
    places: list[int] = []
    for number, body in enumerate(objects, 1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    start = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.writelines(b"%010d 00000 n \n" % place for place in places)
    out.write(b"trailer\n<< /Size %d /Root %d 0 R >>\n" % (len(objects) + 1, len(objects)))
    out.write(b"startxref\n%d\n%%%%EOF\n" % start)
    return out.getvalue()
