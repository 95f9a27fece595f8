"""Steps over a list: there is a list, what they do can be done for each item, and items have a name of their own."""

from __future__ import annotations

from collections.abc import Iterator

from sopwith.errors import ExpressionError, Text
from sopwith.expr.expression import RESERVED, TYPE_NAMES
from sopwith.expr.shape import kinds
from sopwith.expr.syntax import NAMESPACES
from sopwith.expr.template import parse_template
from sopwith.ir.diagnostic import Diagnostic
from sopwith.ir.procedure import Each, Step
from sopwith.lang.check.bindings import shapes_words
from sopwith.lang.check.subject import Subject
from sopwith.lang.document import Path

REPEATED = ("tool", "returns", "answer", "call")
"""The kinds of work that can be done for each item."""


def problems(subject: Subject) -> Iterator[Diagnostic]:
    """SW421 to SW423."""
    for name, step in subject.steps.items():
        if step.each is not None:
            path = ("steps", name, "each")
            yield from _work(subject, path, step)
            yield from _list(subject, path, step.each)
            yield from _name(subject, path, step, step.each)


def _work(subject: Subject, path: Path, step: Step) -> Iterator[Diagnostic]:
    if step.work == "route":
        message = Text("the step does nothing with its items", "该步骤没有对列表项做任何事")
        hint = Text("Add 'tool', 'returns', 'answer' or 'call'.", "请加上 tool、returns、answer 或 call。")
        yield subject.error("SW421", path, message, hint)
    elif step.work not in REPEATED:
        key = "grip" if step.work == "free" else step.work
        message = Text(f"'{key}' cannot be done for each item", f"“{key}”不能逐项执行")
        hint = _ASK if step.work == "ask" else _OTHER
        yield subject.error("SW421", (*path[:-1], key), message, hint)


def _list(subject: Subject, path: Path, each: Each) -> Iterator[Diagnostic]:
    where = (*path, "in")
    try:
        template = parse_template(each.in_)
    except ExpressionError:
        return  # reported where expressions are read
    if not template.expressions or not template.expressions[0].lone:
        message = Text("'in' is text, and no list", "in 是文本，不是列表")
        hint = Text(
            "Write one expression that gives a list: ${people}", "请写一个给出列表的表达式：${people}"
        )
        yield subject.error("SW422", where, message, hint)
        return
    given = subject.gives(where)
    have = kinds(given)
    if have and "dyn" not in have and "list" not in have:
        said = shapes_words(given)
        message = Text(f"'in' takes a list; this is {said.en}", f"in 需要列表，这里是{said.zh}")
        hint = Text("Name the list inside it, as in ${found.items}.", "请写出其中的列表，如 ${found.items}。")
        yield subject.error("SW422", where, message, hint)


def _name(subject: Subject, path: Path, step: Step, each: Each) -> Iterator[Diagnostic]:
    name = each.as_
    where = (*path, "as") if name != "item" else path
    if name in RESERVED or name in TYPE_NAMES or name in NAMESPACES or name in ("inputs", "run", "error"):
        message = Text(f"'{name}' has a meaning of its own in expressions", f"“{name}”在表达式中另有含义")
        yield subject.error("SW423", where, message, _ANOTHER)
    elif name in subject.flow.by_name:
        writer = subject.flow.by_name[name][0]
        message = Text(f"'{name}' is the result of step '{writer}'", f"“{name}”是步骤“{writer}”的结果名")
        yield subject.error("SW423", where, message, _ANOTHER)


_ANOTHER = Text("Give the item another name: each: {as: …}.", "请为列表项换一个名称：each: {as: …}。")
_ASK = Text(
    "Ask once about the whole list, or let a tool do the asking.", "请就整个列表提问一次，或由工具逐一询问。"
)
_OTHER = Text(
    "Use 'tool', 'returns', 'answer' or 'call' inside it.", "请在其中使用 tool、returns、answer 或 call。"
)
