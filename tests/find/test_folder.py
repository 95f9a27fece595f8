"""A folder of documents in an index: what changed is read, what has gone leaves, several processes at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.find.pdf_file import pdf

from sopwith.find import Entry, Index
from sopwith.find import folder as module
from sopwith.find.folder import Refreshed, refresh


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    (folder / "hr").mkdir(parents=True)
    (folder / "hr" / "leave.md").write_text("# Leave\n\nEveryone has 25 days of annual leave.\n")
    (folder / "报销.txt").write_text("出租车费凭发票报销。")
    (folder / "travel.PDF").write_bytes(pdf(["Flights are booked by the office."]))
    (folder / "picture.png").write_bytes(b"\x89PNG")
    return folder


def counts(done: Refreshed) -> tuple[int, int, int]:
    return done.read, done.unchanged, done.dropped


def age(folder: Path) -> None:
    """Make all files old: their times say then whether they have changed."""
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            os.utime(path, (1e9, 1e9))


def found(index: Index, query: str) -> list[str]:
    return [hit.entry.id for hit in index.search(query, ["document"])]


def test_only_what_has_changed_is_read_again(docs: Path, tmp_path: Path) -> None:
    with Index(tmp_path / "index.sqlite") as index:
        index.put([Entry(kind="tool", id="hr.leave", description="annual leave")])
        assert counts(refresh(index, docs)) == (3, 0, 0)
        assert found(index, "annual leave") == ["hr/leave.md#L3-3"]
        assert found(index, "报销发票") == ["报销.txt#L1-1"]
        assert found(index, "flight") == ["travel.PDF#p1L1-1"]
        age(docs)  # other times, the same content
        assert counts(refresh(index, docs)) == (0, 3, 0)
        (docs / "hr" / "leave.md").write_text("# Leave\n\nEveryone has 30 days of paid holidays.\n")
        (docs / "报销.txt").unlink()
        (docs / "new.txt").write_text("Desks are shared.")
        assert counts(refresh(index, docs)) == (2, 1, 1)
        assert found(index, "annual") == found(index, "报销") == []
        assert found(index, "holidays") == ["hr/leave.md#L3-3"] and found(index, "desk") == ["new.txt#L1-1"]
        assert [entry.id for entry in index.entries("tool")] == ["hr.leave"]


def test_an_unchanged_file_is_not_even_opened(
    docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SETTLED", -1e12)  # as if the files had been written long ago
    with Index(tmp_path / "index.sqlite") as index:
        refresh(index, docs)
        opened: list[object] = []
        real = os.open
        monkeypatch.setattr(os, "open", lambda *given: (opened.append(given[0]), real(*given))[1])
        assert counts(refresh(index, docs)) == (0, 3, 0)
        assert opened == []


def test_what_cannot_be_read_is_told_each_time_and_loses_nothing_else(docs: Path, tmp_path: Path) -> None:
    (docs / "old.txt").write_bytes("员工请假须提前申请".encode("gb18030"))
    (docs / "broken.pdf").write_bytes(b"%PDF-1.7 broken")
    (docs / "large.txt").write_bytes(b"x" * 9_000_000)
    with Index(tmp_path / "index.sqlite") as index:
        for read in (5, 0):
            done = refresh(index, docs)
            told = {each.place.file: each.code for each in done.problems}
            assert told == {"broken.pdf": "SW830", "large.txt": "SW834", "old.txt": "SW833"}
            assert done.read == read and len(index.entries("document")) == 3
        (docs / "old.txt").write_text("员工请假须提前申请", encoding="utf-8")
        assert "old.txt" not in {each.place.file for each in refresh(index, docs).problems}
        assert found(index, "提前申请") == ["old.txt#L1-1"]


def test_no_link_is_followed_and_nothing_hidden_is_read(docs: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("The password is swordfish.")
    (docs / "link.txt").symlink_to(outside / "secret.txt")
    (docs / "folder").symlink_to(outside, target_is_directory=True)
    (docs / "loop").symlink_to(docs, target_is_directory=True)
    (docs / ".hidden.txt").write_text("swordfish")
    (docs / ".git").mkdir()
    (docs / ".git" / "note.txt").write_text("swordfish")
    os.mkfifo(docs / "pipe.txt")
    with Index(tmp_path / "index.sqlite") as index:
        done = refresh(index, docs)
        assert found(index, "swordfish") == [] and done.read == 3
        assert {each.place.file: each.code for each in done.problems} == {
            "folder": "SW835",
            "link.txt": "SW835",
        }


def test_a_folder_that_is_not_there_takes_nothing_away(docs: Path, tmp_path: Path) -> None:
    with Index(tmp_path / "index.sqlite") as index:
        refresh(index, docs)
        docs.rename(tmp_path / "away")
        with pytest.raises(FileNotFoundError):
            refresh(index, docs)
        assert len(index.entries("document")) == 3


def test_what_was_stopped_goes_on_where_it_was(docs: Path, tmp_path: Path) -> None:
    with Index(tmp_path / "index.sqlite") as index:
        first = refresh(index, docs, lambda: len(index.files()) == 2)
        assert not first.complete and first.read == 2
        assert counts(refresh(index, docs)) == (1, 2, 0)


def test_an_index_that_is_made_anew_is_filled_again(docs: Path, tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    with Index(path) as index:
        refresh(index, docs)
    path.write_bytes(path.read_bytes()[:100] + b"\xff" * 8000)
    with Index(path) as index:
        assert refresh(index, docs).read == 3
        assert found(index, "annual") == ["hr/leave.md#L3-3"]


INDEXER = """
import sys
from pathlib import Path
from sopwith.find import Index
from sopwith.find.folder import refresh
with Index(sys.argv[1]) as index:
    sys.stdin.readline()
    done = refresh(index, Path(sys.argv[2]))
    assert done.complete and not done.problems and not index.problems, done
    print(done.read + done.unchanged)
"""


def test_two_processes_index_one_folder_at_once(docs: Path, tmp_path: Path) -> None:
    for number in range(150):
        (docs / f"{number}.md").write_text(f"# Rule {number}\n\nThe {number}th rule is about parking.\n")
    path = tmp_path / "index.sqlite"
    command = [sys.executable, "-c", INDEXER, str(path), str(docs)]
    both = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    for each in both:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()
    assert [each.communicate()[0].strip() for each in both] == ["153", "153"]
    with Index(path) as index:
        assert len(index.entries("document")) == len(index.files()) == 153
        assert len(index.search("parking", ["document"], 500)) == 150
        assert sorted(i for file in index.files().values() for i in file.ids) == [
            entry.id for entry in index.entries("document")
        ]
