"""Where a run is, as a few lines that are drawn again and again: made from its events and nothing else."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from rich.console import Console, ConsoleOptions, RenderResult

from sopwith.cli.columns import cut, cut_right, width
from sopwith.cli.lines import Lines
from sopwith.cli.money import dollars
from sopwith.cli.record import short
from sopwith.cli.runs import local_time
from sopwith.cli.terminal import harmless
from sopwith.errors import Text
from sopwith.ir.event import (
    CallFinished,
    CallProposed,
    CallStarted,
    Event,
    HumanAsked,
    MessageSent,
    ModelReplied,
    ModelRequested,
    RunFinished,
    RunSuspended,
    ValueStored,
    WaitBegan,
)
from sopwith.ir.place import item_of
from sopwith.ir.procedure import Procedure
from sopwith.ir.spoken import spoken
from sopwith.ir.value import Json
from sopwith.lang.chart import OTHERWISE
from sopwith.run.state import Reference, State

_READS = Text("the model reads", "模型处理中")
_LOADS = Text("the model is loaded and reads", "正在载入模型并处理")
_MAY = Text("may choose", "可选")
_CALLS = Text("calls", "调用")
_ASKS = Text("asks", "提问")
_LEAVE = Text("waits for approval", "等待批准")
_WAITS: Mapping[str, Text] = {
    "child": Text("waits for", "等待"),
    "time": Text("waits until its time", "等待时间"),
    "event": Text("waits for an event", "等待事件"),
}
_VALUES = Text("values", "取值")
_ITEMS = Text("items", "各项")
_ITEMS_SAID = Text("{} of {} done, {} at work", "共 {1} 项，完成 {0}，进行中 {2}")
_ITEMS_FAILED = Text(", {} failed", "，失败 {}")
_BESIDE = Text("beside it", "相关运行")
_USED = Text("{} model calls · {} tokens · {} tool calls", "模型调用 {} 次 · {} tokens · 工具调用 {} 次")
_SECONDS = Text("{:.1f} s", "{:.1f} 秒")

_VALUES_SHOWN, _BESIDE_SHOWN, _WAYS_SHOWN = 3, 3, 4
_LEAST_VALUE = 6
"""So many cells a value gets at least."""


@dataclass(slots=True)
class Beside:
    """Another run of the family: its procedure, where it is, and how it stands."""

    run: str
    procedure: str
    step: str
    status: str


class LiveView:
    """A renderable that shows the run of the events it is given. Total: what it does not know it leaves out."""

    def __init__(
        self, procedure: Procedure, numbers: Mapping[str, str], language: str, *, loads: bool = False
    ) -> None:
        self._procedure = procedure
        self._numbers = numbers
        self._language = language
        self._loads = loads
        self._run: str | None = None
        self._state: State | None = None
        self._doing: tuple[Text | str, str] = ("", "")
        self._names: dict[str, None] = {}
        """The names that have got values, the latest last."""
        self._tool = ""
        self._for = ""
        """What is waited for: a time, an event, another procedure."""
        self._arguments: Json = None
        self._beside: dict[str, Beside] = {}
        self._seen = time.monotonic()

    def take(self, event: Event, state: State) -> None:
        """One more event of the run, or of another one of its family."""
        self._run = self._run or event.run
        if event.run != self._run:
            step = "" if state.cursor is None else state.cursor.step
            self._beside[event.run] = Beside(event.run, state.procedure_id, step, state.status)
            return
        self._seen = time.monotonic()
        self._state = state
        body = event.body
        if isinstance(body, CallFinished | ValueStored) and body.name is not None:
            self._names.pop(body.name, None)
            self._names[body.name] = None
        if item_of(event.step) is None:
            self._note(body)

    def _note(self, body: Any) -> None:
        """What the run does from this event on."""
        if isinstance(body, ModelRequested):
            self._doing = (_LOADS if self._loads else _READS, self._choices(body))
        elif isinstance(body, ModelReplied):
            self._loads = False
            self._doing = ("", "")
        elif isinstance(body, CallProposed):
            self._tool, self._arguments = body.tool, cast("Json", body.arguments)
        elif isinstance(body, MessageSent):
            self._for = body.procedure_id
        elif isinstance(body, WaitBegan):
            until = body.until or body.deadline
            self._for = " · ".join(
                filter(None, (body.event, local_time(until) if until is not None else None))
            )
        elif isinstance(body, CallStarted):
            given = short(self._arguments) if body.tool == self._tool and self._arguments else ""
            self._doing = (_CALLS, f"{body.tool} {given}".rstrip())
        elif isinstance(body, HumanAsked):
            self._doing = (_LEAVE, self._tool) if body.what == "approval" else (_ASKS, short(body.question))
        elif isinstance(body, RunSuspended):
            if body.waiting_for in _WAITS:
                self._doing = (_WAITS[body.waiting_for], self._for)
        elif isinstance(body, CallFinished | ValueStored | RunFinished):
            self._doing = ("", "")

    def _choices(self, body: ModelRequested) -> str:
        """What the reply may choose; what a letter stands for is said as well."""
        words = self._meanings(body)
        said = (
            [f"{name} {meaning}" for name, meaning in zip(body.legal, words, strict=False)]
            if words
            else body.legal
        )
        return f"{_MAY.in_(self._language)}: {' · '.join(said)}" if len(said) > 1 or words else ""

    def _meanings(self, body: ModelRequested) -> list[str]:
        step = None if self._state is None or self._state.cursor is None else self._state.cursor.step
        found = self._procedure.steps.get(step or "")
        if found is None or not all(len(name) == 1 for name in body.legal):
            return []
        if body.purpose == "judge":
            judged = [edge.judge for edge in found.next if edge.judge is not None]
            return [*judged, OTHERWISE.in_(self._language)]
        values = (found.returns or {}).get("enum") if body.purpose == "returns" else None
        listed = cast("list[Json]", values) if isinstance(values, list) else []
        return [short(value) for value in listed] if len(listed) == len(body.legal) else []

    def lines(self, cells: int) -> list[str]:
        """What is to be seen now, in lines of at most `cells`."""
        state = self._state
        if state is None:
            return []
        room = max(20, cells)
        return [cut_right(harmless(line), room) for line in self._all(state, room) if line]

    def _all(self, state: State, cells: int) -> Iterator[str]:
        yield self._head(state)
        yield self._place(state)
        doing, of = self._doing
        yield f"  {self._in(doing)} {of}".rstrip() if doing else ""
        yield self._items(state)
        yield from self._told_beside()
        yield self._values(state, cells)

    def _in(self, text: Text | str) -> str:
        return text if isinstance(text, str) else text.in_(self._language)

    def _head(self, state: State) -> str:
        """Which run it is, and what it has used so far."""
        usage = state.usage
        running = state.suspended_at is None and state.outcome is None
        seconds = state.seconds + (time.monotonic() - self._seen if running else 0)
        parts = [
            state.procedure_id,
            state.run,
            _SECONDS.in_(self._language).format(seconds),
            _USED.in_(self._language).format(usage.model_calls, f"{usage.tokens:,}", usage.tool_calls),
        ]
        if usage.money:
            parts.append(dollars(usage.money))
        return "─ " + " · ".join(parts)

    def _place(self, state: State) -> str:
        """The step before, the step at hand, and where it may lead."""
        cursor = state.cursor
        if cursor is None or not cursor.step:
            return ""
        before = f"✓ {self._named(state.path[-2].step)} → " if len(state.path) > 1 else ""
        step = self._procedure.steps.get(cursor.step)
        onward = dict.fromkeys(edge.to for edge in step.next) if step is not None else {}
        shown = [self._named(to) for to in list(onward)[:_WAYS_SHOWN]]
        more = " …" if len(onward) > _WAYS_SHOWN else ""
        after = f" → {' | '.join(shown)}{more}" if shown else ""
        visit = f" ({cursor.visit})" if cursor.visit > 1 else ""
        return f"  {before}● {self._named(cursor.step)}{visit}{after}"

    def _named(self, step: str) -> str:
        found = self._procedure.steps.get(step)
        return f"{self._numbers.get(step, '')} {cut(found.title if found else step, 24)}".lstrip()

    def _items(self, state: State) -> str:
        """How far a step over a list has come, and the items at work."""
        items, cursor = state.items, state.cursor
        if items is None or cursor is None or cursor.step != items.step or cursor.done:
            return ""
        begun = items.cursors.values()
        done = sum(item.done or item.failed is not None for item in begun)
        failed = sum(item.failed is not None for item in begun)
        at_work = len(items.cursors) - done
        said = _ITEMS_SAID.in_(self._language).format(done, items.count, at_work)
        said += _ITEMS_FAILED.in_(self._language).format(failed) if failed else ""
        acting = ", ".join(f"[{item.item}] {item.tool}" for item in items.acting[:_VALUES_SHOWN])
        return f"  {_ITEMS.in_(self._language)} {said}" + (f": {acting}" if acting else "")

    def _told_beside(self) -> Iterator[str]:
        """The other runs of the family that go on, the latest last."""
        going = [child for child in list(self._beside.values()) if child.status in ("running", "suspended")]
        for child in going[-_BESIDE_SHOWN:]:
            at = f" ● {child.step}" if child.step else ""
            yield f"  {_BESIDE.in_(self._language)} {child.procedure} {child.run}: {self._in(spoken(child.status))}{at}"

    def _values(self, state: State, cells: int) -> str:
        """The latest values, short; placeholders stand for secrets, as everywhere in a state."""
        names = [name for name in list(self._names) if name in state.values][-_VALUES_SHOWN:]
        head = f"  {self._in(_VALUES)} "
        found: list[str] = []
        for i, name in enumerate(names):
            value = state.values[name]
            shown = value.preview if isinstance(value, Reference) else value
            size = f" ({value.size:,})" if isinstance(value, Reference) else ""
            left = cells - width(head) - sum(width(said) + 3 for said in found)
            share = left // (len(names) - i) - width(f"{name} = {size}") - 3
            found.append(f"{name} = {short(shown, max(_LEAST_VALUE, share))}{size}")
        return head + " · ".join(found) if found else ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        cells = options.max_width - 1
        lines = self.lines(cells)
        if lines:
            lines[0] += "─" * max(0, cells - width(lines[0]) - 1)
        yield Lines(lines, ("dim", "bold"))
