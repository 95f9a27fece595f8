"""A result that comes after its call was given up is written down, and changes nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator

import pytest

from sopwith import Engine, MemoryLog, Policy, Rule, ToolError, tool
from sopwith.ir.event import Event, FeedbackGiven
from sopwith.log.chain import verify
from sopwith.run.fold import fold_all
from sopwith.run.state import State

PROCEDURE = """
schema: sopwith/procedure/1
id: post
name: Post it
description: Post a letter and look after it
start: first
steps:
  first:
    name: Post
    tool: {tool}
    timeout: 20s
    on_error: [{{otherwise: then}}]
    next: done
  then:
    name: Then
    {then}
    next: done
  done: {{name: Done, end: complete}}
"""
WAIT = "tool: post.wait"
ASK = "ask: Has it come?\n    returns: {type: boolean}"
ALLOW = Policy([Rule(id="post", verdict="allow", tool="post.*")])
AMPLE = 30


class Post:
    """Tools that do not let themselves be cancelled: they come back when `arrived` is set."""

    def __init__(self) -> None:
        self.arrived = asyncio.Event()
        self.written = asyncio.Event()
        self.outcome: str | ToolError = "13800138000 got it"

    async def deliver(self) -> str:
        while not self.arrived.is_set():
            try:
                await self.arrived.wait()
            except asyncio.CancelledError:
                continue
        if isinstance(self.outcome, ToolError):
            raise self.outcome
        return self.outcome

    def tools(self) -> list[object]:
        @tool(name="post.look", timeout=0.05)
        async def look() -> str:
            return await self.deliver()

        @tool(name="post.send", effect="write", timeout=0.05)
        async def send() -> str:
            return await self.deliver()

        @tool(name="post.wait")
        async def wait() -> None:
            self.arrived.set()
            await asyncio.wait_for(self.written.wait(), AMPLE)

        return [look, send, wait]

    def watch(self, event: Event, state: State) -> None:
        if event.body.kind == "result.late":
            self.written.set()


@pytest.fixture
async def post() -> AsyncIterator[Post]:
    made = Post()
    yield made
    made.arrived.set()


class Dropped(logging.Handler):
    """Waits for the line that says that a late result was dropped."""

    def __init__(self) -> None:
        super().__init__()
        self.told = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if "late result" in record.getMessage():
            self.told.set()


@pytest.fixture
def dropped() -> Iterator[Dropped]:
    handler = Dropped()
    logging.getLogger("sopwith").addHandler(handler)
    yield handler
    logging.getLogger("sopwith").removeHandler(handler)


def engine(post: Post, first: str, then: str) -> Engine:
    made = Engine(PROCEDURE.format(tool=first, then=then), tools=post.tools(), policy=ALLOW, log=MemoryLog())
    made.subscribe(post.watch)
    return made


async def test_a_late_result_in_a_run_is_an_event_that_changes_nothing(post: Post) -> None:
    async with engine(post, "post.look", WAIT) as made:
        run = await made.run("go", run_id="r")
        events = list(await made.log.read("r"))
    assert run.outcome is not None and run.outcome.kind == "completed"
    late = next(event for event in events if event.body.kind == "result.late")
    started = next(event for event in events if event.body.kind == "call.started")
    assert (late.body.started, late.cause, late.step) == (started.seq, started.seq, "first")
    assert late.body.value == "<phone:1> got it"
    at = events.index(late)
    before, after = fold_all(events[:at]), fold_all(events[: at + 1])
    assert (before.values, before.cursor, before.usage) == (after.values, after.cursor, after.usage)
    assert verify(events) is None


async def test_a_late_error_is_told_as_one(post: Post) -> None:
    post.outcome = ToolError("refused", "no stamp, call 13800138000")
    async with engine(post, "post.look", WAIT) as made:
        run = await made.run("go")
    late = next(event for event in run.events if event.body.kind == "result.late")
    assert late.body.error is not None and late.body.error.code == "refused"
    assert late.body.error.message == "no stamp, call <phone:1>"


async def test_after_the_end_it_is_appended_and_the_end_stays(post: Post) -> None:
    async with engine(post, "post.send", WAIT) as made:
        run = await made.run("go", run_id="r")
        assert run.outcome is not None and run.outcome.kind == "escalated"
        log = made.log
        appended = asyncio.Event()
        append = log.append

        async def told(*args: object, **options: object) -> str:
            found = await append(*args, **options)  # type: ignore[arg-type]
            appended.set()
            return found

        log.append = told  # type: ignore[method-assign]
        post.arrived.set()
        await asyncio.wait_for(appended.wait(), AMPLE)
        events = list(await log.read("r"))
    assert [event.body.kind for event in events[-2:]] == ["run.finished", "result.late"]
    assert fold_all(events).outcome == fold_all(events[:-1]).outcome
    assert verify(events) is None


async def test_where_somebody_else_has_appended_it_is_dropped(post: Post, dropped: Dropped) -> None:
    async with engine(post, "post.send", WAIT) as made:
        await made.run("go", run_id="r")
        last = list(await made.log.read("r"))[-1]
        theirs = Event(
            last.task, "r", last.seq + 1, last.at, last.phase, None, None, FeedbackGiven(by="b", good=True)
        )
        await made.log.append("r", [theirs])
        post.arrived.set()
        await asyncio.wait_for(dropped.told.wait(), AMPLE)
        assert (list(await made.log.read("r")))[-1].body.kind == "feedback.given"


async def test_while_a_run_waits_it_is_dropped_and_the_run_goes_on(post: Post, dropped: Dropped) -> None:
    async with engine(post, "post.look", ASK) as made:
        run = await made.run("go", run_id="r")
        assert run.question is not None
        post.arrived.set()
        await asyncio.wait_for(dropped.told.wait(), AMPLE)
        done = await made.resume("r", answer=True)
    assert done.outcome is not None and done.outcome.kind == "completed"
    assert "result.late" not in [event.body.kind for event in done.events]


async def test_after_the_engine_is_closed_nothing_happens(post: Post) -> None:
    async with engine(post, "post.send", WAIT) as made:
        run = await made.run("go")
    post.arrived.set()
    assert run.events[-1].body.kind == "run.finished"
