"""Regions: connected steps of grip `guide`, in which a model may do anything that is permitted, in any order.

What a way out of a region needs is not known by the path there; the way out demands it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast

from sopwith.errors import ExpressionError
from sopwith.expr.template import parse_template
from sopwith.ir.procedure import Grip, Procedure, Step

GUIDED = frozenset({"tool", "returns", "answer", "ask", "route"})
"""The kinds of steps that a model can be guided through; others do in `guide` what they do in `strict`."""


@dataclass(frozen=True, slots=True)
class Region:
    """Steps that one transcript runs through.

    `writes` are the names that they write; `ends` says whether a completing end is among them. `demands` are the names
    of `writes` that must have a value before a step's ways out are taken (by step), `at_end` those that the
    procedure's own `verify` reads.
    """

    steps: tuple[str, ...]
    writes: frozenset[str]
    ends: bool
    demands: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    at_end: tuple[str, ...] = ()


def grip_of(step: Step, held: Grip) -> Grip:
    """The grip of a step in a procedure that is `held`: kinds that nobody can be guided through are strict."""
    grip = step.grip or held
    return Grip.STRICT if grip is Grip.GUIDE and step.kind not in GUIDED else grip


def regions_of(procedure: Procedure, held: Grip | None = None) -> dict[str, Region]:
    """The region of each guide step, without its demands. `held` replaces the procedure's own grip."""
    steps = procedure.steps
    guided = [name for name, step in steps.items() if grip_of(step, held or procedure.grip) is Grip.GUIDE]
    beside: dict[str, list[str]] = {name: [] for name in guided}
    for name in guided:
        for edge in (*steps[name].next, *steps[name].on_error):
            if edge.to in beside:
                beside[name].append(edge.to)
                beside[edge.to].append(name)
    found: dict[str, Region] = {}
    for name in guided:
        if name in found:
            continue
        inside = _connected(name, beside)
        members = tuple(step for step in guided if step in inside)
        writes = frozenset(written for step in members if (written := steps[step].writes) is not None)
        region = Region(members, writes, any(steps[step].end == "complete" for step in members))
        found |= dict.fromkeys(members, region)
    return found


def _connected(first: str, beside: Mapping[str, list[str]]) -> set[str]:
    seen = {first}
    todo = [first]
    while todo:
        for other in beside[todo.pop()]:
            if other not in seen:
                seen.add(other)
                todo.append(other)
    return seen


def with_demands(procedure: Procedure, regions: Mapping[str, Region]) -> dict[str, Region]:
    """`regions` with what their ways out and ends demand."""
    if not regions:
        return {}
    live = _live(procedure, regions)
    at_end = frozenset(_names(procedure.verify))
    made: dict[int, Region] = {}
    for region in regions.values():
        if id(region) not in made:
            demands = {step: _demanded(procedure, region, step, live) for step in region.steps}
            made[id(region)] = Region(
                region.steps,
                region.writes,
                region.ends,
                {step: names for step, names in demands.items() if names},
                tuple(sorted(at_end & region.writes)),
            )
    return {name: made[id(region)] for name, region in regions.items()}


def ways_out(step: Step, region: Region) -> tuple[int, ...]:
    """The places of those edges in `next` that leave the region."""
    return tuple(i for i, edge in enumerate(step.next) if edge.to not in region.steps)


def only_ends(step: Step) -> bool:
    """Whether a step does nothing but end the run: whoever comes to it from outside of its region has ended."""
    return step.kind == "route" and step.end is not None


def _demanded(
    procedure: Procedure, region: Region, step: str, live: Mapping[str, frozenset[str]]
) -> tuple[str, ...]:
    one = procedure.steps[step]
    out = ways_out(one, region)
    needed: set[str] = set()
    for i, edge in enumerate(one.next) if out else ():
        if i in out or (edge.to in procedure.steps and only_ends(procedure.steps[edge.to])):
            needed.update(_names(edge.when), live.get(edge.to, ()))
            if edge.judge is not None:  # the judgement is asked for with the step's own words
                needed.update(_filled(one.do), (use.partition(".")[0] for use in one.uses or ()))
    return tuple(sorted(needed & region.writes))


def _live(procedure: Procedure, regions: Mapping[str, Region]) -> dict[str, frozenset[str]]:
    """The names that each step, or one behind it, may read before anybody writes them anew: backward, by fixpoint."""
    steps = procedure.steps
    before: dict[str, list[str]] = {name: [] for name in steps}
    for name, step in steps.items():
        for edge in (*step.next, *step.on_error):
            if edge.to in before:
                before[edge.to].append(name)
    end = list(_names(procedure.verify))
    reads: dict[str, set[str]] = {}
    for name, step in steps.items():
        reads[name] = {*_reads(step), *(end if step.end == "complete" else ())}
    live: dict[str, frozenset[str]] = {name: frozenset() for name in steps}
    todo = dict.fromkeys(reversed(steps))
    while todo:
        name, _ = todo.popitem()
        step = steps[name]
        ahead = frozenset(reads[name]).union(*(live[e.to] for e in step.next if e.to in live))
        if name not in regions and step.writes is not None:
            ahead -= {step.writes}  # it is written before anything behind the step reads it
        ahead = ahead.union(*(live[e.to] for e in step.on_error if e.to in live))
        if ahead != live[name]:
            live[name] = ahead
            todo |= dict.fromkeys(before[name])
    return live


def _reads(step: Step) -> Iterator[str]:
    """Every name that an expression of `step` reads."""
    for condition in (step.verify, *(edge.when for edge in (*step.next, *step.on_error))):
        yield from _names(condition)
    for use in step.uses or ():
        yield use.partition(".")[0]
    wait = () if step.wait is None else (step.wait.until, step.wait.for_)
    for one in (*wait, None if step.each is None else step.each.in_):
        yield from _filled(one) if one is not None and "${" in one else _names(one)
    called = None if step.call is None else step.call.with_
    yield from _filled([step.do, step.answer, step.ask, step.with_, step.result, step.returns, called])


def _names(condition: str | None) -> Iterator[str]:
    """The names that a condition reads."""
    from sopwith.expr.expression import parse  # machines are read also where nothing is parsed

    if condition is not None:
        with suppress(ExpressionError):  # the check says what is wrong with it
            yield from parse(condition).names


def _filled(value: Any) -> Iterator[str]:
    """The names that the `${…}` in a value read."""
    if isinstance(value, dict):
        value = list(cast("dict[str, Any]", value).values())
    if isinstance(value, list | tuple):
        for item in cast("list[Any]", value):
            yield from _filled(item)
    elif isinstance(value, str) and "${" in value:
        with suppress(ExpressionError):
            yield from (path[0] for path in parse_template(value).paths)
