"""A procedure is picked where it is sure, somebody is asked where it is not, and nothing is picked where none is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopwith.find import Entry, Hit, Index, Parts
from sopwith.find.calibration import Calibration, Labelled, calibrate, outcome
from sopwith.find.operation import OPERATIONS, operations
from sopwith.find.outside import CHINESE, ENGLISH, outside_entries
from sopwith.find.selection import Candidate, Limits, Ranking, fill, rank, select


def procedure(id: str, name: str, description: str, *examples: str) -> Entry:
    return Entry(kind="procedure", id=id, name=name, description=description, examples=examples)


LIBRARY = [
    procedure(
        "leave", "Request leave", "Ask for days off and have them approved", "three days off next week"
    ),
    procedure("expenses", "费用报销", "提交发票并报销差旅费用", "报销出租车费"),
    procedure("password", "Reset a password", "Give a colleague who is locked out a new password"),
    procedure("refund", "Refund an order", "Pay back goods that were returned"),
    procedure(
        "cancel", "Cancel an order", "Stop an order that was not yet shipped", "I do not want it any more"
    ),
]


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    with Index(":memory:") as opened:
        fill(opened, LIBRARY)
        opened.embed()
        yield opened


@pytest.mark.parametrize(
    ("request_", "id"),
    [
        ("can I have three days off in May?", "leave"),
        ("帮我报销昨天的出租车费", "expenses"),
        ("please reset the password of my colleague, he is locked out", "password"),
        ("cancel order 4410 before it is shipped", "cancel"),
    ],
)
def test_what_is_sure_is_picked(index: Index, request_: str, id: str) -> None:
    found = select(rank(index, request_))
    assert (found.verdict, found.ranking.candidates[0].id) == ("picked", id)
    assert found.ranking.by == "meaning"


@pytest.mark.parametrize(
    "request_", ["tell me a joke", "今天天气怎么样", "how do I cook rice", "", "🙂", "\ud800"]
)
def test_what_no_procedure_is_for_is_none(index: Index, request_: str) -> None:
    assert select(rank(index, request_)).verdict == "none"


@pytest.mark.parametrize(
    ("request_", "id", "unsaid"),
    [
        ("cancel the three days off next week", "leave", "cancel"),
        ("出租车费报销到哪一步了", "expenses", "status"),
        ("please extend the three days off", "leave", "extend"),
    ],
)
def test_who_wants_something_else_done_does_not_get_it(
    index: Index, request_: str, id: str, unsaid: str
) -> None:
    found = select(rank(index, request_))
    assert found.verdict != "picked" or found.ranking.candidates[0].id != id
    assert next(each for each in found.ranking.candidates if each.id == id).unsaid == (unsaid,)


def test_by_words_alone_it_says_so(index: Index) -> None:
    with Index(":memory:", embedder=None) as words:
        fill(words, LIBRARY)
        found = select(rank(words, "reset a password"))
        assert (found.verdict, found.ranking.by, found.ranking.candidates[0].id) == (
            "picked",
            "words",
            "password",
        )


def ranking(*scores: float) -> Ranking:
    hits = [Hit(LIBRARY[i], score, Parts(score, None, ())) for i, score in enumerate(scores)]
    return Ranking(tuple(Candidate(hit, hit.score) for hit in hits), "words")


@pytest.mark.parametrize(
    ("scores", "verdict", "alike"),
    [
        ((0.8, 0.5), "picked", 2),
        ((0.8, 0.7), "unsure", 2),
        ((0.6,), "picked", 1),
        ((0.5, 0.1), "unsure", 1),
        ((0.2, 0.1), "none", 0),
        ((0.8, 0.79, 0.78, 0.77), "unsure", 3),
        ((0.0, 0.0), "none", 0),
        ((), "none", 0),
    ],
)
def test_limits_decide(scores: tuple[float, ...], verdict: str, alike: int) -> None:
    found = select(ranking(*scores), Limits(0.6, 0.2))
    assert (found.verdict, len(found.alike)) == (verdict, alike)


def test_a_score_of_zero_is_never_picked() -> None:
    assert select(ranking(0.0), Limits(0, 0)).verdict == "none"


LABELLED = [
    *(Labelled(ranking(0.9, 0.2), "leave") for _ in range(8)),
    Labelled(ranking(0.6, 0.5), "expenses"),
    *(Labelled(ranking(0.7, 0.1), None) for _ in range(2)),
    *(Labelled(ranking(0.2, 0.1), None) for _ in range(18)),
]


def test_calibration_keeps_false_picks_within_bounds() -> None:
    strict = calibrate(LABELLED, most_false=0)
    assert strict == Calibration(strict.limits, right=8, matching=9, wrong=0, false=0, others=20)
    assert 0.7 < strict.limits.threshold <= 0.9
    assert outcome(LABELLED, Limits(0.1, 0)) == Calibration(Limits(0.1, 0), 8, 9, 1, 20, 20)
    with pytest.raises(ValueError, match="no labelled"):
        calibrate([])


@given(
    st.lists(
        st.tuples(st.lists(st.floats(0, 1), max_size=4), st.sampled_from(["leave", None])),
        min_size=1,
        max_size=30,
    )
)
def test_calibration_is_within_bounds_on_what_it_is_made_from(
    rows: list[tuple[list[float], str | None]],
) -> None:
    labelled = [Labelled(ranking(*sorted(scores, reverse=True)), right) for scores, right in rows]
    found = calibrate(labelled)
    never = outcome(labelled, Limits(1, 0.2)).false_share
    assert found.false_share <= max(0.05, never)
    assert found == outcome(labelled, found.limits)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("I want to cancel my cancelled cancellation", {"cancel"}),
        ("把这张发票作废", {"cancel"}),
        ("how much is left, and where is my parcel", {"status"}),
        ("改到下周", {"change"}),
        ("roll back the release", {"revert"}),
        ("the scanner and the cellar", set[str]()),
        ("request three days off", set[str]()),
        ("", set[str]()),
    ],
)
def test_operations_are_heard_in_both_languages(text: str, named: set[str]) -> None:
    assert operations(text) == named <= OPERATIONS.keys()


def test_what_is_outside_is_in_both_languages_and_each_once() -> None:
    entries = outside_entries()
    assert len({entry.id for entry in entries}) == len(entries) == len(ENGLISH) + len(CHINESE)
    assert min(len(ENGLISH), len(CHINESE)) >= 50 and all(map(str.isascii, ENGLISH))
