"""The published schema of events is the one that the code has."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema_rs

from sopwith.ir.event import KINDS, Event, HumanAsked, Phase, event_json
from sopwith.log.schema import event_schema

FILE = Path(__file__).parents[2] / "schema" / "event.schema.json"


def test_the_file_is_current() -> None:
    assert json.loads(FILE.read_text(encoding="utf-8")) == event_schema()


def test_it_knows_every_kind_and_no_other() -> None:
    arms = event_schema()["oneOf"]
    assert [arm["properties"]["kind"]["const"] for arm in arms] == list(KINDS)


def test_an_event_fits_and_a_changed_one_does_not() -> None:
    valid = jsonschema_rs.validator_for(event_schema()).is_valid
    body = HumanAsked(question="Is it so?")
    event = event_json(Event("t", "t", 1, 1, Phase.EXECUTE, "ask", None, body, "ab"))
    assert valid(event)
    assert not valid({**event, "kind": "call.started"})
    assert not valid({**event, "data": {"question": "Is it so?", "more": 1}})
    assert not valid({**event, "kind": "of.no.kind"})
