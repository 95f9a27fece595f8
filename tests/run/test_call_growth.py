"""What a step that calls for every item of a list costs grows as the list does, and not faster."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from types import FrameType
from typing import Any

import pytest
from tests.run.family import Family
from tests.run.test_call import MANY

from sopwith import Policy, Rule

ASK = Policy([Rule(id="ask", verdict="ask", effect="write")])


async def approve_each(count: int, at_once: int) -> None:
    """Pay so many amounts, each by a run of its own that a person gives leave to."""
    family = Family()
    family.procedures[0] = (MANY % (at_once, "")).strip()
    engine = family.engine(policy=ASK)
    amounts = [float(i) for i in range(count)]
    run = await engine.run("go", procedure="parent", inputs={"amounts": amounts}, run_id="root")
    while run.waits_for is not None:
        child = await engine.approve(run.waits_for.id, by="boss")
        assert child.called_by is not None
        run = child.called_by
    assert run.status == "completed" and sorted(family.till.paid) == amounts


async def run_over(count: int, at_once: int) -> None:
    """Pay so many amounts, each by a run of its own."""
    family = Family()
    family.procedures[0] = (MANY % (at_once, "")).strip()
    amounts = [float(i) for i in range(count)]
    run = await family.engine().run("go", procedure="parent", inputs={"amounts": amounts}, run_id="root")
    assert run.status == "completed" and sorted(family.till.paid) == amounts


def calls_of(
    count: int, at_once: int, work: Callable[[int, int], Coroutine[Any, Any, None]] = run_over
) -> int:
    """How many functions are called on the way."""
    called = 0

    def see(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal called
        called += event.endswith("call")

    sys.setprofile(see)
    try:
        asyncio.run(work(count, at_once))
    finally:
        sys.setprofile(None)
    return called


@pytest.mark.parametrize("at_once", [1, 8])
def test_twice_as_many_items_are_twice_as_much_work(at_once: int) -> None:
    calls_of(8, at_once)  # what is imported and compiled once
    small, middle, large = (calls_of(count, at_once) for count in (40, 80, 160))
    assert large - middle < 2.1 * (middle - small)


@pytest.mark.parametrize("at_once", [1, 8])
def test_twice_as_many_runs_that_people_approve_are_twice_as_much_work(at_once: int) -> None:
    calls_of(8, at_once, approve_each)
    small, middle, large = (calls_of(count, at_once, approve_each) for count in (16, 32, 64))
    assert large - middle < 2.3 * (middle - small)
