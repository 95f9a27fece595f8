"""A mapping by place that never changes, and of which a changed copy costs little, however long it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

V = TypeVar("V")

CHUNK = 128
"""So many places are copied together."""


class Chunked(Mapping[int, V], Generic[V]):
    """Values by their places (from 0), in the order in which their chunks were begun."""

    __slots__ = ("_chunks", "_count")

    def __init__(self, values: Mapping[int, V] | None = None) -> None:
        self._chunks: dict[int, dict[int, V]] = {}
        for place, value in (values or {}).items():
            self._chunks.setdefault(place // CHUNK, {})[place] = value
        self._count = sum(map(len, self._chunks.values()))

    def with_value(self, place: int, value: V) -> Chunked[V]:
        """A copy with another value at `place`."""
        copy: Chunked[V] = Chunked()
        old = self._chunks.get(place // CHUNK, {})
        copy._chunks = {**self._chunks, place // CHUNK: {**old, place: value}}
        copy._count = self._count + (place not in old)
        return copy

    def __getitem__(self, place: int) -> V:
        return self._chunks[place // CHUNK][place]

    def since(self, place: int) -> Iterator[tuple[int, V]]:
        """Places and values from `place` on, chunk by chunk."""
        first = place // CHUNK
        for number, chunk in self._chunks.items():
            if number > first:
                yield from chunk.items()
            elif number == first:
                yield from ((at, value) for at, value in chunk.items() if at >= place)

    def __iter__(self) -> Iterator[int]:
        for chunk in self._chunks.values():
            yield from chunk

    def __len__(self) -> int:
        return self._count

    def __repr__(self) -> str:
        return f"Chunked({dict(self)})"
