"""What must have been true for a run to come to a step: the conditions of the edges that alone lead there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sopwith.expr.expression import Expression
from sopwith.ir.procedure import Grip, Step
from sopwith.lang.check.subject import Subject

_FURTHEST = 6


@dataclass(frozen=True, slots=True)
class Fact:
    """A condition, and whether it held."""

    expression: Expression
    holds: bool


class Facts:
    """The facts of all steps. Only a step that a single edge leads to has any, and none to which a model may go from
    any other step of its region: there, it also takes ways that are not open."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._steps = subject.steps
        self._into: dict[str, list[tuple[str, int | None]]] = {}
        for name, step in subject.steps.items():
            for i, edge in enumerate(step.next):
                self._into.setdefault(edge.to, []).append((name, i))
            for edge in step.on_error:
                self._into.setdefault(edge.to, []).append((name, None))
        self._start = subject.procedure.start

    def at(self, step: str, names: set[str]) -> list[Fact]:
        """What is known after `step` about the values of `names`, from the edges on the way to it."""
        found: list[Fact] = []
        written: set[str | None] = {self._steps[step].writes}
        for _ in range(_FURTHEST):
            ways = self._into.get(step, ())
            if len(ways) != 1 or step == self._start or self._is_free_to_come(step):
                break
            step, index = ways[0]
            before = self._steps[step]
            if index is not None:
                found += [
                    fact
                    for fact in self._of(step, before, index)
                    if names.intersection(fact.expression.names)
                    and not written.intersection(fact.expression.names)
                ]
            written.add(before.writes)
        return found

    def _is_free_to_come(self, step: str) -> bool:
        region = self._subject.flow.regions.get(step)
        return region is not None and len(region.steps) > 1

    def _of(self, name: str, step: Step, index: int) -> Iterator[Fact]:
        """The facts of taking the edge `index`."""
        taken = step.next[index]
        if taken.when is not None:
            yield from self._fact(name, index, True)
        if self._subject.grip(step) is not Grip.STRICT or (
            step.min_confidence is not None and taken.otherwise
        ):
            return  # the model chose among several, or doubt led here
        for i, edge in enumerate(step.next[:index]):
            if edge.when is not None and edge.when != taken.when:
                yield from self._fact(name, i, False)

    def _fact(self, name: str, index: int, holds: bool) -> Iterator[Fact]:
        expression = self._subject.condition(("steps", name, "next", index, "when"))
        if expression is not None:
            yield Fact(expression, holds)
