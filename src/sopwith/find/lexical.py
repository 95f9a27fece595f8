"""How well the words of an entry answer those of a query: BM25F (Robertson and Zaragoza, 2009), as a share of the best.

Pure. A field counts by its weight and its own length, so that long parameters do not hide a short name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

FIELDS = ("name", "description", "body", "tags", "examples", "source")
"""The texts of an entry, in their order."""

WEIGHTS = (2.0, 2.0, 1.0, 1.0, 1.0, 1.0)
"""What a word counts by the field it is in."""

_K1, _B = 1.2, 0.75


@dataclass(frozen=True, slots=True)
class Collection:
    """What scores are relative to: how many entries there are, how many words each field of all of them has, and how
    many entries have a word."""

    entries: int
    lengths: tuple[int, ...]
    holders: Mapping[str, int]

    def rarity(self, word: str) -> float:
        """The weight of a word: near 0 where all entries have it."""
        held = self.holders.get(word, 0)
        return math.log(1 + (self.entries - held + 0.5) / (held + 0.5))


def lexical_score(asked: Sequence[str], fields: Sequence[Sequence[str]], among: Collection) -> float:
    """From 0 to 1: 1 is an entry that is about nothing but the words asked for. `fields` are the words of the entry by
    `FIELDS`; words that no entry has count against all."""
    most = sum(among.rarity(word) for word in asked) * (_K1 + 1)
    norms = [
        WEIGHTS[i] / (1 - _B + _B * len(found) * among.entries / max(1, among.lengths[i])) if found else 0.0
        for i, found in enumerate(fields)
    ]
    counts = dict.fromkeys(asked, 0.0)
    for norm, found in zip(norms, fields, strict=True):
        for word in found:
            if word in counts:
                counts[word] += norm
    total = sum(
        among.rarity(word) * count * (_K1 + 1) / (count + _K1) for word, count in counts.items() if count
    )
    return total / most if most else 0.0
