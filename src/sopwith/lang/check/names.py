"""Names: expressions can read them, and no step takes the name of another."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sopwith.errors import Text
from sopwith.expr.expression import RESERVED, TYPE_NAMES
from sopwith.expr.syntax import NAMESPACES
from sopwith.ir.diagnostic import Diagnostic
from sopwith.lang.check.subject import Subject, close, meant
from sopwith.lang.check.types import facts
from sopwith.lang.document import Path
from sopwith.lang.kinds import OURS

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def problems(subject: Subject) -> Iterator[Diagnostic]:
    """SW320 to SW322, SW330."""
    for name, step in subject.steps.items():
        path = ("steps", name)
        if not _IDENTIFIER.fullmatch(name):
            yield _not_identifier(subject, path, name)
        elif step.writes is not None:
            where = (*path, "as") if step.as_ else path
            yield from _name(subject, where, step.writes)
    yield from _shared(subject)
    for name, one in subject.procedure.inputs.items():
        known = facts()
        if one.from_ is not None and one.from_ not in known:
            message = Text(f"the run has no '{one.from_}'", f"运行信息中没有“{one.from_}”")
            where = ("inputs", name, "from")
            fix = meant(where, one.from_, known)
            yield subject.error("SW330", where, message, close(one.from_, known), fix=fix)


def _name(subject: Subject, path: Path, name: str) -> Iterator[Diagnostic]:
    if name in RESERVED or name in TYPE_NAMES or name in NAMESPACES:
        message = Text(f"'{name}' is a word of the expression language", f"“{name}”是表达式语言的保留字")
        yield subject.error("SW320", path, message, _ANOTHER)
    elif name in OURS:
        message = Text(f"'{name}' has a meaning of its own in expressions", f"“{name}”在表达式中另有含义")
        yield subject.error("SW320", path, message, _ANOTHER)
    elif not _IDENTIFIER.fullmatch(name):
        yield _not_identifier(subject, path, name)


def _not_identifier(subject: Subject, path: Path, name: str) -> Diagnostic:
    message = Text(f"expressions cannot read a name like '{name}'", f"表达式无法读取“{name}”这样的名称")
    hint = Text(
        "Use ASCII letters, digits and _; the words go into 'name'.",
        "请用英文字母、数字和 _；说明文字写在 name 里。",
    )
    return subject.error("SW321", path, message, hint)


_ANOTHER = Text("Give it another name with 'as'.", "请用 as 换一个名称。")


def _leads_to(subject: Subject, step: str, other: str) -> bool:
    """Whether the edges lead from one step to another: in a region a model may go without them, which is noted."""
    seen, todo = {step}, [step]
    while todo:
        for to in subject.graph.successors[todo.pop()]:
            if to not in seen:
                seen.add(to)
                todo.append(to)
    return other in seen


def _shared(subject: Subject) -> Iterator[Diagnostic]:
    """Steps that come after another one that writes the same name."""
    flow = subject.flow
    for name, writers in flow.by_name.items():
        if len(writers) < 2:
            continue
        for writer in writers:
            known = flow.before.get(writer)
            if known is None:
                continue
            earlier = [
                step
                for step in flow.sources(known, name)
                if step != writer and (step not in flow.regions or _leads_to(subject, step, writer))
            ]
            if not earlier:
                continue
            where = ("steps", writer, "as") if subject.steps[writer].as_ else ("steps", writer)
            message = Text(
                f"'{name}' has been written by step '{earlier[0]}' on a path to here",
                f"在通往此处的路径上，步骤“{earlier[0]}”已写入“{name}”",
            )
            hint = Text(
                "Only steps that exclude each other may share a name: give one of them another 'as'.",
                "只有互斥的步骤才能共用名称：请为其中一个换一个 as。",
            )
            yield subject.error("SW322", where, message, hint)
