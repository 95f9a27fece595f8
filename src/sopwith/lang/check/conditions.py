"""The conditions of one step together, against the schemas of what they read and the edges that lead to the step.

Proved, never guessed: a condition is told to be never or always true, or covered by earlier ones, only where every
case that the schemas admit was tried, and two conditions are told to hold together only with values for which they do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sopwith.errors import Text
from sopwith.expr.cases import Cases, cases, told
from sopwith.expr.expression import Expression
from sopwith.expr.shape import kinds
from sopwith.ir.diagnostic import Diagnostic
from sopwith.ir.procedure import Edge, Grip
from sopwith.ir.value import Json
from sopwith.lang.check.facts import Facts
from sopwith.lang.check.flow import Known
from sopwith.lang.check.subject import Subject
from sopwith.lang.document import Path


def problems(subject: Subject) -> Iterator[Diagnostic]:
    """SW218 to SW220."""
    facts = Facts(subject)
    for name, step in subject.steps.items():
        strict = subject.grip(step) is Grip.STRICT
        for key, edges, at in (
            ("next", step.next, subject.flow.after),
            ("on_error", step.on_error, subject.flow.failed),
        ):
            group = _group(subject, name, key, edges)
            if group and name in at:
                yield from _judge(subject, group, _decided(subject, group, at[name], facts, name), strict)


@dataclass(frozen=True, slots=True)
class _When:
    """One condition: its edge, its place and its expression."""

    edge: Edge
    path: Path
    expression: Expression


@dataclass(frozen=True, slots=True)
class _Decided:
    """The cases that can arise at a step, and in which of them each condition is true (None: it fails)."""

    cases: Cases
    truth: tuple[tuple[bool | None, ...], ...]


def _group(subject: Subject, name: str, key: str, edges: tuple[Edge, ...]) -> list[_When]:
    """The conditions of a step, if nothing is wrong with any of them; what reads nothing is a constant."""
    found: list[_When] = []
    for i, edge in enumerate(edges):
        if edge.when is None:
            continue
        path = ("steps", name, key, i, "when")
        site = subject.site(path)
        examined = None if site is None else subject.scopes.examine(site)
        if site is None or examined is None or not isinstance(site.found, Expression):
            return []
        if examined.problems or not kinds(examined.result) & {"bool", "dyn"}:
            return []
        if site.found.names:
            found.append(_When(edge, path, site.found))
    return found


def _decided(subject: Subject, group: list[_When], known: Known, facts: Facts, step: str) -> _Decided | None:
    """Each condition in each case that the facts of the way to the step leave possible."""
    read = {name for when in group for name in when.expression.names}
    given = facts.at(step, read)
    expressions = [when.expression for when in group]
    names = read.union(*(fact.expression.names for fact in given))
    found_types = {name: subject.scopes.type_at(known, name) for name in names}
    types = {name: one for name, one in found_types.items() if one is not None}
    given = [fact for fact in given if types.keys() >= set(fact.expression.names)]
    made = cases([*expressions, *(fact.expression for fact in given)], types)
    scopes = [
        scope for scope in made.scopes if all(_truth(fact.expression, scope) is fact.holds for fact in given)
    ]
    if not scopes:
        return None
    truth = tuple(tuple(_truth(one, scope) for scope in scopes) for one in expressions)
    return _Decided(Cases(tuple(scopes), made.complete, made.certain), truth)


def _truth(expression: Expression, scope: dict[str, Json]) -> bool | None:
    found = expression.attempt(scope)
    return found if isinstance(found, bool) else None


def _judge(
    subject: Subject, group: list[_When], decided: _Decided | None, strict: bool
) -> Iterator[Diagnostic]:
    if decided is None:
        return
    whole = set(range(len(decided.cases.scopes)))
    taken: set[int] = set()
    earlier: list[int] = []
    sources: set[str] = set()
    for i, (when, truth) in enumerate(zip(group, decided.truth, strict=True)):
        true = {case for case in whole if truth[case]}
        if when.expression.source in sources:
            continue  # reported as a twin
        sources.add(when.expression.source)
        if decided.cases.complete and not true:
            yield subject.warning("SW218", when.path, *_NEVER)
            continue
        if not strict:
            continue  # the model chooses among the edges whose conditions hold
        if decided.cases.complete and true == whole:
            yield subject.warning("SW218", when.path, *_ALWAYS)
            return
        if decided.cases.complete and true <= taken:
            yield subject.warning("SW219", when.path, *_COVERED)
            continue
        yield from _overlap(subject, group, decided, earlier, i)
        taken |= true
        earlier.append(i)


def _overlap(
    subject: Subject, group: list[_When], decided: _Decided, earlier: list[int], second: int
) -> Iterator[Diagnostic]:
    """The first earlier condition that holds together with the `second`, where neither is a special case of the other.

    A special case that stands first is how a choice in order is written, and is not told; nor is a guard: an earlier
    condition that leads straight to a person.
    """
    if not decided.cases.certain:
        return
    two = group[second]
    for first in earlier:
        one = group[first]
        target = subject.steps.get(one.edge.to)
        if target is not None and target.end == "escalate":
            continue
        pairs = list(zip(decided.truth[first], decided.truth[second], strict=True))
        if one.edge.to == two.edge.to or (True, False) not in pairs or (False, True) not in pairs:
            continue
        both = next((case for case, pair in enumerate(pairs) if pair == (True, True)), None)
        if both is None:
            continue
        paths = dict.fromkeys((*one.expression.paths, *two.expression.paths))
        case = told(paths, decided.cases.scopes[both])
        message = Text(
            f"with {case.en}, both this and '{one.expression.source}' hold: '{one.edge.to}' comes first and is taken",
            f"当 {case.zh} 时，此条件与“{one.expression.source}”同时成立：排在前面的“{one.edge.to}”会被选中",
        )
        other = _not(one.expression.source)
        hint = Text(f"If that is meant, say so: … && {other}", f"若确实如此，请写明：… && {other}")
        yield subject.warning("SW220", two.path, message, hint)
        return


def _not(source: str) -> str:
    """The condition that is true where `source` is false."""
    negated = re.fullmatch(r"!([\w.]+)", source)
    return negated[1] if negated else f"!({source})"


_CORRECT = Text("Correct the condition, or remove an edge.", "请改正条件，或删除一条边。")
_NEVER = (
    Text(
        "this is true for no value that the schemas and the edges to this step admit",
        "在 schema 和通往该步骤的边所允许的取值中，该条件从不成立",
    ),
    _CORRECT,
)
_ALWAYS = (
    Text(
        "this is true for every value that the schemas and the edges to this step admit: no other edge is taken",
        "在 schema 和通往该步骤的边所允许的取值中，该条件总是成立：其他边不会被选中",
    ),
    _CORRECT,
)
_COVERED = (
    Text(
        "whenever this is true, an edge before it has been taken",
        "凡是该条件成立时，前面的边都已被选中",
    ),
    Text("Move it up, correct the condition, or remove the edge.", "请上移、改正条件，或删除该边。"),
)
