"""The requests for choosing a procedure: how many of each kind, in which language, and that dev and test are apart."""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.arch.sources import ROOT

FOLDER = ROOT / "benchmarks" / "data" / "selection"
SETS = ("dev", "test")

Entry = dict[str, Any]


def read(name: str) -> list[Entry]:
    with (FOLDER / f"{name}.yaml").open(encoding="utf-8") as file:
        entries: list[Entry] = next(iter(YAML(typ="safe").load(file).values()))
    return entries


LIBRARY = read("library")
QUERIES = {name: read(name) for name in SETS}


def chinese(text: str) -> bool:
    """Whether most of a text is Chinese; a Chinese character counts as three letters."""
    return 3 * len(re.findall(r"[\u4e00-\u9fff]", text)) > len(re.findall(r"[A-Za-z]", text))


def likeness(one: str, other: str) -> float:
    """The share of three-character pieces that two texts have in common, from 0 to 1."""
    ones, others = pieces(one), pieces(other)
    return len(ones & others) / len(ones | others)


def pieces(text: str) -> set[str]:
    plain = re.sub(r"\W", "", text.lower())
    return {plain[i : i + 3] for i in range(max(1, len(plain) - 2))}


def absent(name: str) -> set[str]:
    return {query["absent"] for query in QUERIES[name] if "absent" in query}


def test_half_of_sixty_procedures_is_chinese() -> None:
    assert Counter(chinese(one["name"]) for one in LIBRARY) == {True: 30, False: 30}
    assert len({one["id"] for one in LIBRARY}) == 60


@pytest.mark.parametrize("procedure", LIBRARY, ids=lambda one: one["id"])
def test_a_procedure_is_whole_and_in_one_language(procedure: Entry) -> None:
    assert set(procedure) == {"id", "name", "description", "tags", "steps", "examples"}
    assert 3 <= len(procedure["steps"]) <= 6
    assert len(procedure["examples"]) == 4
    texts = [procedure["name"], procedure["description"], *procedure["steps"], *procedure["examples"]]
    assert len({chinese(text) for text in texts}) == 1


@pytest.mark.parametrize("name", SETS)
def test_half_of_the_queries_match_and_the_others_are_of_two_kinds(name: str) -> None:
    kinds = Counter(query.get("reason") for query in QUERIES[name])
    assert kinds[None] == 75
    assert {kinds["sibling"], kinds["other-domain"]} == {37, 38}
    assert sum(kinds.values()) == 150


@pytest.mark.parametrize("name", SETS)
def test_only_a_query_without_a_procedure_has_a_reason(name: str) -> None:
    fields = {
        (query["procedure"] is None, query.get("reason"), *sorted(query.keys() - {"reason", "procedure"}))
        for query in QUERIES[name]
    }
    assert fields == {
        (False, None, "query"),
        (True, "sibling", "absent", "query"),
        (True, "other-domain", "query"),
    }


@pytest.mark.parametrize("name", SETS)
def test_every_procedure_is_asked_for_and_no_other(name: str) -> None:
    asked = {query["procedure"] for query in QUERIES[name]} - {None}
    assert asked == {one["id"] for one in LIBRARY}


@pytest.mark.parametrize("name", SETS)
def test_half_of_the_queries_of_each_kind_is_chinese(name: str) -> None:
    kinds = Counter((query.get("reason"), chinese(query["query"])) for query in QUERIES[name])
    for reason in (None, "sibling", "other-domain"):
        assert abs(kinds[reason, True] - kinds[reason, False]) <= 1
    assert sum(chinese(query["query"]) for query in QUERIES[name]) == 75


@pytest.mark.parametrize("name", SETS)
def test_some_matching_queries_are_in_another_language_than_their_procedure(name: str) -> None:
    languages = {one["id"]: chinese(one["name"]) for one in LIBRARY}
    across = [
        (languages[query["procedure"]], chinese(query["query"]))
        for query in QUERIES[name]
        if query["procedure"] is not None and languages[query["procedure"]] != chinese(query["query"])
    ]
    assert Counter(across) == {(True, False): 5, (False, True): 5}


def test_dev_and_test_share_no_wording() -> None:
    alike = [
        (one["query"], other["query"])
        for one in QUERIES["dev"]
        for other in QUERIES["test"]
        if likeness(one["query"], other["query"]) > 0.2
    ]
    assert alike == []


def test_no_query_repeats_another_or_an_example() -> None:
    texts = [query["query"] for query in chain(*QUERIES.values())]
    examples = [example for one in LIBRARY for example in one["examples"]]
    assert len(set(texts + examples)) == len(texts) + len(examples)
    assert [(text, one) for text in texts for one in examples if likeness(text, one) > 0.35] == []


def test_most_absent_operations_of_test_are_not_in_dev() -> None:
    assert len(absent("test") - absent("dev")) == 25
    assert len(absent("test")) == 37
