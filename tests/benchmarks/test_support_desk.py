"""The support desk benchmark counts what became of the tickets, and its baseline needs no model."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.measure import Measure
from benchmarks.support_desk import (
    LEFT_OPEN,
    Handled,
    classified,
    confusion,
    details,
    handle,
    last_row,
    measures,
    second_set,
    tickets,
    without_a_model,
    written,
)

from sopwith.models.port import ModelRequest
from sopwith.models.scripted import ScriptedModel

pytest.importorskip("scipy", reason="needs the bench extra")


def one(grip: str, number: int, label: str, outcome: str, **more: Any) -> Handled:
    known = {
        "wanted_category": "usage",
        "category": "usage",
        "steps": 5,
        "tokens": 100,
        "seconds": 2.0,
        **more,
    }
    return Handled(grip, f"t-{number}", label, outcome, **known)


STRICT = [
    one("strict", 1, "completed", "completed", right_article=True, run="completed", seconds=20.0),
    one("strict", 2, "completed", "completed", right_article=False, run="completed", recomputed=9, unknown=1),
    one("strict", 3, "completed", "escalated", run="escalated", by_model=True),
    one("strict", 4, "completed", LEFT_OPEN, category="", run="escalated", violations=("left",), seconds=4.0),
    one(
        "strict",
        5,
        "escalated",
        "completed",
        right_article=False,
        run="completed",
        category="account",
        by_model=True,
    ),
    one("strict", 6, "denied", "denied", category="", steps=0, tokens=0, seconds=0.0),
    one("strict", 7, "denied", "escalated", run="escalated"),
    one("strict", 8, "escalated", "escalated", run="escalated"),
]
NO_MODEL = [replace(h, grip="no_model", steps=0, violations=()) for h in STRICT]
# A run that ends as escalated, and has written nothing, is right for no label.
FREE = [
    replace(h, grip="free", outcome=h.outcome if h.outcome == "denied" else LEFT_OPEN, category="")
    for h in STRICT
]


def found() -> dict[str, Measure]:
    return {m.name: m for m in measures(STRICT, FREE, NO_MODEL)}


def test_an_outcome_is_right_where_the_ticket_system_says_so() -> None:
    assert (found()["outcome_accuracy_strict"].value, found()["outcome_accuracy_strict"].n) == (0.5, 8)
    assert found()["outcome_accuracy_free"].value == 0.125
    assert found()["tickets"].value == 8


def test_categories_have_one_denominator_and_none_is_wrong() -> None:
    # Without the ticket that was rightly refused; one has no category, one a wrong one.
    assert (found()["category_accuracy_strict"].value, found()["category_accuracy_strict"].n) == (0.7143, 7)
    assert (found()["category_accuracy_free"].value, found()["category_accuracy_free"].n) == (0.0, 7)
    assert found()["category_accuracy_no_model"].n == 7


def test_what_the_model_decided_stands_beside_the_article_s_topic() -> None:
    assert found()["category_decided_by_model_share"].value == 0.2857
    by_model = found()["category_accuracy_by_model"]
    assert (by_model.value, by_model.n, by_model.peer_value) == (0.5, 2, 0.5)
    plain = [replace(h, category="fault") for h in NO_MODEL]
    second = {m.name: m for m in second_set(STRICT, plain)}
    assert second["category_accuracy_by_model_second_set"].peer_value == 0
    assert second["category_accuracy_second_set"].value == found()["category_accuracy_strict"].value
    assert second["tickets_second_set"].value == 8


def test_the_baseline_stands_beside_the_accuracies() -> None:
    accuracy = found()["outcome_accuracy_strict"]
    assert accuracy.peer_value == found()["outcome_accuracy_no_model"].value
    assert "no model" in str(accuracy.peer)


def test_a_wrong_answer_is_one_that_should_not_have_been_sent_or_is_from_another_article() -> None:
    assert found()["wrong_answers_strict"].value == 0.25
    assert found()["article_accuracy_strict"].value == 0.3333
    assert found()["wrong_answers_free"].value == 0
    assert "article_accuracy_free" not in found()


def test_the_free_runs_may_be_left_out() -> None:
    without = {m.name: m for m in measures(STRICT, [], NO_MODEL)}
    assert without == {name: m for name, m in found().items() if not name.endswith("_free")}


def test_needless_escalation_counts_runs_that_gave_up_too() -> None:
    assert (found()["needless_escalation"].value, found()["needless_escalation"].n) == (0.5, 4)


def test_compliance_is_over_the_runs_that_entered_a_step() -> None:
    compliance = found()["path_compliance_strict"]
    assert (compliance.value, compliance.n) == (0.8571, 7)
    assert found()["expressions_computed_again"].value == 0.9


def test_the_first_ticket_is_timed_apart_and_those_without_a_model_not_at_all() -> None:
    assert found()["seconds_first_ticket_strict"].value == 20
    assert (found()["seconds_per_ticket_strict"].value, found()["seconds_per_ticket_strict"].n) == (2, 6)


def test_the_details_end_in_the_confusion_of_outcomes() -> None:
    told = details([*STRICT, *FREE])
    assert confusion(STRICT)["completed"] == {"completed": 2, "escalated": 1, LEFT_OPEN: 1}
    assert [line["grip"] for line in told[-2:]] == ["strict", "free"]
    assert told[-2]["confusion"]["denied"] == {"denied": 1, "escalated": 1}


def test_without_a_model_every_ticket_has_an_outcome(tmp_path: Path) -> None:
    cases = tickets(quick=False)
    handled = without_a_model(cases, tmp_path)
    assert [h.id for h in handled] == [case["id"] for case in cases]
    assert {h.outcome for h in handled} == {"completed", "escalated", "denied"}
    empty = [h for h, case in zip(handled, cases, strict=True) if not case["text"].strip()]
    assert {(h.outcome, h.category) for h in empty} == {("escalated", "other")}
    # Rules and search alone do well: this is what the outcomes of a model stand beside.
    assert sum(h.right for h in handled) / len(handled) > 0.9


def event(kind: str, **data: Any) -> dict[str, Any]:
    return {"kind": kind, "data": data}


def classify(number: str, **finished: Any) -> list[dict[str, Any]]:
    proposed = event("call.proposed", tool="tickets.classify", arguments={"ticket_id": number})
    return [proposed, event("call.finished", **finished)]


def test_a_ticket_is_classified_where_the_call_succeeded() -> None:
    lost = [*classify("T-2", error={"code": "x"}), *classify("T-3", unknown=True)]
    other = [event("call.proposed", tool="kb.search", arguments={}), event("call.finished", value={})]
    assert classified([*classify("T-1", value={}), *lost, *other]) == {"T-1"}


def test_what_became_of_a_ticket_is_read_from_the_rows_of_its_run(tmp_path: Path) -> None:
    desk = tmp_path / "desk.sqlite3"
    assert last_row(desk) == 0
    assert written(desk, 0, []) == (LEFT_OPEN, "", "")
    assert written(desk, 0, [event("request.screened", verdict="deny")]) == ("denied", "", "")
    with closing(sqlite3.connect(desk)) as db:
        db.execute("CREATE TABLE tickets (id TEXT PRIMARY KEY, status TEXT, category TEXT, article TEXT)")
        db.executemany(
            "INSERT INTO tickets VALUES (?, ?, ?, ?)",
            [
                ("T-1", "escalated", "fault", None),
                ("T-2", "answered", "usage", "KB-101"),
                ("T-3", "open", "other", None),
            ],
        )
        db.commit()
    assert last_row(desk) == 3
    assert written(desk, 1, classify("T-2", value={})) == ("completed", "usage", "KB-101")
    assert written(desk, 1, []) == ("completed", "", "KB-101")
    assert written(desk, 0, []) == ("completed", "", "KB-101")
    assert written(desk, 2, []) == (LEFT_OPEN, "", "")


def replies(request: ModelRequest) -> str:
    if "returns_intent" in request.legal:
        return json.dumps({"topic": "sign-in 账号"})
    return json.dumps({"opening": "Hello, please take these steps:", "steps": [1]})


async def test_a_run_by_the_procedure_is_measured(tmp_path: Path) -> None:
    few = [case for case in tickets(quick=True) if case["lang"] == "en"]
    handled = await handle(ScriptedModel(replies), "strict", few, tmp_path)
    by_outcome = {h.outcome for h in handled}
    assert by_outcome <= {"completed", "escalated", "denied"}
    assert [h.violations for h in handled] == [()] * len(few)
    assert all(h.recomputed > 0 or h.outcome == "denied" for h in handled)
