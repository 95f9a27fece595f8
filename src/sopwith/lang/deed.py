"""What a step does, in words, where Routine text has no form for it: waits, calls, lists, approvals."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from sopwith.errors import Text
from sopwith.ir.approval import Terms
from sopwith.ir.duration import write_duration
from sopwith.ir.procedure import Procedure, Step
from sopwith.ir.value import Json

_UNITS: Mapping[str, tuple[Text, Text]] = {
    "d": (Text("day", "天"), Text("days", "天")),
    "h": (Text("hour", "小时"), Text("hours", "小时")),
    "m": (Text("minute", "分钟"), Text("minutes", "分钟")),
    "s": (Text("second", "秒"), Text("seconds", "秒")),
    "ms": (Text("millisecond", "毫秒"), Text("milliseconds", "毫秒")),
}
_DURATION = re.compile(r"(?P<n>[0-9.]+)(?P<unit>ms|[smhd])")
_WHOLE = re.compile(r"\$\{(?P<code>[^{}]*)\}")

_EACH = Text("for each {} of {}, {}", "对 {1} 中的每个 {0}，{2}")
_WORK = Text("do the following", "执行本步骤")
_UNTIL = Text("wait until {}", "等到 {}")
_FOR = Text("wait {}", "等待 {}")
_EVENT = Text("wait for the event {}", "等待事件 {}")
_AT_MOST = Text("{}, for at most {}", "{}，最多 {}")
_CALL = Text("run the procedure {}", "运行流程 {}")
_WITH = Text("{} with {}", "{}，其中 {}")
_GIVEN = Text("{} = {}", "{} 为 {}")
_APPROVED = Text("{}, with the approval of {}", "经{1}批准后，{0}")
_ONLY_APPROVED = Text("with the approval of {}", "经{}批准后")
_PEOPLE = Text("{} different people ({})", " {} 位不同的人员（{}）")
_SOMEBODY = Text("a person", "人员")
_OTHERS = Text("{} other than who asked for it", "{}（发起人除外）")
_WITHIN = Text("{} within {}", "{}在 {}内")


def with_deeds(
    procedure: Procedure, language: str, files: Mapping[str, str] | None = None, *, approvals: bool = True
) -> Procedure:
    """`procedure` whose steps say in `do` what they wait for, what they call, what they go over and whose approval they
    need, in English ("en") or Chinese ("zh"). `files` are where the procedures are that it calls, by id."""
    steps = {
        name: step.model_copy(update={"do": said})
        if (said := deed(step, language, files, approvals))
        else step
        for name, step in procedure.steps.items()
    }
    return procedure.model_copy(update={"steps": steps})


def deed(step: Step, language: str, files: Mapping[str, str] | None = None, approvals: bool = True) -> str:
    """What `step` does, with its own words in it; "" where its own words are all there is."""
    own = " ".join((step.do or step.answer or step.ask or "").split())
    said = own
    if step.wait is not None or step.call is not None:
        work = _wait(step, language) if step.wait is not None else _call(step, language, files or {})
        said = f"{own}{'；' if language == 'zh' else '; '}{work}" if own else work
    if step.each is not None:
        work = said or _WORK.in_(language)
        said = _EACH.in_(language).format(step.each.as_, _value(step.each.in_), work)
    if step.approval is not None and approvals:
        who = _who(step.approval, language)
        said = _APPROVED.in_(language).format(said, who) if said else _ONLY_APPROVED.in_(language).format(who)
    return "" if said == own else said


def _wait(step: Step, language: str) -> str:
    wait = step.wait
    if wait is None:
        return ""
    if wait.event is not None:
        said = _EVENT.in_(language).format(_value(wait.event))
        limit = None if step.timeout is None else _duration(step.timeout, language)
        return said if limit is None else _AT_MOST.in_(language).format(said, limit)
    if wait.until is not None:
        return _UNTIL.in_(language).format(_value(wait.until))
    return _FOR.in_(language).format(_duration(wait.for_ or "", language))


def _call(step: Step, language: str, files: Mapping[str, str]) -> str:
    call = step.call
    if call is None:
        return ""
    where = f" ({files[call.procedure]})" if call.procedure in files else ""
    said = _CALL.in_(language).format(f"`{call.procedure}`{where}")
    given = (_GIVEN.in_(language).format(name, _value(value)) for name, value in call.with_.items())
    listed = ("、" if language == "zh" else ", ").join(given)
    return _WITH.in_(language).format(said, listed) if listed else said


def _who(terms: Terms, language: str) -> str:
    said = (" 或 " if language == "zh" else " or ").join(terms.roles) or _SOMEBODY.in_(language)
    said = f" {said} " if language == "zh" and said.isascii() else said
    if terms.count > 1:
        said = _PEOPLE.in_(language).format(terms.count, said.strip())
    if terms.four_eyes:
        said = _OTHERS.in_(language).format(said)
    if terms.expires is not None:
        said = _WITHIN.in_(language).format(said, _duration(terms.expires, language))
    return said


def _duration(value: float | str, language: str) -> str:
    """`2d` as `2 days`; an expression as it is."""
    text = str(write_duration(value)) if isinstance(value, float | int) else value
    found = _DURATION.fullmatch(text if not re.fullmatch(r"[0-9.]+", text) else f"{text}s")
    if found is None:
        return _value(text)
    one, several = _UNITS[found["unit"]]
    return f"{found['n']} {(one if found['n'] == '1' else several).in_(language)}"


def _value(value: Json) -> str:
    """A value as it stands in a sentence: an expression between backticks, and text that looks like no other word."""
    if isinstance(value, str):
        code = _WHOLE.fullmatch(value)
        return f"`{' '.join(code['code'].split()) if code else ' '.join(value.split())}`"
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
