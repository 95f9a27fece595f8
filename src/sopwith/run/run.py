"""A run as its caller sees it: outcome, path, events, and the context view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sopwith.ir.event import Event, Outcome
from sopwith.ir.value import Json
from sopwith.run.state import Reference, State, Visited


@dataclass(frozen=True, slots=True)
class Run:
    """One run that has ended, or waits for somebody.

    `outcome` (None while it waits) holds true values; events and state hold placeholders. The hashes of events are in
    the log (`engine.log.read(run.id)`). `question` is what a person
    is asked while the run is suspended; `inputs` are all inputs, those from the run's own facts included. `waits_for`
    is a run that it has called and that has not come back; `called_by` the run that has called it, where that has gone
    on since.
    """

    state: State
    events: Sequence[Event]
    outcome: Outcome | None
    question: str | None = None
    inputs: Mapping[str, Json] = field(default_factory=dict[str, Json])
    waits_for: Run | None = None
    called_by: Run | None = None

    @property
    def id(self) -> str:
        """The run's id."""
        return self.state.run

    @property
    def status(self) -> str:
        """`running`, `suspended`, or the kind of the outcome."""
        return self.state.status

    @property
    def path(self) -> tuple[str, ...]:
        """The steps it went through, in order."""
        return tuple(visited.step for visited in self.state.path)

    @property
    def visited(self) -> tuple[Visited, ...]:
        """The path with how the run came to each step."""
        return self.state.path

    @property
    def output(self) -> Json:
        """The typed output, where the run completed."""
        return None if self.outcome is None else self.outcome.output

    @property
    def context(self) -> Mapping[str, Json]:
        """The run in the shape of the data protocol, see `context_view`."""
        return context_view(self.state, self.inputs)


def deepest(run: Run) -> Run:
    """The run that a run waits for, and that waits for no other."""
    while run.waits_for is not None:
        run = run.waits_for
    return run


def highest(run: Run) -> Run:
    """The first of the runs that have called a run and have gone on since."""
    while run.called_by is not None:
        run = run.called_by
    return run


def context_view(state: State, inputs: Mapping[str, Json] | None = None) -> dict[str, Json]:
    """`{task_id, state, input: {raw, parsed}, context, intermediate, output}`: a view, every name with its owner.

    `intermediate` maps each name to `{value, owner}`; no step can overwrite another's name. Placeholders stay.
    """
    values: dict[str, Any] = {
        name: {
            "value": value.preview if isinstance(value, Reference) else value,
            "owner": state.owners.get(name, ""),
        }
        for name, value in state.values.items()
    }
    return {
        "task_id": state.task,
        "state": str(state.phase),
        "input": {"raw": state.request, "parsed": dict(state.inputs if inputs is None else inputs)},
        "context": {
            "principal": state.principal.model_dump(mode="json"),
            "date": state.date,
            "run": state.run,
        },
        "intermediate": values,
        "output": None if state.outcome is None else state.outcome.output,
    }
