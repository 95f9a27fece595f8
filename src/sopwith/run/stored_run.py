"""A run that was read from the log, pinned to what it was started with."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sopwith.errors import RunBusy, Text, UserError, ValueErased
from sopwith.ir.event import Event, RunStarted
from sopwith.ir.procedure import Grip, Procedure
from sopwith.ir.spoken import spoken
from sopwith.ir.tool import ToolSpec
from sopwith.ir.value import Json
from sopwith.log.port import Log
from sopwith.run.book import Book
from sopwith.run.decision import VERSION as DECISIONS
from sopwith.run.drive import Driver
from sopwith.run.fold import fold_all
from sopwith.run.lease import holder
from sopwith.run.state import State
from sopwith.tools.catalogue import Catalogue

MakeDriver = Callable[[Book, str, str, RunStarted], Driver]
"""A driver of a book, for a run, its task, and how it was started."""

RUNS_HINT = Text("`sopwith runs` lists the runs", "用 sopwith runs 查看所有运行")


@dataclass(frozen=True, slots=True)
class StoredRun:
    """The events of a run as they are in the log, and a driver at their state."""

    events: list[Event]
    driver: Driver

    @property
    def started(self) -> RunStarted:
        """What the run is pinned to."""
        return (self.events or self.driver.journal.events)[0].body

    @property
    def all_events(self) -> list[Event]:
        """The events that were read, and those that the driver has added since."""
        return [*self.events, *self.driver.journal.events]

    @property
    def state(self) -> State:
        """The state after the last event."""
        return self.driver.journal.state

    def must_be_free(self, now: int) -> None:
        """Raise `RunBusy` where somebody drives the run at `now` (microseconds)."""
        driver = holder(self.state, now)
        if driver is not None:
            raise RunBusy(self.state.run, driver)

    def must_be_open(self) -> None:
        """Raise `UserError` where the run has ended."""
        if self.state.outcome is not None:
            status = self.state.status
            raise UserError(
                Text(f"the run has ended: {status}", f"该运行已结束：{spoken(status).zh}"), RUNS_HINT
            )

    def acts_for(self, principal: str) -> bool:
        """Whether the run acts for `principal`; nobody knows where their name was erased."""
        try:
            return self.driver.values.true(self.state.principal.id) == principal
        except ValueErased:
            return False

    def must_differ(self, answer: Json) -> bool:
        """Whether who gives the `answer` must be somebody else than those who have made the case."""
        cursor = self.state.cursor
        if cursor is None or cursor.question != "approval":
            return False
        return answer is True and cursor.terms.four_eyes

    def must_go_on(self) -> None:
        """Raise `UserError` where the run has ended, or a person has it."""
        self.must_be_open()
        if self.state.taken_by is not None and not self.state.stopping:
            raise UserError(
                Text(
                    f"{self.state.taken_by} has taken the run over", f"该运行已由 {self.state.taken_by} 接管"
                ),
                Text(
                    f"hand it back: sopwith takeover {self.state.run} --to STEP",
                    f"请交还运行：sopwith takeover {self.state.run} --to 步骤",
                ),
            )


async def read_state(log: Log, run: str) -> tuple[list[Event], State]:
    """The events of a run and the state after them. Raises `UserError` where there is no such run."""
    events = list(await log.read(run))
    if not events or not isinstance(events[0].body, RunStarted):
        raise no_run(run)
    return events, fold_all(events)


def no_run(run: str) -> UserError:
    """The error for a run that is not there."""
    return UserError(Text(f"there is no run '{run}'", f"没有运行“{run}”"), RUNS_HINT)


async def pinned_book(log: Log, started: RunStarted) -> Book:
    """The book of the procedure and tools that a run was started with."""
    from sopwith.lang.compile import compile_procedure  # it needs CEL, which takes long to import

    procedure = Procedure.from_data(json.loads(await log.blob(started.procedure)))
    specs = [ToolSpec.model_validate(item) for item in json.loads(await log.blob(started.tools))]
    held = None if started.grip is None else Grip(started.grip)
    machine = compile_procedure(procedure, {spec.name: spec for spec in specs}, held)
    return Book(machine, started.language, started.tools_shown)


async def open_run(
    log: Log,
    run: str,
    make_driver: MakeDriver,
    catalogue: Catalogue | None = None,
    read: tuple[list[Event], State] | None = None,
) -> StoredRun:
    """A stored run with its own procedure and tools; what `read_state` gave is not read again. Raises `UserError` where
    it does not exist, or where those of its tools that `catalogue` has do something else now."""
    events, state = read or await read_state(log, run)
    started: RunStarted = events[0].body
    book = await pinned_book(log, started)
    driver = make_driver(book, run, state.task, started)
    if catalogue is not None:
        await _hold_to(catalogue, started, list(book.machine.tools.values()))
    driver.journal.take_up(state)
    await driver.journal.load(state.blobs)
    return StoredRun(events, driver)


async def _hold_to(catalogue: Catalogue, started: RunStarted, specs: Sequence[ToolSpec]) -> None:
    """Refuse to go on with tools that do something else than those the run was started with."""
    live = await catalogue.specs(needed=[spec.name for spec in specs])
    changed = [s.name for s in specs if s.name in live and _does(live[s.name]) != _does(s)]
    if changed:
        names = ", ".join(changed)
        raise UserError(
            Text(
                f"these tools have changed since the run began: {names}",
                f"这些工具在运行开始后改变了：{names}",
            ),
            Text("connect them as they were, or cancel the run", "请连接原来的工具，或取消该运行"),
        )
    if started.decisions > DECISIONS:
        raise UserError(
            Text("the run was started by a newer version", "该运行由更新的版本启动"),
            Text("upgrade Sopwith", "请升级 Sopwith"),
        )


def _does(spec: ToolSpec) -> tuple[Json, ...]:
    """What a tool does, as far as its spec tells: all of it but its words and limits."""
    return (spec.effect, spec.idempotent, spec.input_schema, spec.output_schema)
