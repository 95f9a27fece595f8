"""Who looks after runs that have called others: not where somebody drives them, and no deeper than is said."""

from __future__ import annotations

import pytest
from tests.run.family import Family
from tests.run.test_wake import ESCALATES

from sopwith import MemoryLog
from sopwith.ir.event import Event, LeaseTaken
from sopwith.ir.message import DEPTH

ASKS = """
  sure:
    ask: Sure?
    returns: {type: boolean}
    next: pay
"""


async def test_whoever_ends_a_child_leaves_its_parent_to_who_drives_it() -> None:
    family = Family(steps=ASKS, start="sure")
    await family.run()
    (child,) = await family.children()
    last = (await family.log.read("root"))[-1]
    lease = LeaseTaken(driver="elsewhere/1/1/x", seconds=300.0)
    held = Event(last.task, "root", last.seq + 1, family.clock(), last.phase, None, None, lease)
    await family.log.append("root", [held])
    ended = await family.engine().resume(child, answer=True)
    assert (ended.status, ended.called_by) == ("completed", None)
    assert (await family.log.read("root"))[-1].seq == held.seq
    family.clock.pass_(1000)
    assert (await family.engine().resume("root")).output == {"receipt": "R-1"}


@pytest.mark.parametrize(("dry_run", "status"), [(True, "escalated"), (False, "suspended")])
async def test_a_dry_run_waits_for_nobody_who_could_take_over_what_it_called(
    dry_run: bool, status: str
) -> None:
    family = Family(steps=ESCALATES, start="first")
    assert (await family.run(dry_run=dry_run)).status == status
    (child,) = await family.children()
    assert (await family.log.read(child))[-1].body.outcome.kind == "escalated"


@pytest.mark.parametrize(("depth", "receipt", "below"), [(DEPTH - 1, "R-1", [DEPTH]), (DEPTH, "depth", [])])
async def test_a_run_calls_others_down_to_the_limit(depth: int, receipt: str, below: list[int]) -> None:
    family = Family(pay="    on_error: other")
    whole, log = await _before_the_call(family), MemoryLog()
    first = whole[0]._replace(body=whole[0].body.model_copy(update={"depth": depth}))
    body = first.body
    names = (body.procedure, body.tools, body.policy, *body.children.values())
    await log.append("root", [first, *whole[1:]], {name: await family.log.blob(name) for name in names})
    family.log = log
    family.till.paid.clear()
    family.clock.pass_(1000)
    assert (await family.engine().resume("root")).output == {"receipt": receipt}
    children = [(await log.read(child))[0].body for child in await family.children()]
    assert [child.depth for child in children] == below


async def _before_the_call(family: Family) -> list[Event]:
    """What a run that has come to its call has written."""
    await family.run()
    events = await family.log.read("root")
    sent = next(event.seq for event in events if event.body.kind == "message.sent")
    return [event for event in events if event.seq < sent]
