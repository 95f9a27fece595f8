"""The index finds what fits, in Chinese and English, stays the same however it was filled, and takes many processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from sqlite3 import connect

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sopwith.errors import IndexFileError
from sopwith.find import Entry, Index, Synced


def tool(id: str, description: str = "", **fields: str) -> Entry:
    return Entry(kind="tool", id=id, name=id, description=description, **fields)  # pyright: ignore[reportArgumentType]


LEAVE = tool("hr.leave_balance", "查询员工年假余额")
INVOICE = tool("finance.invoice", "开具发票", body="amount buyer")
MAIL = tool("mail.send", "Sends messages to employees", source="Office server")


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with Index(tmp_path / "index.db") as opened:
        yield opened


def ids(index: Index, query: str, limit: int = 10) -> list[str]:
    return [hit.entry.id for hit in index.search(query, limit=limit)]


def test_chinese_is_found_by_pairs_of_characters(index: Index) -> None:
    others = [tool(f"s{i}.t{i}", f"管理第{i}号仓库的库存") for i in range(1000)]
    index.sync("tool", [*others, LEAVE])
    assert ids(index, "年假还剩几天") == ["hr.leave_balance"]


@pytest.mark.parametrize(
    "query", ["", "  ", "!?", "🙂", "quantum chromodynamics", "量子色动力学", 'x" OR name:*', "\ud800"]
)
def test_a_query_that_matches_nothing_finds_nothing(index: Index, query: str) -> None:
    index.sync("tool", [LEAVE, INVOICE, MAIL])
    assert index.search(query) == []


def test_a_hit_says_why(index: Index) -> None:
    index.sync("tool", [LEAVE, INVOICE, MAIL])
    (hit,) = index.search("send a message")
    assert (hit.entry, hit.parts.words, hit.parts.semantic) == (MAIL, ("send", "messag"), None)
    assert 0 < hit.score <= 1


def test_kinds_are_kept_apart(index: Index) -> None:
    same = [Entry(kind=kind, id="one", name="refund") for kind in ("procedure", "tool", "document")]
    index.put(same)
    assert [hit.entry.kind for hit in index.search("refund")] == ["document", "procedure", "tool"]
    assert [hit.entry.kind for hit in index.search("refund", ["tool"])] == ["tool"]
    index.sync("tool", [])
    assert [hit.entry.kind for hit in index.search("refund")] == ["document", "procedure"]


def test_identical_descriptions_are_two_hits(index: Index) -> None:
    index.sync("procedure", [Entry(kind="procedure", id=id, description="Refund an order") for id in "ba"])
    assert ids(index, "refund") == ["a", "b"]


def test_only_what_has_changed_is_written(index: Index) -> None:
    assert index.sync("tool", [LEAVE, MAIL]) == Synced(added=2)
    assert index.sync("tool", [MAIL, LEAVE]) == Synced()
    assert index.sync("tool", [INVOICE, tool("mail.send", "Writes letters")]) == Synced(1, 1, 1)
    assert ids(index, "letter") == ["mail.send"]
    assert ids(index, "employees 年假") == []
    assert index.drop("tool", ["mail.send", "never.there"]) == Synced(dropped=1)
    assert index.entries("tool") == [INVOICE]


WORDS = st.sampled_from(["send", "mail", "invoice", "年假余额", "发票", "getUserName", "the", "员工", ""])
ENTRIES = st.builds(
    Entry,
    kind=st.just("tool"),
    id=st.sampled_from([f"t{i}" for i in range(6)]),
    name=WORDS,
    description=st.lists(WORDS, max_size=6).map(" ".join),
    body=st.text(max_size=20),
    tags=st.lists(WORDS, max_size=2).map(tuple),
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(st.lists(ENTRIES, max_size=6), min_size=1, max_size=4), query=st.lists(WORDS, max_size=4)
)
def test_filling_in_steps_is_filling_at_once(
    index: Index, steps: list[list[Entry]], query: list[str]
) -> None:
    """Whatever was there before and in whatever order it came: the same hits with the same scores."""
    asked = " ".join(query)
    index.sync("tool", [])
    for entries in steps:
        index.sync("tool", entries)
    found = index.search(asked)
    last = {entry.id: entry for entry in steps[-1]}
    index.sync("tool", [])
    index.put(reversed(last.values()))
    assert index.entries("tool") == sorted(last.values(), key=lambda entry: entry.id)
    assert index.search(asked) == found


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(), query=st.text())
def test_any_text_is_taken_and_kept(index: Index, text: str, query: str) -> None:
    entry = tool("any", text, body=text, source=text)
    index.sync("tool", [entry, MAIL])
    assert index.entries("tool") == [entry, MAIL]
    assert all(0 < hit.score <= 1 for hit in index.search(query) + index.search(text))


WRITER = """
import sys
from sopwith.find import Entry, Index
me = sys.argv[2]
with Index(sys.argv[1]) as index:
    for i in range(20):
        index.put([Entry(kind="tool", id=f"{me}.{i}", description=f"refund number {i}")])
        assert index.search("refund", limit=200), "a reader sees what it wrote"
    assert index.problems == []
"""


def test_eight_processes_share_an_index(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(i)]) for i in range(8)]
    assert [writer.wait() for writer in writers] == [0] * 8
    with Index(path) as index:
        assert len(index.entries("tool")) == len(index.search("refund", limit=500)) == 160


def test_an_index_of_another_version_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    with Index(path) as index:
        index.sync("tool", [MAIL])
    with closing(connect(path)) as file:
        file.execute("DROP TABLE size")
        file.execute("PRAGMA user_version = 0")
    with Index(path) as index:
        assert [problem.code for problem in index.problems] == ["SW820"]
        assert (ids(index, "send"), index.sync("tool", [MAIL]), ids(index, "send")) == (
            [],
            Synced(1),
            ["mail.send"],
        )
    with Index(path) as index:
        assert (index.problems, ids(index, "send")) == ([], ["mail.send"])


@pytest.mark.parametrize("keep", [100, 5000])
def test_a_damaged_index_is_made_anew(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "index.db"
    with Index(path) as index:
        index.sync("tool", [MAIL])
    path.write_bytes(path.read_bytes()[:keep] + b"\xff" * 20_000)
    with Index(path) as index:
        index.sync("tool", [MAIL])
        assert ids(index, "send") == ["mail.send"]
        assert [problem.code for problem in index.problems] == ["SW821"]
        assert "damaged" in index.problems[0].message.en


def test_a_file_of_something_else_is_refused_and_kept(tmp_path: Path) -> None:
    letter, other = tmp_path / "letter.txt", tmp_path / "other.db"
    letter.write_text("Dear Sir", encoding="utf-8")
    with closing(connect(other)) as file:
        file.execute("CREATE TABLE mine (x)")
    for path in (letter, other, tmp_path):
        with pytest.raises(IndexFileError):
            Index(path)
    assert letter.read_text(encoding="utf-8") == "Dear Sir"
