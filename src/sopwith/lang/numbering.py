"""The numbers of the steps, derived from the graph: `3` on the main line, `4-2 1` for the first step of
the second branch of step 4, `4-2 1-1 1` where that step branches again.

Source of the form: the Routine paper (structural planning for enterprise agents), where `X-n i` is the i-th
step of the n-th branch of step X. `n` is the position of the edge that opens the branch, so numbers of
branches and edges agree.

- The start and joins (steps that several lead forward to) are on the main line. `on_error` opens no branch: what only
  it leads to follows on the main line, so that a procedure and its Routine text have the same numbers.
- A step with one successor that is no join continues its line, whatever the other edges go to. Several such
  successors open a branch each.
- A file lists the arms of a step one after the other: what follows a branch's last step but is listed after
  the head of a later sibling arm is on the line of the branching step, of the outermost such branch.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Iterator
from math import inf

from sopwith.ir.procedure import Procedure
from sopwith.lang.graph import Graph, graph

MAIN = ""


def numbers(procedure: Procedure) -> dict[str, str]:
    """The number of every step, by its id, in the order of the graph."""
    if any(step.on_error for step in procedure.steps.values()):
        steps = {name: step.model_copy(update={"on_error": ()}) for name, step in procedure.steps.items()}
        procedure = procedure.model_copy(update={"steps": steps})
    return _Numbering(procedure).number()


def label(number: str, language: str = "en") -> str:
    """A number as it stands in text: `Step 3`, `Branch 4-2 Step 1`; `步骤 3`, `分支 4-2 步骤 1`."""
    branch, _, last = number.rpartition(" ")
    step, arm = ("步骤", "分支") if language == "zh" else ("Step", "Branch")
    return f"{arm} {branch} {step} {last}" if branch else f"{step} {last}"


class _Numbering:
    """One numbering; the tables it needs are made once."""

    def __init__(self, procedure: Procedure) -> None:
        self.procedure = procedure
        self.graph: Graph = graph(procedure)
        self.position = {step: i for i, step in enumerate(procedure.steps)}
        self.before = _forward_predecessors(self.graph)
        self.joins = {s for s in self.graph.order if len(self.before[s]) != 1} | set(self.graph.roots)
        self.line: dict[str, str] = {}
        self.around: dict[str, str] = {MAIN: MAIN}
        self.ends: dict[str, float] = {MAIN: inf}
        self.arm_ends: dict[str, dict[str, float]] = {}
        self.leaves: dict[str, str] = {MAIN: MAIN}

    def number(self) -> dict[str, str]:
        used: Counter[str] = Counter()
        found: dict[str, str] = {}
        for step in self.graph.order:
            line = MAIN if step in self.joins else self._line_of(step, found)
            self.line[step] = line
            used[line] += 1
            found[step] = f"{line} {used[line]}" if line else str(used[line])
        return found

    def _line_of(self, step: str, found: dict[str, str]) -> str:
        (previous,) = self.before[step]
        arms = self._arms(previous)
        if len(arms) > 1:
            return self._branch(previous, step, arms, found[previous])
        return self._going_on(self.line[previous], self.position[step])

    def _branch(self, opener: str, head: str, arms: list[str], number: str) -> str:
        """A new line inside that of `opener`. `leaves` skips the lines that a line around them always ends before."""
        targets = [e.to for e in self.procedure.steps[opener].next]
        line, around = f"{number}-{targets.index(head) + 1}", self.line[opener]
        self.around[line] = around
        if opener not in self.arm_ends:
            self.arm_ends[opener] = dict(self._ends(arms))
        self.ends[line] = self.arm_ends[opener][head]
        outer = self.leaves[around]
        self.leaves[line] = line if self.ends[line] < self.ends[outer] else outer
        return line

    def _ends(self, arms: list[str]) -> Iterator[tuple[str, float]]:
        """Where the first later sibling of each arm is listed after it; infinity for none."""
        later: list[int] = []
        for arm in reversed(arms):
            at = bisect(later, self.position[arm])
            yield arm, later[at] if at < len(later) else inf
            later.insert(at, self.position[arm])

    def _going_on(self, line: str, position: int) -> str:
        """The line of a step listed at `position` that follows on `line`: around the outermost branch it has left."""
        found, leaving = line, self.leaves[line]
        while self.ends[leaving] < position:
            found = self.around[leaving]
            leaving = self.leaves[found]
        return found

    def _arms(self, step: str) -> list[str]:
        """The successors that are no joins."""
        follow = self.graph.successors[step]
        return [to for to in follow if to not in self.joins and (step, to) not in self.graph.back]


def _forward_predecessors(found: Graph) -> dict[str, list[str]]:
    before: dict[str, list[str]] = {step: [] for step in found.successors}
    for step, follow in found.successors.items():
        for to in follow:
            if (step, to) not in found.back:
                before[to].append(step)
    return before
