"""Conditions as people write them elsewhere, in CEL: where one rewriting makes an expression of what was none."""

from __future__ import annotations

import re

from sopwith.errors import ExpressionError
from sopwith.expr.expression import parse

_QUOTES = str.maketrans(
    {"‘": "'", "’": "'", "“": '"', "”": '"', "＝": "=", "（": "(", "）": ")", "，": ",", "！": "!"}
)
_WHOLE = re.compile(r"\s*\$\{(.*)\}\s*", re.DOTALL)
_TEXT = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')""", re.DOTALL)
_WORDS = (
    (re.compile(r"\band\b", re.IGNORECASE), "&&"),
    (re.compile(r"\bor\b", re.IGNORECASE), "||"),
    (re.compile(r"\bnot\s+(?=[\w(])", re.IGNORECASE), "!"),
    (re.compile(r"(?<![=!<>])=(?!=)"), "=="),
    (re.compile(r"<>"), "!="),
)


def in_cel(source: str) -> str | None:
    """`source` in CEL: without `${…}` around it, with plain quotes, `&&`, `||`, `!`, `==`; None if that makes no sense.

    What stands in quotation marks is left as it is. A `source` that CEL reads already gives None.
    """
    if _reads(source):
        return None
    inside = _WHOLE.fullmatch(source)
    tried = inside[1].strip() if inside else source
    for spelled in (tried, _operators(tried), _operators(tried.translate(_QUOTES))):
        if spelled != source and _reads(spelled):
            return spelled
    return None


def _operators(source: str) -> str:
    parts = _TEXT.split(source)
    for i in range(0, len(parts), 2):
        for pattern, right in _WORDS:
            parts[i] = pattern.sub(right, parts[i])
    return "".join(parts)


def _reads(source: str) -> bool:
    try:
        parse(source)
    except ExpressionError:
        return False
    return True
