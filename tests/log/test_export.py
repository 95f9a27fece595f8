"""Events as lines of JSON."""

from __future__ import annotations

import json

from sopwith.ir.event import Event, Phase, ValueStored
from sopwith.log.export import to_jsonl


def test_one_line_an_event_in_readable_chinese() -> None:
    event = Event("t", "r", 1, 5, Phase.PLAN, None, None, ValueStored(name="wish", value="年假\n两天"), "ab")
    text = to_jsonl([event, event._replace(seq=2)])
    first, second = text.splitlines()
    assert text.endswith("\n") and "年假" in first
    assert json.loads(first) == {
        "task": "t", "run": "r", "seq": 1, "at": 5, "phase": "PLAN", "step": None, "cause": None,
        "kind": "value.stored", "data": {"name": "wish", "value": "年假\n两天"}, "hash": "ab",
    }  # fmt: skip
    assert json.loads(second)["seq"] == 2


def test_no_events_are_no_lines() -> None:
    assert to_jsonl([]) == ""
