"""The lifecycle: one constant table of phases, where each may go, and how long each may last."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from sopwith.ir.event import Phase


@dataclass(frozen=True, slots=True)
class PhaseRule:
    """Where a phase may lead, its limit in seconds, and what happens when the limit is passed (with an alert)."""

    to: tuple[Phase, ...]
    seconds: float
    then: Literal["escalate", "exhausted"]


LIFECYCLE = MappingProxyType(
    {
        Phase.RECEIVE: PhaseRule((Phase.PLAN, Phase.ESCALATE), 30.0, "escalate"),
        Phase.PLAN: PhaseRule((Phase.EXECUTE, Phase.ESCALATE), 300.0, "escalate"),
        Phase.EXECUTE: PhaseRule((Phase.VERIFY, Phase.ESCALATE), 3600.0, "escalate"),
        Phase.VERIFY: PhaseRule((Phase.OUTPUT, Phase.ESCALATE), 60.0, "escalate"),
        Phase.OUTPUT: PhaseRule((Phase.ESCALATE,), 60.0, "escalate"),
        Phase.ESCALATE: PhaseRule((), 60.0, "exhausted"),
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
"""Exchanges of one free step, at most."""
