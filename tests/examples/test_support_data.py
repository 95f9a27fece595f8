"""The support desk's data: articles, labelled tickets, worked tickets."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parents[2] / "examples" / "support"
CATEGORIES = {"account", "usage", "fault", "other"}
HAN = re.compile(r"[\u3400-\u9fff]")


def _lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / name).read_text(encoding="utf-8").splitlines()]


ARTICLES = {a["id"]: a for lang in ("zh", "en") for a in _lines(f"knowledge/articles.{lang}.jsonl")}
TICKETS = _lines("tickets.jsonl")
SECOND = _lines("tickets_second.jsonl")
SETS = pytest.mark.parametrize("tickets", [TICKETS, SECOND], ids=["first", "second"])
WORKED = _lines("worked.jsonl")


def test_there_are_at_least_64_articles_half_in_each_language() -> None:
    languages = Counter(a["lang"] for a in ARTICLES.values())
    assert languages.total() >= 64
    assert abs(languages["zh"] - languages["en"]) <= 2


def test_every_category_has_articles_in_both_languages() -> None:
    kinds = Counter((a["lang"], a["category"]) for a in ARTICLES.values())
    assert {category for _, category in kinds} == CATEGORIES
    assert min(kinds[lang, category] for lang in ("zh", "en") for category in CATEGORIES) >= 5


@pytest.mark.parametrize("article", ARTICLES.values(), ids=ARTICLES)
def test_an_article_is_short_and_can_be_carried_out(article: dict[str, Any]) -> None:
    assert set(article) == {"id", "lang", "category", "title", "symptoms", "steps"}
    assert re.fullmatch(r"KB-\d{3}", article["id"])
    assert 3 <= len(article["steps"]) <= 5
    text = "".join((article["title"], *article["symptoms"], *article["steps"]))
    assert 200 <= len(text) <= 700
    assert all(bool(HAN.search(part)) == (article["lang"] == "zh") for part in article["steps"])


def test_titles_and_steps_are_not_repeated() -> None:
    counts = Counter(text for a in ARTICLES.values() for text in (a["title"], *a["steps"]))
    assert counts.most_common(1)[0][1] == 1


@SETS
def test_there_are_at_least_60_tickets_30_in_each_language(tickets: list[dict[str, Any]]) -> None:
    languages = Counter(t["lang"] for t in tickets)
    assert languages["zh"] >= 30
    assert languages["en"] >= 30
    assert len({t["id"] for t in tickets}) == len(tickets)


@SETS
def test_about_sixty_percent_of_the_tickets_are_completed(tickets: list[dict[str, Any]]) -> None:
    outcomes = Counter(t["outcome"] for t in tickets)
    assert set(outcomes) == {"completed", "escalated", "denied"}
    assert 0.55 <= outcomes["completed"] / len(tickets) <= 0.65
    assert outcomes["denied"] >= 10


@SETS
def test_every_category_is_a_tenth_of_the_tickets_or_more_in_each_language(
    tickets: list[dict[str, Any]],
) -> None:
    kinds = Counter((t["lang"], t["category"]) for t in tickets)
    assert {category for _, category in kinds} == CATEGORIES
    for lang in ("zh", "en"):
        total = sum(1 for t in tickets if t["lang"] == lang)
        assert all(kinds[lang, category] >= total / 10 for category in CATEGORIES)


@pytest.mark.parametrize("ticket", [*TICKETS, *SECOND, *WORKED], ids=lambda t: t["id"])
def test_a_label_can_be_resolved(ticket: dict[str, Any]) -> None:
    assert ticket["category"] in CATEGORIES
    assert bool(ticket["article"]) == (ticket["outcome"] == "completed")
    for id in ticket["article"]:
        assert ARTICLES[id]["lang"] == ticket["lang"]
        assert ARTICLES[id]["category"] == ticket["category"]


@SETS
def test_the_hard_kinds_of_ticket_are_there_in_both_languages(tickets: list[dict[str, Any]]) -> None:
    tags = {(t["lang"], tag) for t in tickets for tag in t["tags"]}
    wanted = (
        "empty",
        "long",
        "injection",
        "human",
        "legal",
        "billing",
        "data-loss",
        "no-article",
        "password",
    )
    assert {(lang, tag) for lang in ("zh", "en") for tag in wanted} <= tags
    assert all(not t["text"].strip() for t in tickets if "empty" in t["tags"])
    assert all(20_000 <= len(t["text"]) <= 21_000 for t in tickets if "long" in t["tags"])


def test_tickets_are_not_copies_of_an_article() -> None:
    told = {text for a in ARTICLES.values() for text in (a["title"], *a["symptoms"])}
    assert not told & {t["text"] for t in (*TICKETS, *SECOND, *WORKED)}


def test_the_two_sets_share_no_ticket() -> None:
    assert not {t["id"] for t in TICKETS} & {t["id"] for t in SECOND}
    assert not {t["text"] for t in TICKETS if t["text"].strip()} & {t["text"] for t in SECOND}


def test_worked_tickets_are_balanced_and_outside_the_labelled_sets() -> None:
    assert not {t["text"] for t in WORKED} & {t["text"] for t in (*TICKETS, *SECOND)}
    kinds = Counter((t["lang"], t["category"]) for t in WORKED)
    assert len(kinds) == 8
    assert len(set(kinds.values())) == 1


def test_a_worked_draft_takes_steps_of_its_ticket_s_article() -> None:
    drafts = [t for t in WORKED if "draft" in t]
    assert len(drafts) >= 4
    for ticket in drafts:
        draft = ticket["draft"]
        assert [draft["article"]] == ticket["article"]
        assert set(draft["steps"]) <= set(range(1, len(ARTICLES[draft["article"]]["steps"]) + 1))
