"""One line of Routine text, in English or Chinese: taken apart into what it says, and put together again."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from sopwith.lang.numbering import label

End = Literal["complete", "escalate"]

_DIGITS = str.maketrans("０１２３４５６７８９－–—‐．", "0123456789----.")
_BRANCH = r"[0-9]+-[0-9]+(?:[\s,，]+[0-9]+-[0-9]+)*"
_TARGET = (
    rf"(?:(?:branch|分支)\s*(?P<{{0}}branch>{_BRANCH})\s*(?:的\s*)?)?(?:step|步骤)\s*(?P<{{0}}number>[0-9]+)"
)
_MARK = r"\s*(?:[(（]\s*(?P<id>[A-Za-z_][A-Za-z0-9_]*)\s*[)）])?\s*(?:[.:：。、)]\s*|\s+|$)"
_STEP = re.compile(r"(?:[-*•]\s+)?" + _TARGET.format("") + _MARK, re.IGNORECASE)
_WAY = re.compile(
    rf"(?:[-*•]\s+)?(?:branch|分支)\s*(?P<branch>{_BRANCH})\s*(?:[.:：。、]\s*|\s+)", re.IGNORECASE
)

_NAME_OF = r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*"
_NAMES = re.compile(rf"(?P<names>{_NAME_OF}(?:\s*[,，、]\s*{_NAME_OF})*)?\s*(?:[(（](?P<words>.+)[)）])?")
_AT_FIELD = r"(?:^|(?<=[.。;；:：?!？！…])|\s)\s*"
_FIELD = re.compile(_AT_FIELD + r"(?P<key>inputs?|outputs?|输入|输出)\s*[:：]\s*", re.IGNORECASE)
_STEP_FIELD = re.compile(
    _AT_FIELD + r"(?P<key>inputs?|outputs?|输入|输出|on\s+error|出错[时后]?)\s*[:：]\s*", re.IGNORECASE
)
_GO = re.compile(
    rf"(?:go\s+(?:back\s+)?to|转到|回到)\s*{_TARGET.format('to_')}(?:\s*[;；]\s*|$)", re.IGNORECASE
)
_LINK = r"(?:^(?:and\s+)?|\s*[,，;；]\s*(?:and\s+|并)?|\s+and\s+|\s*并)\s*"
_END = re.compile(
    _LINK + r"(?:(?P<complete>(?:terminate|end)\s+the\s+workflow|结束流程)"
    r"|(?P<escalate>hand\s+(?:\w+\s+){0,3}over\s+to\s+a\s+person|转人工(?:处理)?)"
    rf"|(?:go\s+(?:back\s+)?to|转到|回到)\s*{_TARGET.format('to_')})$",
    re.IGNORECASE,
)
_KEYS = {"in": "in", "输入": "in", "ou": "out", "输出": "out", "on": "err", "出错": "err"}
_STOPS = "?!？！…"
_TOOL_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.\-/]*"
_PLAIN_TOOL = re.compile(_TOOL_NAME)
# A name in another script stands between spaces; any name may stand in backticks.
_ANY_TOOL = r"\w[\w.\-/]*"
_TICKED = r"(?P<{0}>`+)(?!`)(?P<{0}_name>(?:(?!(?<!`)(?P={0})(?!`)).)+)(?P={0})(?!`)"
_TOOL = re.compile(
    r"(?:^|\s*[,，;；]\s*|\s+)(?:"
    rf"using\s+(?:the\s+)?(?:{_TICKED.format('en_ticks')}|(?P<en>{_ANY_TOOL}))\s+tool"
    rf"|(?:使用|调用)(?:\s*{_TICKED.format('zh_ticks')}\s*|\s*(?P<zh>{_TOOL_NAME})\s*|\s+(?P<zh_any>{_ANY_TOOL})\s+)工具"
    r")$",
    re.IGNORECASE,
)
_TOOL_LOST = re.compile(r"(?:\busing\b[^,，]*\btools?|(?:使用|调用)[^,，]*工具)$", re.IGNORECASE)
_IF = re.compile(r"(?:if\s+|如果\s*|若\s*)", re.IGNORECASE)
_OTHERWISE = re.compile(r"(?:otherwise|否则)\s*(?:[,，]\s*|$)", re.IGNORECASE)
_COLON = re.compile(r":(?=\s|$)|：")
_QUOTED = re.compile(r"“(?P<a>[^”]*)”|\"(?P<b>[^\"]*)\"")


@dataclass(frozen=True, slots=True)
class Condition:
    """The condition of a branch: an expression, words for a model, or neither for the default branch."""

    when: str | None = None
    judge: str | None = None

    @property
    def otherwise(self) -> bool:
        return self.when is None and self.judge is None


@dataclass(frozen=True, slots=True)
class ErrorWay:
    """A way on after a failure: to the step with the number `goto`."""

    condition: Condition | None
    goto: str


@dataclass(frozen=True, slots=True)
class Line:
    """What one line says. `number` is that of the step, or of the branch (`2-1`) where `way` is true:
    then the line holds a condition and a target only. `inputs` and `output` are names; `needs` and
    `gives` are words."""

    number: str
    way: bool = False
    id: str | None = None
    name: str | None = None
    condition: Condition | None = None
    do: str | None = None
    tool: str | None = None
    end: End | None = None
    goto: str | None = None
    inputs: tuple[str, ...] = ()
    needs: str | None = None
    output: str | None = None
    gives: str | None = None
    on_error: tuple[ErrorWay, ...] = ()
    unclear: str | None = None


def begins_line(text: str) -> bool:
    """Whether `text` begins as a step or a branch does."""
    plain = text[:200].translate(_DIGITS)
    return _STEP.match(plain) is not None or _WAY.match(plain) is not None


def read_line(text: str) -> Line | None:
    """The line, or None where it is neither a step nor a branch. `unclear` is a part that cannot be right."""
    text = " ".join(text.split())
    plain = text.translate(_DIGITS)
    step = _STEP.match(plain)
    if step is not None:
        branch = _numbers(step["branch"] or "")
        number = f"{branch} {int(step['number'])}".strip()
        return _step(number, step["id"], text[step.end() :])
    way = _WAY.match(plain)
    return None if way is None else _way(_numbers(way["branch"]), text[way.end() :])


def _numbers(branch: str) -> str:
    pairs = re.findall(r"([0-9]+)-([0-9]+)", branch)
    return " ".join(f"{int(a)}-{int(b)}" for a, b in pairs)


def _way(number: str, rest: str) -> Line:
    body, _, goto = _ending(_unstopped(rest))
    condition, left = _condition(body)
    unclear = left or (None if goto else rest or "?")
    return Line(number, way=True, condition=condition, goto=goto, unclear=unclear)


def _step(number: str, id_: str | None, rest: str) -> Line:
    body, fields = _fields(rest, _STEP_FIELD)
    name, body = _name(_unstopped(body))
    body, end, goto = _ending(body)
    body, tool = _tool(body)
    condition = None
    if number.endswith(" 1"):
        condition, body = _condition(body)
    inputs, needs = _names(fields.get("in"))
    outputs, gives = _names(fields.get("out"))
    on_error, not_read = _error_ways(fields.get("err", ""))
    unclear = _TOOL_LOST.search(body)
    several = f"{', '.join(outputs)}" if len(outputs) > 1 else None
    return Line(
        number,
        id=id_,
        name=name,
        condition=condition,
        do=body or None,
        tool=tool,
        end=end,
        goto=goto,
        inputs=inputs,
        needs=needs,
        output=outputs[0] if outputs else None,
        gives=gives,
        on_error=on_error,
        unclear=fields.get("twice") or several or not_read or (unclear.group() if unclear else None),
    )


def _unstopped(text: str) -> str:
    """`text` without the mark that ends its sentence."""
    text = text.strip()
    return text[:-1].rstrip() if text[-1:] in (".", "。") else text


def _error_ways(text: str) -> tuple[tuple[ErrorWay, ...], str | None]:
    """The ways in `On error: if `…`, go to Step 3; otherwise, go to Step 4`, and the part that is none."""
    found: list[ErrorWay] = []
    while text:
        condition, rest = _condition(text)
        go = _GO.match(rest.translate(_DIGITS))
        if go is None:
            return tuple(found), text
        target = f"{_numbers(go['to_branch'] or '')} {int(go['to_number'])}".strip()
        found.append(ErrorWay(condition, target))
        text = rest[go.end() :]
    return tuple(found), None


def _fields(text: str, pattern: re.Pattern[str] = _FIELD) -> tuple[str, dict[str, str]]:
    """The text before `Input:`, `Output:` and, where `pattern` knows it, `On error:`; and what they hold."""
    marks = list(pattern.finditer(text))
    fields: dict[str, str] = {}
    for i, mark in enumerate(marks):
        end = marks[i + 1].start() if i + 1 < len(marks) else len(text)
        key = _KEYS[mark["key"][:2].lower()]
        if key in fields:
            fields["twice"] = mark.group().strip()
        fields[key] = _unstopped(text[mark.end() : end])
    return (text[: marks[0].start()] if marks else text), fields


@dataclass(frozen=True, slots=True)
class Fields:
    """What words say before `Input:` and `Output:`, and after them; as in `Line`."""

    words: str
    inputs: tuple[str, ...] = ()
    needs: str | None = None
    output: str | None = None
    gives: str | None = None


def read_fields(text: str) -> Fields | None:
    """What `text` says in fields, or None where it has none, or none that can be read."""
    body, fields = _fields(text)
    if not fields or "twice" in fields:
        return None
    inputs, needs = _names(fields.get("in"))
    outputs, gives = _names(fields.get("out"))
    if len(outputs) > 1:
        return None
    return Fields(_unstopped(body), inputs, needs, outputs[0] if outputs else None, gives)


def _names(text: str | None) -> tuple[tuple[str, ...], str | None]:
    """The names in an input or output, and the words; `a, b (words)`, or one of the two."""
    if not text:
        return (), None
    found = _NAMES.fullmatch(text)
    if found is None:
        return (), text
    names = tuple(re.split(r"\s*[,，、]\s*", found["names"])) if found["names"] else ()
    return names, found["words"]


def _name(text: str) -> tuple[str | None, str]:
    """The name before the first colon, and the rest; a text that begins with a condition has none."""
    if _IF.match(text) or _OTHERWISE.match(text):
        return None, text
    colon = _COLON.search(text)
    if colon is None:
        return None, text
    return text[: colon.start()].strip() or None, text[colon.end() :].strip()


def _ending(text: str) -> tuple[str, End | None, str | None]:
    """The text before its ending, whether it ends the run, and where it goes.

    Handing over to a person ends the run, so "hand over to a person and terminate the workflow" says it
    twice.
    """
    found = _END.search(text.translate(_DIGITS))
    if found is None:
        return text, None, None
    left = text[: found.start()].strip()
    if found["escalate"]:
        return left, "escalate", None
    if found["complete"]:
        before = _END.search(left)
        if before is None or not before["escalate"]:
            return left, "complete", None
        return left[: before.start()].strip(), "escalate", None
    return left, None, f"{_numbers(found['to_branch'] or '')} {int(found['to_number'])}".strip()


def _tool(text: str) -> tuple[str, str | None]:
    found = _TOOL.search(text)
    if found is None:
        return text, None
    ticked = found["en_ticks_name"] or found["zh_ticks_name"]
    name = ticked.strip() if ticked else found["en"] or found["zh"] or found["zh_any"]
    return text[: found.start()].strip(), name


def _condition(text: str) -> tuple[Condition | None, str]:
    """The condition that the text begins with, and the rest."""
    default = _OTHERWISE.match(text)
    if default is not None:
        return Condition(), text[default.end() :].strip()
    start = _IF.match(text)
    if start is None:
        return None, text
    text = text[start.end() :]
    code, quoted = _code(text), _QUOTED.match(text)
    if code is not None:
        return Condition(when=code[0]), code[1].lstrip(" ,，").strip()
    if quoted is not None:
        words = quoted["a"] if quoted["a"] is not None else quoted["b"]
        return Condition(judge=words), text[quoted.end() :].lstrip(" ,，").strip()
    words, _, left = text.partition("，") if _comes_first(text, "，", ",") else text.partition(",")
    return Condition(judge=words.strip()), left.strip()


def _code(text: str) -> tuple[str, str] | None:
    """The code between runs of backticks of one length that the text begins with, as in Markdown, and the
    rest."""
    ticks = len(text) - len(text.lstrip("`"))
    end = re.compile(rf"(?<!`)`{{{ticks}}}(?!`)").search(text, ticks) if ticks else None
    return None if end is None else (text[ticks : end.start()].strip(), text[end.end() :])


def _comes_first(text: str, one: str, other: str) -> bool:
    at, before = text.find(one), text.find(other)
    return at >= 0 and (before < 0 or at < before)


def write_line(line: Line, language: str) -> str:
    """The line as text: the inverse of `read_line` for what the form can say."""
    zh = language == "zh"
    head = _head(line, language)
    body = _way_body(line, zh) if line.way else _body(line, zh)
    name = line.name or ""
    if not line.way and (name or _COLON.search(body)):
        head += f" {name}{'：' if zh else ':'}"
        body = body if zh else (f" {body}" if body else "")
    elif body:
        head += " "
        if line.way or line.condition or not line.do:
            body = body[0].upper() + body[1:]
    stop = "。" if zh else "."
    text = head + body + (stop if body and body[-1] not in _STOPS else "")
    for key, names, words in (
        ("输入" if zh else "Input", line.inputs, line.needs),
        ("输出" if zh else "Output", (line.output,) if line.output else (), line.gives),
    ):
        if names or words:
            text += f"{'' if zh else ' '}{key}{'：' if zh else ': '}{_list(names, words, zh)}{stop}"
    if line.on_error:
        text += f"{'出错时：' if zh else ' On error: '}{_spell_error_ways(line.on_error, zh)}{stop}"
    return text


def _spell_error_ways(ways: tuple[ErrorWay, ...], zh: bool) -> str:
    spelled = (
        ("，" if zh else ", ").join((*_spell_condition(way.condition, zh), _spell_goto(way.goto, zh)))
        for way in ways
    )
    return ("；" if zh else "; ").join(spelled)


def _head(line: Line, language: str) -> str:
    if line.way:
        return f"{'分支' if language == 'zh' else 'Branch'} {line.number}."
    return label(line.number, language) + (f" ({line.id})" if line.id else "") + "."


def _way_body(line: Line, zh: bool) -> str:
    parts = [*_spell_condition(line.condition, zh), _spell_ending(line, zh)]
    return ("，" if zh else ", ").join(parts)


def _body(line: Line, zh: bool) -> str:
    condition = _spell_condition(line.condition, zh)
    parts = [*condition, *([line.do] if line.do else [])]
    if line.tool:
        tool = line.tool if _PLAIN_TOOL.fullmatch(line.tool) else _ticked(line.tool)
        parts.append(f"使用 {tool} 工具" if zh else f"using the {tool} tool")
    text = ("，" if zh else ", ").join(parts)
    ending = _spell_ending(line, zh)
    if not ending or not text:
        return text or ending
    if len(parts) == len(condition):
        return f"{text}{'，' if zh else ', '}{ending}"
    return f"{text}{'，并' if zh else ' and '}{ending}"


def _spell_condition(condition: Condition | None, zh: bool) -> list[str]:
    if condition is None:
        return []
    if condition.otherwise:
        return ["否则" if zh else "otherwise"]
    if condition.when is not None:
        return [f"{'如果' if zh else 'if'} {_ticked(condition.when)}"]
    words = condition.judge or ""
    if re.search(r"[,，`]|^[\"“]", words):
        words = f"“{words}”" if "”" not in words else f'"{words}"'
    space = "" if zh and not words[:1].isascii() and words[:1] != "“" else " "
    return [f"{'如果' if zh else 'if'}{space}{words}"]


def _ticked(code: str) -> str:
    """`code` between more backticks than it holds in a row, as in Markdown."""
    ticks = "`" * (1 + max((len(run) for run in re.findall("`+", code)), default=0))
    space = " " if code[:1] == "`" or code[-1:] == "`" else ""
    return f"{ticks}{space}{code}{space}{ticks}"


def _spell_ending(line: Line, zh: bool) -> str:
    if line.end == "complete":
        return "结束流程" if zh else "terminate the workflow"
    if line.end == "escalate":
        return "转人工" if zh else "hand over to a person"
    return _spell_goto(line.goto, zh) if line.goto else ""


def _spell_goto(goto: str, zh: bool) -> str:
    return f"转到{label(goto, 'zh')}" if zh else f"go to {label(goto)}"


def _list(names: tuple[str, ...], words: str | None, zh: bool) -> str:
    listed = ("、" if zh else ", ").join(names)
    if not words:
        return listed
    if listed:
        return f"{listed}（{words}）" if zh else f"{listed} ({words})"
    return words if _NAMES.fullmatch(words) is None else f"（{words}）" if zh else f"({words})"
