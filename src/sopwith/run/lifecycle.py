"""The lifecycle: one constant table of phases, where each may go, and how long each may last."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from sopwith.ir.event import Phase


@dataclass(frozen=True, slots=True)
class PhaseRule:
    """Where a phase may lead, and its limit in seconds.

    A phase that outlasts its limit raises an alert and goes to ESCALATE; where it cannot, the run ends as exhausted.
    """

    to: tuple[Phase, ...]
    seconds: float


LIFECYCLE = MappingProxyType(
    {
        Phase.RECEIVE: PhaseRule((Phase.PLAN, Phase.ESCALATE), 30.0),
        Phase.PLAN: PhaseRule((Phase.EXECUTE, Phase.ESCALATE), 300.0),
        Phase.EXECUTE: PhaseRule((Phase.VERIFY, Phase.ESCALATE), 3600.0),
        Phase.VERIFY: PhaseRule((Phase.OUTPUT, Phase.ESCALATE), 60.0),
        Phase.OUTPUT: PhaseRule((Phase.ESCALATE,), 60.0),
        Phase.ESCALATE: PhaseRule((), 60.0),
    }
)
"""The phases of every run, in order. Time that a run waits for a person does not count."""

STEP_SECONDS = 300.0
"""The limit of a step that names none."""

MODEL_SECONDS = 240.0
"""The limit of one model call."""

REPLY_TRIES = 3
"""How often a model is asked for one reply, the first time included; less if it repeats itself word for word."""

FREE_EXCHANGES = 40
FINDING_EXCHANGES = 120
"""The same where tools are searched and described before they are called."""

"""Exchanges of one free step, at most."""
