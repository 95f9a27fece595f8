"""Points in time at the ends of the calendar."""

from __future__ import annotations

import pytest

from sopwith.errors import Text
from sopwith.lang.moment import read_time, write_time


@pytest.mark.parametrize(
    "text", ["9999-12-31T23:59:59-14:00", "9999-12-31T00:00:00Z", "0001-01-01T00:00:00+14:00"]
)
def test_a_time_that_some_zone_cannot_tell_is_none(text: str) -> None:
    found = read_time(text)
    assert isinstance(found, Text)
    assert "outside the years 1 to 9999" in found.en and "9999" in found.zh


@pytest.mark.parametrize("text", ["9999-12-29T23:59:59Z", "0001-01-02T00:00:00Z", "2026-12-01T09:00:00Z"])
def test_every_other_time_is_written_as_it_was(text: str) -> None:
    found = read_time(text)
    assert isinstance(found, int)
    assert write_time(found) == text


@pytest.mark.parametrize("at", [-(10**30), 10**30])
def test_any_number_is_written(at: int) -> None:
    assert write_time(at) in ("0001-01-02T00:00:00Z", "9999-12-30T00:00:00Z")
