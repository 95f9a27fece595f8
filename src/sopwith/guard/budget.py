"""The limits of a run, held against what it has used: at its limit, a run may do no more."""

from __future__ import annotations

from collections.abc import Collection

from sopwith.ir.usage import Budget, Usage

LIMITS = ("tokens", "model_calls", "tool_calls", "seconds")
"""The names of the limits, as `Budget` has them, in the order in which they are looked at."""


def exceeded(budget: Budget, usage: Usage, seconds: float, of: Collection[str] = LIMITS) -> str | None:
    """The name of a limit that leaves no room for another action, or None where all leave some.

    A limit of zero leaves none from the start. `seconds` is the time of the run without its waiting; `of`
    names the limits that the next action needs room in.
    """
    used = (usage.tokens, usage.model_calls, usage.tool_calls, seconds)
    limits = (budget.tokens, budget.model_calls, budget.tool_calls, budget.seconds)
    for name, limit, amount in zip(LIMITS, limits, used, strict=True):
        if limit is not None and not amount < limit and name in of:
            return name
    return None


def remaining_tokens(budget: Budget, usage: Usage) -> int | None:
    """How many tokens may still be used, never below zero; None where there is no limit."""
    return None if budget.tokens is None else max(0, budget.tokens - usage.tokens)
