"""A procedure as something to draw: a box a step, an arrow an edge. What a box looks like says what its step does."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from sopwith.errors import Text
from sopwith.ir.procedure import Edge, Procedure, Step
from sopwith.lang.chart import ON_ERROR, OTHERWISE
from sopwith.lang.graph import Graph, graph
from sopwith.lang.numbering import numbers

Look = Literal["route", "read", "write", "model", "ask", "wait", "call", "each", "complete", "escalate"]
ArrowKind = Literal["always", "when", "judge", "otherwise", "error"]

_DETAILS: Mapping[str, Text] = {
    "returns": Text("the model gives a value", "模型给出取值"),
    "answer": Text("answer", "答复"),
    "ask": Text("asks a person", "询问人员"),
    "free": Text("the model works freely", "模型自由执行"),
    "script": Text("script", "脚本"),
    "code": Text("the model writes code", "模型编写代码"),
    "wait": Text("waits {}", "等待 {}"),
    "call": Text("runs {}", "运行流程 {}"),
    "each": Text("for each {} in {}", "逐项 {}：{}"),
    "write": Text("{} · writes", "{} · 写操作"),
    "approval": Text("needs approval", "需批准"),
    "complete": Text("completes", "完成"),
    "escalate": Text("hands over to a person", "转交人工"),
}
_LOOKS: Mapping[str, Look] = {"ask": "ask", "wait": "wait", "call": "call", "each": "each", "route": "route"}


@dataclass(frozen=True, slots=True)
class DrawnStep:
    """One step as a reader is shown it: its number, what to call it, what it does in a few words, what its box looks
    like, how it ends the run, where it does, and whether its tool is known to write. (A `Box` is one of a chart.)"""

    step: str
    number: str
    title: str
    detail: str
    look: Look
    end: Literal["complete", "escalate"] | None = None
    writes: bool = False


@dataclass(frozen=True, slots=True)
class DrawnWay:
    """One way from a step to another. `index` is its place among the `next`, or the `on_error`, of its step."""

    start: str
    end: str
    kind: ArrowKind
    index: int
    label: str
    back: bool = False
    span: int = 1
    """Over how many rows of boxes it goes, at least."""

    @property
    def key(self) -> tuple[str, bool, int]:
        """What names this way in its procedure."""
        return (self.start, self.kind == "error", self.index)


@dataclass(frozen=True, slots=True)
class Drawing:
    """A whole procedure to draw; boxes in the order of their numbers."""

    title: str
    description: str
    begin: str | None
    boxes: tuple[DrawnStep, ...]
    arrows: tuple[DrawnWay, ...]


@dataclass(frozen=True, slots=True)
class Walk:
    """The path of a run over a drawing: when each step was visited, and each way taken, counted from 1."""

    visits: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    taken: Mapping[tuple[str, bool, int], tuple[int, ...]] = field(
        default_factory=dict[tuple[str, bool, int], tuple[int, ...]]
    )


def drawing(procedure: Procedure, writes: Collection[str] = (), language: str = "en") -> Drawing:
    """What to draw of `procedure`; `writes` are the tools that are known to write."""
    number = numbers(procedure)
    steps = procedure.steps
    found = graph(procedure)
    row = _rows(found)
    boxes = tuple(
        DrawnStep(
            name,
            number[name],
            steps[name].title,
            _detail(steps[name], writes, language),
            _look(steps[name], writes),
            steps[name].end,
            steps[name].tool in writes,
        )
        for name in number
    )
    arrows = tuple(
        arrow for name in number for arrow in _arrows(steps[name], language, found, row) if arrow.end in steps
    )
    title = " ".join(part for part in (procedure.id, procedure.name) if part)
    begin = procedure.start if procedure.start in steps else None
    return Drawing(title, procedure.description, begin, boxes, arrows)


def _look(step: Step, writes: Collection[str]) -> Look:
    kind = step.kind
    if step.end is not None and kind == "route":
        return step.end
    if kind == "tool":
        return "write" if step.tool in writes else "read"
    return _LOOKS.get(kind, "model")


def _detail(step: Step, writes: Collection[str], language: str) -> str:
    """What the step does, in a few words."""
    parts = [_work(step, writes, language)]
    if step.approval is not None:
        parts.append(_DETAILS["approval"].in_(language))
    if step.end is not None:
        parts.append(_DETAILS[step.end].in_(language))
    return " · ".join(part for part in parts if part)


def _work(step: Step, writes: Collection[str], language: str) -> str:
    if step.each is None:
        return _once(step, writes, language)
    said = _DETAILS["each"].in_(language).format(step.each.as_, step.each.in_)
    once = _once(step, writes, language)
    return f"{said} · {once}" if once else said


def _once(step: Step, writes: Collection[str], language: str) -> str:
    """What the step does, once or for every item."""
    if step.tool is not None:
        return _DETAILS["write"].in_(language).format(step.tool) if step.tool in writes else step.tool
    if step.wait is not None:
        until = step.wait.until or step.wait.for_ or step.wait.event or ""
        return _DETAILS["wait"].in_(language).format(until)
    if step.call is not None:
        return _DETAILS["call"].in_(language).format(step.call.procedure)
    return _DETAILS[step.work].in_(language) if step.work in _DETAILS else ""


def _rows(found: Graph) -> dict[str, int]:
    """The row of each step where every way forward goes down."""
    row = dict.fromkeys(found.order, 0)
    for step in found.order:
        for to in found.successors[step]:
            if (step, to) not in found.back:
                row[to] = max(row[to], row[step] + 1)
    return row


def _arrows(step: Step, language: str, found: Graph, row: Mapping[str, int]) -> Iterator[DrawnWay]:
    for failed, edges in ((False, step.next), (True, step.on_error)):
        for i, edge in enumerate(edges):
            kind = kind_of(edge)
            label = _label(edge, language)
            if failed and kind in ("always", "otherwise"):
                label = ON_ERROR.in_(language)
            back = (step.id, edge.to) in found.back
            span = abs(row.get(edge.to, 0) - row[step.id])
            yield DrawnWay(step.id, edge.to, "error" if failed else kind, i, label, back, span)


def kind_of(edge: Edge) -> ArrowKind:
    """What decides on a way."""
    if edge.when is not None:
        return "when"
    if edge.judge is not None:
        return "judge"
    return "otherwise" if edge.otherwise else "always"


def _label(edge: Edge, language: str) -> str:
    return OTHERWISE.in_(language) if edge.otherwise else edge.when or edge.judge or ""
