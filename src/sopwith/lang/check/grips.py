"""Grips: words and fields that no model is shown, or that do nothing, at the grip of their step."""

from __future__ import annotations

from collections.abc import Iterator

from sopwith.errors import Text
from sopwith.ir.diagnostic import Diagnostic
from sopwith.ir.procedure import Edge, Grip, Step
from sopwith.lang.check.subject import Subject
from sopwith.lang.document import Path
from sopwith.lang.region import GUIDED, grip_of


def problems(subject: Subject) -> Iterator[Diagnostic]:
    """SW303 of a free procedure, whose steps write nothing; SW504, of edges and of guide steps."""
    if subject.procedure.grip is Grip.FREE:
        yield from _unwritten(subject)
        return  # no step is shown
    for name, step in subject.steps.items():
        path = ("steps", name)
        for key, edges in (("next", step.next), ("on_error", step.on_error)):
            for i, edge in enumerate(edges):
                if not _shown(step, edge, key, grip_of(step, subject.procedure.grip)):
                    yield from _unseen(subject, (*path, key, i), edge)
        if step.grip is Grip.GUIDE:
            for key, hint in _idle(step):
                message = Text(f"'{key}' does nothing on this step", f"“{key}”在该步骤上不起作用")
                yield subject.warning("SW504", (*path, key), message, hint)


def _unwritten(subject: Subject) -> Iterator[Diagnostic]:
    """The names that the procedure's own `verify` reads, and that only steps would write."""
    expression = subject.condition(("verify",))
    names = () if expression is None else [n for n in expression.names if n not in subject.scopes.fixed]
    if expression is not None and names:
        listed = ", ".join(names)
        message = Text(
            f"verify: `{expression.source}` reads what only steps write, and grip 'free' has none: {listed}",
            f"verify：`{expression.source}` 读取只有步骤才会写入的名称，而 free 没有步骤：{listed}",
        )
        yield subject.error("SW303", ("verify",), message, _HELD_AT_FREE)


def _shown(step: Step, edge: Edge, key: str, grip: Grip) -> bool:
    """Whether a model sees the words of an edge."""
    if grip is Grip.GUIDE:
        return True
    return key == "next" and (edge.judge is not None or (grip is Grip.BOUNDED and len(step.next) > 1))


def _unseen(subject: Subject, path: Path, edge: Edge) -> Iterator[Diagnostic]:
    for key, words in (("guidance", edge.guidance), ("pitfalls", edge.pitfalls)):
        if words and not (key == "guidance" and edge.otherwise):  # there it is the label of a drawing
            message = Text(
                f"no model sees the '{key}' of this edge: its step decides without one",
                f"模型看不到该边的 {key}：走哪条边不由模型决定",
            )
            yield subject.warning("SW504", (*path, key), message, _GRIP)


def _idle(step: Step) -> Iterator[tuple[str, Text]]:
    if step.kind not in GUIDED:
        yield "grip", _NOT_GUIDED
        return
    if step.examples:
        yield "examples", _NO_TURNS
    if step.retry is not None:
        yield "retry", _ITS_OWN
    if step.min_confidence is not None:
        yield "min_confidence", _NO_LETTER


_HELD_AT_FREE = Text(
    "At 'free' only 'inputs', 'run' and the 'output' schema can be held: write what must be true into 'output', move "
    "the condition to the 'verify' of a step, or run it at 'strict', 'bounded' or 'guide'.",
    "free 下只能约束 inputs、run 和 output 的结构：请把要求写进 output，或把条件移到某个步骤的 verify，"
    "或改用 strict、bounded、guide 运行。",
)
_GRIP = Text(
    "They are shown at grip 'guide' or 'bounded', and with a 'judge'; for people, write a comment.",
    "grip 为 guide 或 bounded，或该边有 judge 时才会展示；写给人看的内容请用注释。",
)
_NOT_GUIDED = Text(
    "Nobody is guided through such a step: it does the same as at grip 'strict'. Remove it.",
    "此类步骤无法由模型在指导下执行，效果与 strict 相同：请删除。",
)
_NO_TURNS = Text(
    "A transcript has no examples: remove them, or make the step strict or bounded.",
    "对话记录中不展示示例：请删除，或将步骤设为 strict 或 bounded。",
)
_ITS_OWN = Text(
    "An error is data for a guided model, which tries again itself: remove it.",
    "对受指导的模型而言错误是数据，由它自行重试：请删除。",
)
_NO_LETTER = Text("A guided model chooses no letter: remove it.", "受指导的模型不做字母选择：请删除。")
