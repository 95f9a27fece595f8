"""Text is given the room that it needs, and is cut where there is none."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.lang.strategies import SETTINGS

from sopwith.lang.lettering import width, wrap


def test_a_chinese_character_is_as_wide_as_its_font() -> None:
    assert width("退款", 12) == 24
    assert width("ab", 12) < 24


def test_lines_are_broken_at_spaces_and_between_chinese_characters() -> None:
    assert wrap("Put the ticket into its queue", 10, 100, 3) == ["Put the ticket into", "its queue"]
    assert wrap("把工单放进它的队列", 10, 50, 3) == ["把工单放进", "它的队列"]


def test_what_has_no_room_ends_in_an_ellipsis() -> None:
    assert wrap("one two three four five six", 10, 60, 2) == ["one two", "three four…"]
    assert wrap("a_name_without_any_space_in_it", 10, 60, 2) == ["a_name_w…"]
    assert wrap("", 10, 60, 2) == []


@SETTINGS
@given(st.text(max_size=80), st.floats(30, 200), st.integers(1, 4))
def test_lines_are_few_and_fit(text: str, room: float, lines: int) -> None:
    found = wrap(text, 10, room, lines)
    assert len(found) <= lines
    assert all(width(line, 10) <= room for line in found)
    if not any(line.endswith("…") for line in found):
        assert "".join(found).replace(" ", "") == "".join(text.split())
