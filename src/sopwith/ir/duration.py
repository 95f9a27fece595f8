"""Durations: `500ms`, `20s`, `2m`, `1h`, `2d`, or a number of seconds."""

from __future__ import annotations

import re
from decimal import Decimal

_FORM = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)")
_MILLISECONDS = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}


LONGEST = 36_525 * 86_400
"""Seconds in a hundred years: nothing may take longer."""


def read_duration(value: object) -> float | None:
    """Seconds, or None where `value` is not a positive duration of at most `LONGEST`."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value) if 0 < value <= LONGEST else None
    found = _FORM.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return None
    milliseconds = Decimal(found[1]) * _MILLISECONDS[found[2]]
    return float(milliseconds / 1000) if 0 < milliseconds <= 1000 * LONGEST else None


def write_duration(seconds: float) -> str | float:
    """The shortest exact form: the largest unit that gives a whole number; plain seconds where none does."""
    milliseconds = seconds * 1000
    if milliseconds != int(milliseconds) or int(milliseconds) / 1000 != seconds:
        return seconds
    for unit, size in _MILLISECONDS.items():
        if int(milliseconds) % size == 0:
            return f"{int(milliseconds) // size}{unit}"
    return seconds
