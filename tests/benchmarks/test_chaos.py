"""Runs that are killed and resumed: the benchmark works, its goals hold at a small size, and its counts can fail."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.goals import GOALS
from benchmarks.ledger import Entry
from benchmarks.verdict import Intent, Kill, Row, place, read_log, story

INTENT = Intent("send", "k1")
OF_FULL_SIZE = {"kills", "kills_in_window"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["chaos", "concurrency"])
def test_the_goals_hold_at_a_small_size(name: str) -> None:
    command = [sys.executable, "-m", f"benchmarks.{name}", "--quick", "--json"]
    told = subprocess.run(command, capture_output=True, check=True, encoding="utf-8")
    found = {measure["name"]: measure["value"] for measure in json.loads(told.stdout)["measures"]}
    missed = {each for each in GOALS.keys() & found.keys() - OF_FULL_SIZE if not GOALS[each].met(found[each])}
    assert missed == set()
    if name == "chaos":
        assert found["kills"] >= 40
        assert found["kills_in_window"] >= 8
        assert found["driver_errors"] == 0
    else:
        assert found["audit_findings"] == found["runs_not_completed"] == found["resume_errors"] == 0


def started(step: str = "send", key: str = "k1") -> Row:
    return Row("call.started", step, {"tool": "ledger.x", "effect": "write", "key": key})


FINISHED = Row("call.finished", "send", {"value": {}})
POSTED = Row("call.finished", "post", {"value": {}})
RESUMED = Row("run.resumed", "send", {})


def ended(kind: str) -> Row:
    return Row("run.finished", "send", {"outcome": {"kind": kind}})


@pytest.mark.parametrize(
    ("rows", "unhandled"),
    [
        ([started(), FINISHED, ended("completed")], 0),
        ([started(), RESUMED, ended("escalated")], 0),
        ([started(), RESUMED, ended("completed")], 1),
        ([started(), RESUMED, started(), FINISHED, ended("completed")], 1),
        ([started(), RESUMED, Row("edge.taken", "send", {}), ended("escalated")], 1),
        ([started("post"), RESUMED, started("post"), POSTED, ended("completed")], 0),
        ([started("post"), RESUMED, started("post", "k2"), POSTED, ended("completed")], 1),
        ([started("book"), RESUMED, Row("call.reconciled", "book", {"happened": False}), started("book")], 0),
        ([started("book"), RESUMED, Row("call.reconciled", "book", {}), started("book")], 1),
        ([started("send[0]"), started("send[1]"), RESUMED, ended("escalated")], 0),
        ([started("send[0]"), started("send[1]"), RESUMED, Row("items.ended", "send", {})], 2),
        ([started("post[0]"), started("post[1]"), RESUMED, started("post[1]"), started("post[0]")], 0),
    ],
)
def test_going_on_while_an_outcome_is_unknown_is_counted(rows: list[Row], unhandled: int) -> None:
    told = story(rows)
    assert told.unhandled == unhandled


@pytest.mark.parametrize(
    ("entries", "where"),
    [
        ([], "before_act"),
        ([Entry(1, "run", "send", "k1", "driver-1", 50)], "window"),
        ([Entry(1, "run", "send", "k1", "driver-0", 50)], "unknown"),
        ([Entry(1, "run", "send", "k1", "driver-2", 150)], "before_act"),
        ([Entry(1, "run", "send", "k0", "driver-1", 50)], "before_act"),
    ],
)
def test_where_a_kill_fell_is_told_by_the_ledger(entries: list[Entry], where: str) -> None:
    assert place(Kill("driver-1", 100, (INTENT,)), entries) == where
    assert place(Kill("driver-1", 100, ()), entries) == "outside"


def test_a_log_that_is_not_there_yet_has_no_events(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    assert read_log(tmp_path / "none.db") == read_log(tmp_path / "empty.db") == []
