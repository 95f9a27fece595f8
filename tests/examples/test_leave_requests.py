"""The labelled leave requests agree with the tools: what their words, answers and employees lead to."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sopwith.tools import ToolError, load_module

LEAVE = Path(__file__).parents[2] / "examples" / "leave"
hr = SimpleNamespace(**{function.__name__: function for function in load_module(LEAVE / "tools.py")})
CASES: list[dict[str, Any]] = [
    json.loads(line) for line in (LEAVE / "requests.jsonl").read_text(encoding="utf-8").splitlines()
]
ASKED_FOR_LEAVE = [case for case in CASES if case["wish"]["kind"] != "none_of_these"]


@pytest.fixture(autouse=True)
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAVE_DB", str(tmp_path / "leave.db"))


def period(case: dict[str, Any]) -> dict[str, Any] | None:
    """The period of a case: from its words, else from the answer to the question for dates."""
    words = [(case["wish"]["start_words"], case["wish"]["length_words"])]
    words += [(case["answers"][0], "")] if "ask_dates" in case["asked"] and case["answers"] else []
    for start, length in words:
        try:
            return dict(hr.resolve_period(start, length, case["today"]))
        except ToolError:
            continue
    return None


def test_there_are_twenty_cases_in_two_languages() -> None:
    assert len({case["id"] for case in CASES}) == 20
    assert {"zh", "en"} == {case["language"] for case in CASES}
    assert {case["expect"] for case in CASES} == {"completed", "escalated", "suspended"}


@pytest.mark.parametrize("case", ASKED_FOR_LEAVE, ids=lambda case: case["id"])
def test_the_words_stand_in_the_request(case: dict[str, Any]) -> None:
    assert case["wish"]["start_words"] in case["request"]
    assert case["wish"]["length_words"] in case["request"]


@pytest.mark.parametrize("case", ASKED_FOR_LEAVE, ids=lambda case: case["id"])
def test_a_question_for_dates_is_asked_exactly_where_the_words_pin_none(case: dict[str, Any]) -> None:
    wish = case["wish"]
    try:
        hr.resolve_period(wish["start_words"], wish["length_words"], case["today"])
        asked = False
    except ToolError:
        asked = True
    assert ("ask_dates" in case["asked"]) == asked


@pytest.mark.parametrize(
    "case", [case for case in CASES if case["expect"] == "completed"], ids=lambda case: case["id"]
)
def test_what_completes_can_be_filed(case: dict[str, Any]) -> None:
    found = period(case)
    assert found is not None
    assert case["filed"] == {
        "kind": case["wish"]["kind"],
        "start_date": found["start_date"],
        "days": found["days"],
    }
    filed = hr.submit_leave(case["user_id"], **case["filed"], reason="私事", idempotency_key=case["id"])
    assert filed["status"] == "ok"


@pytest.mark.parametrize("case", [case for case in CASES if "notified" in case], ids=lambda case: case["id"])
def test_an_intern_has_the_mentor_who_is_told(case: dict[str, Any]) -> None:
    assert hr.notify_mentor(case["user_id"], idempotency_key=case["id"])["mentor"] == case["notified"]
