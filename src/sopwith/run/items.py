"""The step over a list performed: its items are pinned, worked on side by side, and their results put together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import cast

from sopwith.ir.event import Body, ItemsBegan, ItemsEnded
from sopwith.ir.value import Json
from sopwith.run.actor import Actor
from sopwith.run.calling import judge_message
from sopwith.run.decide_items import decide_item, is_covered, item_view
from sopwith.run.decide_step import begins
from sopwith.run.decision import (
    AskPerson,
    BeginItems,
    Decision,
    EndItems,
    EnterPhase,
    Finish,
    RunItems,
    Suspend,
)
from sopwith.run.effects import judge_call
from sopwith.run.limits import outlasted
from sopwith.run.state import Cursor, State

PerformOne = Callable[[Actor, Decision], Awaitable[None]]
"""Performs a decision about one item."""


class ItemActor(Actor):
    """Acts on one item of a list: the state is the item's view, and its events stand at the item."""

    def __init__(self, whole: Actor, item: int, value: Json) -> None:
        self.book, self.journal, self.around = whole.book, whole.journal, whole.around
        self.values, self.late = whole.values, whole.late
        self.item = item
        self.value = value

    @property
    def state(self) -> State:
        """The state as the item sees it."""
        return item_view(self.book, self.journal.state, self.item, self.value)

    def emit(self, body: Body, cause: int | None = None) -> int:
        """One more event of the item. Returns its seq."""
        whole = cast("Cursor", self.journal.state.cursor)
        return self.journal.emit(body, cause, f"{whole.instance}[{self.item}]")

    def decide(self) -> Decision | None:
        """The next decision for the item; None where it has ended."""
        return decide_item(self.book, self.journal.state, self.item, self.value, self.values)


async def begin_items(driver: Actor, decision: BeginItems) -> None:
    """Pin the items in the log, with placeholders."""
    stored = driver.journal.stored(driver.redact(decision.items))
    driver.emit(ItemsBegan(count=len(decision.items), **stored))


async def end_items(driver: Actor, decision: EndItems) -> None:
    """Give the step's name the list of results."""
    stored = driver.journal.stored(decision.value)
    driver.emit(ItemsEnded(name=decision.name, failed=decision.failed, **stored))


async def run_items(driver: Actor, decision: RunItems, perform: PerformOne) -> None:
    """Work on items until each has ended or can go no further. What has begun to act comes back before this returns.

    Cancelled, it interrupts what is at work. An error in one item lets the others come back first.
    """
    items = driver.journal.state.items
    listed = cast("list[Json]", driver.values.whole(None if items is None else items.over))
    actors = [ItemActor(driver, item, listed[item]) for item in decision.items]
    hold_leave(actors)
    work = _Work(driver, actors, perform, stop=decision.stop)
    lanes = min(decision.at_once, len(actors))
    if lanes == 1:
        await work.lane()
        return
    tasks = [asyncio.create_task(work.lane()) for _ in range(lanes)]
    try:
        await asyncio.wait(tasks)
    except asyncio.CancelledError:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
    for came in await asyncio.gather(*tasks, return_exceptions=True):
        if came is not None:
            raise came


def hold_leave(actors: list[ItemActor]) -> None:
    """Hold the approval of several calls against each of them before the first is made: one change voids it for all."""
    for actor in actors:
        whole = actor.journal.state.cursor
        cursor = actor.state.cursor
        if whole is None or cursor is None or not whole.covers:
            return
        if cursor.approved is not True or cursor.key is not None or not is_covered(whole, cursor):
            continue
        arguments = actor.values.arguments(cursor)
        tool = actor.book.machine.tools.get(cursor.tool or "")
        if tool is None:
            judged = judge_message(actor, cursor.tool or "", arguments, cursor, proposed=True)
        else:
            judged = judge_call(actor, tool, arguments, cursor, proposed=True)
        if judged.void is not None:
            actor.emit(judged)
            return


class _Work:
    """The items of one step that are still to be worked on, for all lanes together."""

    def __init__(self, driver: Actor, actors: list[ItemActor], perform: PerformOne, *, stop: bool) -> None:
        self._driver = driver
        self._left: Iterator[ItemActor] = iter(actors)
        self._perform = perform
        self._stop = stop
        self._over = False
        """Nothing new begins."""

    async def lane(self) -> None:
        """Work on one item after the other."""
        try:
            while not self._over and (actor := next(self._left, None)) is not None:
                await self._item(actor)
                await self._driver.journal.end_step()
        except BaseException:
            self._over = True
            raise

    async def _item(self, actor: ItemActor) -> None:
        """Work on one item until it has ended or can go no further."""
        while True:
            self._pass_limits(actor)
            decision = actor.decide()
            if decision is None or isinstance(decision, AskPerson | Suspend):
                break
            if isinstance(decision, EnterPhase | Finish):
                self._over = True
                break
            cursor = actor.state.cursor
            if self._over and cursor is not None and begins(decision, cursor):
                break
            await self._perform(actor, decision)
        cursor = actor.state.cursor
        if self._stop and cursor is not None and cursor.failed is not None:
            self._over = True

    def _pass_limits(self, actor: ItemActor) -> None:
        """Write down the limits of time that are passed: those of the run end the work on all items."""
        journal = actor.journal
        now = max(actor.around.clock(), journal.state.at)
        for scope, limit in outlasted(actor.book, actor.state, now):
            (actor if scope == "step" else self._driver).pass_limit(scope, limit)
        state = journal.state
        self._over = self._over or state.timed_out is not None or state.cancelled_by is not None
