"""The state of a run: the fold of its events, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Self

from sopwith.ir.approval import NO_TERMS, Terms
from sopwith.ir.event import HumanAnswered, Outcome, Phase, Principal, Purpose, Verdict
from sopwith.ir.finding import EntryDescribed, FoundEntry, SearchMade
from sopwith.ir.guidance import Deviation
from sopwith.ir.input_request import InputWanted
from sopwith.ir.message import MessageSent
from sopwith.ir.reference import PassedValue, ValueRead
from sopwith.ir.tool import Effect, ErrorData
from sopwith.ir.usage import NO_MONEY, UNLIMITED, Budget, Usage
from sopwith.ir.value import Json
from sopwith.models.port import ModelReply
from sopwith.run.chunked import Chunked


@dataclass(frozen=True, slots=True)
class Reference:
    """A long value: its blob, its size in characters, and a preview made of whole items."""

    blob: str
    size: int
    preview: Json


@dataclass(frozen=True, slots=True)
class Lease:
    """Who drives the run: `driver` has it to itself for `seconds` after each event that it writes."""

    driver: str
    seconds: float


Stored = Any
"""A stored value: plain JSON with placeholders, or a `Reference`."""


_NOTHING = Usage()


class _Changed:
    """`changed(**fields)`: a copy with other values, several times cheaper than `dataclasses.replace`."""

    def changed(self, **fields: Any) -> Self:
        """A copy of this with `fields` replaced."""
        copy = object.__new__(type(self))
        object.__setattr__(copy, "__dict__", self.__dict__ | fields)
        return copy


@dataclass(frozen=True, slots=True)
class Paused:
    """What a step waits for: a time, or an event until a deadline. Times are µs since 1970."""

    until: int | None = None
    event: str | None = None
    deadline: int | None = None


@dataclass(frozen=True, slots=True)
class Child:
    """A run that was called and has not come back: by which step instance, and the message that it is made of."""

    step: str
    sent: MessageSent


@dataclass(frozen=True)
class Cursor(_Changed):
    """What is known about the step instance that the run is at. `decide` reads these facts from top to bottom."""

    step: str
    visit: int
    entered_at: int
    item: int | None = None
    """The place in the list, of an item of a step over a list; None for the step itself."""
    value: Stored = None
    """What the work of an item gave; a step's own value is among the names of the state."""
    waited_before: int = 0
    """How long the run had waited when the item began."""
    asked: Purpose | None = None
    """A model request without a reply."""
    reply: ModelReply | None = None
    """A reply of the model that has not been acted on yet."""
    carried: ModelReply | None = None
    """The reply that chose the edge to this step, and does its work too."""
    left: bool = False
    """The model has finished in the region of the step: its ways out follow."""
    rejections: tuple[ErrorData, ...] = ()
    rejected_text: str | None = None
    confidence: float | None = None
    """The confidence of the last choice."""
    tool: str | None = None
    arguments: Mapping[str, Json] | None = None
    """Proposed arguments, with placeholders; in the places of `passed` stands what was referred to."""
    passed: tuple[PassedValue, ...] = ()
    read: ValueRead | SearchMade | EntryDescribed | None = None
    """What the model has asked to see, as its last action."""
    verdict: Verdict | None = None
    rule: str | None = None
    judged: str | None = None
    """The keyed hash of the arguments that were judged."""
    terms: Terms = NO_TERMS
    """What an approval must meet."""
    votes: tuple[HumanAnswered, ...] = ()
    """The answers to the approval that is asked for, in order; the last one decides."""
    expires_at: int | None = None
    """When the approval ends (µs since 1970)."""
    approved: bool | None = None
    started: int | None = None
    """The seq of a call that was started and has no outcome."""
    effect: Effect = Effect.READ
    key: str | None = None
    attempt: int = 0
    lost: int = 0
    """So many of the attempts were cut off with their driver: those are not held against the tool."""
    unknown: bool = False
    again: bool = False
    """The call at work was made before, with the same key, and may have acted then."""
    unsure: bool = False
    """The tool was asked whether the call has acted, and does not know."""
    error: ErrorData | None = None
    """The error of the last attempt; a retry may follow."""
    wanted: InputWanted | None = None
    """What the call that was started wants to know before it goes on."""
    rounds: int = 0
    """So often it has asked."""
    question: str | None = None
    asks_for: int | None = None
    """The item whose call asks."""
    answer: tuple[Json, str] | None = None
    """A person's answer that has not been stored yet, and who gave it."""
    done: bool = False
    """The step's own work is done: its name has a value, or it has none."""
    stubbed: bool = False
    """The step's value was made up, in a dry run."""
    checked: bool | None = None
    """How the step's `verify` came out."""
    value_confidence: float | None = None
    """The confidence of the step's own value, where it was a choice."""
    timed_out: float | None = None
    """The limit in seconds that the step has outlasted."""
    failed: ErrorData | None = None
    """Final: `on_error` or an escalation follows."""
    covers: Mapping[int, str] = field(default_factory=dict[int, str])
    """The items, with the keyed hashes of their calls, that the one approval of a step over a list is for."""
    child: str | None = None
    """The run that the step has called, and that has not come back."""
    wrote: bool = False
    """A write of the run that was called has acted, or may have."""
    paused: Paused | None = None
    """What the step waits for."""
    missed: bool = False
    """The event that the step has waited for did not come in time."""

    @property
    def instance(self) -> str:
        """The name of the step instance: `id`, `id#visit` from the second visit on, and `[item]` behind it."""
        step = self.step if self.visit == 1 else f"{self.step}#{self.visit}"
        return step if self.item is None else f"{step}[{self.item}]"

    @property
    def place(self) -> str:
        """Where a write was made: the step, or the item."""
        return self.step if self.item is None else self.instance


@dataclass(frozen=True)
class Items(_Changed):
    """The items of the step over a list that the run is at, or was at last.

    `cursors` are those of the items that have begun, by their places; `asking` of them wait for a model. `kept`: a
    person has sent the run there again, and what is done stays done.
    All items before the place `through` are done or have failed; before `checked` those that are done were checked
    too. `broken` is the first that has failed. What is looked at again and again is so not looked for from the start.
    """

    step: str
    count: int
    over: Stored = None
    cursors: Chunked[Cursor] = field(default_factory=Chunked[Cursor])
    asking: int = 0
    kept: bool = False
    through: int = 0
    checked: int = 0
    broken: int | None = None

    def with_cursor(self, cursor: Cursor, item: int) -> Items:
        """These with another cursor of one item."""
        cursors, broken = self.cursors.with_value(item, cursor), self.broken
        if cursor.failed is not None:
            broken = item if broken is None else min(item, broken)
        elif broken == item:
            broken = min((at for at, one in cursors.since(item) if one.failed is not None), default=None)
        return self.changed(
            cursors=cursors,
            through=_moved(self.through, cursors, item, _is_through),
            checked=_moved(self.checked, cursors, item, _is_checked),
            broken=broken,
        )

    def those(self, items: Iterable[int]) -> tuple[Cursor, ...]:
        """The cursors of `items` that have begun."""
        return tuple(self.cursors[item] for item in items if item in self.cursors)

    @property
    def acting(self) -> tuple[Cursor, ...]:
        """The items whose calls were started and have not come back."""
        return tuple(cursor for _, cursor in self.cursors.since(self.through) if cursor.started is not None)


def _is_through(cursor: Cursor) -> bool:
    at_work = cursor.started is not None or cursor.asked is not None or cursor.child is not None
    return (cursor.done or cursor.failed is not None) and not at_work


def _is_checked(cursor: Cursor) -> bool:
    checked = cursor.checked is True or cursor.stubbed or cursor.failed is not None
    return checked and _is_through(cursor)


def _moved(mark: int, cursors: Chunked[Cursor], item: int, passes: Callable[[Cursor], bool]) -> int:
    """The place before which all items pass, after the cursor of `item` has changed."""
    if item < mark:
        return mark if passes(cursors[item]) else item
    while mark in cursors and passes(cursors[mark]):
        mark += 1
    return mark


@dataclass(frozen=True, slots=True)
class OpenWrite:
    """A write that may have acted: nobody knows. `step` is its step or item, `started` the seq of `call.started`."""

    tool: str
    step: str
    started: int

    @property
    def title(self) -> str:
        """How people are told of it: its tool, and the item that it was for."""
        return f"{self.tool} {self.step}" if self.step.endswith("]") else self.tool


@dataclass(frozen=True, slots=True)
class Visited:
    """One step of the path, and how the run came to it."""

    step: str
    visit: int
    by: str = "start"
    label: str | None = None
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Exchange:
    """One finished exchange of a transcript: what was sent as its tail, and the reply."""

    tail: str
    reply: str


@dataclass(frozen=True)
class State(_Changed):
    """Everything that the next decision depends on. Text holds placeholders, long values are references."""

    run: str
    task: str
    procedure_id: str
    procedure: str
    principal: Principal
    request: str
    date: str
    language: str
    budget: Budget
    started_at: int
    dry_run: bool = False
    step_budget: Budget = UNLIMITED
    step_budgets: Mapping[str, Budget] = field(default_factory=dict[str, Budget])
    account: str | None = None
    """Where the run has reserved its budget."""
    cut: tuple[str, ...] = ()
    """The limits of `budget` that are what the principal had left."""
    given: Mapping[str, Json] = field(default_factory=dict[str, Any])
    seq: int = 0
    at: int = 0
    phase: Phase = Phase.RECEIVE
    phase_at: int = 0
    waited: int = 0
    """Microseconds that the run has waited for others; they do not count."""
    phase_waited: int = 0
    step_waited: int = 0
    suspended_at: int | None = None
    waiting_for: str | None = None
    """What a suspended run waits for: `human`, `time`, `event`, `child`, or to `stop` its children."""
    ending: Outcome | None = None
    """How the run ends as soon as its children have been stopped."""
    screened: str | None = None
    screen_rule: str | None = None
    """The rule that the request, or later the output, met."""
    output_screened: str | None = None
    selected: bool = False
    bound: bool = False
    inputs: Mapping[str, Json] = field(default_factory=dict[str, Any])
    values: Mapping[str, Stored] = field(default_factory=dict[str, Any])
    owners: Mapping[str, str] = field(default_factory=dict[str, Any])
    """Which step wrote a name."""
    thresholds: Mapping[str, int] = field(default_factory=dict[str, int])
    """From which length on a name is shown by a preview, where its tool says so."""
    stored: int = 0
    """Characters of all long values that were stored."""
    visits: Mapping[str, int] = field(default_factory=dict[str, Any])
    entries: Mapping[str, int] = field(default_factory=dict[str, Any])
    """The visits that did not come from inside of the step's region, since a person handed the run back."""
    cursor: Cursor | None = None
    items: Items | None = None
    error: ErrorData | None = None
    """The error that the run's path last followed."""
    entered_by: Visited | None = None
    path: tuple[Visited, ...] = ()
    transcript: tuple[Exchange, ...] = ()
    tail: str | None = None
    """The tail of the open exchange of a transcript."""
    actions: tuple[str, ...] = ()
    """The latest actions of the transcript."""
    found: tuple[FoundEntry, ...] = ()
    """What its searches have found, in their order."""
    noted: tuple[Deviation, str] | None = None
    """Why the action at hand, or the one just done, is none of the ways on, and its name."""
    carried: ModelReply | None = None
    """A reply that goes along an edge, to the step that is entered next."""
    open: tuple[OpenWrite, ...] = ()
    """Writes that may have acted, without a known outcome."""
    calls: int = 0
    """Tool calls that were started."""
    used: Usage = _NOTHING
    """Tokens so far; `usage` adds the calls and the money."""
    replies: int = 0
    """Model calls that were answered."""
    money: Decimal | None = NO_MONEY
    """What the replies cost; None where the price of one is not known."""
    before_step: tuple[Usage, int, int, Decimal | None, Usage] = (_NOTHING, 0, 0, NO_MONEY, _NOTHING)
    """`used`, `replies`, `calls`, `money` and `child_usage` when the step was entered."""
    verified: bool | None = None
    """How the checks of the procedure and its output came out."""
    timed_out: tuple[str, float] | None = None
    """The scope (`phase` or `run`) and limit that the run has outlasted."""
    outcome: Outcome | None = None
    lease: Lease | None = None
    cancelled_by: tuple[str, str | None] | None = None
    """Who wants the run to end, and why."""
    taken_by: str | None = None
    """The person who has taken the run over."""
    written: frozenset[str] = frozenset()
    """Steps whose writes have acted: they came back, or a person says so."""
    operators: tuple[str, ...] = ()
    """Who has set a value, or sent the run on: what is called then is of their making too."""
    procedures: Mapping[str, str] = field(default_factory=dict[str, Any])
    """The digests of the procedures that the run may call, by id."""
    parent: str | None = None
    """The run that has called this one."""
    depth: int = 0
    deadline: int | None = None
    """Until when the run is waited for (µs since 1970)."""
    children: Mapping[str, Child] = field(default_factory=dict[str, Child])
    """The runs that were called and have not come back."""
    child_usage: Usage = _NOTHING
    """What those that have come back have used."""
    child_seconds: float = 0.0
    """How long they were at work while this run waited."""
    taken: frozenset[int] = frozenset()
    """The events of the inbox that were taken, by their seqs."""
    done_at: str | None = None
    """The step that the run was handed back to, where its own work has been done."""
    forgiven: Mapping[str, int] = field(default_factory=dict[str, Any])
    """Visits of a step that do not count against its bound: a person has sent the run there."""

    @property
    def stopping(self) -> bool:
        """Whether the run is about to end: it waits for none of its children any more, and stops them."""
        return self.outcome is None and (self.cancelled_by is not None or self.waiting_for == "stop")

    @property
    def cursors(self) -> tuple[Cursor, ...]:
        """All that is known about step instances at hand that are not through."""
        if self.cursor is None:
            return ()
        items = self.items
        inner = () if items is None else (cursor for _, cursor in items.cursors.since(items.through))
        return (self.cursor, *inner)

    @property
    def acting(self) -> OpenWrite | None:
        """The write of the step or item at hand that was started and has not come back, where there is one."""
        return None if self.cursor is None else self._write_of(self.cursor)

    @property
    def all_acting(self) -> tuple[OpenWrite, ...]:
        """All writes that were started and have not come back."""
        cursors = (*((self.cursor,) if self.cursor else ()), *(self.items.acting if self.items else ()))
        return tuple(write for cursor in cursors if (write := self._write_of(cursor)) is not None)

    def _write_of(self, cursor: Cursor) -> OpenWrite | None:
        if cursor.started is None or cursor.effect is Effect.READ or self.dry_run:
            return None
        return OpenWrite(cursor.tool or "", cursor.place, cursor.started)

    @property
    def latest_write(self) -> int | None:
        """The seq of the open write of the step or item at hand."""
        place = None if self.cursor is None else self.cursor.place
        return next((write.started for write in reversed(self.open) if write.step == place), None)

    @property
    def all_stored(self) -> tuple[Stored, ...]:
        """Every stored value that a decision may read."""
        items = self.items
        inner = () if items is None else (items.over, *(cursor.value for cursor in items.cursors.values()))
        return (*self.values.values(), *inner)

    @property
    def blobs(self) -> tuple[str, ...]:
        """The blobs that a decision may read."""
        stored = (value.blob for value in self.all_stored if isinstance(value, Reference))
        passed = (each.blob for cursor in self.cursors for each in cursor.passed)
        return tuple(dict.fromkeys((*stored, *passed)))

    @property
    def usage(self) -> Usage:
        """What the run has used so far."""
        return _usage(self.used, self.replies, self.calls, self.money, self.child_usage)

    @property
    def budgets(self) -> tuple[Budget, ...]:
        """Every budget that the run is held to."""
        return (self.budget, self.step_budget, *self.step_budgets.values())

    @property
    def step_usage(self) -> Usage:
        """What the run has used since it entered its step."""
        return self.usage.since(_usage(*self.before_step))

    @property
    def seconds(self) -> float:
        """How long the run has lasted, without its waiting; while it waits for a child, that is at work for it."""
        return (self.at - self.started_at - self.waited) / 1e6 + self.child_seconds

    @property
    def status(self) -> str:
        """`running`, `suspended`, or the kind of the outcome."""
        if self.outcome is not None:
            return self.outcome.kind
        return "running" if self.suspended_at is None else "suspended"


def _usage(used: Usage, replies: int, calls: int, money: Decimal | None, children: Usage) -> Usage:
    own = used.model_copy(update={"model_calls": replies, "tool_calls": calls, "money": money})
    return own if children is _NOTHING else own + children
