"""The events of guidance: what a model was advised, where it went its own way, and that it left a region."""

from __future__ import annotations

from typing import Literal

from sopwith.ir.body import Body

Match = Literal["start", "exact", "alias", "none"]
"""How the position was found by the last action: at the start there is none; `alias`: by a tool called alike."""

Deviation = Literal["no_step", "no_edge", "closed", "skipped", "visits", "left"]
"""Why an action is none of the ways on: no step has it, no way leads to its step, the condition of the way does not
hold, the step at hand was left out, its step was entered more often than its `visits` allow, or `finish` left out
steps that follow."""


class GuidanceGiven(Body):
    """The advice of the next `model.requested`, whose tail ends with it.

    It was made from the neighbourhood of the `step` that the run is at: `steps` are those that it speaks of, `hops` how
    far it looks. A `fallback` looks at the whole graph, cut at so many bytes. `text` is the digest of its words.
    """

    kind: Literal["guidance.given"] = "guidance.given"
    source: Literal["static", "model"] = "static"
    step: str
    match: Match = "exact"
    hops: int = 2
    fallback: bool = False
    steps: tuple[str, ...] = ()
    bytes: int = 0
    text: str = ""


class DeviationNoted(Body):
    """The model does something that is none of the ways on from the step `at`; it is allowed, and the model is told so.

    `action` is its name in the tool block; `to` is the step that it belongs to, where there is one.
    """

    kind: Literal["deviation.noted"] = "deviation.noted"
    action: str
    why: Deviation
    at: str
    to: str | None = None


class RegionLeft(Body):
    """The model has finished in a region of guide steps: the ways out of the step at hand follow."""

    kind: Literal["region.left"] = "region.left"
