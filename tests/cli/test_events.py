"""What people read about events: every kind has its place in the line of a step and in a trace."""

from __future__ import annotations

from sopwith.cli.details import SAYS
from sopwith.cli.record import ACTS
from sopwith.ir.event import BODIES


def test_every_kind_of_event_has_its_line_in_a_trace() -> None:
    assert set(SAYS) == set(BODIES)


def test_every_kind_of_event_is_known_to_the_record_of_a_step() -> None:
    assert set(ACTS) == set(BODIES)
