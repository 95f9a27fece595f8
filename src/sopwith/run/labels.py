"""A choice by letter."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from sopwith.ir.value import Json
from sopwith.models.chat import plain

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class Labels:
    """A choice by letter: what each letter stands for, as value and as words."""

    values: tuple[Json, ...]
    words: tuple[str, ...]

    @classmethod
    def of(cls, values: Iterable[Json], words: Iterable[str]) -> Labels:
        """Labels whose words differ as a model writes them, also where the values read alike (`1` and `"1"`), and of
        which none is empty. Of alike ones each gets its value behind it, or where that does not do, a number."""
        listed = tuple(values)
        written = [json.dumps(value, ensure_ascii=False) for value in listed]
        said = [word if plain(word) else written[i] for i, word in enumerate(words)]
        marks = written
        while alike := [key for key, count in Counter(map(plain, said)).items() if count > 1]:
            for i, word in enumerate(said):
                if plain(word) in alike and (marks is not written or listed[i] is not None):
                    said[i] = f"{word} ({marks[i]})"
            marks = [str(i + 1) for i in range(len(listed))]
        return cls(listed, tuple(said))

    def lines(self) -> str:
        """One line a label: `A. words`."""
        return "\n".join(f"{LETTERS[i]}. {words}" for i, words in enumerate(self.words))
