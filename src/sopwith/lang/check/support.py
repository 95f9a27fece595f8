"""What the procedure's form can say and this version does not run."""

from __future__ import annotations

from collections.abc import Iterator

from sopwith.errors import Text
from sopwith.ir.diagnostic import Diagnostic, Edit
from sopwith.ir.procedure import Grip, Guidance, Step
from sopwith.lang.check.subject import Subject
from sopwith.lang.compile import options
from sopwith.lang.document import Path
from sopwith.lang.refused import GUIDANCE, KINDS
from sopwith.lang.region import grip_of


def problems(subject: Subject) -> Iterator[Diagnostic]:
    """SW501 to SW504."""
    yield from _guidance(subject, ("guidance",), subject.procedure.guidance)
    for name, step in subject.steps.items():
        for key, hint in KINDS.items():
            if getattr(step, key) is not None:
                message = Text(f"this version does not run '{key}' steps", f"本版本不支持“{key}”步骤")
                yield subject.error("SW501", ("steps", name, key), message, hint)
        if step.guidance is not None:
            yield from _guidance(subject, ("steps", name, "guidance"), step.guidance)
        if step.approval is not None and step.work not in ("tool", "call", "free"):
            yield subject.error("SW503", ("steps", name, "approval"), *_APPROVAL)
        for key, hint in _idle(step, grip_of(step, subject.procedure.grip)):
            message = Text(f"'{key}' does nothing on this step", f"“{key}”在该步骤上不起作用")
            path = ("steps", name, key)
            fix = () if key == "grip" or hint is _NO_LETTER else (Edit(path=path, action="remove"),)
            yield subject.warning("SW504", path, message, hint, fix)


def _idle(step: Step, grip: Grip) -> Iterator[tuple[str, Text]]:
    """The fields of a step that its kind does not act on, each with what to do instead."""
    choice = len(options(step.returns)) > 1 or isinstance((step.returns or {}).get("enum"), str)
    judges = any(edge.judge is not None for edge in step.next)
    if step.retry is not None and step.work not in ("tool", "free", "call"):
        yield "retry", _ONLY_CALLS
    if step.tools is not None and step.work != "free" and grip is not Grip.GUIDE:
        yield "tools", _ONLY_FREE
    if step.grip is Grip.FREE and step.work != "free":
        yield "grip", _NOT_FREE
    if step.returns is not None and step.work in ("answer", "route"):
        yield "returns", _NO_VALUE
    if step.returns is not None and step.kind == "call":
        yield "returns", _TYPED_THERE
    if step.returns is not None and step.wait is not None and step.wait.event is None:
        yield "returns", _NO_PAYLOAD
    if step.timeout is not None and step.wait is not None and step.wait.event is None:
        yield "timeout", _NO_TIMEOUT
    if step.min_confidence is not None and not judges and not (step.kind == "returns" and choice):
        yield "min_confidence", _NO_CHOICE
    elif step.min_confidence is not None and grip is not Grip.STRICT and step.kind != "returns":
        yield "min_confidence", _NO_LETTER
    if step.examples and not judges and step.work in ("ask", "route", "free", "wait", "call"):
        yield "examples", _NO_MODEL


_APPROVAL = (
    Text("'approval' is for a step that calls a tool or a procedure", "approval 用于调用工具或流程的步骤"),
    Text(
        "Put it on the step that acts; to ask a person anything else, write an 'ask' step.",
        "请写在执行操作的步骤上；若要向人提问，请写 ask 步骤。",
    ),
)
_TYPED_THERE = Text(
    "The called procedure's 'output' is the type of the result: remove it.",
    "结果的类型由被调用流程的 output 决定：请删除。",
)
_NO_PAYLOAD = Text("Only an event brings a value: remove it.", "只有事件会带来值：请删除。")
_NO_TIMEOUT = Text(
    "The wait ends by itself; only an event may stay away: remove it.",
    "等待会自行结束，只有事件可能不来：请删除。",
)
_ONLY_CALLS = Text(
    "Only calls of tools and procedures are retried: remove it, or use 'on_error'.",
    "只有工具和流程的调用会重试：请删除，或用 on_error。",
)
_ONLY_FREE = Text(
    "Only a step with grip 'free' or 'guide' chooses among tools: remove it.",
    "只有 grip 为 free 或 guide 的步骤才会选择工具：请删除。",
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
_NO_LETTER = Text(
    "A reply that picks its way has no confidence: with 'grip: strict' on the step, doubtful ones are held back.",
    "自行选择去路的回复没有置信度：请在该步骤写 grip: strict，把握不足的选择才会被拦住。",
)
_NO_MODEL = Text("No model is shown them at this step: remove them.", "模型在该步骤看不到它们：请删除。")


def _guidance(subject: Subject, path: Path, guidance: Guidance) -> Iterator[Diagnostic]:
    if guidance in GUIDANCE:
        message = Text(
            f"this version does not ask a model for guidance ('{guidance}')",
            f"本版本不向模型请求指导（“{guidance}”）",
        )
        yield subject.error("SW502", path, message, GUIDANCE[guidance])
