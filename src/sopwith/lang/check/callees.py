"""The procedures that a procedure calls: they exist, take what they are given, and do not come back to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sopwith.errors import Text
from sopwith.ir.diagnostic import Diagnostic
from sopwith.ir.message import DEPTH
from sopwith.ir.procedure import Call, Procedure
from sopwith.lang.check.bindings import misfits
from sopwith.lang.check.subject import Subject, close
from sopwith.lang.document import Path


def problems(subject: Subject) -> Iterator[Diagnostic]:
    """SW801 to SW805, and SW808."""
    if subject.library is None:
        return
    known = {**subject.library, subject.procedure.id: subject.procedure}
    for name, step in subject.steps.items():
        if step.call is None:
            continue
        path = ("steps", name, "call")
        callee = known.get(step.call.procedure)
        if callee is None:
            yield _unknown(subject, path, step.call.procedure, known)
            continue
        circle = _circle(callee, subject.procedure.id, known)
        if circle is not None:
            listed = " → ".join((subject.procedure.id, *circle))
            message = Text(f"these procedures call each other: {listed}", f"流程循环调用：{listed}")
            yield subject.error("SW805", (*path, "procedure"), message, _NO_END)
            continue
        chain = _too_deep(callee, known)
        if chain is not None:
            listed = " → ".join((subject.procedure.id, *chain))
            message = Text(
                f"calls may lie {DEPTH} deep, and these lie deeper: {listed}",
                f"调用最多 {DEPTH} 层，此处更深：{listed}",
            )
            yield subject.error("SW808", (*path, "procedure"), message, _SHORTER)
        yield from _inputs(subject, path, step.call, callee)


def _unknown(subject: Subject, path: Path, wanted: str, known: Mapping[str, Procedure]) -> Diagnostic:
    message = Text(f"there is no procedure '{wanted}'", f"没有流程“{wanted}”")
    others = [name for name in known if name != subject.procedure.id]
    near = close(wanted, others)
    hint = Text(
        f"Its file is missing: put {wanted}.yaml beside this one, or name its folder in the setting 'procedures'. "
        f"{near.en}".rstrip(),
        f"缺少该流程的文件：请把 {wanted}.yaml 放在本文件旁，或在设置 procedures 中写明其目录。{near.zh}",
    )
    return subject.error("SW801", (*path, "procedure"), message, hint)


def _circle(callee: Procedure, back: str, known: Mapping[str, Procedure]) -> tuple[str, ...] | None:
    """The way from `callee` to a call of `back`, the shortest first; None where there is none."""
    ways: list[tuple[str, ...]] = [(callee.id,)]
    seen = {callee.id}
    for way in ways:
        if way[-1] == back:
            return way
        for name in known[way[-1]].callees():
            if name in known and (name == back or name not in seen):
                seen.add(name)
                ways.append((*way, name))
    return None


def _too_deep(callee: Procedure, known: Mapping[str, Procedure]) -> tuple[str, ...] | None:
    """A chain of calls from `callee` on that lies deeper than a run may go; None where there is none."""
    ways = {callee.id: (callee.id,)}
    for _ in range(DEPTH):
        ways = {
            name: (*way, name)
            for way in ways.values()
            for name in known[way[-1]].callees()
            if name in known and name not in way
        }
    return next(iter(ways.values()), None)


def _inputs(subject: Subject, path: Path, call: Call, callee: Procedure) -> Iterator[Diagnostic]:
    passed = {name: one for name, one in callee.inputs.items() if one.from_ is None}
    for name, value in call.with_.items():
        where = (*path, "with", name)
        one = passed.get(name)
        if one is None and name in callee.inputs:
            source = callee.inputs[name].from_
            message = Text(
                f"'{callee.id}' takes '{name}' from {source}, not from its caller",
                f"“{callee.id}”的输入“{name}”来自 {source}，不由调用者传入",
            )
            yield subject.error("SW802", where, message, Text("Remove it.", "请删除。"))
        elif one is None:
            message = Text(f"'{callee.id}' takes no '{name}'", f"“{callee.id}”没有输入“{name}”")
            yield subject.error("SW802", where, message, close(name, passed))
        else:
            for at, problem in misfits(value, one.schema_, one.schema_, where, subject.gives):
                message = Text(
                    f"'{name}' of '{callee.id}' {problem.en}",
                    f"“{callee.id}”的输入“{name}”不合要求：{problem.zh}",
                )
                yield subject.error("SW804", at, message)
    for name in passed:
        if name not in call.with_:
            message = Text(
                f"'{callee.id}' needs '{name}', and nobody gives it",
                f"“{callee.id}”需要输入“{name}”，但无人提供",
            )
            hint = Text(f"Add it under 'with': {name}: …", f"请在 with 中补上：{name}: …")
            yield subject.error("SW803", (*path, "procedure"), message, hint)


_SHORTER = Text(
    "Put some of these procedures together, or have the first one call them one after the other.",
    "请合并其中一些流程，或由第一个流程依次调用它们。",
)
_NO_END = Text(
    "A run of them would never end: repeat steps inside one procedure instead.",
    "这样的运行永远不会结束：请改为在一个流程内重复步骤。",
)
