"""What the procedure's form can say and this version does not run."""

from __future__ import annotations

from collections.abc import Iterator

from sopwith.errors import Text
from sopwith.ir.diagnostic import Diagnostic
from sopwith.ir.procedure import Grip
from sopwith.lang.check.subject import Subject
from sopwith.lang.document import Path

KINDS: dict[str, Text] = {
    "each": Text("Use a tool that takes the whole list.", "请用接收整个列表的工具。"),
    "call": Text("Write the other procedure's steps here.", "请把另一流程的步骤写在这里。"),
    "wait": Text(
        "Use 'ask', which waits for a person, or end and start again.",
        "请用 ask（等待人工），或结束后再启动。",
    ),
    "script": Text("Put the script into a tool.", "请把脚本做成工具。"),
    "code": Text("Use a tool, or several steps.", "请用工具，或拆成多个步骤。"),
}
GRIPS: dict[Grip, Text] = {
    Grip.GUIDE: Text("Use 'strict' or 'free'.", "请用 strict 或 free。"),
    Grip.BOUNDED: Text("Use 'strict' or 'free'.", "请用 strict 或 free。"),
}


def problems(subject: Subject) -> Iterator[Diagnostic]:
    """SW501, SW502."""
    yield from _grip(subject, ("grip",), subject.procedure.grip)
    for name, step in subject.steps.items():
        for key, hint in KINDS.items():
            if getattr(step, key) is not None:
                message = Text(f"this version does not run '{key}' steps", f"本版本不支持“{key}”步骤")
                yield subject.error("SW501", ("steps", name, key), message, hint)
        if step.grip is not None:
            yield from _grip(subject, ("steps", name, "grip"), step.grip)


def _grip(subject: Subject, path: Path, grip: Grip) -> Iterator[Diagnostic]:
    if grip in GRIPS:
        message = Text(f"this version does not run grip '{grip}'", f"本版本不支持 grip“{grip}”")
        yield subject.error("SW502", path, message, GRIPS[grip])
