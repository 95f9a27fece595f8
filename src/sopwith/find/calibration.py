"""Threshold and margin of a selection, from requests of which somebody has said which procedure is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from sopwith.find.selection import Limits, Ranking, select

MOST_FALSE = 0.05
"""The share of requests without a right procedure for which one may be picked."""

MARGINS = (0.0, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2)


@dataclass(frozen=True, slots=True)
class Labelled:
    """A request, ranked, and the procedure that is right for it; None where none is."""

    ranking: Ranking
    right: str | None


@dataclass(frozen=True, slots=True)
class Calibration:
    """Limits, and what they give on the requests that they are made from: `right` of `matching` were picked, and for
    `false` of `others` a procedure was picked though none is right, or for a matching one a wrong one (`wrong`)."""

    limits: Limits
    right: int
    matching: int
    wrong: int
    false: int
    others: int

    @property
    def false_share(self) -> float:
        """Of the requests without a right procedure."""
        return self.false / self.others if self.others else 0.0


def outcome(labelled: Sequence[Labelled], limits: Limits) -> Calibration:
    """What these limits give."""
    right = wrong = false = 0
    for each in labelled:
        if select(each.ranking, limits).verdict != "picked":
            continue
        picked = each.ranking.candidates[0].id
        right += picked == each.right
        wrong += each.right is not None and picked != each.right
        false += each.right is None
    matching = sum(each.right is not None for each in labelled)
    return Calibration(limits, right, matching, wrong, false, len(labelled) - matching)


def calibrate(labelled: Sequence[Labelled], most_false: float = MOST_FALSE) -> Calibration:
    """The limits that pick most right procedures (less those that are wrong) while false picks stay within bounds.

    Of limits that are as good, the strictest; where none keeps within bounds, those with the fewest false picks. Raises
    `ValueError` without requests.
    """
    if not labelled:
        raise ValueError("no labelled requests")
    scores = sorted(
        {each.ranking.candidates[0].score for each in labelled if each.ranking.candidates} | {1.0}
    )
    tried = [outcome(labelled, Limits(*limits)) for limits in product(scores, MARGINS)]
    least = max(most_false, min(each.false_share for each in tried))
    within = [each for each in tried if each.false_share <= least]
    return max(within, key=lambda each: (each.right - each.wrong, each.limits.threshold, each.limits.margin))
