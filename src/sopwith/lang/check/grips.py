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
    """SW504, of edges and of guide steps."""
    if subject.procedure.grip is Grip.FREE:
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
