"""The label of an arrow: the condition that it says, and the words for a condition.

otherwise, else, 否则          no other arrow holds
left.days > 2                  an expression: it compares, or it stands in backticks
the user agrees                words that a model decides on; “in quotes” where they look like one of the others
on error, on error: otherwise  after a failure of the step; 出错时, 出错时：否则
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sopwith.errors import ExpressionError
from sopwith.expr.expression import parse
from sopwith.expr.syntax import Call
from sopwith.ir.procedure import Edge
from sopwith.lang.chart import ON_ERROR, OTHERWISE
from sopwith.lang.label_text import one_line
from sopwith.lang.routine_line import Condition

_OTHERWISE = re.compile(r"otherwise|else|default|否则|其他|其它|其余|默认", re.IGNORECASE)
_ERROR = re.compile(r"(?:on error|出错[时后]?)(?:\s*[:：]\s*(?P<rest>.*))?", re.IGNORECASE | re.DOTALL)
_CODE = re.compile(r"`(?P<code>.+)`", re.DOTALL)
_QUOTED = re.compile(r"“(?P<a>.*)”|\"(?P<b>.*)\"", re.DOTALL)
_NO = re.compile(r"(?:no|not|n|false)\b|否(?!则)|[不非没未无]", re.IGNORECASE)
_YES = re.compile(r"(?:yes|y|true)\b|是|对|真|成立", re.IGNORECASE)
_COMPARES = frozenset({"_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_", "_&&_", "_||_", "!_", "@in"})
LONGEST_COMPARISON = 500
"""Longer words are not tried as an expression."""


@dataclass(frozen=True, slots=True)
class Label:
    """What a label says. `condition` is None where it says nothing; `plain` words could also be a mere remark."""

    condition: Condition | None
    after_error: bool = False
    plain: bool = False


def read_label(words: str) -> Label:
    """What the label `words` says."""
    error = _ERROR.fullmatch(words)
    if error is not None:
        return Label(read_label(error["rest"] or "").condition, after_error=True)
    if not words:
        return Label(None)
    if _OTHERWISE.fullmatch(words):
        return Label(Condition())
    code, quoted = _CODE.fullmatch(words), _QUOTED.fullmatch(words)
    if code is not None and code["code"].strip():
        return Label(Condition(when=code["code"].strip()))
    if quoted is not None:
        return Label(Condition(judge=quoted["a"] if quoted["a"] is not None else quoted["b"]))
    if is_condition(words):
        return Label(Condition(when=words))
    return Label(Condition(judge=words), plain=True)


def is_condition(words: str) -> bool:
    """Whether `words` are an expression that can only be true or false. A lone name such as `Yes` is none."""
    if words.isalnum() or len(words) > LONGEST_COMPARISON:
        return False
    try:
        tree = parse(words).tree
    except ExpressionError:
        return False
    return isinstance(tree, Call) and (tree.function in _COMPARES or tree.target is not None)


def says_no(words: str) -> bool:
    """Whether a label is the answer no: `No (still no service)`, `否`, `不同意`."""
    return _NO.match(words) is not None


def says_yes(words: str) -> bool:
    """Whether a label is the answer yes: `Yes`, `true`, `是`."""
    return _YES.match(words) is not None


def write_label(edge: Edge, *, after_error: bool = False, language: str = "en") -> str:
    """The label of `edge`, in English ("en") or Chinese ("zh"): what `read_label` reads as the same condition."""
    condition = _condition_words(edge, language)
    if not after_error:
        return condition
    failed = ON_ERROR.in_(language)
    return f"{failed}{'：' if language == 'zh' else ': '}{condition}" if condition else failed


def _condition_words(edge: Edge, language: str) -> str:
    if edge.otherwise:
        no = edge.guidance is not None and says_no(edge.guidance)
        return edge.guidance if no and edge.guidance else OTHERWISE.in_(language)
    if edge.when is not None:
        when = edge.when if {"'", '"'} & set(edge.when) else one_line(edge.when)
        return when if read_label(when) == Label(Condition(when=when)) else f"`{when}`"
    if edge.judge is not None:
        judge = one_line(edge.judge)
        if read_label(judge) == Label(Condition(judge=judge), plain=True):
            return judge
        return f'"{judge}"' if "”" in judge else f"“{judge}”"
    remark = one_line(edge.guidance or "")
    return remark if read_label(remark).plain else ""
