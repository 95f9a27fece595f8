"""Events as text for other programs."""

from __future__ import annotations

import json
from collections.abc import Iterable

from sopwith.ir.event import Event, event_json


def to_jsonl(events: Iterable[Event]) -> str:
    """One line of JSON an event, in the form of `schema/event.schema.json`; no text for no events."""
    return "".join(json.dumps(event_json(event), ensure_ascii=False) + "\n" for event in events)
