"""The text of a PDF file, page by page."""

from __future__ import annotations

import importlib.util
import logging
import re
import unicodedata
from collections.abc import Callable, Iterator
from importlib.metadata import version
from io import BytesIO

MOST_PAGES = 3000
"""Pages after these are not read."""

_HYPHEN = re.compile(r"(?<=[a-z])[-\u00ad]\n(?=[a-z])")


class Locked(Exception):
    """The file is encrypted, and opens with a password only."""


class Damaged(Exception):
    """The file is no PDF, or its parts do not fit together. Its text says what the library says."""


def pdf_reader() -> str:
    """Which library reads PDF files, with its version; "" where it is not installed."""
    return f"pypdf {version('pypdf')}" if importlib.util.find_spec("pypdf") is not None else ""


def pages(held: bytes, stopped: Callable[[], bool]) -> Iterator[tuple[int, str | None]]:
    """Number and text of each page, from 1; None of one that is a picture. Ends early once `stopped`.

    Raises `Locked`, and `Damaged` where the file, or one of its pages, cannot be read: what came before is good.
    """
    from pypdf import PdfReader

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it tells of each oddity that it gets over
    # A file from outside may make it fail in any way: not only with its own errors, but with those of its parts.
    try:
        reader = PdfReader(BytesIO(held))
        if reader.is_encrypted and not reader.decrypt(""):
            raise Locked
        for number, page in enumerate(reader.pages, 1):
            if number > MOST_PAGES or stopped():
                return
            text = _plain(page.extract_text())
            yield number, text if text.strip() or not page.images.keys() else None
    except Locked:
        raise
    except (Exception, RecursionError) as error:
        raise Damaged(f"{type(error).__name__}: {error}") from error


def _plain(text: str) -> str:
    """Text as it is written elsewhere: ligatures are letters, words that were hyphenated are whole."""
    text = unicodedata.normalize("NFC", text).replace("\r\n", "\n").replace("\0", "")
    for ligature in "\ufb00\ufb01\ufb02\ufb03\ufb04":
        text = text.replace(ligature, unicodedata.normalize("NFKC", ligature))
    return _HYPHEN.sub("", text)
