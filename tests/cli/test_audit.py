"""`sopwith audit`: what was changed is named, heads are signed, and exit codes say how it went."""

from __future__ import annotations

import json
import stat

import pytest
from tests.cli.command import Command
from tests.log.stores import replace, sql, stored

ORDER = ("run", "procedure.yaml", "--request", "Where is my order A-1001?")


@pytest.fixture
def ran(project: Command) -> Command:
    """A project with two runs."""
    for _ in range(2):
        assert project(*ORDER).code == 0
    return project


def cut(command: Command, number: int, *, keep: int) -> None:
    """Cut the tail of a run, and its row with it."""
    store = command.folder / ".sopwith" / "runs.db"
    replace(store, number, stored(store, number)[1][:keep])
    sql(store, f"UPDATE run SET status = 'running' WHERE number = {number}")


def with_heads(command: Command) -> None:
    assert command("audit", "keygen").code == 0
    set_heads(command, "audit/heads.jsonl")


def set_heads(command: Command, place: str) -> None:
    file = command.folder / "sopwith.toml"
    file.write_text(f'heads = "{place}"\n' + file.read_text(encoding="utf-8"), encoding="utf-8")


def test_a_store_as_it_was_written_is_well(ran: Command) -> None:
    result = ran("audit", "verify")
    assert (result.code, result.out) == (0, "")
    assert "looked at 2 runs" in result.err and "without signed heads" in result.err
    document = ran("audit", "verify", "--json").document
    assert (document["ok"], document["runs"], document["heads"], document["findings"]) == (True, 2, None, [])


def test_findings_are_named_and_the_exit_code_says_so(ran: Command) -> None:
    store = ran.folder / ".sopwith" / "runs.db"
    for number, seq in ((1, 3), (2, 5)):
        replace(store, number, [e for e in stored(store, number)[1] if e.seq != seq])
    result = ran("audit", "verify")
    assert result.code == 8
    assert [line.split()[1:3] for line in result.out.splitlines()[1:]] == [["3", "removed"], ["5", "removed"]]
    first = stored(store, 1)[0].run
    document = ran("audit", "verify", first[:6], "--json", "--lang", "zh").document
    assert document["findings"] == [
        {"run": first, "seq": 3, "what": "removed", "why": "缺少事件 3，后面的事件仍在"}
    ]
    assert "被删除" in ran("audit", "verify", "--lang", "zh").out


def test_a_run_that_is_not_there_is_a_mistake(ran: Command) -> None:
    assert ran("audit", "verify", "nothing").code == 2


def test_keygen_makes_a_pair_and_overwrites_nothing(project: Command) -> None:
    result = project("audit", "keygen", "--out", "keys/audit.key")
    assert (result.code, result.out) == (0, "keys/audit.key.pub\n")
    assert stat.S_IMODE((project.folder / "keys" / "audit.key").stat().st_mode) == 0o600
    assert project("audit", "keygen", "--out", "keys/audit.key").code == 2


def test_runs_are_signed_as_they_end_and_a_cut_tail_is_found(project: Command) -> None:
    with_heads(project)
    assert project(*ORDER).code == 0
    assert "1 signed heads" in project("audit", "verify").err
    cut(project, 1, keep=6)
    public = project.folder / "no-settings-of-a-user" / "sopwith" / "audit.key.pub"
    for given in ((), ("--heads", "audit/heads.jsonl", "--key", str(public))):
        document = project("audit", "verify", "--json", *given).document
        assert [(f["seq"], f["what"]) for f in document["findings"]] == [(7, "cut tail")]


def test_runs_of_before_are_signed_in_one_go(ran: Command) -> None:
    with_heads(ran)
    document = ran("audit", "heads", "--json").document
    assert len(document["signed"]) == 2 and document["ok"]
    assert ran("audit", "verify").code == 0
    assert ran("audit", "heads", "--json").document["signed"] == []
    lines = (ran.folder / "audit" / "heads.jsonl").read_text().splitlines()
    assert {json.loads(line)["run"] for line in lines} == set(document["signed"])


def test_a_run_with_findings_is_not_signed(ran: Command) -> None:
    with_heads(ran)
    assert ran("audit", "heads").code == 0
    cut(ran, 1, keep=6)
    assert ran(*ORDER).code == 0
    result = ran("audit", "heads", "--json")
    assert (result.code, result.document["signed"]) == (8, [])
    assert [f["what"] for f in result.document["findings"]] == ["cut tail"]


def test_heads_without_a_key_start_nothing(project: Command) -> None:
    set_heads(project, "heads.jsonl")
    result = project(*ORDER)
    assert result.code == 2 and "audit keygen" in result.err
    assert not (project.folder / ".sopwith" / "runs.db").exists()


def test_heads_need_a_place(ran: Command) -> None:
    result = ran("audit", "heads")
    assert result.code == 2 and "SOPWITH_HEADS" in result.err


def test_gc_lists_first_and_removes_when_told(ran: Command) -> None:
    set_heads(ran, "heads.jsonl")
    assert ran("audit", "keygen").code == 0
    assert ran("audit", "heads").code == 0
    listed = ran("gc", "--older-than", "1ms")
    assert listed.code == 0 and "--yes" in listed.err
    assert len(listed.out.splitlines()) == 3 and len(ran("runs", "--json").document) == 2
    assert ran("gc", "--older-than", "1d", "--json").document == {"runs": [], "suspect": [], "removed": None}
    removed = ran("gc", "--older-than", "1ms", "--yes", "--json").document["removed"]
    assert removed["runs"] == 2 and removed["after"] <= removed["before"]
    assert ran("runs", "--json").document == []
    assert list((ran.folder / ".sopwith" / "where").iterdir()) == []
    document = ran("audit", "verify", "--json").document
    assert (document["findings"], document["collected"], document["heads"]) == ([], 2, 4)


def test_gc_wants_a_duration(ran: Command) -> None:
    assert ran("gc", "--older-than", "soon").code == 2


def test_gc_forgets_what_the_vault_keeps_of_them(project: Command) -> None:
    request = "Where is my order A-1001? My number is 13800138000"
    assert project("run", "procedure.yaml", "--request", request).code == 0
    removed = project("gc", "--older-than", "1ms", "--yes", "--json").document["removed"]
    assert (removed["runs"], removed["vault"]) == (1, 1)


def test_a_run_is_exported_as_one_page_with_its_data(project: Command) -> None:
    with_heads(project)
    request = "Where is my order A-1001? <b>My number is 13800138000</b>"
    assert project("run", "procedure.yaml", "--request", request).code == 0
    run = project("runs", "--json").document[0]["run"]
    assert project("audit", "export", run[:6], "-o", "run.html").out == "run.html\n"
    text = (project.folder / "run.html").read_text(encoding="utf-8")
    assert "13800138000" not in text and "<b>" not in text and "&lt;phone:1&gt;" in text
    assert "http://" not in text and "https://" not in text and "everything is as it was written" in text
    data = json.loads(text.partition('id="run">')[2].partition("</script>")[0])
    traced = [json.loads(line) for line in project("trace", run, "--jsonl").out.splitlines()]
    assert data["events"] == traced and data["audit"]["ok"]
    signed = json.loads((project.folder / "audit" / "heads.jsonl").read_text().splitlines()[-1])
    assert (data["head"], data["signature"]) == (signed["hash"], signed["signature"])
    assert data["signature"] in text and data["procedure"]["id"] == "late_order"


def test_a_page_of_a_run_with_findings_says_so(ran: Command) -> None:
    cut(ran, 1, keep=6)
    sql(ran.folder / ".sopwith" / "runs.db", "UPDATE run SET status = 'completed' WHERE number = 1")
    run = stored(ran.folder / ".sopwith" / "runs.db", 1)[0].run
    assert ran("audit", "export", run, "-o", "run.html").code == 8
    assert "cut tail 7" in (ran.folder / "run.html").read_text(encoding="utf-8")
