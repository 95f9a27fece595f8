"""A run after it was handed back, and writes that may have acted: nothing of them is lost."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
from tests.run.bank import PAY, Bank

from sopwith import Engine, MemoryLog, Policy, UserError, tool
from sopwith.ir.event import CancelAsked
from sopwith.models.scripted import ScriptedModel
from sopwith.run.heart import BEAT_SECONDS
from sopwith.run.inbox import send
from sopwith.tools.function import FunctionSource
from sopwith.tools.reconcile import Done, NotDone

ASKS = """
schema: sopwith/procedure/1
id: asks
start: pay
steps:
  pay: {tool: bank.pay, with: {amount: 5.0}, as: paid, next: more, on_error: [{otherwise: tell}]}
  more: {next: [{to: sure, when: size(paid) > 0}, {otherwise: out}]}
  sure: {ask: Are you sure?, returns: {type: boolean}, next: again}
  again: {tool: bank.send, as: sent, next: tell}
  tell: {end: complete}
  out: {end: escalate}
"""


def asking(log: Any, policy: str, *, act: Callable[[], Any] = dict) -> Engine:
    @tool(name="bank.pay", effect="write", idempotent=True)
    async def pay(amount: float) -> dict[str, str]:
        made = act()
        return await made if isinstance(made, Awaitable) else made

    @tool(name="bank.send", effect="irreversible")
    async def send() -> str:
        return "sent"

    return Engine(ASKS, tools=[pay, send], log=log, policy=Policy.read(policy))


ROUND = """
schema: sopwith/procedure/1
id: round
output: {type: object}
tools: [bank.pay, bank.send]
start: %s
steps:
  pay: {GRIP name: Pay, tool: bank.pay, with: {amount: 5.0}, as: paid, next: %s}
  more: {name: More, tool: bank.send, as: sent, next: [{to: out, when: "sent == 'sent'"}, {otherwise: %s}]}
  out: {end: escalate}
"""


@pytest.mark.parametrize(
    ("grip", "behind", "back", "replies", "suggested"),
    [
        ("", "more", "out", [], "more"),  # of two writes the one behind which none is left
        ("", "more", "pay", [], None),  # in a loop every step has one ahead
        ("grip: guide,", "out", "out", ["PAY", "OUT"], "out"),
        ("grip: guide,", "more", "out", ["PAY", "OUT"], "more"),
    ],
)
async def test_where_a_run_can_be_handed_back_is_never_said_of_a_step_that_is_refused(
    grip: str, behind: str, back: str, replies: list[str], suggested: str | None
) -> None:
    @tool(name="bank.pay", effect="write")
    def pay(amount: float) -> dict[str, str]:
        return {}

    @tool(name="bank.send", effect="write")
    def send() -> str:
        return "sent"

    said = {
        "PAY": '{"name": "bank__pay", "arguments": {"amount": 5.0}}',
        "OUT": '{"name": "finish", "arguments": {"outcome": "complete"}}',
    }
    text = ROUND.replace("GRIP", grip) % ("pay", behind, back)
    text = text if behind == "more" else "\n".join(line for line in text.split("\n") if "  more:" not in line)
    model = ScriptedModel([said[reply] for reply in replies])
    engine = Engine(text, [pay, send], model, policy=Policy.read(FREELY))
    assert (await engine.run("go", run_id="r1")).status == "escalated"
    with pytest.raises(UserError, match="would be made again") as caught:
        await engine.take_over("r1", by="ann", to="pay")
    hint = caught.value.hint
    assert hint is not None
    if suggested is None:
        assert "hand it back" not in hint.en and "--again" in hint.zh
    else:
        assert f"hand it back at '{suggested}'" in hint.en and f"“{suggested}”" in hint.zh
        assert (await engine.take_over("r1", by="ann", to=suggested)).status == "escalated"


FREELY = "allow_writes: [bank.*]\n"
WITH_LEAVE = "rules:\n  - {id: leave, verdict: ask, tool: bank.send}\nallow_writes: bank.pay\n"


async def test_a_run_that_is_handed_back_may_ask_and_wait_for_approval() -> None:
    log = MemoryLog()
    engine = asking(log, WITH_LEAVE)
    assert (await engine.run("go", run_id="r1")).status == "escalated"
    assert (await engine.take_over("r1", by="ann", to="sure")).status == "suspended"
    assert (await engine.resume("r1", answer=True)).status == "suspended"
    assert (await engine.approve("r1", by="bob")).status == "completed"


async def test_a_run_that_was_killed_right_after_it_was_handed_back_goes_on() -> None:
    log, cut = MemoryLog(), MemoryLog()
    engine = asking(log, FREELY)
    await engine.run("go", run_id="r1")
    await engine.take_over("r1", by="ann", to="tell")
    events = await log.read("r1")
    back = next(event.seq for event in events if event.body.kind == "run.handed_back")
    started = events[0].body
    blobs = {name: await log.blob(name) for name in (started.procedure, started.tools, started.policy)}
    await cut.append("r1", events[:back], blobs)
    assert (await asking(cut, FREELY).resume("r1")).status == "completed"


@pytest.mark.parametrize("policy", ["rules: [{id: no, verdict: deny}]\n", "allow_writes: []\n"])
async def test_a_write_that_may_have_acted_is_never_lost_because_it_may_not_be_made_again(
    policy: str,
) -> None:
    log, cut = MemoryLog(), MemoryLog()
    await asking(log, FREELY).run("go", run_id="r1")
    events = await log.read("r1")
    intent = next(event.seq for event in events if event.body.kind == "call.started")
    started = events[0].body
    blobs = {name: await log.blob(name) for name in (started.procedure, started.tools, started.policy)}
    await cut.append("r1", events[:intent], blobs)
    run = await asking(cut, policy).resume("r1")
    assert run.status == "escalated"
    assert run.outcome is not None and run.outcome.packet is not None
    assert run.outcome.packet.open == ("bank.pay",)


class Breaks(FunctionSource):
    """A source that breaks its promise never to raise."""

    async def call(self, name: str, *rest: Any, **more: Any) -> Any:
        done = await super().call(name, *rest, **more)
        if name == "bank.pay":
            raise RuntimeError("broken")
        return done


async def test_a_source_that_raises_leaves_a_write_unknown() -> None:
    bank = Bank()
    source = Breaks(bank.tools())
    policy = Policy(allow_writes=["bank.*"])
    engine = Engine(PAY, [source], policy=policy)
    run = await engine.run("go", run_id="r1")
    assert run.status == "escalated"
    with pytest.raises(UserError, match="not known whether"):
        await engine.take_over("r1", by="ann", to="pay")
    assert len(bank.paid) == 1


async def test_a_cancel_that_came_too_late_does_not_end_the_run_that_a_person_hands_back() -> None:
    log = MemoryLog()
    engine = asking(log, FREELY)
    await engine.run("go", run_id="r1")
    await send(log, "r1", "r1", CancelAsked(by="op"), 1)
    held = asyncio.Event()

    async def slow() -> dict[str, str]:
        await asyncio.wait_for(held.wait(), 3 * BEAT_SECONDS)
        return {}

    handed = asyncio.create_task(asking(log, FREELY, act=slow).take_over("r1", by="ann", to="pay"))
    with suppress(TimeoutError):  # so long that the heart has looked
        await asyncio.wait_for(asyncio.shield(handed), 2 * BEAT_SECONDS)
    held.set()
    assert (await handed).status == "escalated"


async def test_what_was_given_up_and_still_runs_is_not_believed_to_have_not_happened() -> None:
    paid: list[float] = []
    go_on, done = threading.Event(), threading.Event()

    @tool(name="bank.look")
    def look() -> dict[str, float]:
        return {"amount": 5.0}

    def asked(amount: float, *, idempotency_key: str) -> object:
        return Done({"receipt": "R-1"}) if paid else NotDone()

    @tool(name="bank.pay", effect="write", timeout=0.05, reconcile=asked)
    def pay(amount: float) -> dict[str, str]:
        go_on.wait(30)
        paid.append(amount)
        done.set()
        return {"receipt": "R-1"}

    text = PAY.replace("as: paid,", "as: paid, retry: {times: 3},")
    run = await Engine(text, tools=[look, pay], policy=Policy(allow_writes=["bank.*"])).run("go")
    go_on.set()
    assert done.wait(30)
    assert (run.status, len(paid)) == ("escalated", 1)
    assert run.outcome is not None and run.outcome.packet is not None
    assert run.outcome.packet.open == ("bank.pay",)


async def test_a_write_that_has_acted_is_not_made_again_when_the_run_is_handed_back_to_it() -> None:
    bank, log = Bank(), MemoryLog()
    text = """
schema: sopwith/procedure/1
id: last
start: pay
steps:
  pay: {tool: bank.pay, with: {amount: 5.0}, as: paid, verify: paid.receipt != '', end: complete}
"""
    bank.lost = True
    engine = Engine(text, tools=bank.tools(), log=log, policy=Policy(allow_writes=["bank.*"]))
    assert (await engine.run("go", run_id="r1")).status == "escalated"
    with pytest.raises(UserError, match="has acted"):
        await engine.take_over("r1", by="ann", happened=True, to="pay")
    done = await engine.take_over(
        "r1", by="ann", happened=True, to="pay", values={"paid": {"receipt": "R-1"}}
    )
    assert done.status == "completed"
    assert len(bank.paid) == 1


async def test_inputs_are_not_made_up_from_an_empty_request() -> None:
    text = """
schema: sopwith/procedure/1
id: ask
inputs: {unit: {type: string}}
start: out
steps:
  out: {end: complete}
"""
    model = ScriptedModel(['{"unit": "made up"}'])
    run = await Engine(text, model=model).run("  ")
    assert run.status == "escalated"
    assert run.outcome is not None and run.outcome.packet is not None
    assert "the request is empty" in run.outcome.packet.reason
    assert run.outcome.packet.reason.endswith("give them: --inputs unit=…")


LINE = """
schema: sopwith/procedure/1
id: line
start: look
steps:
  look: {tool: bank.look, as: found, next: sure}
  sure: {ask: Are you sure?, returns: {type: boolean}, as: agreed, next: pay}
  pay: {tool: bank.pay, with: {amount: "${found.amount}"}, as: paid, next: out}
  out: {end: escalate}
"""


async def parked_behind_the_payment(bank: Bank, log: MemoryLog) -> Engine:
    """A run that has paid, and escalated at the next step."""
    engine = Engine(LINE, tools=bank.tools(), log=log, policy=Policy.read(FREELY))
    await engine.run("go", run_id="r1")
    assert (await engine.resume("r1", answer=True)).status == "escalated"
    return engine


@pytest.mark.parametrize("to", ["look", "sure"])
async def test_a_write_that_has_acted_is_not_made_again_from_an_earlier_step(to: str) -> None:
    bank, log = Bank(), MemoryLog()
    engine = await parked_behind_the_payment(bank, log)
    with pytest.raises(UserError, match="would be made again: pay"):
        await engine.take_over("r1", by="ann", to=to)
    assert len(bank.paid) == 1
    behind = await engine.take_over("r1", by="ann", to="pay")
    assert (behind.status, len(bank.paid)) == ("escalated", 1)


async def test_what_is_wanted_again_is_made_again_and_no_step_on_the_way_is_too_often() -> None:
    bank, log = Bank(), MemoryLog()
    engine = await parked_behind_the_payment(bank, log)
    again = await engine.take_over("r1", by="ann", to="sure", again=True)
    assert again.status == "suspended"
    done = await engine.resume("r1", answer=True)
    assert done.outcome is not None and done.outcome.packet is not None
    assert done.outcome.packet.error is None
    assert len(bank.paid) == 2


async def test_a_write_whose_check_failed_has_acted() -> None:
    bank, log = Bank(), MemoryLog()
    text = LINE.replace("as: paid,", "as: paid, verify: paid.receipt == '',")
    engine = Engine(text, tools=bank.tools(), log=log, policy=Policy.read(FREELY))
    await engine.run("go", run_id="r1")
    assert (await engine.resume("r1", answer=True)).status == "escalated"
    with pytest.raises(UserError, match="has acted: it is not made again"):
        await engine.take_over("r1", by="ann", to="pay")
    assert len(bank.paid) == 1


FOUR_EYES = """
rules:
  - {id: leave, verdict: ask, tool: bank.pay, approval: {four_eyes: true}}
"""


PARKED = """
schema: sopwith/procedure/1
id: parked
start: look
steps:
  look: {tool: bank.look, as: found, next: [{to: pay, when: found.amount > 100.0}, {otherwise: out}]}
  pay: {tool: bank.pay, with: {amount: "${found.amount}"}, as: paid, next: out}
  out: {end: escalate}
"""


async def test_whoever_set_a_value_may_not_approve_what_is_called_with_it() -> None:
    bank, log = Bank(), MemoryLog()
    engine = Engine(PARKED, tools=bank.tools(), log=log, policy=Policy.read(FOUR_EYES))
    await engine.run("go", run_id="r1", principal="li")
    waits = await engine.take_over("r1", by="ann", to="pay", values={"found": {"amount": 9.0}})
    assert waits.status == "suspended"
    with pytest.raises(UserError, match="changed it"):
        await engine.approve("r1", by="ann")
    with pytest.raises(UserError, match="may not approve"):
        await engine.approve("r1", by="li")
    await engine.approve("r1", by="bob")
    assert list(bank.paid.values()) == [9.0]
