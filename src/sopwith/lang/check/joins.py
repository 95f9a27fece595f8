"""Branches that never come together again.

An arm may end where it likes. What is told is two long lines side by side: from one branch, two arms that share no
step any more, both of more than `LONG` steps on the way to completing ends of their own. Such arms are two procedures
in one, or one of them was meant to come back. Steps that only an escalation follows are on nobody's line, so that a
shared hand-over to a person neither joins arms nor makes them long; an arm that leads back to an earlier step rejoins
there.
"""

from __future__ import annotations

from collections.abc import Iterator

from sopwith.errors import Text
from sopwith.ir.diagnostic import Diagnostic
from sopwith.lang.check.reach import closure, reversed_edges
from sopwith.lang.check.subject import Subject

LONG = 4


def problems(subject: Subject) -> Iterator[Diagnostic]:
    """SW221."""
    if not any(len(step.next) > 1 for step in subject.steps.values()):
        return
    lines = _lines(subject)
    back = {step for step, _ in subject.graph.back}
    returns = sum(1 << i for i, name in enumerate(subject.graph.order) if name in back)
    for name, step in subject.steps.items():
        arms = {
            edge.to: i
            for i, edge in reversed(list(enumerate(step.next)))
            if edge.to in lines and not lines[edge.to] & returns
        }
        for to, i in sorted(arms.items(), key=lambda arm: (lines[arm[0]].bit_count(), arm[1])):
            others = [lines[other] for other in arms if other != to]
            longest = max(others, key=int.bit_count, default=0)
            if min(lines[to].bit_count(), longest.bit_count()) > LONG and not any(
                lines[to] & o for o in others
            ):
                yield _apart(subject, name, i, to, lines[to].bit_count(), longest.bit_count())
                break


def _lines(subject: Subject) -> dict[str, int]:
    """The steps from each step to a completing end, going forward only, as bits in the order of the graph."""
    completing = [name for name, step in subject.steps.items() if step.end == "complete"]
    on_line = closure(completing, reversed_edges(subject, failures=False))
    found: dict[str, int] = {}
    for i, name in reversed(list(enumerate(subject.graph.order))):
        if name in on_line:
            found[name] = 1 << i
            for edge in subject.steps[name].next:
                if (name, edge.to) not in subject.graph.back:
                    found[name] |= found.get(edge.to, 0)
    return found


def _apart(subject: Subject, name: str, i: int, to: str, short: int, long: int) -> Diagnostic:
    edge = subject.steps[name].next[i]
    message = Text(
        f"the arm from '{to}' ({short} steps) never rejoins the other ({long} steps): they share no step",
        f"从“{to}”开始的分支（{short} 个步骤）不再与另一分支（{long} 个步骤）汇合：直到结束都没有共同的步骤",
    )
    hint = Text(
        "Lead it back to a step of the other arm, or make it a procedure of its own.",
        "请让它回到另一分支的某个步骤，或单独写成一个流程。",
    )
    path = ("steps", name, "next", i, "otherwise" if edge.otherwise else "to")
    return subject.warning("SW221", path, message, hint)
