"""The right procedure for a request, or the knowledge that none is, or that two could be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sopwith.find.entry import Entry
from sopwith.find.index import Hit, Index
from sopwith.find.operation import operations
from sopwith.find.outside import outside_entries

By = Literal["meaning", "words"]
"""What scores are made of: words alone, or words and meaning."""

LOOK = 10
"""So many procedures are looked at."""

OTHER_OPERATION = 0.2
"""What a score is multiplied with for each thing that the request wants done and the procedure does not speak of."""

OUTSIDE = 0.4
"""What is taken off all scores, of that of the request outside of everything that is most like this one."""


MOST_ALIKE = 3
"""Between so many procedures somebody is asked to choose, at most."""


@dataclass(frozen=True, slots=True)
class Limits:
    """When a procedure is picked: its score is at least `threshold`, and that of the next one less by `margin`."""

    threshold: float
    margin: float

    @property
    def doubt(self) -> float:
        """From this score on somebody is asked, before it is taken for none."""
        return self.threshold / 2


LIMITS: Mapping[By, Limits] = {"meaning": Limits(0.28, 0.12), "words": Limits(0.11, 0.05)}
"""Those of a library that was not calibrated."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A procedure with its score for a request, from 0 to 1. `unsaid` are the `OPERATIONS` that the request asks for
    and the procedure does not speak of."""

    hit: Hit
    score: float
    unsaid: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The id of the procedure."""
        return self.hit.entry.id


@dataclass(frozen=True, slots=True)
class Ranking:
    """The procedures for a request, best first; `outside` is the request outside of all that is most like it."""

    candidates: tuple[Candidate, ...]
    by: By
    outside: Hit | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """What came out: the first candidate is `picked`; it is `unsure` between those that are `alike`; or `none` is
    right."""

    verdict: Literal["picked", "unsure", "none"]
    ranking: Ranking
    limits: Limits

    @property
    def alike(self) -> tuple[Candidate, ...]:
        """Those between which somebody has to choose, best first."""
        found = self.ranking.candidates[:MOST_ALIKE]
        return tuple(each for each in found if each.score >= self.limits.doubt)


def fill(index: Index, procedures: Sequence[Entry]) -> None:
    """Make the index what `rank` needs: these procedures, and what is outside of all."""
    index.sync("procedure", procedures)
    index.sync("outside", outside_entries())


def rank(index: Index, request: str) -> Ranking:
    """The procedures for a request, with scores that say how sure it is."""
    hits = index.search(request, ["procedure"], LOOK)
    outside = next(iter(index.search(request, ["outside"], 1)), None)
    less = 0.0 if outside is None else OUTSIDE * outside.score
    wanted = operations(request)
    found: list[Candidate] = []
    for hit in hits:
        unsaid = tuple(sorted(wanted - operations(_said(hit.entry))))
        score = hit.score * OTHER_OPERATION ** len(unsaid) - less
        found.append(Candidate(hit, max(0.0, score), unsaid))
    by: By = "words" if all(hit.parts.semantic is None for hit in hits) else "meaning"
    return Ranking(tuple(sorted(found, key=lambda each: (-each.score, each.id))), by, outside)


def select(ranking: Ranking, limits: Limits | None = None) -> Selection:
    """What follows from a ranking; without `limits` by `LIMITS`."""
    limits = LIMITS[ranking.by] if limits is None else limits
    first = ranking.candidates[0].score if ranking.candidates else 0.0
    second = ranking.candidates[1].score if len(ranking.candidates) > 1 else 0.0
    if first <= 0 or first < limits.doubt:
        return Selection("none", ranking, limits)
    sure = first >= limits.threshold and first - second >= limits.margin
    return Selection("picked" if sure else "unsure", ranking, limits)


def _said(entry: Entry) -> str:
    return "\n".join((entry.name, entry.description, entry.body, *entry.examples, *entry.tags))
