"""A reply that nests without end is refused like any other that is no JSON."""

from __future__ import annotations

import pytest
from tests.run.desk import Shop, desk

DEPTHS = (99, 101, 300, 600, 900, 1_100, 5_000)
REPLIES = [
    form
    for depth in DEPTHS
    for form in ("[" * depth, "[" * depth + "]" * depth, '{"a":' * depth + '"<phone:1>"' + "}" * depth)
]


@pytest.mark.parametrize("reply", REPLIES, ids=[f"{reply[:2]}{len(reply)}" for reply in REPLIES])
async def test_a_reply_that_nests_too_deep_does_not_end_the_run_as_failed(reply: str) -> None:
    async with desk(Shop(), [reply, reply, reply]) as engine:
        run = await engine.run("Money back for A-7 please", principal="u1")
    assert run.outcome is not None and run.outcome.kind == "escalated"
    assert [event.body.kind for event in run.events].count("reply.rejected") >= 1
