"""The fuzz benchmark works: it finds faults that are there, and none where there is none."""

from __future__ import annotations

import pytest

pytest.importorskip("hypothesis")

from benchmarks.fuzz import QUICK, Tally, drawn, measures, read, says_empty
from benchmarks.goals import GOALS

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}


def test_nothing_breaks_and_nothing_refused_is_called() -> None:
    tally = Tally()
    drawn(QUICK, tally)
    found = {measure.name: measure for measure in measures(tally)}
    for name in ("fuzz_crashes", "refused_arguments_called", "silent_empty_arguments"):
        assert GOALS[name].met(found[name].value), tally.faults
    assert found["fuzz_crashes"].n == 2 * QUICK
    assert found["runs_denied"].value > 0 and 0 < found["runs_that_called"].value < 1
    assert 0 < found["replies_read"].value < 1


def test_what_raises_is_counted_with_its_input() -> None:
    tally = Tally()
    tally.guarded(lambda: 1 // 0, "the input")  # type: ignore[arg-type,return-value]
    assert tally.faults["crash"] == ["'ZeroDivisionError: integer division or modulo by zero' | 'the input'"]


def test_arguments_that_a_schema_refuses_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks import fuzz
    from sopwith.models.reply import Reading

    tally = Tally()
    monkeypatch.setattr(fuzz, "read_reply", lambda request, reply: Reading("fuzz__call", {"path": 1}))
    read(tally, SCHEMA, "{}", 0, "stop")
    monkeypatch.setattr(fuzz, "read_reply", lambda request, reply: Reading("fuzz__call", {}))
    read(tally, SCHEMA, "{path: 1", 0, "stop")
    assert {kind: len(found) for kind, found in tally.faults.items()} == {
        "crash": 0,
        "refused": 1,
        "empty": 1,
    }


def test_a_reply_says_empty_only_where_it_does() -> None:
    assert says_empty("{ }") and says_empty("") and not says_empty('{"a": 1}')
