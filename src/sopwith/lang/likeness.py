"""How alike two steps are, where nothing but what they do can say that they are the same one."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any

from sopwith.ir.procedure import Procedure, Step

ALIKE = 0.6
"""Steps that are less alike than this are different ones."""

_MOST_PAIRS = 40_000
_WEIGHTS = {"tool": 3.0, "name": 2.0, "words": 2.0, "with": 2.0, "returns": 1.5, "after": 1.5, "before": 1.5}

Grams = Counter[str]


@dataclass(frozen=True, slots=True)
class Features:
    """What is compared of a step; a feature that neither of two steps has does not count."""

    tool: str | None
    grams: Mapping[str, Grams]
    after: frozenset[str]
    before: frozenset[str]


def likeness(one: Features, other: Features) -> float:
    """From 0 to 1."""
    scores = {"after": _overlap(one.after, other.after), "before": _overlap(one.before, other.before)}
    if one.tool or other.tool:
        scores["tool"] = float(one.tool == other.tool)
    for name in _WEIGHTS:
        mine, theirs = one.grams.get(name), other.grams.get(name)
        if mine or theirs:
            scores[name] = _dice(mine or Counter(), theirs or Counter())
    counted = {name: score for name, score in scores.items() if score is not None}
    whole = sum(_WEIGHTS[name] for name in counted)
    return sum(_WEIGHTS[name] * score for name, score in counted.items()) / whole if whole else 0.0


def renamed(
    before: Procedure, after: Procedure, lost: Collection[str], new: Collection[str]
) -> list[tuple[str, str, float]]:
    """The steps of `lost` that are steps of `new` under another id, the most alike first; each at most once."""
    known = before.steps.keys() & after.steps.keys()
    mine, theirs = _features(before, lost, known), _features(after, new, known)
    scored = [
        (likeness(mine[one], theirs[other]), i, one, other)
        for i, (one, other) in enumerate(_pairs(before, after, lost, new))
    ]
    found: list[tuple[str, str, float]] = []
    taken: set[tuple[bool, str]] = set()
    for score, _, one, other in sorted(scored, key=lambda each: (-each[0], each[1])):
        if score < ALIKE:
            break
        if (False, one) not in taken and (True, other) not in taken:
            taken |= {(False, one), (True, other)}
            found.append((one, other, score))
    return found


def _pairs(
    before: Procedure, after: Procedure, lost: Collection[str], new: Collection[str]
) -> Iterable[tuple[str, str]]:
    """The pairs worth comparing: of one kind; where those are too many, also of one tool, and then of one name."""
    pairs: list[tuple[str, str]] = []
    for key in _KEYS:
        groups: dict[Hashable, list[str]] = defaultdict(list)
        for name in new:
            groups[key(after.steps[name])].append(name)
        count = sum(len(groups.get(key(before.steps[name]), ())) for name in lost)
        if count > _MOST_PAIRS and key is not _KEYS[-1]:
            continue
        pairs = [(one, other) for one in lost for other in groups.get(key(before.steps[one]), ())]
        break
    return pairs[:_MOST_PAIRS]


_KEYS: tuple[Callable[[Step], Hashable], ...] = (
    lambda step: step.kind,
    lambda step: (step.kind, step.tool),
    lambda step: (step.kind, step.tool, step.name, step.do),
)


def _features(procedure: Procedure, names: Collection[str], known: Set[str]) -> dict[str, Features]:
    """The features of the steps `names`. Of their neighbours those count that both procedures have (`known`)."""
    before: dict[str, set[str]] = defaultdict(set)
    for step in procedure.steps.values():
        for edge in (*step.next, *step.on_error) if step.id in known else ():
            before[edge.to].add(step.id)
    before[procedure.start].add("")
    return {name: _features_of(procedure.steps[name], frozenset(before[name]), known) for name in names}


def _features_of(step: Step, before: frozenset[str], known: Set[str]) -> Features:
    words = " ".join(word for word in (step.do, step.ask, step.answer) if word)
    texts = {
        "name": step.name or "",
        "words": words,
        "with": _json(step.with_),
        "returns": _json(step.returns),
    }
    after = frozenset(edge.to for edge in (*step.next, *step.on_error) if edge.to in known)
    grams = {name: _grams(text) for name, text in texts.items() if text}
    return Features(step.tool, grams, after | {f"end {step.end}"} if step.end else after, before)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if value else ""


def _grams(text: str) -> Grams:
    """Pairs of neighbouring characters: words of any script."""
    text = f" {text.casefold()} "
    return Counter(text[i : i + 2] for i in range(len(text) - 1))


def _dice(one: Grams, other: Grams) -> float:
    """Twice what is common, of all (Dice 1945)."""
    return 2 * (one & other).total() / (one.total() + other.total())


def _overlap(one: frozenset[str], other: frozenset[str]) -> float | None:
    return len(one & other) / len(one | other) if one or other else None
