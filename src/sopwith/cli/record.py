"""What a run did, step by step, gathered from its events: for the line of a step, and for a trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from sopwith.cli.columns import cut
from sopwith.cli.record_items import ItemsRecord
from sopwith.errors import Text
from sopwith.ir.event import (
    AlertRaised,
    Body,
    BudgetReserved,
    BudgetSettled,
    CallFinished,
    CallJudged,
    CallProposed,
    CallReconciled,
    CallStarted,
    CancelAsked,
    CheckRan,
    DeviationNoted,
    EdgeTaken,
    Event,
    FeedbackGiven,
    GuidanceGiven,
    HumanAnswered,
    HumanAsked,
    InputsBound,
    ItemsBegan,
    ItemsEnded,
    LeaseTaken,
    ModelReplied,
    ModelRequested,
    PhaseEntered,
    ProcedureSelected,
    RegionLeft,
    ReplyRejected,
    ReplyRepaired,
    RequestScreened,
    ResultLate,
    RunFinished,
    RunHandedBack,
    RunResumed,
    RunStarted,
    RunSuspended,
    RunTakenOver,
    StepEntered,
    StepFailed,
    TimeoutPassed,
    ValueStored,
)
from sopwith.ir.finding import EntryDescribed, SearchMade
from sopwith.ir.input_request import CallContinued, CallPaused
from sopwith.ir.message import MessageReceived, MessageSent
from sopwith.ir.pause import SignalSent, WaitBegan, WaitEnded
from sopwith.ir.place import item_of, step_id
from sopwith.ir.procedure import Procedure
from sopwith.ir.reference import ValueRead
from sopwith.ir.tool import Effect
from sopwith.ir.usage import Usage
from sopwith.ir.value import Json
from sopwith.lang.moment import write_time
from sopwith.run.preview import as_text

VALUE_CELLS = 40
"""The longest value in the line of a step."""

_INPUTS = Text("inputs", "提取输入")
_READ = Text("read {}", "查看 {}")
_FOUND = Text("found {}", "找到 {} 项")
_ANSWER = Text("answer, {} characters", "答复，{} 字")
_DENIED = Text("denied by {}", "被规则 {} 拒绝")
_REFUSED = Text("reply refused: {}", "拒收模型回复：{}")
_NOT_TRUE = Text("verify ✗", "校验 ✗")
_ASKED = Text("asks: {}", "提问：{}")
_APPROVAL = Text("{} waits for approval", "{} 等待批准")
_ANSWERED = Text("{}: {}", "{}：{}")
_APPROVED = Text("approved by {}", "{} 已批准")
_REFUSED_BY = Text("refused by {}", "{} 不批准")
VOID = {
    "expired": Text("the approval had expired", "批准已过期"),
    "changed": Text("the approval was for something else", "批准的内容已改变"),
}
"""Why an approval does not hold."""
DEVIATIONS = {
    "no_step": Text("no step of the procedure", "不属于任何步骤"),
    "no_edge": Text("no way led there", "没有通往该步骤的路径"),
    "closed": Text("the condition of the way does not hold", "该路径的条件不成立"),
    "left": Text("finished before the end", "未走完就结束"),
    "skipped": Text("a step was left out", "跳过了步骤"),
    "visits": Text("more often than planned", "超出计划次数"),
}
"""Why an action is none of the ways on."""
_STUBBED = Text("{} (dry)", "{}（未调用）")
_STUBBED_ASKED = Text("{} (dry), would ask: {}", "{}（未调用），需批准：{}")
_LATE = Text("longer than {:g} s", "超过 {:g} 秒")
_UNKNOWN = Text("outcome unknown", "结果未知")
_NO_ANSWER = Text("started, no answer", "已开始，没有应答")
_DONE = Text("has acted", "已执行")
_NOT_DONE = Text("has not acted", "未执行")
_TAKEN = Text("taken over by {}", "由 {} 接管")
_CALLS = Text("calls {}, run {}", "调用 {}，运行 {}")
_WAITS = Text("waits for {}", "等待 {}")
_CAME = Text("the time has come", "时间已到")
_SET = Text("{} set by {}", "{} 由 {} 设置")


@dataclass(slots=True)
class Record:
    """One visit of a step. `parts` are the things it did, in words; `seconds` is without waiting for people."""

    step: str
    visit: int
    number: str
    title: str
    began: int
    ended: int
    waited: int = 0
    parts: list[str] = field(default_factory=list[str])
    usage: Usage = field(default_factory=Usage)
    good: bool = True
    events: list[Event] = field(default_factory=list[Event])
    legal: str = ""
    confidence: float | None = None
    tool: str = ""
    started: CallStarted | None = None
    """A call that has been started, and that nothing is known of since."""
    asked_at: int | None = None
    asked: str = ""
    """What a person was asked and has not answered."""
    approval: bool = False
    wanted: int = 1
    """How many people have still to agree."""
    rule: str = ""
    """The rule that asks for leave to make the call at hand."""
    end: str | None = None
    items: ItemsRecord | None = None
    """What the items of its list did, where it goes over one."""

    @property
    def seconds(self) -> float:
        """How long it took."""
        return max(0, self.ended - self.began - self.waited) / 1e6

    def add(self, part: str, *, good: bool = True) -> None:
        """One more thing that it did; `good` is False for what went wrong."""
        self.parts.append(part)
        self.good = self.good and good

    def whole(self, language: str) -> Record:
        """This record with what is open, or that it is an end, as its last part."""
        if self.items is not None:
            self.usage += self.items.usage
            self.parts.insert(0, self.items.said(language))
            self.good = self.good and not self.items.failed
        if self.started is not None:
            self.add(f"{self.started.tool} ? {open_call(self.started, language)}", good=False)
        if self.asked:
            self.add(self.asked)
        elif self.end is not None and not self.parts:
            self.add(f"■ {self.end}")
        return self


class Recorder:
    """Makes records from events, one by one. `done` is called with each record that is complete."""

    def __init__(
        self, procedure: Procedure, numbers: Mapping[str, str], language: str, done: Callable[[Record], None]
    ) -> None:
        self._procedure = procedure
        self._numbers = numbers
        self._language = language
        self._done = done
        self.current: Record | None = None

    def take(self, event: Event) -> None:
        """One more event of the run."""
        body: Body = event.body
        if isinstance(body, StepEntered):
            self._close()
            self.current = self._begin(event, step_id(event.step or ""), body.visit)
        elif isinstance(body, ModelRequested | RunTakenOver) and self.current is None:
            self.current = self._begin(event, step_id(event.step or ""), 1)
        record = self.current
        if record is None:
            return
        record.events.append(event)
        record.ended = event.at
        if record.items is not None and (item := item_of(event.step)) is not None:
            record.items.take(event, item)
        else:
            ACTS.get(type(body), _nothing)(record, event, body, self._language)
        if isinstance(body, InputsBound | EdgeTaken | RunFinished | RunHandedBack):
            self._close()
        elif isinstance(body, CallFinished) and _purpose(record) == "free":
            # One line a call: a free step may make many.
            self._close()
            self.current = Record(record.step, record.visit, "", "", event.at, event.at)

    def _begin(self, event: Event, step: str, visit: int) -> Record:
        found = self._procedure.steps.get(step)
        title = (
            found.title
            if found
            else (_INPUTS.in_(self._language) if not step else self._procedure.name or step)
        )
        end = found.end if found else None
        return Record(step, visit, self._numbers.get(step, ""), title, event.at, event.at, end=end)

    def _close(self) -> None:
        record, self.current = self.current, None
        if record is not None:
            self._done(record.whole(self._language))


def records(
    procedure: Procedure, numbers: Mapping[str, str], language: str, events: list[Event]
) -> list[Record]:
    """The records of a whole log, the last one as far as it came."""
    found: list[Record] = []
    recorder = Recorder(procedure, numbers, language, found.append)
    for event in events:
        recorder.take(event)
    if recorder.current is not None:
        found.append(recorder.current.whole(language))
    return found


def open_call(call: CallStarted, language: str) -> str:
    """What is known of a call that was started and never answered."""
    if call.effect is Effect.READ:
        return _NO_ANSWER.in_(language)
    return f"{_NO_ANSWER.in_(language)}{', ' if language == 'en' else '，'}{_UNKNOWN.in_(language)}"


def sliced(body: ValueRead) -> str:
    """Which part of which value a model has looked at."""
    whole = body.start == 0 and body.end is None
    return body.value if whole else f"{body.value} {body.start}:{'' if body.end is None else body.end}"


def short(value: Json, cells: int = VALUE_CELLS) -> str:
    """A value in one short line; of an object the values, since its names are in the procedure."""
    if isinstance(value, dict):
        return cut(" · ".join(as_text(item) for item in cast("dict[str, Json]", value).values()), cells)
    return cut(as_text(value), cells)


def _sure(confidence: float | None) -> str:
    return "" if confidence is None else f" ({confidence:.2f})"


def _requested(record: Record, event: Event, body: ModelRequested, language: str) -> None:
    legal = list(body.legal)
    letters = len(legal) > 1 and all(len(name) == 1 for name in legal)
    record.legal = f"{legal[0]}–{legal[-1]} " if letters else ""


def _replied(record: Record, event: Event, body: ModelReplied, language: str) -> None:
    record.usage += body.usage + Usage(model_calls=1)
    record.confidence = body.confidence


def _rejected(record: Record, event: Event, body: ReplyRejected, language: str) -> None:
    record.add(_REFUSED.in_(language).format(body.error.code), good=not body.final)


def _proposed(record: Record, event: Event, body: CallProposed, language: str) -> None:
    record.tool = body.tool


def _judged(record: Record, event: Event, body: CallJudged, language: str) -> None:
    record.rule = body.rule if body.verdict == "ask" else ""
    if body.void is not None:
        record.add(VOID[body.void].in_(language))
    if body.verdict == "deny":
        record.add(f"{record.tool} ✗ {_DENIED.in_(language).format(body.rule)}", good=False)


def _started(record: Record, event: Event, body: CallStarted, language: str) -> None:
    record.started = body


def _called(record: Record, event: Event, body: CallFinished, language: str) -> None:
    record.started = None
    record.usage += Usage(tool_calls=1)
    if body.unknown:
        record.add(f"{record.tool} ? {_UNKNOWN.in_(language)}", good=False)
    elif body.error is not None:
        record.add(f"{record.tool} ✗ {body.error.code}", good=False)
    elif body.stubbed:
        said = _STUBBED if not record.rule else _STUBBED_ASKED
        record.add(said.in_(language).format(record.tool, record.rule))
    else:
        record.good = True  # an earlier attempt may have failed
        record.add(f"{record.tool} ✓")


def _stored(record: Record, event: Event, body: ValueStored, language: str) -> None:
    purpose = _purpose(record)
    if body.by == "human":
        if body.who is not None:
            record.add(_SET.in_(language).format(body.name, body.who))
        return
    if purpose == "answer":
        length = body.size or len(str(body.value))
        record.add(_ANSWER.in_(language).format(length))
    else:
        record.add(f"{record.legal}→ {short(body.value)}{_sure(record.confidence)}")
    record.legal = ""


def _purpose(record: Record) -> str:
    asked = (e.body.purpose for e in reversed(record.events) if isinstance(e.body, ModelRequested))
    return next(asked, "")


def _checked(record: Record, event: Event, body: CheckRan, language: str) -> None:
    if not body.ok:
        record.add(_NOT_TRUE.in_(language), good=False)


def _edge(record: Record, event: Event, body: EdgeTaken, language: str) -> None:
    if record.legal:  # a choice was made, and not for a value
        record.add(f"{record.legal}→ {body.to}{_sure(body.confidence)}")
    elif body.by == "error":
        record.add(f"→ {body.to}", good=False)


def _deviated(record: Record, event: Event, body: DeviationNoted, language: str) -> None:
    record.add(f"{body.action} ! {DEVIATIONS[body.why].in_(language)}")


def _read(record: Record, event: Event, body: ValueRead, language: str) -> None:
    record.add(_READ.in_(language).format(sliced(body)))


def _searched(record: Record, event: Event, body: SearchMade, language: str) -> None:
    record.add(_FOUND.in_(language).format(len(body.found)))


def _described(record: Record, event: Event, body: EntryDescribed, language: str) -> None:
    record.add(_READ.in_(language).format(body.name))


def _failed(record: Record, event: Event, body: StepFailed, language: str) -> None:
    if not any(body.error.code in part or _NOT_TRUE.in_(language) == part for part in record.parts):
        record.add(f"✗ {body.error.code}", good=False)
    record.good = False


def _began(record: Record, event: Event, body: ItemsBegan, language: str) -> None:
    record.items = ItemsRecord(body.count)


def _asked(record: Record, event: Event, body: HumanAsked, language: str) -> None:
    record.approval = body.what == "approval"
    tool = record.tool or (record.items.tool if record.items else "")
    tool = f"{tool} × {len(body.items):,}" if body.items else tool
    asked = _APPROVAL.in_(language).format(tool) if record.approval else _ASKED.in_(language)
    record.wanted = body.count
    record.asked = asked if record.approval else asked.format(short(body.question))


def _answered(record: Record, event: Event, body: HumanAnswered, language: str) -> None:
    partly = record.approval and body.answer is True and record.wanted > 1
    record.wanted -= 1
    if not partly:
        _woken(record, event, body, language)
        record.asked = ""
    if not record.approval:
        record.add(_ANSWERED.in_(language).format(body.by, short(body.answer)))
    else:
        said = _APPROVED if body.answer is True else _REFUSED_BY
        record.add(said.in_(language).format(body.by))


def _suspended(record: Record, event: Event, body: RunSuspended, language: str) -> None:
    record.asked_at = event.at


def _woken(record: Record, event: Event, body: object, language: str) -> None:
    if record.asked_at is not None:
        record.waited += event.at - record.asked_at
        record.asked_at = None


def _late(record: Record, event: Event, body: TimeoutPassed, language: str) -> None:
    record.add(_LATE.in_(language).format(body.limit), good=False)


def _reconciled(record: Record, event: Event, body: CallReconciled, language: str) -> None:
    if body.happened is None:
        return
    record.started = None
    said = _DONE if body.happened else _NOT_DONE
    record.add(f"{body.tool} {said.in_(language)}")


def _taken(record: Record, event: Event, body: RunTakenOver, language: str) -> None:
    record.asked_at = event.at
    record.add(_TAKEN.in_(language).format(body.by))


def _back(record: Record, event: Event, body: RunHandedBack, language: str) -> None:
    _woken(record, event, body, language)
    record.add(f"→ {body.to}")


def _sent(record: Record, event: Event, body: MessageSent, language: str) -> None:
    record.tool = body.procedure_id
    record.asked = _CALLS.in_(language).format(body.procedure_id, body.receiver)


def _came_back(record: Record, event: Event, body: MessageReceived, language: str) -> None:
    _woken(record, event, body, language)
    record.asked = ""
    record.usage += body.usage
    if body.error is None:
        record.good = True  # an earlier attempt may have failed
    record.add(
        f"{record.tool} {'✓' if body.error is None else f'✗ {body.error.code}'}", good=body.error is None
    )


def _waits(record: Record, event: Event, body: WaitBegan, language: str) -> None:
    record.asked = _WAITS.in_(language).format(body.event or write_time(body.until or event.at))


def _waited(record: Record, event: Event, body: WaitEnded, language: str) -> None:
    _woken(record, event, body, language)
    record.asked = ""
    told = {"event": f"{body.event} ✓", "timeout": f"{body.event} ✗ timeout"}
    record.add(told.get(body.by, _CAME.in_(language)), good=body.by != "timeout")


def _nothing(record: Record, event: Event, body: object, language: str) -> None:
    pass


ACTS: Mapping[type[Body], Callable[[Record, Event, Any, str], None]] = {
    RunStarted: _nothing,
    PhaseEntered: _nothing,
    RequestScreened: _nothing,
    ProcedureSelected: _nothing,
    InputsBound: _nothing,
    StepEntered: _nothing,
    ReplyRepaired: _nothing,
    CallStarted: _started,
    CallPaused: _nothing,
    CallContinued: _nothing,
    ResultLate: _nothing,
    AlertRaised: _nothing,
    LeaseTaken: _nothing,
    CancelAsked: _nothing,
    CallReconciled: _reconciled,
    RunTakenOver: _taken,
    RunHandedBack: _back,
    RunFinished: _nothing,
    ItemsBegan: _began,
    ItemsEnded: _nothing,
    MessageSent: _sent,
    MessageReceived: _came_back,
    WaitBegan: _waits,
    WaitEnded: _waited,
    SignalSent: _nothing,
    FeedbackGiven: _nothing,
    BudgetReserved: _nothing,
    BudgetSettled: _nothing,
    ModelRequested: _requested,
    ModelReplied: _replied,
    ReplyRejected: _rejected,
    CallProposed: _proposed,
    CallJudged: _judged,
    CallFinished: _called,
    ValueStored: _stored,
    CheckRan: _checked,
    EdgeTaken: _edge,
    StepFailed: _failed,
    HumanAsked: _asked,
    HumanAnswered: _answered,
    RunSuspended: _suspended,
    RunResumed: _woken,
    TimeoutPassed: _late,
    GuidanceGiven: _nothing,
    DeviationNoted: _deviated,
    RegionLeft: _nothing,
    ValueRead: _read,
    SearchMade: _searched,
    EntryDescribed: _described,
}
"""What each kind of event adds to the record of a step."""
