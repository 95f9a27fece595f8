"""The beginning of a text that is too long to be quoted."""

from __future__ import annotations

import re

_LAST_WORD = re.compile(r"[\w.@%+/=~$:!#&*^-]*\Z", re.ASCII)
_LAST_NUMBER = re.compile(r"[\d\s().+/_-]*\Z")


def cut(text: str, longest: int) -> str:
    """`text`, or as many of its first whole words as `longest` characters hold, and "…".

    Half a number or half a key at the end would not be known as a secret any more.
    """
    if len(text) <= longest:
        return text
    kept = text[: longest - 1]
    if _LAST_WORD.match(text[longest - 1]):
        kept = _LAST_WORD.sub("", kept, 1)
    return _LAST_NUMBER.sub("", kept, 1) + "…"
