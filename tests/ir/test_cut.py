"""The beginning of a long text holds whole words only."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopwith.ir.cut import cut


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("one two three", "one two three"),
        ("twelve chars.", "twelve chars."),
        ("one two threes", "one two…"),
        ("one two 3 4 56789", "one two…"),
        ("call 138 0013 8000", "call…"),
        ("请把电话告诉张三丰先生和其他人员吧", "请把电话告诉张三丰先生和…"),
        ("电话号码是13800138000", "电话号码是…"),
        ("key:sk-live-123456", "…"),
        ("a sk-live-123456", "a…"),
    ],
)
def test_no_half_word_and_no_half_number_stays(text: str, kept: str) -> None:
    assert cut(text, 13) == kept


@given(st.text(), st.integers(min_value=1, max_value=50))
def test_it_is_a_beginning_and_never_longer(text: str, longest: int) -> None:
    short = cut(text, longest)
    assert len(short) <= max(longest, 1)
    assert short == text or text.startswith(short.removesuffix("…"))
