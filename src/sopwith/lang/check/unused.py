"""What is written down and never used: values, inputs, permitted tools.

Only where that is certain. In the grips `free` and `guide` a model sees all values and may call every permitted tool.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sopwith.errors import Text
from sopwith.expr.expression import Expression
from sopwith.ir.diagnostic import Diagnostic
from sopwith.ir.procedure import Grip, Step, matching
from sopwith.ir.tool import Effect
from sopwith.lang.check.subject import Subject

_WORDS = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


def problems(subject: Subject) -> Iterator[Diagnostic]:
    """SW323, SW324, SW410."""
    guided = any(subject.grip(step) is Grip.GUIDE for step in subject.steps.values())
    if guided or subject.procedure.grip is Grip.FREE:
        return
    read = _read(subject)
    yield from _values(subject, {path[0] for path in read})
    yield from _inputs(subject, read)
    yield from _tools(subject)


def _read(subject: Subject) -> set[tuple[str, ...]]:
    """Every path that anything reads; of what is no step of this version, every word that may be one."""
    found = {
        path for site in subject.sites if isinstance(site.found, Expression) for path in site.found.paths
    }
    for step in subject.steps.values():
        for part in (step.wait, step.call, step.each, step.script, step.code):
            if part is not None:
                found.update(tuple(word.split(".")) for word in _WORDS.findall(str(part)))
    return found


def _values(subject: Subject, names: set[str]) -> Iterator[Diagnostic]:
    for name, step in subject.steps.items():
        writes = step.writes
        if writes is None or writes in names or not _is_for_its_value(subject, step):
            continue
        message = Text(
            f"nothing reads '{writes}', the value of this step", f"没有任何地方读取该步骤的值“{writes}”"
        )
        path = ("steps", name, "as") if step.as_ is not None else ("steps", name)
        yield subject.warning("SW323", path, message, _remedy(step))


def _remedy(step: Step) -> Text:
    """A step that calls a tool is never to be removed for its value: it may be there for what it does."""
    if step.as_ is not None:
        return _USE_NAME
    return _USE_RESULT if step.tool is not None else _USE_VALUE


def _is_for_its_value(subject: Subject, step: Step) -> bool:
    """Whether a step is there for what it gives, not for what it does: its name is written out, or it only looks up."""
    if step.end is not None or step.kind == "answer" or any(edge.judge is not None for edge in step.next):
        return False
    if step.as_ is not None or step.kind == "returns":
        return True
    tool = subject.tool(step)
    return tool is not None and tool.effect is Effect.READ and not step.on_error


def _inputs(subject: Subject, read: set[tuple[str, ...]]) -> Iterator[Diagnostic]:
    if ("inputs",) in read:
        return
    used = {path[1] for path in read if path[0] == "inputs" and len(path) > 1}
    for name in subject.procedure.inputs:
        if name not in used:
            message = Text(f"nothing reads the input '{name}'", f"没有任何地方读取输入“{name}”")
            hint = Text(
                f"Read it as inputs.{name} in 'with' or 'uses', or remove it.",
                f"请在 with 或 uses 中写 inputs.{name}，或将其删除。",
            )
            yield subject.warning("SW324", ("inputs", name), message, hint)


def _tools(subject: Subject) -> Iterator[Diagnostic]:
    chooses = any(
        (step.kind == "free" and step.tools is None) or step.kind in ("script", "code")
        for step in subject.steps.values()
    )
    if chooses:
        return
    used = set(subject.procedure.step_tools())
    for i, tool in enumerate(subject.procedure.tools or ()):
        meant = used.intersection(matching((tool,), used))
        if not meant and ("*" in tool or subject.tools is None or tool in subject.tools):
            message = Text(f"no step uses the tool '{tool}'", f"没有步骤使用工具“{tool}”")
            hint = Text("Permit what is needed only: remove it.", "只应允许需要的工具：请删除。")
            yield subject.warning("SW410", ("tools", i), message, hint)


_USE_NAME = Text("Use it in a later step, or remove 'as'.", "请在后面的步骤中使用它，或删除 as。")
_USE_VALUE = Text("Use it in a later step, or remove the step.", "请在后面的步骤中使用它，或删除该步骤。")
_USE_RESULT = Text(
    "Show it to the step that needs it: 'uses', or 'Input:' in text.",
    "请让需要它的步骤看到它：uses，文本中写“输入：”。",
)
