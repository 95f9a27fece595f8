"""What a trace says below the line of a step: replies, repairs, calls with their judgement, checks, the way on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sopwith.cli.columns import cut
from sopwith.cli.record import DEVIATIONS, VOID, Record, open_call, sliced
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
    event_json,
)
from sopwith.ir.finding import EntryDescribed, SearchMade
from sopwith.ir.input_request import CallContinued, CallPaused
from sopwith.ir.message import MessageReceived, MessageSent
from sopwith.ir.pause import SignalSent, WaitBegan, WaitEnded
from sopwith.ir.place import item_of
from sopwith.ir.reference import ValueRead
from sopwith.ir.value import Json
from sopwith.lang.moment import write_time
from sopwith.run.preview import as_text

CELLS = 120

_WORDS: Mapping[str, Text] = {
    "reply": Text("reply", "回复"),
    "repaired": Text("repaired", "修正"),
    "refused": Text("refused", "拒收"),
    "call": Text("call", "调用"),
    "judged": Text("judged", "裁决"),
    "again": Text("again", "重试"),
    "result": Text("result", "结果"),
    "error": Text("error", "错误"),
    "value": Text("value", "取值"),
    "check": Text("check", "校验"),
    "asked": Text("asked", "提问"),
    "asks": Text("asks", "工具询问"),
    "goes_on": Text("goes on", "继续调用"),
    "answered": Text("answered", "回答"),
    "resumed": Text("resumed", "恢复"),
    "known": Text("known", "查明"),
    "cancel": Text("cancel", "取消"),
    "taken": Text("taken over", "接管"),
    "back": Text("handed back", "交还"),
    "late": Text("late", "迟到"),
    "alert": Text("alert", "告警"),
    "failed": Text("failed", "失败"),
    "next": Text("next", "下一步"),
    "list": Text("list", "列表"),
    "sent": Text("called", "调用流程"),
    "waits": Text("waits", "等待"),
    "waited": Text("came", "等到"),
    "advice": Text("advice", "指导"),
    "noted": Text("noted", "记录"),
    "read": Text("read", "查看"),
    "search": Text("searched", "查找"),
    "describe": Text("described", "说明"),
}
_ITEMS = Text("{} items", "{} 项")
_FAILED = Text("{} failed", "{} 项失败")
_UNKNOWN = Text("unknown whether it has acted", "无法确定是否已执行")
_HAPPENED = Text("{} has acted", "{} 已执行")
_NOT_HAPPENED = Text("{} has not acted", "{} 未执行")
_STILL_UNKNOWN = Text("{}: still unknown whether it has acted", "{}：仍无法确定是否已执行")
_STUBBED = Text("made up, not called (dry run)", "虚构的结果，未调用（试运行）")
_OVERRULED = Text("overruled: {}", "已覆盖模型的取值：{}")
_PAST = Text("had passed already", "早已过去")
_GRAPH = Text("the whole graph", "整个流程图")
_KNOWN: Mapping[str, Text] = {
    "always": Text("always", "直接"),
    "when": Text("when", "条件"),
    "judge": Text("judge", "判断"),
    "otherwise": Text("otherwise", "其他情况"),
    "error": Text("error", "出错"),
    "bound": Text("bound", "绑定"),
    "model": Text("model", "模型"),
    "allow": Text("allow", "允许"),
    "deny": Text("deny", "拒绝"),
    "ask": Text("ask", "需审批"),
    "driver": Text("driver", "执行进程"),
    "time": Text("time", "到时"),
    "event": Text("event", "事件"),
    "timeout": Text("timeout", "超时"),
    "dry": Text("dry run", "试运行"),
    "approval": Text("approval", "审批"),
    "input": Text("input", "补充信息"),
    "answer": Text("answer", "回答"),
}
"""Words of events that are names in the log, as people read them."""
_TOKENS = Text("{} read, {} cached, {} written, {} ms", "读入 {}，缓存 {}，生成 {}，{} 毫秒")


def details(record: Record, language: str) -> list[str]:
    """The lines below a step, each cut to one line."""
    found: list[str] = []
    for event in record.events:
        body: Body = event.body
        said = SAYS[type(body)](body, language) if type(body) in SAYS else None
        if said is not None:
            word, text = said
            item = item_of(event.step)
            text = text if item is None else f"[{item}] {text}"
            found.append(cut(f"{_WORDS[word].in_(language)}: {text}", CELLS))
    if record.started is not None:
        call = record.started
        said = f"{_WORDS['result'].in_(language)}: {call.tool}: {open_call(call, language)}"
        found.append(cut(said, CELLS))
    return found


def step_json(record: Record) -> dict[str, Json]:
    """One step of a path as an object, with its events (without their envelope)."""
    return {
        "step": record.step,
        "visit": record.visit,
        "number": record.number,
        "name": record.title,
        "did": list(record.parts),
        "seconds": round(record.seconds, 3),
        "usage": record.usage.model_dump(mode="json"),
        "events": [_inner(event) for event in record.events],
    }


def _inner(event: Event) -> dict[str, Json]:
    whole = event_json(event)
    return {"seq": whole["seq"], "kind": whole["kind"], "data": whole["data"]}


_Said = tuple[str, str] | None


def _value(value: Json, size: int | None) -> str:
    return f"{as_text(value)}" if size is None else f"({size}) {as_text(value)}"


def _word(word: str, language: str) -> str:
    return _KNOWN[word].in_(language) if word in _KNOWN else word


def _replied(body: ModelReplied, language: str) -> _Said:
    used = body.usage
    sure = "" if body.confidence is None else f"  ({body.confidence:.2f})"
    tokens = _TOKENS.in_(language).format(used.input + used.cache_write, used.cached, used.output, body.ms)
    return "reply", f"{cut(body.text, 60)}{sure}  · {tokens}"


def _repaired(body: ReplyRepaired, language: str) -> _Said:
    return "repaired", ", ".join(body.repairs)


def _refused(body: ReplyRejected, language: str) -> _Said:
    return "refused", f"{body.error.code}: {body.error.message}"


def _proposed(body: CallProposed, language: str) -> _Said:
    more = f"  · {_OVERRULED.in_(language).format(as_text(body.overruled))}" if body.overruled else ""
    return "call", f"{body.tool} {as_text(body.arguments)}  ({_word(body.by, language)}){more}"


def _judged(body: CallJudged, language: str) -> _Said:
    void = f"  · {VOID[body.void].in_(language)}" if body.void else ""
    return "judged", f"{_word(body.verdict, language)}, {body.rule}{void}"


def _started(body: CallStarted, language: str) -> _Said:
    return ("again", f"{body.tool}, {body.attempt}") if body.attempt > 1 else None


def _paused(body: CallPaused, language: str) -> _Said:
    said = " · ".join(cut(form.message, 60) for form in body.forms.values())
    return "asks", f"{body.tool}: {said}"


def _continued(body: CallContinued, language: str) -> _Said:
    declined = f"  · ✗ {', '.join(body.declined)}" if body.declined else ""
    return "goes_on", f"{body.tool}{declined}"


def _finished(body: CallFinished, language: str) -> _Said:
    if body.unknown:
        return "result", _UNKNOWN.in_(language)
    if body.error is not None:
        return "error", f"{body.error.code}: {body.error.message}  · {body.ms} ms"
    more = _STUBBED.in_(language) if body.stubbed else f"{body.ms} ms"
    return "result", f"{body.name} = {_value(body.value, body.size)}  · {more}"


def _stored(body: ValueStored, language: str) -> _Said:
    by = "" if body.who is None else f"  ({body.who})"
    return "value", f"{body.name} = {_value(body.value, body.size)}{by}"


def _checked(body: CheckRan, language: str) -> _Said:
    why = f"  · {body.why}" if body.why else ""
    return "check", f"{'✓' if body.ok else '✗'} {body.expression}{why}"


def _asked(body: HumanAsked, language: str) -> _Said:
    return "asked", f"{_word(body.what, language)}: {body.question}"


def _answered(body: HumanAnswered, language: str) -> _Said:
    why = f"  · {body.why}" if body.why else ""
    return "answered", f"{body.by}: {as_text(body.answer)}{why}"


def _resumed(body: RunResumed, language: str) -> _Said:
    return "resumed", _word(body.by, language)


def _reconciled(body: CallReconciled, language: str) -> _Said:
    known = {True: _HAPPENED, False: _NOT_HAPPENED, None: _STILL_UNKNOWN}[body.happened]
    said = known.in_(language).format(body.tool)
    return "known", said if body.by is None else f"{said}  ({body.by})"


def _cancel(body: CancelAsked, language: str) -> _Said:
    return "cancel", body.by if body.why is None else f"{body.by}: {body.why}"


def _taken(body: RunTakenOver, language: str) -> _Said:
    return "taken", body.by if body.why is None else f"{body.by}: {body.why}"


def _back(body: RunHandedBack, language: str) -> _Said:
    return "back", f"{body.by} → {body.to}"


def _late(body: ResultLate, language: str) -> _Said:
    return "late", as_text(body.value if body.error is None else body.error.code)


def _alert(body: AlertRaised, language: str) -> _Said:
    return "alert", f"{body.code}: {body.message}"


def _failed(body: StepFailed, language: str) -> _Said:
    return "failed", f"{body.error.code}: {body.error.message}"


def _next(body: EdgeTaken, language: str) -> _Said:
    sure = "" if body.confidence is None else f" ({body.confidence:.2f})"
    return "next", f"{body.to}  · {_word(body.by, language)}{': ' + body.label if body.label else ''}{sure}"


def _began(body: ItemsBegan, language: str) -> _Said:
    return "list", _ITEMS.in_(language).format(f"{body.count:,}")


def _ended(body: ItemsEnded, language: str) -> _Said:
    failed = f"  · {_FAILED.in_(language).format(body.failed)}" if body.failed else ""
    return "value", f"{body.name} = {_value(body.value, body.size)}{failed}"


def _sent(body: MessageSent, language: str) -> _Said:
    return "sent", f"{body.procedure_id} {as_text(body.payload)}  · {body.receiver}"


def _came_back(body: MessageReceived, language: str) -> _Said:
    if body.error is not None:
        return "error", f"{body.error.code}: {body.error.message}  · {body.sender}"
    value = "" if body.name is None else f"{body.name} = {_value(body.value, body.size)}  · "
    return "result", f"{value}{body.sender}"


def _waits(body: WaitBegan, language: str) -> _Said:
    until = body.until if body.event is None else body.deadline
    times = [] if until is None else [write_time(until)]
    return "waits", "  · ".join(
        [*filter(None, [body.event]), *times, *([_PAST.in_(language)] if body.past else [])]
    )


def _waited(body: WaitEnded, language: str) -> _Said:
    value = "" if body.name is None else f": {body.name} = {_value(body.value, body.size)}"
    who = "" if body.who is None else f"  ({body.who})"
    return "waited", f"{_word(body.by, language)}{value}{who}"


def _advised(body: GuidanceGiven, language: str) -> _Said:
    about = _GRAPH.in_(language) if body.fallback else ", ".join(body.steps)
    return "advice", f"{about}  · {body.bytes} B"


def _deviated(body: DeviationNoted, language: str) -> _Said:
    return "noted", f"{body.action}: {DEVIATIONS[body.why].in_(language)}"


def _read(body: ValueRead, language: str) -> _Said:
    return "read", sliced(body)


def _searched(body: SearchMade, language: str) -> _Said:
    asked = " · ".join((*body.tools, *body.procedures)) or body.context
    return "search", f"{cut(asked, 60)} → {', '.join(one.name for one in body.found)}".rstrip()


def _described(body: EntryDescribed, language: str) -> _Said:
    return "describe", body.name


def _silent(body: Body, language: str) -> _Said:
    """What the line of a step, or the head of a trace, says already."""


SAYS: Mapping[type[Body], Callable[[Any, str], _Said]] = {
    RunStarted: _silent,
    PhaseEntered: _silent,
    RequestScreened: _silent,
    ProcedureSelected: _silent,
    InputsBound: _silent,
    StepEntered: _silent,
    ModelRequested: _silent,
    TimeoutPassed: _silent,
    LeaseTaken: _silent,
    CancelAsked: _cancel,
    CallReconciled: _reconciled,
    RunTakenOver: _taken,
    RunHandedBack: _back,
    RunSuspended: _silent,
    RunFinished: _silent,
    MessageSent: _sent,
    MessageReceived: _came_back,
    WaitBegan: _waits,
    WaitEnded: _waited,
    SignalSent: _silent,
    FeedbackGiven: _silent,
    BudgetReserved: _silent,
    BudgetSettled: _silent,
    ModelReplied: _replied,
    ReplyRepaired: _repaired,
    ReplyRejected: _refused,
    CallProposed: _proposed,
    CallJudged: _judged,
    CallStarted: _started,
    CallPaused: _paused,
    CallContinued: _continued,
    CallFinished: _finished,
    ValueStored: _stored,
    CheckRan: _checked,
    HumanAsked: _asked,
    HumanAnswered: _answered,
    RunResumed: _resumed,
    ResultLate: _late,
    AlertRaised: _alert,
    StepFailed: _failed,
    EdgeTaken: _next,
    ItemsBegan: _began,
    ItemsEnded: _ended,
    GuidanceGiven: _advised,
    DeviationNoted: _deviated,
    RegionLeft: _silent,
    ValueRead: _read,
    SearchMade: _searched,
    EntryDescribed: _described,
}
"""The line of a trace for each kind of event: a word of `_WORDS`, and what follows it."""
