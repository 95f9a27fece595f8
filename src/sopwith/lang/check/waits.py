"""What a step waits for: a time or a duration that can be one, as far as that can be told beforehand."""

from __future__ import annotations

from collections.abc import Iterator

from sopwith.errors import NO_HINT, ExpressionError, Text
from sopwith.expr.template import parse_template
from sopwith.ir.diagnostic import Diagnostic
from sopwith.lang.check.bindings import misfits
from sopwith.lang.check.subject import Subject
from sopwith.lang.document import Path
from sopwith.lang.moment import DURATION_HINT, TIME_HINT, read_pause, read_time


def problems(subject: Subject) -> Iterator[Diagnostic]:
    """SW806, SW807."""
    for name, step in subject.steps.items():
        wait = step.wait
        if wait is None:
            continue
        path = ("steps", name, "wait")
        if wait.until is not None:
            yield from _until(subject, (*path, "until"), wait.until)
        if wait.for_ is not None:
            yield from _for(subject, (*path, "for"), wait.for_)


def _until(subject: Subject, path: Path, value: str) -> Iterator[Diagnostic]:
    text = _constant(value)
    if text is None:
        yield from _typed(subject, path, value, "string")
        return
    found = read_time(text)
    if isinstance(found, Text):
        yield subject.error("SW806", path, found, TIME_HINT)
    elif subject.now is not None and found <= subject.now:
        message = Text(f"{text} has passed: nothing is waited for", f"{text} 已过：不会等待")
        yield subject.warning("SW807", path, message, _LATER)


def _for(subject: Subject, path: Path, value: str) -> Iterator[Diagnostic]:
    text = _constant(value)
    if text is None:
        yield from _typed(subject, path, value, "string", "number")
        return
    found = read_pause(text)
    if isinstance(found, Text):
        yield subject.error("SW806", path, found, DURATION_HINT)


def _constant(value: str) -> str | None:
    """The text without expressions; None where it holds some, or cannot be read."""
    try:
        template = parse_template(value)
    except ExpressionError:
        return None
    return str(template.render({})) if template.constant else None


def _typed(subject: Subject, path: Path, value: str, *types: str) -> Iterator[Diagnostic]:
    for _, problem in misfits(value, {"type": list(types)}, {}, path, subject.gives):
        message = Text(f"what is waited for {problem.en}", f"等待的内容不合要求：{problem.zh}")
        yield subject.error("SW806", path, message, NO_HINT)


_LATER = Text("Write a later time, or take it from the data of the run.", "请写以后的时间，或取自运行数据。")
