"""A dry run: reads happen, nothing else does, and it never becomes a real one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from tests.run.desk import REFUND, REPLIES, Shop, desk

from sopwith import Engine, MemoryLog, Policy, Rule, ToolError, tool
from sopwith.models.scripted import ScriptedModel

ASK = Policy([Rule(id="four-eyes", verdict="ask", tool="shop.refund")])


@dataclass
class Paid:
    """What a refund gives."""

    status: str
    receipt: str


class Till:
    """A shop whose refund says what it gives."""

    def __init__(self) -> None:
        self.shop = Shop()
        self.paid: list[float] = []

    def tools(self) -> list[Any]:
        @tool(name="shop.refund", effect="write")
        async def refund(number: str, amount: float, note: str) -> Paid:
            """Pay an order back.

            Args:
                number: The order's number.
                amount: How much.
                note: Why.
            """
            self.paid.append(amount)
            return Paid("ok", "R-1")

        return [self.shop.tools()[0], refund]


def bodies(run: Any, kind: str) -> list[Any]:
    return [event.body for event in run.events if event.body.kind == kind]


@pytest.mark.parametrize("policy", [ASK, Policy(allow_writes="shop.refund")], ids=["ask", "allow"])
async def test_reads_happen_and_writes_do_not(policy: Policy) -> None:
    till = Till()
    replies = [*REPLIES[:3], "We paid 25 back. Receipt text."]
    engine = Engine(REFUND, tools=till.tools(), model=ScriptedModel(replies), policy=policy)
    run = await engine.run("A-7 came broken", dry_run=True)
    assert (run.status, run.path[-1]) == ("completed", "tell")
    assert till.shop.calls == ["order A-7 anonymous"]
    assert till.paid == []
    assert run.events[0].body.dry_run is True
    read, write = bodies(run, "call.finished")
    assert (read.stubbed, write.stubbed) == (False, True)
    # `verify: paid.status == 'ok'` tells which of the values that the schema admits is a good one
    assert write.value == {"status": "ok", "receipt": "text"}
    assert bodies(run, "human.asked") == []
    assert bodies(run, "call.judged")[-1].verdict == ("ask" if policy.rules else "allow")


async def test_what_is_denied_is_denied_also_in_a_dry_run() -> None:
    till = Till()
    engine = Engine(REFUND, tools=till.tools(), model=ScriptedModel(list(REPLIES)))
    assert (await engine.run("A-7 came broken", dry_run=True)).status == "denied"


async def test_a_read_that_needs_leave_is_not_made() -> None:
    shop = Shop()
    engine = desk(shop, policy=Policy([Rule(id="look", verdict="ask", tool="shop.order")]))
    run = await engine.run("A-7 came broken", dry_run=True)
    assert shop.calls == []
    assert bodies(run, "call.finished")[0].stubbed is True


async def test_a_tool_without_a_schema_gives_null() -> None:
    acts: list[str] = []

    @tool(name="a.pay", effect="irreversible")
    def pay(what: str):  # type: ignore[no-untyped-def]
        """Pay."""
        acts.append(what)

    text = (
        "schema: sopwith/procedure/1\nid: x\nstart: s\nsteps:\n"
        "  s: {tool: a.pay, with: {what: x}, as: paid, verify: paid == 'yes', end: complete, result: {}}\n"
        "output: {type: object}\n"
    )
    run = await Engine(text, tools=[pay], policy=Policy(allow_writes="a.pay")).run("go", dry_run=True)
    assert (run.status, acts) == ("completed", [])
    assert bodies(run, "call.finished")[0].value is None
    assert bodies(run, "check.ran")[0].scope == "output"


async def test_a_dry_run_stays_one_when_it_is_resumed() -> None:
    till, log = Till(), MemoryLog()
    till.shop.failures = [ToolError("not_found", "no such order")]
    replies = [*REPLIES[:3], "We paid 25 back. Receipt text."]
    engine = Engine(
        REFUND, tools=till.tools(), model=ScriptedModel(replies), log=log, policy=Policy(allow_writes="*")
    )
    asked = await engine.run("A-7 came broken", run_id="r1", dry_run=True)
    assert asked.status == "suspended"
    done = await engine.resume("r1", answer="A-9")
    assert (done.status, till.paid) == ("completed", [])
    assert done.state.dry_run is True


async def test_a_made_up_result_that_was_cut_off_is_not_unknown() -> None:
    """The process ends between the intent and the made-up result: nothing can have acted."""
    till, log = Till(), MemoryLog()
    options: dict[str, Any] = {"tools": till.tools(), "policy": Policy(allow_writes="*")}
    engine = Engine(REFUND, model=ScriptedModel([*REPLIES[:3], "25, text"]), log=log, **options)
    whole = await engine.run("A-7 came broken", run_id="r1", dry_run=True)
    events = list(whole.events)
    start = max(i for i, event in enumerate(events) if event.body.kind == "call.started")
    started, cut = events[0].body, MemoryLog()
    blobs = {name: await log.blob(name) for name in (started.procedure, started.tools, started.policy)}
    await cut.append("r1", events[: start + 1], blobs)
    again = Engine(REFUND, model=ScriptedModel(["25, text"]), log=cut, **options)
    done = await again.resume("r1")
    assert (done.status, done.state.open, till.paid) == ("completed", (), [])
