"""Alerts on their way to their sinks. A sink that fails is logged, and holds nothing up."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from sopwith.guard.alert import Alert, AlertSink
from sopwith.ir.event import AlertRaised, Event
from sopwith.ir.place import step_id
from sopwith.run.journal import Subscriber
from sopwith.run.state import State

_LOGGER = logging.getLogger("sopwith.alerts")


def tell(sinks: Iterable[AlertSink], alert: Alert) -> None:
    """Give an alert to every sink."""
    for sink in sinks:
        try:
            sink(alert)
        except Exception as error:
            _LOGGER.error("an alert sink failed with %s: %s", type(error).__name__, alert.code)


def telling(sinks: Sequence[AlertSink]) -> Subscriber:
    """A subscriber that gives the alerts of all runs to `sinks`."""

    def see(event: Event, state: State) -> None:
        body = event.body
        if isinstance(body, AlertRaised):
            step = None if event.step is None else step_id(event.step)
            tell(
                sinks,
                Alert(event.run, event.task, state.procedure_id, step, event.at, body.code, body.message),
            )

    return see
