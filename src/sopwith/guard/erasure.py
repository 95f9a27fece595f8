"""Which entries of a vault hold a value, however it was written: with blanks, a country code, in other letters."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from sopwith.errors import Text, UserError
from sopwith.guard.secret import FILLER, name_rule, plain
from sopwith.guard.vault import Secret

Matches = Callable[[str, Secret], bool]
"""Whether the entry of a run is meant."""

_BETWEEN = re.compile(r"[\s\u200b-\u200f\u2060\ufeff()_/+.·\u2010-\u2015-]")
_NUMBER = re.compile(r"\d{6,}x?", re.IGNORECASE)
_COUNTRY = re.compile(r"(?:(?:00)?86|0)(?=1[3-9]\d{9}\Z)")


def holding(value: str) -> Matches:
    """The entries, of any run, that hold `value`. Raises `UserError` for less than two characters."""
    number = _BETWEEN.sub("", plain(value))
    if _NUMBER.fullmatch(number):
        digits = re.escape(_COUNTRY.sub("", number))
        pattern = re.compile(rf"(?<!\d)(?:(?:00)?86|0)?{digits}(?!\d)", re.IGNORECASE)
        return lambda run, secret: pattern.search(_BETWEEN.sub("", _text(secret))) is not None
    rule = name_rule([value])
    if rule is None:
        raise UserError(
            Text("a value to erase has two characters at least", "要抹除的值至少有两个字符"),
            Text("give it as it was written", "请按原样给出"),
        )

    def holds(run: str, secret: Secret) -> bool:
        # Part of another address is another person's address.
        look = rule.compiled.fullmatch if secret.kind == "email" else rule.compiled.search
        return look(_text(secret)) is not None

    return holds


def _text(secret: Secret) -> str:
    value = json.loads(secret.value)
    return plain(value if isinstance(value, str) else f"{value:.0f}").replace(FILLER, "")
