"""The index finds what fits, in Chinese and English, stays the same however it was filled, and takes many processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from sqlite3 import connect
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sopwith.errors import IndexFileError
from sopwith.find import Entry, Index, Synced, index_file
from sopwith.find.index import QUERY_WORDS


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


OLD = [tool("a", "refund order"), tool("b", "refund")]
NEW = [tool("x", "invoice"), tool("y", "holiday")]


def test_a_search_sees_one_moment_also_beside_a_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process replaces everything between the reads of one search."""
    path = tmp_path / "index.db"
    with Index(path) as index, Index(path) as writer:
        writer.sync("tool", OLD)
        statistics = Index._collection  # pyright: ignore[reportPrivateUsage]

        def interrupted(self: Index, *of: Any) -> Any:
            if self is index:
                writer.sync("tool", NEW)
            return statistics(self, *of)

        monkeypatch.setattr(Index, "_collection", interrupted)
        assert [hit.entry.description for hit in index.search("refund")] == ["refund", "refund order"]
        assert ids(index, "refund") == []
        assert ids(index, "invoice") == ["x"]


def test_who_holds_a_damaged_index_goes_on_with_the_new_one(tmp_path: Path) -> None:
    """A third finds the damage; what the two write then is not lost, and neither removes the healthy file."""
    path = tmp_path / "index.db"
    with Index(path) as one, Index(path) as other:
        one.sync("tool", [MAIL])
        assert ids(other, "send") == ["mail.send"]
        with closing(connect(path)) as file:
            file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with path.open("r+b") as damaged:
            damaged.seek(100)
            damaged.write(b"\xff" * 20_000)
        with Index(path) as third:
            third.sync("tool", [MAIL])
            assert [problem.code for problem in third.problems] == ["SW821"]
            one.put([INVOICE])
            other.put([LEAVE])
            assert [len(index.entries("tool")) for index in (one, other, third)] == [3, 3, 3]
        assert one.problems == other.problems == []


REPAIRER = """
import sys
from sopwith.find import Entry, Index
path, me = sys.argv[1:]
sys.stdin.readline()
with Index(path) as index:
    index.put([Entry(kind="tool", id=me, description="refund")])
    print(*(problem.code for problem in index.problems))
"""


@pytest.mark.parametrize("at", [100, 4096])
def test_what_is_written_after_a_repair_stays_however_many_find_the_damage(tmp_path: Path, at: int) -> None:
    """All open the damaged file at one moment; each removes only that one, and none what another has made."""
    path = tmp_path / "index.db"
    with Index(path) as index:
        index.sync("tool", [MAIL])
    for beside in tmp_path.glob("index.db-*"):
        beside.unlink()
    with path.open("r+b") as file:
        file.seek(at)
        file.write(b"\xff" * 20_000)
    command = [sys.executable, "-c", REPAIRER, str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    started = [subprocess.Popen([*command, str(i)], **pipes) for i in range(6)]  # pyright: ignore
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    told = "".join(process.communicate()[0] for process in started)
    assert [process.returncode for process in started] == [0] * 6 and "SW821" in told
    with Index(path) as index:
        assert {entry.id for entry in index.entries("tool")} >= {str(i) for i in range(6)}


@pytest.mark.parametrize("held_open", [False, True])
def test_a_file_that_another_has_made_anew_meanwhile_is_not_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held_open: bool
) -> None:
    """Between the moment in which the damage was found, and that in which the file is removed."""
    path = tmp_path / "index.db"
    with Index(path) as index:
        index.sync("tool", [MAIL])
        holder = Index(path) if held_open else None
        with closing(connect(path)) as file:
            file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with path.open("r+b") as file:
        file.seek(100)
        file.write(b"\xff" * 20_000)
    locked = index_file._one_at_a_time  # pyright: ignore[reportPrivateUsage]
    repaired = iter([False])

    def late(of: Path) -> Any:
        if not next(repaired, True):
            with Index(path) as other:
                other.put([INVOICE])
        return locked(of)

    monkeypatch.setattr(index_file, "_one_at_a_time", late)
    with holder or Index(path) as mine:
        mine.put([LEAVE])
        assert mine.entries("tool") == [INVOICE, LEAVE]


READER = """
import sys
from sopwith.find import Index
with Index(sys.argv[1]) as index:
    for _ in sys.stdin:
        print(*sorted(hit.entry.id for hit in index.search("refund invoice")), flush=True)
    print(*(problem.code for problem in index.problems))
"""


def test_a_process_that_only_reads_sees_each_state_whole(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    with Index(path) as index:
        index.sync("tool", OLD)
        command = [sys.executable, "-c", READER, str(path)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:
            assert reader.stdin
            assert reader.stdout

            def seen() -> list[str]:
                assert reader.stdin
                assert reader.stdout
                reader.stdin.write("\n")
                reader.stdin.flush()
                return reader.stdout.readline().split()

            assert seen() == ["a", "b"]
            index.sync("tool", NEW)
            assert seen() == ["x"]
            index.put(OLD)
            assert seen() == ["a", "b", "x"]
            assert reader.communicate()[0].split() == []


def test_a_word_of_two_characters_is_found_where_it_matters_most(index: Index) -> None:
    """What is about the word comes before what mentions it; of what has another word nothing comes."""
    index.sync(
        "tool",
        [
            Entry(
                kind="tool",
                id="aside",
                name="查询",
                description="查询员工信息、部门、岗位、入职日期、合同以及报销记录",
            ),
            Entry(kind="tool", id="about", name="提交", description="提交报销"),
            Entry(kind="tool", id="both", name="报销", description="提交报销单据"),
            Entry(kind="tool", id="other", name="预订", description="预订会议室"),
        ],
    )
    assert ids(index, "报销") == ["both", "about", "aside"]
    assert ids(index, "我要报销差旅费") == ["both", "about", "aside"]
    assert ids(index, "会议") == ["other"]


def test_the_length_of_a_query_is_bounded(index: Index) -> None:
    index.sync("tool", [MAIL, INVOICE])
    counted = [f"word{number}" for number in range(QUERY_WORDS)]
    assert ids(index, " ".join([*counted[1:], "send"])) == ["mail.send"]
    assert ids(index, " ".join([*counted, "send"])) == []
    assert ids(index, " ".join(["the send"] * 100_000)) == ["mail.send"]
