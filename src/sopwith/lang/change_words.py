"""A change between two procedures in words, in English and Chinese."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, cast

from sopwith.errors import Text
from sopwith.ir.duration import write_duration
from sopwith.ir.value import Json
from sopwith.lang.diff import At, Change, Topic

LONGEST = 120
"""A value longer than so many characters is cut."""

TOPIC_WORDS: Mapping[Topic, Text] = {
    "permission": Text("What it may do", "权限"),
    "write": Text("What it writes", "写操作"),
    "step": Text("Steps", "步骤"),
    "flow": Text("The way through it", "走向"),
    "data": Text("Data", "数据"),
    "limit": Text("Limits and models", "限制与模型"),
    "words": Text("Words", "文字"),
}

_KEYS: Mapping[str, Text] = {
    "id": Text("id", "标识"),
    "name": Text("name", "名称"),
    "description": Text("description", "说明"),
    "do": Text("instruction", "指示"),
    "needs": Text("needs", "需要"),
    "gives": Text("gives", "产出"),
    "tool": Text("tool", "工具"),
    "as": Text("name of its result", "结果名"),
    "uses": Text("values it sees", "可见的值"),
    "returns": Text("form of its result", "结果的格式"),
    "answer": Text("answer", "答复"),
    "ask": Text("question to a person", "向人员的提问"),
    "wait": Text("wait", "等待"),
    "call": Text("procedure it runs", "调用的流程"),
    "each": Text("list it goes through", "逐项处理的列表"),
    "examples": Text("examples", "示例"),
    "tools": Text("permitted tools", "允许的工具"),
    "verify": Text("check", "校验"),
    "retry": Text("retries", "重试"),
    "timeout": Text("time limit", "时限"),
    "visits": Text("visits at most", "最多进入次数"),
    "min_confidence": Text("least confidence", "最低置信度"),
    "approval": Text("approval", "批准"),
    "grip": Text("grip", "约束程度"),
    "model": Text("model", "模型"),
    "pitfalls": Text("pitfalls", "注意事项"),
    "end": Text("end", "结束方式"),
    "result": Text("what it puts out", "输出的取值"),
    "output": Text("output", "输出"),
    "start": Text("first step", "起始步骤"),
    "tags": Text("tags", "标签"),
    "schema": Text("schema", "模式版本"),
}
_ALLOWED = {
    "added": Text("may now call {}{}", "现在可以调用 {}{}"),
    "removed": Text("may no longer call {}{}", "不再可以调用 {}{}"),
}
_STEP = {
    "added": Text("new step {now}: {told}", "新增步骤 {now}：{told}"),
    "removed": Text("step {was} is gone: {told}", "删去步骤 {was}：{told}"),
    "renamed": Text(
        "step {was} has a new id, {id} ({alike} % alike, so taken for the same step)",
        "步骤 {was} 改用新标识 {id}（相似度 {alike}%，视为同一步骤）",
    ),
    "moved": Text("step {now} has moved: it was {before}", "步骤 {now} 移动了位置：原为 {before}"),
}
_ARGUMENT = Text("argument {}", "参数 {}")
_INPUT = Text("input {}", "输入 {}")
_NEW = Text("{}: new, {}", "{}：新增，{}")
_GONE = Text("{}: gone, was {}", "{}：删去，原为 {}")
_NOW = Text("{}: {} → {}", "{}：{} → {}")
_WAY = {
    "added": Text("new way {}", "新增出边：{}"),
    "removed": Text("way {} is gone", "删去出边：{}"),
    "changed": Text("the way {} now goes {}", "出边 {} 改为 {}"),
    "reordered": Text("ways are tried in another order: {} → {}", "出边的判断顺序改变：{} → {}"),
}
_TO = Text("to {}", "到 {}")
_IF = Text("to {} if {}", "到 {}（条件：{}）")
_JUDGED = Text("to {} where “{}”", "到 {}（判断：{}）")
_ELSE = Text("to {} otherwise", "到 {}（否则）")
_AFTER_ERROR = Text("after an error ", "（出错后）")
_ORDER = {
    "argument": Text("arguments in another order: {} → {}", "参数顺序改变：{} → {}"),
    "input": Text("inputs in another order: {} → {}", "输入顺序改变：{} → {}"),
    "procedure": Text("the steps are listed in another order", "步骤的书写顺序改变"),
}
_WRITES = Text(" (writes)", "（写操作）")
_EXTRAS = Text(", with {}", "，并带有 {}")
_AMBIGUOUS = re.compile(r"[,{}\[\]:\"]|^[\s\d.+-]|^(?:true|false|null|yes|no)$|\s$", re.IGNORECASE)
"""Text that looks like something else among others."""
_PARTS = ("tool", "ask", "answer", "do", "end", "approval")


def said(change: Change, language: str = "en") -> str:
    """One line for a change, without the step that it is a change of (`place`), unless it is about the whole step."""
    if change.part == "tool":
        writes = _WRITES.in_(language) if change.writes else ""
        return _ALLOWED[change.act].in_(language).format(change.name, writes)
    if change.part == "step":
        return _step(change, language)
    if change.part == "way":
        return _way_said(change, language)
    if change.act == "reordered":
        return _ORDER[change.part].in_(language).format(_value(change.before), _value(change.after))
    return _valued(_label(change, language), change, language)


def place(change: Change, language: str = "en") -> str:
    """The step that a change is one of, as it is now: `4 pay "Pay"`; "" where it is of no step."""
    at = change.now or change.was
    if at is None or change.part == "step":
        return ""
    return _at(at, language) + (_WRITES.in_(language) if change.writes else "")


def _at(at: At, language: str) -> str:
    quoted = {"zh": f"“{at.title}”"}.get(language, f' "{at.title}"')
    return f"{at.number} {at.step}{quoted if at.title != at.step else ''}"


def _step(change: Change, language: str) -> str:
    told = cast("dict[str, Any]", change.after or change.before) if change.act in ("added", "removed") else {}
    parts = [f"{_KEYS[key].in_(language)} {_value(told[key])}" for key in _PARTS if key in told]
    if change.writes and parts:
        parts[0] += _WRITES.in_(language)
    return (
        _STEP[change.act]
        .in_(language)
        .format(
            was=_at(change.was, language) if change.was else "",
            now=_at(change.now, language) if change.now else "",
            id=change.now.step if change.now else "",
            told=("，" if language == "zh" else ", ").join(parts) or "—",
            alike=round(100 * (change.alike or 0)),
            before=change.before,
        )
    )


def _label(change: Change, language: str) -> str:
    if change.part == "argument":
        return _ARGUMENT.in_(language).format(change.name)
    if change.part == "input":
        return _INPUT.in_(language).format(change.name)
    known = _KEYS.get(change.name)
    return known.in_(language) if known is not None else change.name


def _valued(label: str, change: Change, language: str) -> str:
    shown = _duration if _is_duration(change) else _value
    if change.act == "added":
        return _NEW.in_(language).format(label, shown(change.after))
    if change.act == "removed":
        return _GONE.in_(language).format(label, shown(change.before))
    before, after = _shortened(*_pair(change))
    return _NOW.in_(language).format(label, before, after)


def _way_said(change: Change, language: str) -> str:
    head = _AFTER_ERROR.in_(language) if change.name == "on_error" else ""
    words = _WAY[change.act].in_(language)
    if change.act == "reordered":
        lists = (cast("list[dict[str, Any]]", value) for value in (change.before, change.after))
        return head + words.format(*(", ".join(str(way["to"]) for way in ways) for ways in lists))
    told = [_way(value, language) for value in (change.before, change.after) if value is not None]
    if len(told) == 2 and told[0] == told[1]:
        told = [_value(change.before), _value(change.after)]
    return head + words.format(*told)


def _way(value: Json, language: str) -> str:
    way = cast("dict[str, Any]", value)
    if way.get("when"):
        said_ = _IF.in_(language).format(way["to"], way["when"])
    elif way.get("judge"):
        said_ = _JUDGED.in_(language).format(way["to"], way["judge"])
    else:
        said_ = (_ELSE if way.get("otherwise") else _TO).in_(language).format(way["to"])
    extras = {key: value for key, value in way.items() if key in ("guidance", "pitfalls")}
    return said_ + (_EXTRAS.in_(language).format(_value(extras)) if extras else "")


def _whole(value: Json) -> str:
    """A value as an expert writes it in YAML: quotes only where words could be something else, a list by its items."""
    if isinstance(value, dict) and value:
        items = cast("dict[str, Json]", value).items()
        return "{" + ", ".join(f"{key}: {_part(one)}" for key, one in items) + "}"
    if isinstance(value, list) and value:
        return ", ".join(map(_part, cast("list[Json]", value)))
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)


def _part(value: Json) -> str:
    if isinstance(value, str) and (_AMBIGUOUS.search(value) or not value):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return f"[{_whole(cast('Json', value))}]" if value else "[]"
    return _whole(value)


def _pair(change: Change) -> tuple[str, str]:
    """Both values; as JSON where they would look alike in words."""
    if _is_duration(change):
        return _duration(change.before), _duration(change.after)
    before, after = _whole(change.before), _whole(change.after)
    if before == after:
        before, after = (json.dumps(one, ensure_ascii=False) for one in (change.before, change.after))
    return before, after


def _is_duration(change: Change) -> bool:
    return change.name == "timeout" and change.part != "argument"


def _duration(value: Json) -> str:
    return str(write_duration(value)) if isinstance(value, int | float) else _whole(value)


def _value(value: Json) -> str:
    text = " ".join(_whole(value).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _shortened(before: str, after: str) -> tuple[str, str]:
    """Two long texts from a little before where they part."""
    before, after = " ".join(before.split()), " ".join(after.split())
    if max(len(before), len(after)) > LONGEST:
        same = next((i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), 0)
        if same > LONGEST // 4:
            start = same - LONGEST // 4
            before, after = "…" + before[start:], "…" + after[start:]
    return _value(before), _value(after)
