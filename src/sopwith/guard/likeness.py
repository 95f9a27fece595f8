"""What a text looks like to the eye, so that what is not seen gets nobody past a rule."""

from __future__ import annotations

import re
import unicodedata

_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)


def likeness(text: str) -> str:
    """`text` in plain characters (NFKC), without those that are not seen: joiners, marks of direction, controls."""
    seen = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))
    return _INVISIBLE.sub("", seen)
