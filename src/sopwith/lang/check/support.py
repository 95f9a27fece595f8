"""What the procedure's form can say and this version does not run."""

from __future__ import annotations

from collections.abc import Iterator

from sopwith.errors import Text
from sopwith.ir.diagnostic import Diagnostic
from sopwith.ir.procedure import Grip, Step
from sopwith.lang.check.subject import Subject
from sopwith.lang.compile import options
from sopwith.lang.document import Path
from sopwith.lang.refused import APPROVAL, GRIPS, KINDS


def problems(subject: Subject) -> Iterator[Diagnostic]:
    """SW501 to SW504."""
    yield from _grip(subject, ("grip",), subject.procedure.grip)
    for name, step in subject.steps.items():
        for key, hint in KINDS.items():
            if getattr(step, key) is not None:
                message = Text(f"this version does not run '{key}' steps", f"本版本不支持“{key}”步骤")
                yield subject.error("SW501", ("steps", name, key), message, hint)
        if step.grip is not None:
            yield from _grip(subject, ("steps", name, "grip"), step.grip)
        if step.approval is not None:
            yield subject.error("SW503", ("steps", name, "approval"), *_APPROVAL)
        for key, hint in _idle(step):
            message = Text(f"'{key}' does nothing on this step", f"“{key}”在该步骤上不起作用")
            yield subject.warning("SW504", ("steps", name, key), message, hint)


def _idle(step: Step) -> Iterator[tuple[str, Text]]:
    """The fields of a step that its kind does not act on, each with what to do instead."""
    choice = len(options(step.returns)) > 1 or isinstance((step.returns or {}).get("enum"), str)
    judges = any(edge.judge is not None for edge in step.next)
    if step.retry is not None and step.work not in ("tool", "free"):
        yield "retry", _ONLY_CALLS
    if step.tools is not None and step.work != "free":
        yield "tools", _ONLY_FREE
    if step.grip is Grip.FREE and step.work != "free":
        yield "grip", _NOT_FREE
    if step.returns is not None and step.work in ("answer", "route"):
        yield "returns", _NO_VALUE
    if step.min_confidence is not None and not judges and not (step.kind == "returns" and choice):
        yield "min_confidence", _NO_CHOICE
    if step.examples and not judges and step.work in ("ask", "route", "free"):
        yield "examples", _NO_MODEL


_APPROVAL = (
    Text(
        "this version does not carry out 'approval': nobody would be asked",
        "本版本不执行 approval：不会有人被询问",
    ),
    APPROVAL,
)
_ONLY_CALLS = Text(
    "Only calls of tools are retried: remove it, or use 'on_error'.",
    "只有工具调用会重试：请删除，或用 on_error。",
)
_ONLY_FREE = Text(
    "Only a step with grip 'free' chooses among tools: remove it.",
    "只有 grip 为 free 的步骤才会选择工具：请删除。",
)
_NOT_FREE = Text(
    "A free step has 'do' or 'returns', and no tool of its own.",
    "free 步骤写 do 或 returns，不写自己的工具。",
)
_NO_VALUE = Text("An 'answer' is text: remove it.", "answer 是文本：请删除。")
_NO_CHOICE = Text(
    "Only a choice has a confidence: an enum in 'returns', or 'judge' edges.",
    "只有选择才有置信度：returns 中的 enum，或 judge 边。",
)
_NO_MODEL = Text("No model is shown them at this step: remove them.", "模型在该步骤看不到它们：请删除。")


def _grip(subject: Subject, path: Path, grip: Grip) -> Iterator[Diagnostic]:
    if grip in GRIPS:
        message = Text(f"this version does not run grip '{grip}'", f"本版本不支持 grip“{grip}”")
        yield subject.error("SW502", path, message, GRIPS[grip])
