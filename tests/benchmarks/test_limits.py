"""The limits benchmark works, and holds its goals also where it is quick."""

from __future__ import annotations

import asyncio

import pytest
from benchmarks.goals import GOALS
from benchmarks.limits import QUICK, measured
from benchmarks.stuck import CASES


@pytest.mark.slow
def test_every_case_returns_and_nothing_is_left() -> None:
    found = {measure.name: measure for measure in asyncio.run(measured(QUICK))}
    assert found.keys() >= {f"return_s_{tool}" for tool in CASES}
    for name in ("worst_return_s", "processes_left", "next_step_works"):
        assert GOALS[name].met(found[name].value), found[name]
    assert found["worst_return_s"].n == QUICK * len(CASES)
