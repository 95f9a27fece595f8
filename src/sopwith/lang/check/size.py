"""How much one procedure holds: beyond a dozen states, models and people lose their place."""

from __future__ import annotations

from collections.abc import Iterator

from sopwith.errors import Text
from sopwith.ir.diagnostic import Diagnostic
from sopwith.lang.check.subject import Subject

MOST_STATES = 12


def problems(subject: Subject) -> Iterator[Diagnostic]:
    """SW222. An end is not counted: nobody works on there."""
    states = sum(step.end is None for step in subject.steps.values())
    if states > MOST_STATES:
        message = Text(
            f"the procedure has {states} steps beside its ends; more than {MOST_STATES} are hard to follow",
            f"除结束步骤外，该流程有 {states} 个步骤；超过 {MOST_STATES} 个就难以跟随",
        )
        hint = Text(
            "Make a part of it a procedure of its own, or let one tool do several steps.",
            "请把一部分单独写成流程，或让一个工具完成几个步骤。",
        )
        yield subject.warning("SW222", ("steps",), message, hint)
