"""Identifiers made of words: ASCII, legal in expressions, never the same twice."""

from __future__ import annotations

import re
from collections.abc import Collection

from sopwith.expr.expression import RESERVED

_OTHER = re.compile(r"[^A-Za-z0-9]+")


def ascii_words(words: str) -> str:
    """The ASCII letters and digits of `words`, joined by `_`: `Check SIM (PIN)` gives `Check_SIM_PIN`."""
    return _OTHER.sub("_", words).strip("_")


def identifier(words: str, default: str, taken: Collection[str] = ()) -> str:
    """An identifier of `words`, or of `default` where they have no ASCII letter or digit; none of `taken`.

    The same words give the same identifier, with `step_` before what cannot begin one and `_2`, `_3` … after what is
    taken.
    """
    base = ascii_words(words) or ascii_words(default)
    base = f"step_{base}" if not base or base[0].isdigit() or base in RESERVED else base
    found, n = base, 1
    while found in taken:
        n += 1
        found = f"{base}_{n}"
    return found
