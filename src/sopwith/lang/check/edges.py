"""The edges of a step: exactly one of them is taken, and each of them can be."""

from __future__ import annotations

from collections.abc import Iterator

from sopwith.errors import Text
from sopwith.expr.expression import Expression
from sopwith.ir.diagnostic import Diagnostic, Edit
from sopwith.ir.procedure import Edge, Step
from sopwith.lang.check.subject import Subject
from sopwith.lang.compile import MAX_CHOICES, options
from sopwith.lang.document import Path


def problems(subject: Subject) -> Iterator[Diagnostic]:
    """SW208 to SW213, SW217."""
    for name, step in subject.steps.items():
        yield from _too_many(subject, ("steps", name), step)
        for key, edges in (("next", step.next), ("on_error", step.on_error)):
            if edges:
                yield from _of(subject, ("steps", name, key), edges, needs_otherwise=key == "next")


def _too_many(subject: Subject, path: Path, step: Step) -> Iterator[Diagnostic]:
    """A choice is answered with one letter, so there are as many options as letters. Values can be written out."""
    if step.work == "returns" and len(options(step.returns)) > MAX_CHOICES:
        yield subject.warning("SW217", (*path, "returns"), *_TOO_MANY_VALUES)
    judges = [i for i, edge in enumerate(step.next) if edge.judge is not None]
    if len(judges) >= MAX_CHOICES:  # one letter stands for none of them
        yield subject.error("SW217", (*path, "next", judges[MAX_CHOICES - 1], "judge"), *_TOO_MANY_EDGES)


def _of(
    subject: Subject, path: Path, edges: tuple[Edge, ...], *, needs_otherwise: bool
) -> Iterator[Diagnostic]:
    for i, edge in enumerate(edges):
        if (edge.when is not None) + (edge.judge is not None) + edge.otherwise > 1:
            yield subject.error("SW213", (*path, i), *_SEVERAL_CONDITIONS)
    others = [i for i, edge in enumerate(edges) if edge.otherwise]
    for i in others[1:]:
        yield subject.error("SW208", (*path, i, "otherwise"), *_SEVERAL_OTHERWISE)
    if others and others[0] < len(edges) - 1 and len(others) == 1:
        fix = (Edit(path=(*path, others[0]), action="last"),)
        yield subject.error("SW211", (*path, others[0], "otherwise"), *_OTHERWISE_LAST, fix=fix)
    always = [
        i for i, edge in enumerate(edges) if edge.when is None and edge.judge is None and not edge.otherwise
    ]
    if len(edges) > 1:
        for i in always:
            yield subject.error("SW212", (*path, i, "to"), *_UNCONDITIONAL)
    if needs_otherwise and not others and not always:
        yield subject.error("SW209", path, *_NO_OTHERWISE)
    yield from _never_taken(subject, path, edges)


def _never_taken(subject: Subject, path: Path, edges: tuple[Edge, ...]) -> Iterator[Diagnostic]:
    """Edges behind one that is always taken, conditions that are always false or that were there before."""
    seen: dict[str, int] = {}
    for i, edge in enumerate(edges):
        if edge.when is None:
            continue
        source = " ".join(edge.when.split())
        where = (*path, i, "when")
        value = _constant(subject.condition(where))
        if value is False:
            message = Text("this condition is always false", "该条件永远为 false")
            yield subject.error("SW210", where, message, _REMOVE)
        elif value is True and i < len(edges) - 1:
            message = Text(
                "this condition is always true: the edges after it are never taken",
                "该条件永远为 true：后面的边永远不会被选中",
            )
            yield subject.error("SW210", where, message, _REMOVE)
            return
        elif source in seen:
            message = Text(
                f"edge {seen[source] + 1} has the same condition and is taken first",
                f"第 {seen[source] + 1} 条边的条件相同，会先被选中",
            )
            yield subject.error("SW210", where, message, _REMOVE)
        seen.setdefault(source, i)


def _constant(expression: Expression | None) -> bool | None:
    """The value of a condition that reads nothing."""
    value = expression.attempt({}) if expression is not None and not expression.names else None
    return value if isinstance(value, bool) else None


_TOO_MANY_VALUES = (
    Text(
        f"more than {MAX_CHOICES} values cannot be chosen by a letter: the model writes one out, without a confidence",
        f"超过 {MAX_CHOICES} 个值无法用字母选择：由模型写出其中一个，没有置信度",
    ),
    Text("Choose in two steps, first among groups.", "请分两步选择，先选类别。"),
)
_TOO_MANY_EDGES = (
    Text(
        f"at most {MAX_CHOICES - 1} 'judge' edges are one choice: a letter for each, and one for none of them",
        f"一次选择至多 {MAX_CHOICES - 1} 条 judge 边：每条一个字母，另有一个表示都不是",
    ),
    Text("Choose in two steps.", "请分两步选择。"),
)
_REMOVE = Text("Correct the condition, or remove an edge.", "请改正条件，或删除一条边。")
_SEVERAL_CONDITIONS = (
    Text(
        "an edge has at most one of 'when', 'judge' and 'otherwise'",
        "一条边至多有 when、judge、otherwise 之一",
    ),
    Text("Split it into several edges.", "请拆成多条边。"),
)
_SEVERAL_OTHERWISE = (
    Text("'otherwise' occurs more than once", "otherwise 出现多次"),
    Text("Keep one; give the others a condition.", "请只保留一个，其余写成条件。"),
)
_OTHERWISE_LAST = (
    Text("'otherwise' stands before other edges", "otherwise 写在其他边之前"),
    Text("Move it to the end: edges are tried in order.", "请移到最后：边按顺序尝试。"),
)
_UNCONDITIONAL = (
    Text("this edge has no condition, but it is not the only one", "该边没有条件，但不是唯一的边"),
    Text(
        "Give it a 'when' or 'judge', or write it as '- otherwise: …' at the end.",
        "请加 when 或 judge，或写成最后的“- otherwise: …”。",
    ),
)
_NO_OTHERWISE = (
    Text("no edge is left when no condition holds", "所有条件都不成立时无路可走"),
    Text("Add '- otherwise: …' as the last edge.", "请在最后加上“- otherwise: …”。"),
)
