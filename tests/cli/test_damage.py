"""A damaged store is shown as far as it goes, and nothing runs on it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.command import Command
from tests.log.stores import replace, sql, stored

ORDER = ("run", "procedure.yaml", "--request", "Where is my order A-1001?")
WAITS = ("run", "procedure.yaml", "--request", "Call 13812345678: where is A-1002?")
RUNS = 12


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The data folder of a project with some runs, whose files are large enough for several pages."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        from tests.cli.command import lay_out, make

        command = make(folder, patch)
        lay_out(folder)
        for _ in range(RUNS):
            assert command(*ORDER).code == 0
    return {path.name: path.read_bytes() for path in (folder / ".sopwith").iterdir() if path.is_file()}


@pytest.fixture
def ran(project: Command, whole: dict[str, bytes]) -> Command:
    """A project with those runs."""
    (project.folder / ".sopwith").mkdir()
    for name, data in whole.items():
        place = project.folder / ".sopwith" / name
        place.write_bytes(data)
        place.chmod(0o600)
    return project


def store(command: Command) -> Path:
    return command.folder / ".sopwith" / "runs.db"


def names(command: Command) -> list[str]:
    return [str(row[0]) for row in sql(store(command), "SELECT run FROM run ORDER BY number")]


def page_of(path: Path, table: str) -> tuple[int, int]:
    """Where the root page of a table begins, and how long a page is."""
    with closing(sqlite3.connect(path)) as connection:
        root = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0]
        size = connection.execute("PRAGMA page_size").fetchone()[0]
    return (root - 1) * size, size


def flip(path: Path, begin: int, length: int) -> None:
    data = bytearray(path.read_bytes())
    data[begin : begin + length] = bytes(byte ^ 0xFF for byte in data[begin : begin + length])
    path.write_bytes(data)


def flip_last_pages(path: Path) -> None:
    """Spoil the pages at the end of the file, and not where the runs are listed."""
    _, size = page_of(path, "batch")
    flip(path, path.stat().st_size - 3 * size, 3 * size)


def test_flipped_pages_are_named_and_the_rest_is_shown(ran: Command) -> None:
    flip_last_pages(store(ran))
    verified = ran("audit", "verify", "--json")
    assert verified.code == 8
    assert "damaged" in {f["what"] for f in verified.document["findings"]}
    listed = ran("runs", "--json")
    assert len(listed.document) == RUNS
    traced = [ran("trace", row["run"], "--jsonl") for row in listed.document]
    assert {result.code for result in traced} == {8}
    assert any(len(result.out.splitlines()) > 10 for result in traced)
    assert all("audit verify" in result.err for result in traced if result.code == 8)


def test_nothing_runs_on_flipped_pages(ran: Command) -> None:
    flip_last_pages(store(ran))
    before = store(ran).read_bytes()
    for language, remedy in (("en", "from a backup"), ("zh", "从备份恢复")):
        result = ran(*ORDER, "--lang", language)
        assert result.code == 8 and "SW012" in result.err and remedy in result.err
    assert store(ran).read_bytes() == before


@pytest.mark.parametrize("part", [0.9, 0.6])
def test_a_truncated_file_is_named_and_the_rest_is_shown(ran: Command, part: float) -> None:
    first = names(ran)[0]
    whole = store(ran).read_bytes()
    store(ran).write_bytes(whole[: int(len(whole) * part)])
    assert ran(*ORDER).code == 8
    assert ran("resume", first).code == 8
    assert ran("audit", "verify").code == 8
    listed = ran("runs", "--json")
    assert listed.code == 8 and "damaged" in listed.err
    assert first in {row["run"] for row in listed.document}
    assert ran("trace", first, "--jsonl").out.startswith('{"task"')


def test_a_broken_row_leaves_the_other_runs_alone(ran: Command) -> None:
    first, second = names(ran)[:2]
    sql(store(ran), "UPDATE batch SET envelopes = '[' WHERE id >> 24 = 1")
    listed = ran("runs")
    assert listed.code == 8 and first in listed.out and second in listed.out
    shown = ran("trace", first)
    assert shown.code == 8 and "SW012" in shown.err
    assert len(ran("trace", second, "--jsonl").out.splitlines()) > 10
    assert ran("resume", first).code == 8


def test_a_trace_shows_the_events_before_the_first_that_is_not_as_it_was(ran: Command) -> None:
    first = names(ran)[0]
    events = stored(store(ran), 1)[1]
    replace(store(ran), 1, [e._replace(body=b"{}") if e.seq == 9 else e for e in events])
    lines = ran("trace", first, "--jsonl")
    assert [json.loads(line)["seq"] for line in lines.out.splitlines()] == list(range(1, 9))
    assert lines.code == 8 and "event 9" in lines.err
    assert "understand" in ran("trace", first).out or "A-1001" in ran("trace", first).out
    assert ran("trace", first, "--json").document["status"] == "running"
    assert ran("resume", first).code == 8


def test_a_run_whose_procedure_is_lost_shows_its_events(ran: Command) -> None:
    first = names(ran)[0]
    sql(store(ran), "DELETE FROM blob")
    shown = ran("trace", first)
    assert shown.code == 8 and '"kind": "run.started"' in shown.out and "no blob" in shown.err
    assert len(ran("trace", first, "--json").document["events"]) > 10


def test_a_file_of_which_nothing_is_left_is_refused_everywhere(ran: Command) -> None:
    flip(store(ran), 0, 4096)
    for arguments in (ORDER, ("runs",), ("trace",), ("audit", "verify"), ("gc", "--older-than", "1d")):
        result = ran(*arguments)
        assert (result.code, "SW012" in result.err) == (8, True)


def test_a_store_of_an_unknown_version_is_refused_everywhere(ran: Command) -> None:
    sql(store(ran), "PRAGMA user_version = 99")
    for arguments in (ORDER, ("runs",), ("trace",), ("audit", "verify"), ("gc", "--older-than", "1d")):
        result = ran(*arguments)
        assert result.code == 1 and "version 99" in result.err and "upgrade" in result.err


def test_a_store_that_may_not_be_written_can_be_audited(ran: Command) -> None:
    (ran.folder / ".sopwith").chmod(0o500)
    store(ran).chmod(0o400)
    try:
        assert ran("audit", "verify").code == 0
    finally:
        (ran.folder / ".sopwith").chmod(0o700)


def test_gc_refuses_a_store_with_a_run_whose_events_are_gone(ran: Command) -> None:
    first = names(ran)[0]
    sql(store(ran), "DELETE FROM batch WHERE id >> 24 = 1")
    for more in ((), ("--yes",)):
        result = ran("gc", "--older-than", "0.001s", *more)
        assert result.code == 8 and "SW012" in result.err and "from a backup" in result.err
        assert f"the events of run {first} are missing" in result.err
    assert len(names(ran)) == RUNS


def test_an_emptied_store_is_not_taken_for_a_new_one(ran: Command) -> None:
    first = names(ran)[0]
    store(ran).write_bytes(b"")
    for arguments in (ORDER, ("resume", first), ("runs",), ("trace",), ("gc", "--older-than", "1d")):
        result = ran(*arguments)
        assert result.code == 8 and "is empty" in result.err and "from a backup" in result.err
    assert store(ran).read_bytes() == b""
    (ran.folder / ".sopwith" / "vault.db").unlink()
    ran.write(".sopwith/where/r1.json", "{}")
    assert ran("runs").code == 8
    (ran.folder / ".sopwith" / "where" / "r1.json").unlink()
    (ran.folder / ".sopwith" / "vault.db.key").unlink()
    assert ran(*ORDER).code == 0


@pytest.mark.parametrize("part", ["head", "entries", "mark"])
def test_a_damaged_vault_is_named_with_its_remedy(desk: Command, part: str) -> None:
    vault = desk.folder / ".sopwith" / "vault.db"
    if part == "mark":
        sql(vault, "UPDATE key_check SET mark = 'x'")
    else:
        begin, size = page_of(vault, "entry") if part == "entries" else (0, 100)
        flip(vault, begin, size)
    run = names(desk)[0]
    for arguments in (
        ("approve", run, "--by", "han"),
        ("resume", run, "--answer", "yes"),
        ("vault", "show"),
        ("vault", "erase", "--run", run),
    ):
        result = desk(*arguments)
        assert result.code == 8 and "SW012" in result.err, arguments
        assert "damaged" in result.err and "restore the vault from a backup" in result.err
        assert "free space" not in result.err
        chinese = desk(*arguments, "--lang", "zh").err
        assert "已损坏" in chinese and "占位符保持不变" in chinese and "malformed" not in chinese


@pytest.fixture
def desk(project: Command) -> Command:
    """A project with a run that waits for leave, and whose vault holds a value."""
    project.write("policy.yaml", "rules:\n- {id: ask, tool: orders.remind, verdict: ask}\n")
    waits = project(*WAITS)
    assert waits.code == 7, waits.err
    return project


def test_a_broken_row_hides_no_other_run_from_who_approves_and_who_watches(desk: Command) -> None:
    assert desk(*WAITS).code == 7
    first, second = (name for name in names(desk) if ":" not in name)
    sql(store(desk), "UPDATE batch SET envelopes = '[' WHERE id >> 24 = 1")
    listed = desk("approvals", "--json")
    assert listed.code == 8 and first in listed.err
    assert [one["run"] for one in listed.document] == [second]
    watched = desk("watchdog", "--waiting", "1s", "--json")
    assert ("run.unreadable", first) in [(alert["code"], alert["run"]) for alert in watched.document]
    assert desk("approve", second, "--by", "li").code == 0
