"""Every step can be reached, and from every step an end can."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping

from sopwith.errors import Text
from sopwith.ir.diagnostic import Diagnostic
from sopwith.lang.check.subject import Subject, close, meant


def problems(subject: Subject) -> Iterator[Diagnostic]:
    """SW201 to SW207."""
    yield from _unknown_targets(subject)
    if subject.procedure.start not in subject.steps:
        message = Text(
            f"the start '{subject.procedure.start}' is not a step",
            f"起始步骤“{subject.procedure.start}”不存在",
        )
        fix = meant(("start",), subject.procedure.start, subject.steps)
        hint = close(subject.procedure.start, subject.steps)
        yield subject.error("SW202", ("start",), message, hint, fix=fix)
        return
    reached = closure([subject.procedure.start], subject.graph.successors)
    for name in subject.steps:
        if name not in reached:
            message = Text(f"no path leads to step '{name}'", f"没有路径通向步骤“{name}”")
            hint = Text("Lead an edge to it, or remove it.", "请用边连到它，或将其删除。")
            yield subject.error("SW203", ("steps", name), message, hint)
    yield from _dead_ends(subject)
    yield from _cycles(subject, reached)


def _unknown_targets(subject: Subject) -> Iterator[Diagnostic]:
    for name, step in subject.steps.items():
        for key, edges in (("next", step.next), ("on_error", step.on_error)):
            for i, edge in enumerate(edges):
                if edge.to in subject.steps:
                    continue
                path = ("steps", name, key, i, "otherwise" if edge.otherwise else "to")
                message = Text(f"there is no step '{edge.to}'", f"没有步骤“{edge.to}”")
                fix = meant(path, edge.to, subject.steps)
                yield subject.error("SW201", path, message, close(edge.to, subject.steps), fix=fix)


def _dead_ends(subject: Subject) -> Iterator[Diagnostic]:
    for name, step in subject.steps.items():
        if not step.next and step.end is None:
            message = Text(f"step '{name}' has no way on and is no end", f"步骤“{name}”没有去处，也不是结束")
            hint = Text(
                "Add 'next: …', or 'end: complete' or 'end: escalate'.",
                "请加上 next，或 end: complete / end: escalate。",
            )
            yield subject.error("SW205", ("steps", name), message, hint)
        if step.next and step.end is not None:
            message = Text(
                f"step '{name}' is an end ({step.end}) and goes on as well",
                f"步骤“{name}”既是结束（{step.end}）又有去处",
            )
            hint = Text("Remove 'end' or 'next'.", "请去掉 end 或 next。")
            yield subject.error("SW206", ("steps", name, "end"), message, hint)


def _cycles(subject: Subject, reached: set[str]) -> Iterator[Diagnostic]:
    """Cycles that nothing leaves, and those that only `on_error` leaves.

    A step that leads nowhere counts as an end here: it is reported by itself.
    """
    before = reversed_edges(subject, failures=True)
    ends = [n for n, s in subject.steps.items() if s.end or not s.next or _leads_out(subject, n)]
    saved = closure(ends, before)
    trapped = [name for name in subject.graph.order if name in reached and name not in saved]
    yield from _once_each(subject, trapped, "SW204", *_NO_EXIT)
    safe = closure(ends, reversed_edges(subject, failures=False))
    only_failure = [n for n in subject.graph.order if n in reached and n in saved and n not in safe]
    yield from _once_each(subject, only_failure, "SW207", *_ONLY_FAILURE)


_NO_EXIT = (
    Text("no end can be reached from the cycle {}", "从循环 {} 到不了任何结束步骤"),
    Text("Give one of its steps an edge that leads out.", "请给其中一个步骤加一条通往外面的边。"),
)
_ONLY_FAILURE = (
    Text("only a failure leaves the cycle {}", "只有失败才能离开循环 {}"),
    Text("Give one of its steps a 'next' that leads out.", "请给其中一个步骤加一条通往外面的 next。"),
)


def _once_each(
    subject: Subject, steps: list[str], code: str, message: Text, hint: Text
) -> Iterator[Diagnostic]:
    """One report for each cycle among `steps`, and none for the steps that only lead into it."""
    inside = set(steps)
    within = {s: [t for t in subject.graph.successors[s] if t in inside] for s in steps}
    covered: set[str] = set()
    for name in steps:
        if name in covered or name not in subject.graph.cyclic:
            continue
        cycle = _cycle(name, within)
        if not cycle:
            continue
        covered |= closure([name], within)
        words = " → ".join(cycle)
        said = Text(message.en.format(words), message.zh.format(words))
        report = subject.error if code == "SW204" else subject.warning
        yield report(code, ("steps", name), said, hint)


def _leads_out(subject: Subject, name: str) -> bool:
    step = subject.steps[name]
    return any(edge.to not in subject.steps for edge in (*step.next, *step.on_error))


def reversed_edges(subject: Subject, *, failures: bool) -> dict[str, list[str]]:
    """Who leads to each step by `next`, and with `failures` by `on_error` too."""
    found: dict[str, list[str]] = {name: [] for name in subject.steps}
    for name, step in subject.steps.items():
        for edge in (*step.next, *step.on_error) if failures else step.next:
            if edge.to in found:
                found[edge.to].append(name)
    return found


def closure(first: Iterable[str], after: Mapping[str, Iterable[str]]) -> set[str]:
    """`first` and all that comes after."""
    found = set(first)
    queue = deque(found)
    while queue:
        for to in after.get(queue.popleft(), ()):
            if to not in found:
                found.add(to)
                queue.append(to)
    return found


def _cycle(name: str, after: Mapping[str, Iterable[str]]) -> list[str]:
    """The shortest way from `name` back to itself, both ends included; empty if there is none."""
    came: dict[str, str] = {}
    queue = deque([name])
    while queue:
        step = queue.popleft()
        for to in after[step]:
            if to == name:
                way = [name]
                while step != name:
                    way.append(step)
                    step = came[step]
                return [name, *reversed(way[1:]), name] if len(way) > 1 else [name, name]
            if to not in came:
                came[to] = step
                queue.append(to)
    return []
