"""A choice by letter."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from sopwith.ir.value import Json

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class Labels:
    """A choice by letter: what each letter stands for, as value and as words."""

    values: tuple[Json, ...]
    words: tuple[str, ...]

    @classmethod
    def of(cls, values: Iterable[Json], words: Iterable[str]) -> Labels:
        """Labels whose words differ, also where the values read alike (`1` and `"1"`)."""
        listed, said = tuple(values), list(words)
        counts = Counter(said)
        for i, word in enumerate(said):
            if counts[word] > 1:
                said[i] = f"{word} ({json.dumps(listed[i], ensure_ascii=False)})"
        return cls(listed, tuple(said))

    def lines(self) -> str:
        """One line a label: `A. words`."""
        return "\n".join(f"{LETTERS[i]}. {words}" for i, words in enumerate(self.words))
