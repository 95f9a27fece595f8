"""Durations are read in five units and written in the shortest exact one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopwith.ir.duration import read_duration, write_duration


@pytest.mark.parametrize(
    ("seconds", "written"),
    [
        (0.5, "500ms"),
        (20, "20s"),
        (90, "90s"),
        (120, "2m"),
        (3600, "1h"),
        (172800, "2d"),
        (0.0001, 0.0001),
        (1.5, "1500ms"),
    ],
)
def test_the_largest_unit_that_gives_a_whole_number_is_written(seconds: float, written: str | float) -> None:
    assert write_duration(seconds) == written


@given(st.floats(1e-6, 1e9))
def test_what_is_written_is_read(seconds: float) -> None:
    assert read_duration(write_duration(seconds)) == seconds


@pytest.mark.parametrize(
    "value", ["", "20", "s", "-1s", "0s", "1 s", "1w", "1e3s", 0, -1, True, None, [], "٣s"]
)
def test_anything_else_is_no_duration(value: object) -> None:
    assert read_duration(value) is None
