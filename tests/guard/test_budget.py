"""Limits: at a limit a run may do no more, and zero means none at all."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sopwith.guard.budget import LIMITS, exceeded, remaining_tokens
from sopwith.ir.usage import Budget, Usage


def test_without_limits_nothing_is_exceeded() -> None:
    assert exceeded(Budget(), Usage(input=10**9, model_calls=10**6, tool_calls=10**6), 1e9) is None


@pytest.mark.parametrize("name", LIMITS)
def test_zero_means_none_at_all(name: str) -> None:
    assert exceeded(Budget(**{name: 0}), Usage(), 0.0) == name


@pytest.mark.parametrize(
    ("budget", "usage", "seconds", "limit"),
    [
        (Budget(tokens=100), Usage(input=60, cached=20, cache_write=10, output=9), 0, None),
        (Budget(tokens=100), Usage(input=60, cached=20, cache_write=10, output=10), 0, "tokens"),
        (Budget(model_calls=2), Usage(model_calls=1), 0, None),
        (Budget(model_calls=2), Usage(model_calls=2), 0, "model_calls"),
        (Budget(tool_calls=2), Usage(tool_calls=3), 0, "tool_calls"),
        (Budget(seconds=1.5), Usage(), 1.4, None),
        (Budget(seconds=1.5), Usage(), 1.5, "seconds"),
        (Budget(seconds=1.5), Usage(), float("nan"), "seconds"),
        (Budget(tool_calls=1, tokens=5), Usage(tool_calls=1, input=5), 0, "tokens"),
    ],
)
def test_the_limit_that_is_reached_is_named(
    budget: Budget, usage: Usage, seconds: float, limit: str | None
) -> None:
    assert exceeded(budget, usage, seconds) == limit


def test_a_limit_that_the_next_action_does_not_need_is_not_looked_at() -> None:
    budget, usage = Budget(tokens=1, tool_calls=1), Usage(input=1, tool_calls=1)
    assert exceeded(budget, usage, 0, ("tool_calls", "seconds")) == "tool_calls"
    assert exceeded(budget, usage, 0, ("model_calls",)) is None


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("value", [-1, True, "5", float("nan"), float("inf")])
def test_anything_but_a_number_from_zero_refuses_to_start(name: str, value: Any) -> None:
    with pytest.raises(ValidationError):
        Budget(**{name: value})


@given(st.none() | st.integers(0, 9), st.integers(0, 9))
def test_what_remains_is_what_may_still_be_used(limit: int | None, used: int) -> None:
    budget, usage = Budget(tokens=limit), Usage(input=used)
    remaining = remaining_tokens(budget, usage)
    assert (remaining == 0) == (exceeded(budget, usage, 0) == "tokens")
    assert (remaining is None) == (limit is None)
