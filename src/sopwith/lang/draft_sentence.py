"""One sentence of a draft, in English or Chinese: its condition, what is done, and where it goes on.

If the order is late, then apologise; otherwise go to step 4.
如果金额超过 500 元，则由经理审批，否则转到第 4 步。
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from sopwith.lang.routine import MAX_LINE
from sopwith.lang.routine_line import End, Line, read_line

_DIGITS = str.maketrans("０１２３４５６７８９．", "0123456789.")
_HAN = "零一二三四五六七八九十"
_N = rf"[0-9０-９]{{1,6}}(?:[.．][0-9０-９]{{1,6}})*|[{_HAN[1:]}]{{1,3}}"
_STEP = rf"(?:steps?\s*(?P<en>{_N})|(?:第\s*(?P<zh>{_N})\s*步|步骤\s*(?P<st>{_N})))"
_GO = (
    r"(?:(?:go|return|proceed|continue|skip|jump|move|back|start again)\s+"
    r"(?:on\s+|ahead\s+|back\s+)?(?:to|with|at|from)\s+|"
    r"(?:repeat|redo|see)\s+|"
    r"(?:转到|转至|转入|回到|返回到?|跳到|跳至|跳转到|进入|执行|重复)\s*)"
)
_GOTO = re.compile(
    rf"(?:^|[,，;；.。\s]+|并|则|请|再)(?:and\s+|then\s+|please\s+)?{_GO}{_STEP}\s*$", re.IGNORECASE
)
_GOTO_INSIDE = re.compile(_GO + _STEP, re.IGNORECASE)
_FINISH = re.compile(
    r"(?:^|[,，;；.。]\s*|\s+)(?:and\s+|then\s+|并|则)?"
    r"(?:(?:end|stop|finish|terminate)\s+(?:the\s+|this\s+)?(?:process|workflow|procedure|flow)"
    r"|(?:本?流程)?结束(?:本?流程)?|终止流程)\s*$",
    re.IGNORECASE,
)
_HAND_OVER = re.compile(
    r"(?:transfer|hand\s*over|escalate|hand)\b[^.。]{0,40}\b(?:human|person|people|agent|manager|supervisor|team|specialist)s?"
    r"|(?:escalate|hand over)\s+(?:it|the\s+\w+)?\s*$|转(?:交|接)?人工|转(?:交|给)|升级(?:给|至|到|处理)|上报",
    re.IGNORECASE,
)
_IF = re.compile(r"(?:if|in\s+case(?:\s+that)?)\s+|(?:如果|若是|若|假如|倘若|如)\s*", re.IGNORECASE)
_THAT = re.compile(r"(?:对于?)?(?P<cond>[^，,。；;：:]{2,60})的\s*[，,]\s*(?P<then>.+)", re.DOTALL)
"""The condition of an official text: 发票不合格的，退回员工。"""
_HEAD = re.compile(
    r"(?:if|in\s+case(?:\s+that)?)\s+(?P<en>[^:：]+)[:：]|(?:如果|若是|若|假如|倘若)\s*(?P<zh>[^:：]+)[:：]",
    re.IGNORECASE,
)
"""A condition whose steps stand below it."""
_CLAUSE = re.compile(r"(?P<cond>[^，,。；;：:]{2,40})[，,]\s*(?P<then>.+)", re.DOTALL)
_STATE = re.compile(
    r"[不未无没]|超过|超出|低于|高于|大于|小于|少于|多于|达到|满足|符合|一致|相符|合格|齐全|通过|成功|失败|异常|正常|同意|拒绝"
    r"|逾期|超时|属于|存在|缺少|\b(?:is|are|was|were|has|have|not|no|over|under|above|below|fails?|succeeds?)\b",
    re.IGNORECASE,
)
"""Words of a clause that says how things are, rather than what is done."""
_WHEN = re.compile(r"当(?P<cond>[^，,。]{1,80}?)时\s*[，,]\s*(?P<then>.+)", re.DOTALL)
_THEN = re.compile(
    r"\s*[,，]\s*(?:then\s+|则\s*|那么\s*|就\s*)?|\s+then\s+|\s*[:：]\s*|(?<=\S)则", re.IGNORECASE
)
_OTHERWISE = re.compile(
    r"(?:otherwise|else|if\s+not|否则|不然|其他情况|其余情况|其他)\s*[,，:：]?\s*", re.IGNORECASE
)
_ELSE = re.compile(r"\s*[;；.。,，]\s*(?:otherwise|else|if\s+not|否则|不然)\s*[,，:：]?\s*", re.IGNORECASE)
_ANSWER = re.compile(
    r"(?P<cond>yes|no|true|false|是|否|有|无)\s*(?:[:：,，]|→|->|-|–|—)+\s*(?P<then>.+)",
    re.IGNORECASE | re.DOTALL,
)
_IF_INSIDE = re.compile(r"\b(?:if|unless)\s|如果|若(?!干)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Action:
    """What is done: a Routine line without a number. `goto` is the number of a step of the draft, `end` how it ends."""

    line: Line
    goto: str | None = None
    end: End | None = None

    @property
    def empty(self) -> bool:
        """Whether nothing is done but going elsewhere, or ending."""
        line = self.line
        return not (line.do or line.name or line.tool)


@dataclass(frozen=True, slots=True)
class Case:
    """One case: the condition in words (None: otherwise), and what is then done."""

    condition: str | None
    action: Action


@dataclass(frozen=True, slots=True)
class Sentence:
    """Cases, or one action without a condition. `doubts` are words in it that could be a condition or a way on."""

    action: Action | None
    cases: tuple[Case, ...] = ()
    doubts: tuple[str, ...] = field(default=())


def read_sentence(text: str) -> Sentence:
    """What `text` says."""
    words = " ".join(text.split())
    cases = _cases(words)
    if cases:
        doubts = tuple(d for case in cases for d in _doubts(case.action))
        return Sentence(None, cases, doubts)
    action = read_action(words)
    return Sentence(action, (), _doubts(action))


def with_clause(text: str) -> Sentence | None:
    """`text` read as a case whose condition is its first clause, `审批通过，转到第 5 步`: where that says how things
    are, and the rest ends or goes elsewhere."""
    words = " ".join(text.split())
    clause = _CLAUSE.fullmatch(words)
    if clause is None or _STATE.search(clause["cond"]) is None:
        return None
    action = read_action(clause["then"])
    return Sentence(None, (Case(clause["cond"].strip(), action),)) if action.goto or action.end else None


def steps_named(text: str) -> set[str]:
    """The numbers of the steps that `text` says to go to."""
    found = _GOTO_INSIDE.finditer(" ".join(text.split()))
    return {number_of(one["en"] or one["zh"] or one["st"]) for one in found}


def _cases(words: str) -> tuple[Case, ...]:
    otherwise = _OTHERWISE.match(words)
    if otherwise is not None and (otherwise.group().strip()[-1:] in ",，:：" or words[otherwise.end() :]):
        return (Case(None, read_action(words[otherwise.end() :])),)
    answer, when = _ANSWER.fullmatch(words), _WHEN.fullmatch(words)
    if answer is not None:
        return (Case(answer["cond"], read_action(answer["then"])),)
    if when is not None:
        return _with_else(when["cond"], when["then"])
    start, head = _IF.match(words), _HEAD.fullmatch(words)
    that = _THAT.fullmatch(words) if start is None else None
    if that is not None:
        return _with_else(that["cond"], that["then"])
    if head is not None:
        return (Case((head["en"] or head["zh"]).strip(), read_action("")),)
    then = None if start is None else _THEN.search(words, start.end())
    if start is None or then is None or then.start() == start.end() or then.end() == len(words):
        return ()
    return _with_else(words[start.end() : then.start()].strip(), words[then.end() :])


def _with_else(condition: str, then: str) -> tuple[Case, ...]:
    found = _ELSE.search(then)
    if found is None:
        return (Case(condition, read_action(then)),)
    return (
        Case(condition, read_action(then[: found.start()])),
        Case(None, read_action(then[found.end() :])),
    )


def read_action(words: str) -> Action:
    """What is done, and where it goes on. What Routine text would read as something else stays words."""
    words = words.strip().rstrip(".。;；,，").strip()
    goto = _GOTO.search(words)
    if goto is not None:
        number = number_of(goto["en"] or goto["zh"] or goto["st"])
        return Action(_line(words[: goto.start()].strip(" ,，;；.。")), goto=number)
    finish = _FINISH.search(words)
    if finish is not None:
        return Action(_line(words[: finish.start()].strip(" ,，;；.。")), end="complete")
    line = _line(words)
    if line.goto is not None or line.end is not None:
        return Action(line, goto=line.goto, end=line.end)
    return Action(line, end="escalate" if _HAND_OVER.search(words) else None)


def _line(words: str) -> Line:
    plain = Line("1", do=words or None)
    if not words or len(words) > MAX_LINE:
        return plain
    line = read_line(f"Step 2. {words}")
    if line is None or line.unclear is not None or line.id is not None or line.on_error:
        return plain
    return line


def _doubts(action: Action) -> tuple[str, ...]:
    text = " ".join(part for part in (action.line.name, action.line.do) if part)
    found = [one.group() for one in (_IF_INSIDE.search(text), _GOTO_INSIDE.search(text)) if one is not None]
    return tuple(word.strip() for word in found)


def number_of(words: str) -> str:
    """A number of a step as plain digits: `３.１` is 3.1, `十二` is 12."""
    plain = words.translate(_DIGITS)
    if plain[:1] not in _HAN:
        return ".".join(str(int(part)) for part in plain.split("."))
    tens, ten, ones = plain.rpartition("十")
    value = (_HAN.index(tens[-1]) if tens else 1) * 10 if ten else 0
    return str(value + (_HAN.index(ones[0]) if ones else 0))
