"""The context benchmark works, and holds its goals also where it is quick."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from benchmarks.catalogues import DATA
from benchmarks.context import PROCEDURES, long_result, records
from benchmarks.disclosure import QUICK_TOOLS, cost, edits, many_tools, tokens
from benchmarks.goals import GOALS

from sopwith.run.sent import Sent


def test_a_long_result_costs_few_tokens_and_arrives_whole() -> None:
    found = {measure.name: measure for measure in asyncio.run(long_result(quick=True))}
    for name in ("tokens_for_5mb_result", "same_bytes_of_5mb_result"):
        assert GOALS[name].met(found[name].value), found[name]
    assert found["tokens_for_5mb_result"].value == max(
        found[f"tokens_for_5mb_result_{grip}"].value for grip in PROCEDURES
    )
    assert found["tokens_for_5mb_result"].value > 100
    assert found["stored_times_5mb_result"].value < 1.1


@pytest.mark.skipif(not DATA.exists(), reason="the public data is not here")
def test_tools_that_are_found_cost_less_than_all_of_them_for_the_same_calls() -> None:
    found = {measure.name: measure for measure in asyncio.run(many_tools(quick=True))}
    for name in ("prompt_token_saving", "prefix_edits", "uncached_tokens_per_step_strict"):
        assert GOALS[name].met(found[name].value), found[name]
    assert found["tools_found"].value == 1 and found["tools_in_catalogue"].value == QUICK_TOOLS
    assert found["prompt_tokens_searched"].value > 1000


def test_an_edit_of_a_prompt_is_seen() -> None:
    def sent(purpose: Any, *messages: str) -> Sent:
        return Sent(1, "s", purpose, "m", messages, 0)

    assert edits([sent("free", "a", "b"), sent("free", "a", "b", "c")]) == 0
    assert edits([sent("free", "a", "b"), sent("free", "a", "x", "c")]) == 1
    assert edits([sent("action", "a", "b"), sent("action", "A", "b")]) == 1
    assert edits([sent("action", "a", "b"), sent("action", "a", "c")]) == 0


def test_what_was_sent_before_costs_a_tenth() -> None:
    text = "one two three four five six seven eight nine ten"
    whole = Sent(1, "s", "action", "m", (text,), 0)
    again = Sent(2, "s", "action", "m", (text,), len(text))
    assert cost([whole, again]) == pytest.approx(1.1 * tokens(text))


def test_the_records_are_as_long_as_they_are_said_to_be() -> None:
    assert len(str(records(10_000)).encode()) >= 10_000
