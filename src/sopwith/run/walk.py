"""The path of a run over the drawing of its procedure: a view of the state, and so of the events."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from sopwith.ir.procedure import Edge, Procedure
from sopwith.lang.drawing import Walk, kind_of
from sopwith.run.state import Visited


def walk_of(procedure: Procedure, path: Iterable[Visited]) -> Walk:
    """When each step was visited, and which way was taken after which visit; both counted from 1.

    A step that the procedure does not have (the one of grip `free`) and a way that a person chose are left out.
    """
    visits: dict[str, tuple[int, ...]] = defaultdict(tuple)
    taken: dict[tuple[str, bool, int], tuple[int, ...]] = defaultdict(tuple)
    before: str | None = None
    for at, visited in enumerate(path, 1):
        if visited.step in procedure.steps:
            visits[visited.step] += (at,)
        if before is not None and (way := _way(procedure, before, visited)) is not None:
            taken[way] += (at - 1,)
        before = visited.step
    return Walk(dict(visits), dict(taken))


def _way(procedure: Procedure, start: str, visited: Visited) -> tuple[str, bool, int] | None:
    """The way by which a run came from `start`: of those that lead there the one that says what decided."""
    step = procedure.steps.get(start)
    if step is None or visited.by not in ("always", "when", "judge", "otherwise", "error"):
        return None
    failed = visited.by == "error"
    edges = step.on_error if failed else step.next
    fits = [i for i, edge in enumerate(edges) if edge.to == visited.step]
    if not failed:
        fits = [i for i in fits if kind_of(edges[i]) == visited.by] or fits
    said = [i for i in fits if visited.label in _labels(edges[i])] or fits
    return (start, failed, said[0]) if said else None


def _labels(edge: Edge) -> tuple[str | None, ...]:
    return (edge.when, edge.judge)
