"""Events are appended in batches: few transactions, and nobody who watches waits long."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from tests.log.stores import started
from tests.run.desk import Shop, desk
from tests.run.hooked_log import HookedLog

from sopwith import Engine, Event, MemoryLog, tool
from sopwith.errors import LogError, Text
from sopwith.ir.event import CallStarted
from sopwith.ir.tool import Effect
from sopwith.models.port import ModelReply, ModelRequest
from sopwith.run.journal import BATCH, BATCH_SECONDS, Journal


class CountingLog(MemoryLog):
    """A log that keeps the size of every batch, and is full for a while."""

    def __init__(self, full: int = 0) -> None:
        super().__init__()
        self.batches: list[list[str]] = []
        self.full = full
        self.grown = asyncio.Event()

    async def append(
        self,
        run: str,
        events: Sequence[Event],
        blobs: Mapping[str, bytes] | None = None,
        *,
        durable: bool = False,
    ) -> str:
        """As `Log.append`."""
        if self.full:
            self.full -= 1
            self.grown.set()
            raise LogError(Text("the disk is full", "磁盘已满"))
        found = await super().append(run, events, blobs, durable=durable)
        self.batches.append([event.body.kind for event in events])
        self.grown.set()
        return found


class Slow:
    """A model that answers when it is told to."""

    id = "slow"

    def __init__(self) -> None:
        self.go = asyncio.Event()

    async def complete(self, request: ModelRequest) -> ModelReply:
        await self.go.wait()
        return ModelReply('"done"')

    async def close(self) -> None:
        pass


SAY = """
schema: sopwith/procedure/1
id: say
start: say
steps:
  say: {do: Say it, returns: {type: string}, end: complete}
"""


def reads(count: int) -> str:
    """A procedure of `count` steps that only read."""
    steps = [f"  s{i}: {{tool: local.look, next: s{i + 1}}}" for i in range(count)]
    head = "schema: sopwith/procedure/1\nid: reads\nstart: s0\nsteps:\n"
    return head + "\n".join([*steps, f"  s{count}: {{tool: local.look, end: complete}}"]) + "\n"


@tool(inline=True)
def look() -> int:
    """Look."""
    return 1


async def test_steps_that_only_read_share_a_transaction() -> None:
    log = CountingLog()
    run = await Engine(reads(40), tools=[look], log=log).run("go")
    assert run.status == "completed"
    assert len(log.batches) < len(run.path) / 4
    assert all(len(batch) < BATCH + 20 for batch in log.batches)
    assert [e.body.kind for e in run.events] == [kind for batch in log.batches for kind in batch]


async def test_a_write_acts_after_its_intent_and_before_anything_else() -> None:
    log = CountingLog()
    await desk(Shop(), log=log).run("A-7 came broken")
    before, after = log.batches[:2]
    assert before[-1] == "call.started"
    assert after == ["call.finished"]


async def test_what_happened_is_stored_while_a_model_is_at_work() -> None:
    log, model = CountingLog(), Slow()
    running = asyncio.create_task(Engine(SAY, model=model, log=log).run("go", run_id="r1"))
    async with asyncio.timeout(20 * BATCH_SECONDS):
        await log.grown.wait()
    assert [e.body.kind for e in await log.read("r1")][-1] == "model.requested"
    model.go.set()
    assert (await running).status == "completed"


async def test_a_batch_that_could_not_be_stored_is_stored_later() -> None:
    log, model = CountingLog(full=1), Slow()
    running = asyncio.create_task(Engine(SAY, model=model, log=log).run("go", run_id="r1"))
    await log.grown.wait()
    model.go.set()
    run = await running
    assert [e.seq for e in await log.read("r1")] == [e.seq for e in run.events]


async def test_a_log_that_stays_full_ends_the_run_with_its_error() -> None:
    log, model = CountingLog(full=2), Slow()
    running = asyncio.create_task(Engine(SAY, model=model, log=log).run("go", run_id="r1"))
    await log.grown.wait()
    model.go.set()
    (error,) = await asyncio.gather(running, return_exceptions=True)
    assert isinstance(error, LogError)
    assert await log.read("r1") == []


class HeldLog(HookedLog):
    """A log whose appends wait until they may, and say which events they have synced."""

    def __init__(self) -> None:
        super().__init__()
        self.free = asyncio.Event()
        self.waiting = asyncio.Event()
        self.synced: list[int] = []

    async def before(self, run: str, events: Sequence[Event], *, durable: bool) -> None:
        self.waiting.set()
        await self.free.wait()
        self.synced += [event.seq for event in events if durable]


async def test_an_intent_is_synced_also_where_a_flush_without_a_sync_is_ahead_of_it() -> None:
    log = HeldLog()
    journal = Journal(log, lambda: 1, [], "r1", "r1")
    journal.emit(started())
    first = asyncio.create_task(journal.flush())
    await log.waiting.wait()
    second = asyncio.create_task(journal.flush())
    await asyncio.sleep(0)  # it is next in the queue
    intent = journal.emit(CallStarted(tool="bank.pay", effect=Effect.WRITE, key="k"))
    third = asyncio.create_task(journal.flush(durable=True))
    await asyncio.sleep(0)
    log.free.set()
    await asyncio.gather(first, second, third)
    assert log.synced == [intent]
