"""A chunked mapping is a mapping; a changed copy leaves the old one as it was."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sopwith.run.chunked import Chunked


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers()), max_size=60))
def test_it_is_what_a_dict_is(pairs: list[tuple[int, int]]) -> None:
    plain: dict[int, int] = {}
    chunked: Chunked[int] = Chunked()
    for place, value in pairs:
        before, known = chunked, dict(plain)
        plain[place] = value
        chunked = chunked.with_value(place, value)
        assert before == known
    assert chunked == plain == Chunked(plain)
    assert len(chunked) == len(plain) and sorted(chunked) == sorted(plain)
    assert all(chunked.get(place) == plain.get(place) for place in range(0, 1001, 7))
