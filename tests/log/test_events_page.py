"""The page of the events (in each language) and their schema say what the code says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema_rs
import pytest

from sopwith.ir.event import BODIES, Event, Outcome, Phase, RunFinished, ValueStored, event_json
from sopwith.ir.outcome import Packet
from sopwith.log.export import to_jsonl
from sopwith.log.schema import event_schema

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "schema" / "event.schema.json"


in_each_language = pytest.mark.parametrize(
    ("page", "kinds", "envelope"),
    [("events.md", "The kinds", "The envelope"), ("events.zh.md", "事件的种类", "信封")],
)


def rows(page: str, section: str) -> dict[str, list[str]]:
    """The rows of the first table of a section: the name in the first column, the names in the second."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    part = text.partition(f"## {section}\n")[2].partition("\n## ")[0]
    found = [re.split(r" ?\| ?", line)[1:3] for line in part.splitlines() if line.startswith("| `")]
    return {name.strip("`"): re.findall(r"`(\w+)`", rest) for name, rest in found}


@in_each_language
def test_every_kind_and_every_field_is_on_the_page(page: str, kinds: str, envelope: str) -> None:
    expected = {
        body.model_fields["kind"].default: [name for name in body.model_fields if name != "kind"]
        for body in BODIES
    }
    assert rows(page, kinds) == expected


@in_each_language
def test_every_field_of_the_envelope_is_on_the_page(page: str, kinds: str, envelope: str) -> None:
    event = Event("t", "r", 1, 0, Phase.PLAN, None, None, ValueStored(name="x"))
    assert list(rows(page, envelope)) == list(event_json(event))


def test_the_schema_file_is_current() -> None:
    assert (
        SCHEMA.read_text(encoding="utf-8") == json.dumps(event_schema(), ensure_ascii=False, indent=2) + "\n"
    ), "write it again: sopwith schema events > schema/event.schema.json"


def validator() -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(json.loads(SCHEMA.read_text(encoding="utf-8")))


def line(body: object) -> dict[str, object]:
    return json.loads(to_jsonl([Event("t", "r", 1, 5, Phase.OUTPUT, "answer#2", None, body, "ab" * 32)]))


def test_an_exported_event_is_valid() -> None:
    outcome = Outcome(kind="escalated", packet=Packet(reason="没有合适的文章", path=("search", "human")))
    for body in (ValueStored(name="x", value=[1, {"a": None}]), RunFinished(outcome=outcome)):
        assert list(validator().iter_errors(line(body))) == []


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "value.changed"},
        {"kind": "step.entered"},
        {"data": {"name": "x", "colour": "red"}},
        {"data": {}},
        {"seq": 0},
        {"phase": "DONE"},
        {"extra": 1},
    ],
    ids=str,
)
def test_what_is_no_event_is_not(change: dict[str, object]) -> None:
    assert not validator().is_valid({**line(ValueStored(name="x", value=1)), **change})
