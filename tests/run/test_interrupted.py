"""A run that is stopped in the middle: what was done stays done, and nothing acts twice."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from tests.run.desk import ALLOW, REPLIES, Shop, desk
from tests.run.hooked_log import HookedLog

from sopwith import Engine, MemoryLog, Policy, Rule, UserError, tool
from sopwith.errors import LogError, Text
from sopwith.ir.event import Event
from sopwith.models.scripted import ScriptedModel

TWO_WRITES = """
schema: sopwith/procedure/1
id: ship
start: pack
steps:
  pack: {tool: depot.pack, with: {item: box}, next: send}
  send: {tool: depot.send, with: {item: box}, end: complete}
"""


async def interrupted(shop: Shop, log: MemoryLog) -> Engine:
    """A run `r1` that is cancelled while the refund acts."""
    reached, forever = asyncio.Event(), asyncio.Event()

    async def watch(key: str) -> None:
        reached.set()
        await forever.wait()

    shop.watch = watch
    engine = desk(shop, log=log)
    running = asyncio.create_task(engine.run("A-7 came broken", run_id="r1"))
    await reached.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    shop.watch = None
    return engine


async def test_a_write_that_was_interrupted_is_unknown_and_never_done_again() -> None:
    shop, log = Shop(), MemoryLog()
    engine = await interrupted(shop, log)
    assert [e.body.kind for e in await log.read("r1")][-2:] == ["call.started", "lease.taken"]
    run = await engine.resume("r1")
    assert run.status == "escalated"
    assert sum(call.startswith("refund") for call in shop.calls) == 1
    assert run.outcome is not None and run.outcome.packet is not None
    assert run.outcome.packet.open == ("shop.refund",)
    assert "shop.refund" in run.outcome.packet.reason


async def test_an_idempotent_write_that_was_interrupted_is_called_again_with_the_same_key() -> None:
    keys: list[str] = []
    reached, forever = asyncio.Event(), asyncio.Event()

    @tool(name="depot.pack", effect="write", idempotent=True)
    async def pack(item: str, *, idempotency_key: str) -> dict[str, bool]:
        """Pack an item."""
        keys.append(idempotency_key)
        if len(keys) == 1:
            reached.set()
            await forever.wait()
        return {"ok": True}

    @tool(name="depot.send", effect="write", idempotent=True)
    async def send(item: str, *, idempotency_key: str) -> dict[str, bool]:
        """Send an item."""
        return {"ok": True}

    engine = Engine(TWO_WRITES, tools=[pack, send], policy=Policy(allow_writes=["depot.*"]))
    running = asyncio.create_task(engine.run("go", run_id="r1"))
    await reached.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    run = await engine.resume("r1")
    assert run.status == "completed"
    assert len(keys) == 2 and len(set(keys)) == 1


@pytest.mark.parametrize("times", [1, 4])
async def test_being_cut_off_is_not_held_against_an_idempotent_write(times: int) -> None:
    keys: list[str] = []
    arrived = asyncio.Queue[None]()

    @tool(name="depot.pack", effect="write", idempotent=True)
    async def pack(item: str, *, idempotency_key: str) -> dict[str, bool]:
        """Pack an item."""
        keys.append(idempotency_key)
        if len(keys) <= times:
            arrived.put_nowait(None)
            await asyncio.Event().wait()
        return {"ok": True}

    @tool(name="depot.send", effect="write", idempotent=True)
    async def send(item: str, *, idempotency_key: str) -> dict[str, bool]:
        """Send an item."""
        return {"ok": True}

    engine = Engine(TWO_WRITES, tools=[pack, send], policy=Policy(allow_writes=["depot.*"]))
    for turn in range(times):
        running = asyncio.create_task(engine.resume("r1") if turn else engine.run("go", run_id="r1"))
        async with asyncio.timeout(30):
            await arrived.get()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    run = await engine.resume("r1")
    assert run.status == "completed"
    assert len(keys) == times + 1
    assert len(set(keys)) == 1


async def test_a_run_that_was_taken_up_goes_on_with_its_own_procedure() -> None:
    shop, log = Shop(), MemoryLog()
    asking = desk(shop, log=log, policy=Policy([Rule(id="ask", verdict="ask", tool="shop.refund")]))
    await asking.run("A-7 came broken", run_id="r1")
    newer = Engine(TWO_WRITES.replace("depot.pack", "shop.order").replace("depot.send", "shop.order"))
    del newer
    elsewhere = desk(shop, [*REPLIES[3:]], log=log, policy=ALLOW)
    done = await elsewhere.resume("r1", answer=True, by="boss")
    assert done.status == "completed"
    assert done.state.procedure == (await log.read("r1"))[0].body.procedure


async def test_a_run_can_be_cancelled_and_then_has_ended() -> None:
    shop, log = Shop(), MemoryLog()
    engine = desk(shop, log=log, policy=Policy([Rule(id="ask", verdict="ask", tool="shop.refund")]))
    await engine.run("A-7 came broken", run_id="r1")
    run = await engine.cancel("r1", by="lee")
    assert run.status == "cancelled"
    assert run.outcome is not None and run.outcome.packet is not None
    assert run.outcome.packet.reason == "cancelled by lee"
    with pytest.raises(UserError, match="has ended"):
        await engine.resume("r1", answer=True)
    with pytest.raises(UserError, match="no run 'r9'"):
        await engine.cancel("r9")


class FullLog(HookedLog):
    """A log whose disk has room for so many events, and takes no batch that goes beyond."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self.room = room

    async def before(self, run: str, events: Sequence[Event], *, durable: bool) -> None:
        if events[-1].seq > self.room:
            raise LogError(Text("the disk is full", "磁盘已满"))


@pytest.mark.parametrize("room", range(0, 37, 3))
async def test_no_write_acts_when_its_intent_cannot_be_stored(room: int) -> None:
    shop, log = Shop(), FullLog(room)
    with pytest.raises(LogError, match="disk is full"):
        await desk(shop, log=log).run("A-7 came broken", run_id="r1")
    intents = [e for e in await log.read("r1") if e.body.kind == "call.started" and e.step == "pay"]
    assert bool(shop.refunds) is bool(intents)


async def test_a_model_that_is_too_slow_ends_the_step_with_an_alert() -> None:
    class Slow(ScriptedModel):
        async def complete(self, request):  # type: ignore[no-untyped-def]
            await asyncio.Event().wait()

    text = (
        "schema: sopwith/procedure/1\nid: slow\nstart: a\nsteps:\n"
        "  a: {do: Say it, returns: {type: string}, timeout: 50ms, next: b,"
        " on_error: [{to: c, when: error.code == 'timeout'}, {otherwise: b}]}\n"
        "  b: {end: escalate}\n  c: {end: escalate}\n"
    )
    run = await Engine(text, model=Slow([])).run("go")
    assert run.path == ("a", "c")
    assert next(e.body.code for e in run.events if e.body.kind == "alert.raised") == "timeout.step"


async def test_a_write_that_may_have_acted_is_made_known_also_where_its_step_is_out_of_time() -> None:
    keys: list[str] = []

    @tool(name="depot.pack", effect="write", idempotent=True)
    async def pack(item: str, *, idempotency_key: str) -> dict[str, bool]:
        keys.append(idempotency_key)
        if len(keys) == 1:
            await asyncio.Event().wait()
        return {"packed": True}

    text = """
schema: sopwith/procedure/1
id: pack
start: pack
steps:
  pack: {tool: depot.pack, with: {item: box}, timeout: 50ms, next: done, on_error: [{otherwise: person}]}
  done: {end: complete}
  person: {end: escalate}
"""
    run = await Engine(text, tools=[pack], policy=ALLOW_PACK).run("go")
    assert (run.status, run.state.open) == ("completed", ())
    assert len(keys) == 2 and len(set(keys)) == 1
    assert any(event.body.kind == "timeout.passed" for event in run.events)


ALLOW_PACK = Policy(allow_writes=["depot.pack"])
