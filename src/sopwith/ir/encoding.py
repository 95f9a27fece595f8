"""Which encoding bytes probably are in that are not UTF-8."""

from __future__ import annotations


def likely_encoding(held: bytes) -> str:
    """The name of the encoding, as `iconv` knows it; "" where nothing can be said."""
    if held[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "UTF-16"
    if b"\0" in held:
        return ""
    try:
        text = held.decode("gb18030")
    except UnicodeDecodeError:
        return ""
    han = sum("\u4e00" <= character <= "\u9fff" for character in text)
    return "GB18030" if 2 * han > sum(not character.isascii() for character in text) else ""
