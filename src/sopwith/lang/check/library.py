"""The procedures of one library together: a search by words must be able to tell them apart.

Compared are the words by which a procedure is found (name, description, examples, tags): stems of English words, and
pairs of neighbouring characters of Chinese, Japanese and Korean text. Two procedures are alike where each, taken as a
query, scores against the other at least `ALIKE` of what it scores against itself, by BM25 over the library
(Robertson and Zaragoza, 2009).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sopwith.errors import Text
from sopwith.ir.diagnostic import Diagnostic, Severity
from sopwith.ir.procedure import Procedure
from sopwith.lang.document import Document

ALIKE = 0.6
_K1, _B = 1.2, 0.75
_WORD = re.compile(r"[a-z0-9]+")
_DENSE = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+")
_ENDINGS = re.compile(r"(?:ies|ing|ed|es|s)$")


def library_problems(documents: Sequence[Document]) -> list[Diagnostic]:
    """SW810: the procedures that another one before them is taken for, each with the one it resembles most."""
    index = Likeness([Counter(words(_text(document.procedure))) for document in documents])
    found: list[Diagnostic] = []
    for i, document in enumerate(documents):
        twin = next((j for j in range(i) if documents[j].procedure.id == document.procedure.id), None)
        if twin is not None:
            found.append(_diagnostic(document, "id", _same_id(documents[twin])))
            continue
        alike = max(index.alike(i), default=None)
        if alike is not None:
            found.append(_diagnostic(document, "description", _taken_for(documents[alike[1]])))
    return found


def words(text: str) -> Iterator[str]:
    """The words of a text as a search knows them."""
    lowered = text.lower()
    for word in _WORD.findall(lowered):
        stem = _ENDINGS.sub("", word)
        yield stem if len(stem) > 2 else word
    for run in _DENSE.findall(lowered):
        yield from (run[i : i + 2] for i in range(max(1, len(run) - 1)))


def _text(procedure: Procedure) -> str:
    return "\n".join((procedure.name, procedure.description, *procedure.examples, *procedure.tags))


@dataclass(frozen=True, slots=True)
class _Posting:
    document: int
    weight: float


class Likeness:
    """How alike bags of words are, by BM25; a query is the set of words of one of them."""

    def __init__(self, bags: Sequence[Counter[str]]) -> None:
        self._bags = bags
        lengths = [bag.total() for bag in bags]
        average = sum(lengths) / len(lengths) if any(lengths) else 1.0
        holders = Counter(word for bag in bags for word in bag)
        self._postings: dict[str, list[_Posting]] = {}
        for i, bag in enumerate(bags):
            for word, count in bag.items():
                rarity = math.log(1 + (len(bags) - holders[word] + 0.5) / (holders[word] + 0.5))
                norm = _K1 * (1 - _B + _B * lengths[i] / average)
                weight = rarity * count * (_K1 + 1) / (count + norm)
                self._postings.setdefault(word, []).append(_Posting(i, weight))
        self._scores: dict[int, dict[int, float]] = {}

    def alike(self, i: int) -> Iterator[tuple[float, int]]:
        """The earlier documents that cannot be told from `i`, each after how much they are alike, from 0 to 1."""
        for j in self._score(i):
            if j < i and (both := min(self._share(i, j), self._share(j, i))) >= ALIKE:
                yield both, j

    def _share(self, query: int, document: int) -> float:
        scores = self._score(query)
        return min(1.0, scores.get(document, 0.0) / scores[query])

    def _score(self, query: int) -> dict[int, float]:
        if query not in self._scores:
            total: dict[int, float] = {}
            for word in self._bags[query]:
                for posting in self._postings[word]:
                    total[posting.document] = total.get(posting.document, 0.0) + posting.weight
            self._scores[query] = total
        return self._scores[query]


def _diagnostic(document: Document, key: str, said: tuple[Text, Text]) -> Diagnostic:
    message, hint = said
    place = document.place(key)
    return Diagnostic(code="SW810", severity=Severity.WARNING, place=place, message=message, hint=hint)


def _same_id(other: Document) -> tuple[Text, Text]:
    name = other.procedure.id
    return (
        Text(f"{other.file} has the id '{name}' as well", f"{other.file} 的 id 也是“{name}”"),
        Text(
            "Give one of them another id, or keep the two in different libraries.",
            "请为其中一个换一个 id，或放在不同的库中。",
        ),
    )


def _taken_for(other: Document) -> tuple[Text, Text]:
    name = other.procedure.name or other.procedure.id
    return (
        Text(
            f"a search cannot tell this procedure from '{name}' ({other.file}): their words are nearly the same",
            f"检索无法把该流程与“{name}”（{other.file}）区分开：两者的用词几乎相同",
        ),
        Text(
            "Say in 'description' what each is for and not for, and give each 'examples' of its own.",
            "请在 description 中写明各自处理什么、不处理什么，并给出各自的 examples。",
        ),
    )
