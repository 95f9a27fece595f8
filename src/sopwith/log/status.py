"""What a list of runs shows, derived from the events: the status and the procedure."""

from __future__ import annotations

from collections.abc import Sequence

from sopwith.ir.event import Event, RunFinished, RunStarted

MARKS = frozenset({"run.suspended", "run.resumed", "run.finished", "run.taken_over"})
"""The kinds that change a status; a new run is running."""

WAITS = frozenset({"run.suspended", "run.taken_over"})
"""Those of them after which a run waits for somebody."""


def status_after(events: Sequence[Event]) -> str | None:
    """The status that `events` lead to, or None where they leave it as it was."""
    for event in reversed(events):
        match event.body:
            case RunFinished(outcome=outcome):
                return outcome.kind
            case body if body.kind in WAITS:
                return "suspended"
            case body if body.kind in MARKS:
                return "running"
            case _:
                pass
    return None


def procedure_of(events: Sequence[Event]) -> str:
    """The procedure that a run was started with; empty for a log beside a run, such as its inbox."""
    return next((e.body.procedure_id for e in events if isinstance(e.body, RunStarted)), "")
