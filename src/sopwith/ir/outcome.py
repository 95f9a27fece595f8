"""How a run ends, and what a person needs to take over one that did not complete."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from sopwith.ir.body import Body
from sopwith.ir.tool import ErrorData
from sopwith.ir.value import Json

OutcomeKind = Literal["completed", "escalated", "denied", "exhausted", "cancelled", "failed"]


class Packet(Body):
    """What a person needs to take over: the reason, the step, the path, the values, and what is open."""

    reason: str
    step: str | None = None
    path: tuple[str, ...] = ()
    values: dict[str, Json] = Field(default_factory=dict)
    open: tuple[str, ...] = ()
    error: ErrorData | None = None


class Outcome(Body):
    """How a run ended. `output` belongs to `completed`; every other kind carries a packet."""

    kind: OutcomeKind
    output: Json = None
    answer: str | None = None
    packet: Packet | None = None
