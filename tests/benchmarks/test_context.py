"""The context benchmark works, and holds its goals also where it is quick."""

from __future__ import annotations

import asyncio

from benchmarks.context import PROCEDURES, long_result, records
from benchmarks.goals import GOALS


def test_a_long_result_costs_few_tokens_and_arrives_whole() -> None:
    found = {measure.name: measure for measure in asyncio.run(long_result(quick=True))}
    for name in ("tokens_for_5mb_result", "same_bytes_of_5mb_result"):
        assert GOALS[name].met(found[name].value), found[name]
    assert found["tokens_for_5mb_result"].value == max(
        found[f"tokens_for_5mb_result_{grip}"].value for grip in PROCEDURES
    )
    assert found["tokens_for_5mb_result"].value > 100
    assert found["stored_times_5mb_result"].value < 1.1


def test_the_records_are_as_long_as_they_are_said_to_be() -> None:
    assert len(str(records(10_000)).encode()) >= 10_000
