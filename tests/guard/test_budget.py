"""Limits: at a limit a run may do no more, and zero means none at all."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sopwith.errors import PolicyError, UserError
from sopwith.guard.budget import (
    LIMITS,
    Budgets,
    PrincipalBudget,
    exceeded,
    narrower,
    remaining,
    reserve,
    settle,
    total,
)
from sopwith.ir.usage import UNLIMITED, Budget, Usage


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
        (Budget(money=0.3), Usage(money=Decimal("0.1") + Decimal("0.1")), 0, None),
        (Budget(money=0.3), Usage(money=Decimal("0.1") * 3), 0, "money"),
        (Budget(money=100), Usage(money=None), 0, "money"),
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


AMOUNTS = {
    "tokens": st.integers(0, 10**6),
    "money": st.decimals(0, 1000, places=6),
    "model_calls": st.integers(0, 50),
    "tool_calls": st.integers(0, 50),
    "seconds": st.floats(0, 1e6),
}
BUDGETS = st.fixed_dictionaries({}, optional=AMOUNTS).map(lambda limits: Budget(**limits))
USAGES = st.builds(
    Usage,
    input=st.integers(0, 10**5),
    output=st.integers(0, 10**5),
    model_calls=st.integers(0, 20),
    tool_calls=st.integers(0, 20),
    money=st.none() | st.decimals(0, 100, places=6),
)
SHARES = st.floats(0, 1) | st.decimals(0, 1)


@given(BUDGETS, USAGES, st.floats(0, 1e6))
def test_what_remains_is_what_may_still_be_used(budget: Budget, usage: Usage, seconds: float) -> None:
    left = remaining(budget, usage, seconds)
    for name in LIMITS:
        assert (getattr(left, name) is None) == (getattr(budget, name) is None)
        assert (getattr(left, name) == 0) == (exceeded(budget, usage, seconds, (name,)) == name)


@given(BUDGETS, USAGES, st.lists(SHARES, max_size=6))
def test_children_together_never_get_more_than_their_parent_has_left(
    budget: Budget, usage: Usage, shares: list[Any]
) -> None:
    children: list[Budget] = []
    for share in shares:
        children.append(reserve(budget, usage, share, held=children))
    left = remaining(budget, usage)
    for name in ("tokens", "money", "model_calls", "tool_calls"):
        if getattr(budget, name) is not None:
            given_away = [getattr(child, name) for child in children]
            assert None not in given_away
            assert sum(given_away) <= getattr(left, name)
    assert total(left, children).tokens in (None, sum(child.tokens or 0 for child in children))


def test_three_children_do_not_each_take_the_whole_remainder() -> None:
    budget, used = Budget(tokens=1000, money=1, model_calls=2, seconds=60), Usage(input=400)
    children: list[Budget] = []
    for _ in range(3):
        children.append(reserve(budget, used, 1, held=children, seconds=20))
    assert children[0] == Budget(tokens=600, money=1, model_calls=2, seconds=40)
    assert children[1] == children[2] == Budget(tokens=0, money=0, model_calls=0, seconds=40)


@given(BUDGETS, USAGES)
def test_a_share_of_zero_is_nothing_at_all_also_of_a_parent_without_limits(
    budget: Budget, usage: Usage
) -> None:
    child = reserve(budget, usage, 0)
    assert {name: exceeded(child, Usage(), 0.0, (name,)) for name in LIMITS} == {n: n for n in LIMITS}


def test_a_count_that_is_rounded_down_to_zero_is_zero() -> None:
    assert reserve(Budget(model_calls=2), Usage(), 0.3) == Budget(model_calls=0)


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan"), float("inf"), True, "half", None])
def test_a_share_that_is_none_refuses(share: Any) -> None:
    with pytest.raises(UserError, match="no share of a budget"):
        reserve(Budget(tokens=10), Usage(), share)


@given(BUDGETS, BUDGETS)
def test_the_narrower_of_two_allows_what_both_allow(one: Budget, other: Budget) -> None:
    both = narrower(one, other)
    for name in LIMITS:
        limits = [limit for each in (one, other) if (limit := getattr(each, name)) is not None]
        assert getattr(both, name) == (min(limits) if limits else None)


def test_a_child_at_an_unknown_price_has_used_all_its_money() -> None:
    given_away = Budget(money=2)
    assert settle(Usage(money=Decimal(1)), Usage(money=Decimal("0.5")), given_away).money == Decimal("1.5")
    assert settle(Usage(money=Decimal(1)), Usage(money=None), given_away).money == Decimal(3)
    assert settle(Usage(), Usage(money=None), Budget()).money is None


@given(USAGES, USAGES)
def test_usage_since_an_earlier_reading_is_what_was_added(earlier: Usage, added: Usage) -> None:
    found = (earlier + added).since(earlier)
    unknown = earlier.money is None or added.money is None
    assert found == added.model_copy(update={"money": None if unknown else added.money})


def test_budgets_are_read_from_the_policy() -> None:
    text = """
    budgets:
      run: {tokens: 20000, money: 0.5}
      step: {model_calls: 5, tokens: 100}
      steps:
        draft: {tokens: 4000}
      principal: {window: 1d, money: 5}
    """
    found = Budgets.read(text)
    assert found.run == Budget(tokens=20000, money=Decimal("0.5"))
    assert found.by_step() == {"draft": Budget(tokens=4000, model_calls=5)}
    assert found.principal is not None
    assert (found.principal.limits, found.principal.window) == (Budget(money=5), 86400.0)
    assert found.within(Budget(tokens=10, seconds=3)).run == Budget(tokens=10, money=0.5, seconds=3)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("run: {tokens: -1}", "2:9 budgets.run.tokens: must be a whole number, 0 or more, not -1"),
        ("run: {tokens: 1.5}", "2:9 budgets.run.tokens: must be a whole number, 0 or more, not 1.5"),
        ("run: {tokens: many}", "2:9 budgets.run.tokens: must be a whole number, 0 or more, not 'many'"),
        ("run: {tokens: }", "2:9 budgets.run.tokens: must be a whole number, 0 or more, not None"),
        ("run: {money: .nan}", "2:9 budgets.run.money: must be a number, 0 or more, not nan"),
        ("step: {money: '5'}", "2:10 budgets.step.money: must be a number, 0 or more, not '5'"),
        (
            "step: {tool_calls: true}",
            "2:10 budgets.step.tool_calls: must be a whole number, 0 or more, not True",
        ),
        ("steps: {a: {seconds: .inf}}", "2:15 budgets.steps.a.seconds: must be a number, 0 or more, not inf"),
        ("run: {token: 1}", "2:9 budgets.run.token: unknown limit"),
        ("run:", "2:3 budgets.run: must be a mapping"),
        ("each: {}", "2:3 budgets.each: unknown field"),
        ("principal: {money: 5}", "2:3 budgets.principal: needs a window of time, from 1s to 36525d"),
        (
            "principal: {window: soon}",
            "2:15 budgets.principal.window: needs a window of time, from 1s to 36525d",
        ),
        *(
            (
                f"principal: {{window: {window}, tokens: 5}}",
                "2:15 budgets.principal.window: needs a window of time, from 1s to 36525d",
            )
            for window in (".inf", ".nan", "0s", "0", "-1", "500ms", "36526d", "9" * 400 + "d", "9" * 400)
        ),
        ("principal: {window: 1d, mony: 5}", "2:27 budgets.principal.mony: unknown limit"),
    ],
)
def test_a_policy_with_a_wrong_limit_starts_nothing(text: str, said: str) -> None:
    with pytest.raises(PolicyError) as caught:
        Budgets.read(f"budgets:\n  {text}\n")
    assert caught.value.message.en == f"<text>:{said}"
    assert caught.value.message.zh != caught.value.message.en
    assert caught.value.hint.en


@pytest.mark.parametrize("window", [float("inf"), float("nan"), 0.0, 1e12])
def test_a_window_that_is_none_starts_nothing_from_code_either(window: float) -> None:
    with pytest.raises(UserError, match="needs a window of time"):
        PrincipalBudget(Budget(tokens=5), window)


def test_tokens_that_nobody_counted_are_used_up() -> None:
    used = Usage(input=3, uncounted=1)
    assert exceeded(Budget(tokens=10), used, 0.0) == "tokens"
    assert remaining(Budget(tokens=10, model_calls=2), used) == Budget(tokens=0, model_calls=2)
    assert settle(Usage(), used, Budget(tokens=10)).tokens == 10
    assert settle(Usage(), used, UNLIMITED) == used
