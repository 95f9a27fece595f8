"""A run as the result of a tool call: data for whoever goes on with it, and a sentence for whoever reads."""

from __future__ import annotations

import json
from dataclasses import dataclass

from sopwith.errors import Text
from sopwith.ir.schema import validator
from sopwith.ir.spoken import spoken
from sopwith.ir.value import Json
from sopwith.lang.moment import write_time
from sopwith.run.operator import TAKEN_FROM
from sopwith.run.run import Run, deepest
from sopwith.run.state import State
from sopwith.serve.procedure_tool import Schema

CONTINUE = "continue_run"
CANCEL = "cancel_run"

_ENDED = Text("run {} has ended: {}", "运行 {} 已结束：{}")
_WAITS = Text("run {} waits: {}", "运行 {} 正在等待：{}")
_ASKS = Text("a person has to answer: {}", "需要有人回答：{}")
_LEAVE = Text("a person has to give leave: {}", "需要有人批准：{}")
_TIME = Text("its time comes at {}", "等到 {}")
_EVENT = Text("for the event '{}'", "等待事件“{}”")
_OTHERS = Text("for a run that it has called", "等待其调用的运行")
_TAKEN = Text("a person has taken it over", "已由人接管")
_ANSWER = Text(
    f"where this server runs: sopwith resume {{0}} --answer …; after that call {CONTINUE} with run {{1}}",
    f"请在本服务所在机器上执行：sopwith resume {{0}} --answer …；之后调用 {CONTINUE}，run 为 {{1}}",
)
_APPROVE = Text(
    "where this server runs: sopwith approve {0} --by NAME, or sopwith deny {0} --by NAME;"
    f" after that call {CONTINUE} with run {{1}}",
    "请在本服务所在机器上执行：sopwith approve {0} --by 姓名，或 sopwith deny {0} --by 姓名；"
    f"之后调用 {CONTINUE}，run 为 {{1}}",
)
_LATER = Text(f"later call {CONTINUE} with run {{1}}", f"稍后调用 {CONTINUE}，run 为 {{1}}")
_TAKE_OVER = Text(
    "a person can go on with it where this server runs: sopwith takeover {0} --to STEP",
    "可由人在本服务所在机器上继续：sopwith takeover {0} --to 步骤",
)
_WITHHELD = Text(
    "the output holds values that are kept secret, and does not fit its schema without them",
    "输出含有保密的值，去掉后不符合其 schema",
)


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a call gives: `data` fits `result_schema`; `failed` where the run has ended without completing."""

    data: dict[str, Json]
    text: str
    failed: bool


def run_result(run: Run, output: Schema | None, *, reveal: bool, language: str) -> RunResult:
    """The result of a call that has come to `run`, whose procedure gives an `output` of that schema."""
    state = run.state
    outcome = run.outcome if reveal else state.outcome
    data: dict[str, Json] = {"run": run.id, "status": run.status}
    if outcome is None:
        waits, said, go_on = _waiting(run, reveal=reveal)
        data |= {"waits_for": waits, "go_on": go_on.in_(language)}
        sentence = _WAITS.in_(language).format(run.id, said.in_(language))
        return RunResult(data, f"{sentence}\n{go_on.in_(language)}", failed=False)
    if outcome.kind == "completed":
        text = [] if outcome.answer is None else [outcome.answer]
        if outcome.answer is not None:
            data["answer"] = outcome.answer
        if output is not None and not validator(output).accepts(outcome.output):
            data["reason"] = _WITHHELD.in_(language)
        elif outcome.output is not None:
            data["output"] = outcome.output
        text.append(json.dumps(data, ensure_ascii=False))
        return RunResult(data, "\n".join(text), failed=False)
    reason = "" if outcome.packet is None else outcome.packet.reason
    data["reason"] = reason
    status = spoken(outcome.kind).in_(language)
    text = [
        _ENDED.in_(language).format(
            run.id, f"{status}: {reason}" if language != "zh" else f"{status}：{reason}"
        )
    ]
    if outcome.kind in TAKEN_FROM:
        data["go_on"] = _TAKE_OVER.in_(language).format(run.id)
        text.append(str(data["go_on"]))
    return RunResult(data, "\n".join(text), failed=True)


def _waiting(run: Run, *, reveal: bool) -> tuple[dict[str, Json], Text, Text]:
    """What a run waits for: as data, in words, and how to go on."""
    asking = deepest(run)
    state = asking.state
    if state.taken_by is not None:
        return {"what": "person"}, _TAKEN, _said(_LATER, asking.id, run.id)
    if asking.question is not None:
        return _person(run, asking, reveal=reveal)
    paused = next((cursor.paused for cursor in state.cursors if cursor.paused is not None), None)
    later = _said(_LATER, asking.id, run.id)
    if paused is not None and paused.event is not None:
        return {"what": "event", "event": paused.event}, _said(_EVENT, paused.event), later
    if paused is not None and paused.until is not None:
        at = write_time(paused.until)
        return {"what": "time", "until": at}, _said(_TIME, at), later
    return {"what": "run"}, _OTHERS, later


def _person(run: Run, asking: Run, *, reveal: bool) -> tuple[dict[str, Json], Text, Text]:
    approval = _asks_leave(asking.state)
    asked = asking.question if reveal else _written_question(asking)
    words = _said(_LEAVE if approval else _ASKS, asked or "")
    what = "approval" if approval else "answer"
    go_on = _said(_APPROVE if approval else _ANSWER, asking.id, run.id)
    return {"what": what, "question": asked, "run": asking.id}, words, go_on


def _written_question(asking: Run) -> str:
    return next(str(e.body.question) for e in reversed(asking.events) if e.body.kind == "human.asked")


def _asks_leave(state: State) -> bool:
    return state.cursor is not None and state.cursor.question == "approval"


def _said(text: Text, *what: str) -> Text:
    return Text(text.en.format(*what), text.zh.format(*what))
