"""Which names have a value where: over all paths of the graph, by fixpoint.

Inside a region of guide steps a model may do anything in any order: behind it holds what held on every way in and no
step of the region writes, and what the way out demands (`sopwith.lang.region`).

Two facts per point, as bits. *Must*: the names that have a value on every path. *May*: the steps whose value
may be there under the name that they write. A failing step leaves its own name without a value and sets
`error`; both hold on what follows its `on_error` edges, and `error` stays until the end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from heapq import heappop, heappush
from typing import NamedTuple

from sopwith.ir.procedure import Procedure
from sopwith.lang.graph import Graph
from sopwith.lang.region import Region, only_ends, regions_of

ERROR = "error"


class Known(NamedTuple):
    """What is known at one point: names that surely have a value, steps whose value may be there."""

    must: int
    may: int


@dataclass(slots=True)
class Flow:
    """The facts of a procedure.

    `before`, `after` and `failed` tell what is known on entering a step, after its work and after it failed;
    steps that the start does not reach are not in them. `names` are the bits of `Known.must`, `writers` those
    of `Known.may`; `by_name` are the steps that write a name.
    """

    names: dict[str, int]
    writers: dict[str, int]
    by_name: dict[str, tuple[str, ...]]
    before: dict[str, Known] = field(default_factory=dict[str, Known])
    after: dict[str, Known] = field(default_factory=dict[str, Known])
    failed: dict[str, Known] = field(default_factory=dict[str, Known])
    regions: Mapping[str, Region] = field(default_factory=dict[str, Region])
    lone_ends: frozenset[str] = frozenset()
    """The steps that do nothing but end the run."""
    entering: dict[str, Known] = field(default_factory=dict[str, Known])
    """What is known on every way into a region, by the first of its steps."""

    def has(self, known: Known, name: str) -> bool:
        """Whether `name` has a value on every path to this point."""
        return bool(known.must & self.names.get(name, 0))

    def behind(self, step: str, known: Known, *, failed: bool = False) -> Known:
        """What is known where a way leads out of the region of `step`, at whose end `known` would hold by the path."""
        region = self.regions[step]
        entry = self.entering[region.steps[0]]
        written, writers = self._of_region(region)
        kept = entry.must & ~written
        demanded = 0 if failed else known.must & written
        error = self.names[ERROR] if failed else 0
        return Known(kept | demanded | error, known.may | entry.may | writers)

    def at_end(self, step: str) -> Known:
        """What is known where the run completes at `step`."""
        known = self.after[step]
        region = self.regions.get(step)
        if region is None:
            return known
        finished = self.behind(step, Known(known.must | self._of_region(region)[0], known.may))
        # An end that does nothing is also come to from outside, where nothing was demanded.
        return Known(finished.must & known.must, finished.may) if step in self.lone_ends else finished

    def _of_region(self, region: Region) -> tuple[int, int]:
        written = reduce(lambda bits, name: bits | self.names[name], region.writes, 0)
        return written, reduce(lambda bits, step: bits | self.writers.get(step, 0), region.steps, 0)

    def names_at(self, known: Known) -> list[str]:
        """The names that have a value on every path to this point."""
        return [name for name, bit in self.names.items() if known.must & bit]

    def sources(self, known: Known, name: str) -> list[str]:
        """The steps that may have written the value of `name` at this point."""
        return [step for step in self.by_name.get(name, ()) if known.may & self.writers[step]]


def join(points: Iterable[Known]) -> Known | None:
    """What is known where several paths meet."""
    found = list(points)
    if not found:
        return None
    return reduce(lambda one, two: Known(one.must & two.must, one.may | two.may), found)


def flow(procedure: Procedure, graph: Graph) -> Flow:
    """The facts of `procedure`."""
    found = _empty(procedure)
    if procedure.start not in procedure.steps:
        return found
    rank = {step: i for i, step in enumerate(graph.order)}
    found.before[procedure.start] = Known(0, 0)
    _enter(found, None, procedure.start, Known(0, 0))
    waiting = [rank[procedure.start]]  # a heap: what comes first is settled before what follows it
    while waiting:
        step = graph.order[heappop(waiting)]
        _pass_through(procedure, found, step)
        for to, known in _ways(procedure, found, step):
            for inside in _enter(found, step, to, known):
                if inside in found.before and rank[inside] not in waiting:
                    heappush(waiting, rank[inside])
            old = found.before.get(to)
            new = known if old is None else Known(old.must & known.must, old.may | known.may)
            if new != old:
                found.before[to] = new
                if rank[to] not in waiting:
                    heappush(waiting, rank[to])
    return found


def _enter(found: Flow, step: str | None, to: str, known: Known) -> tuple[str, ...]:
    """The steps of the region that is entered at `to`, where less is known of it than before."""
    region = found.regions.get(to)
    if region is None or (step is not None and found.regions.get(step) is region):
        return ()
    old = found.entering.get(region.steps[0])
    new = known if old is None else Known(old.must & known.must, old.may | known.may)
    found.entering[region.steps[0]] = new
    return () if new == old else region.steps


def _empty(procedure: Procedure) -> Flow:
    by_name: dict[str, list[str]] = {}
    for name, step in procedure.steps.items():
        if step.writes is not None:
            by_name.setdefault(step.writes, []).append(name)
    names = {name: 1 << i for i, name in enumerate(dict.fromkeys((*by_name, ERROR)))}
    writers = {step: 1 << i for i, step in enumerate(s for steps in by_name.values() for s in steps)}
    by_names = {name: tuple(steps) for name, steps in by_name.items()}
    lone = frozenset(name for name, step in procedure.steps.items() if only_ends(step))
    return Flow(names, writers, by_names, regions=regions_of(procedure), lone_ends=lone)


def _pass_through(procedure: Procedure, found: Flow, step: str) -> None:
    """What is known after `step` and after its failure, from what is known before it."""
    must, may = found.before[step]
    name = procedure.steps[step].writes
    error = found.names[ERROR]
    if name is None:
        found.after[step] = Known(must, may)
        found.failed[step] = Known(must | error, may)
        return
    bit = found.names[name]
    others = may
    for writer in found.by_name[name]:
        others &= ~found.writers[writer]
    found.after[step] = Known(must | bit, others | found.writers[step])
    found.failed[step] = Known((must & ~bit) | error, others)


def _ways(procedure: Procedure, found: Flow, step: str) -> Iterator[tuple[str, Known]]:
    region = found.regions.get(step)
    for edges, known, failed in (
        (procedure.steps[step].next, found.after[step], False),
        (procedure.steps[step].on_error, found.failed[step], True),
    ):
        for edge in edges:
            if edge.to not in procedure.steps:
                continue
            inside = region is None or (
                edge.to in region.steps and not (failed and edge.to in found.lone_ends)
            )
            yield edge.to, known if inside else found.behind(step, known, failed=failed)


def path_without(procedure: Procedure, found: Flow, name: str, goal: str) -> tuple[str, ...]:
    """The shortest path from the start to `goal` at whose end `name` has no value; empty if there is none."""
    start: tuple[str, bool] = (procedure.start, False)
    came: dict[tuple[str, bool], tuple[str, bool] | None] = {start: None}
    queue: deque[tuple[str, bool]] = deque([start])
    while queue:
        at = queue.popleft()
        step, has = at
        if step == goal and not has:
            return tuple(_back(came, at))
        own = procedure.steps[step].writes == name
        for edges, failed in ((procedure.steps[step].next, False), (procedure.steps[step].on_error, True)):
            now: bool = (name == ERROR or (has and not own)) if failed else (has or own)
            for edge in edges:
                to = (edge.to, now)
                if edge.to in procedure.steps and to not in came:
                    came[to] = at
                    queue.append(to)
    return ()


def _back(came: dict[tuple[str, bool], tuple[str, bool] | None], at: tuple[str, bool]) -> list[str]:
    steps: list[str] = []
    here: tuple[str, bool] | None = at
    while here is not None:
        steps.append(here[0])
        here = came[here]
    return steps[::-1]
