"""How close entries are to a query in meaning, as a share: 0 is what any text is to any other."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sopwith.find.embedding import Vectors

WIDTH = 0.1
"""How much closer than usual counts as the same: cosines of this model lie together, between .7 and .9."""

_OF_TEXT, _OF_EXAMPLE = (0.785, 0.83), (0.8, 0.86)
"""The usual cosine of a query and a text, or an example, that are unlike; and where both are in scripts without spaces.
Of other languages it is another one, so that a text in the language of the query has no advantage."""

_COUNTS = 20
"""How many texts that counts as: a few entries alone do not say what is usual."""


@dataclass(frozen=True, slots=True)
class Nearness:
    """How close each of the entries `numbers` (n, rising) is to a query: `shares`, from 0 to 1 (n)."""

    numbers: NDArray[np.int64]
    shares: Vectors

    def of(self, number: int) -> float | None:
        """The share of one entry; None of one without a vector."""
        at = int(self.numbers.searchsorted(number))
        return float(self.shares[at]) if at < len(self.numbers) and self.numbers[at] == number else None

    def best(self, most: int) -> list[int]:
        """The entries that are closest, at least a little, and at most so many."""
        import numpy as np

        near = np.flatnonzero(self.shares)
        if len(near) > most:
            near = near[np.argpartition(-self.shares[near], most - 1)[:most]]
        return self.numbers[near].tolist()


@dataclass(frozen=True, slots=True)
class Meanings:
    """The vectors of the entries of one kind. All of `numbers` (n) have some.

    An entry is as close as its texts are on average: its name, its description, the whole; where it comes from counts
    as much as these. An example of what it is for counts alone, where it is closer than that.
    """

    numbers: NDArray[np.int64]
    texts: Vectors
    """The mean of the texts of each entry (n × d)."""
    origin: NDArray[np.int64]
    """Which of `origins` an entry comes from (n); -1 where nothing says it."""
    origins: Vectors
    examples: Vectors
    """In the order of their entries (e × d)."""
    owners: NDArray[np.int64]
    """Where the entry of an example is in `numbers` (e)."""
    dense: NDArray[np.bool_]
    """Whether an entry is in a script without spaces (n): what is usual is another thing in the other language."""

    @classmethod
    def of(
        cls, vectors: Vectors, parts: Mapping[str, Sequence[tuple[int, int]]], dense: Collection[int]
    ) -> Meanings:
        """From vectors, and for the parts `text`, `origin` and `example` pairs of an entry's number and the place of
        its vector. `dense` are the numbers of entries in scripts without spaces."""
        import numpy as np

        numbers = np.unique(
            np.array([number for part in ("text", "example") for number, _ in parts[part]], dtype=np.int64)
        )
        place = {number: at for at, number in enumerate(numbers.tolist())}
        texts = np.zeros((len(numbers), vectors.shape[1]), dtype=np.float32)
        at = np.array([place[number] for number, _ in parts["text"]], dtype=np.int64)
        np.add.at(texts, at, vectors[[vector for _, vector in parts["text"]]])
        texts /= np.maximum(np.bincount(at, minlength=len(numbers)), 1)[:, None]
        origin = np.full(len(numbers), -1, dtype=np.int64)
        used = {
            vector: at for at, vector in enumerate(dict.fromkeys(vector for _, vector in parts["origin"]))
        }
        for number, vector in parts["origin"]:
            if number in place:
                origin[place[number]] = used[vector]
        examples = [(place[number], vector) for number, vector in parts["example"] if number in place]
        return cls(
            numbers,
            texts,
            origin,
            vectors[list(used)],
            vectors[[vector for _, vector in examples]],
            np.array([owner for owner, _ in examples], dtype=np.int64),
            np.array([number in dense for number in place], dtype=np.bool_),
        )

    def nearness(self, query: Vectors, dense: bool) -> Nearness:
        """How close each entry is to the query; `dense` says whether that is in a script without spaces."""
        import numpy as np

        near = self.texts @ query
        if len(self.origins):
            of_origin = (self.origins @ query)[self.origin]
            near = np.where(self.origin < 0, near, (near + of_origin) / 2)
        shares = _shares(near, self.dense, _OF_TEXT, dense)
        of_examples = _shares(self.examples @ query, self.dense[self.owners], _OF_EXAMPLE, dense)
        np.maximum.at(shares, self.owners, of_examples)
        return Nearness(self.numbers, shares)


def _shares(
    near: Vectors, dense: NDArray[np.bool_], expected: tuple[float, float], asked_dense: bool
) -> Vectors:
    """Cosines (n) as shares: how far each is above what is usual among those of its script."""
    import numpy as np

    usual = np.zeros_like(near)
    for script in (True, False):
        of_script = dense == script
        count = int(of_script.sum())
        middle = float(np.median(near[of_script])) if count else 0.0
        prior = expected[script and asked_dense]
        usual[of_script] = (middle * count + prior * _COUNTS) / (count + _COUNTS)
    return np.clip((near - usual) / WIDTH, 0, 1).astype(np.float32)
