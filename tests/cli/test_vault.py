"""`sopwith vault`: counting without values, and forgetting somebody for good."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest
from tests.cli.command import Command

from sopwith.cli.exit_code import ExitCode

PROCEDURE = """
schema: sopwith/procedure/1
id: call_back
name: Call back
inputs:
  phone: {type: string}
  name: {type: string}
start: sure
steps:
  sure:
    name: Ask
    ask: Call ${inputs.name} at ${inputs.phone}?
    returns: {type: boolean}
    as: agreed
    next: [{to: call, when: agreed}, {otherwise: failed}]
  call:
    name: Call
    tool: desk.call
    with: {phone: "${inputs.phone}"}
    on_error: [{otherwise: failed}]
    end: complete
  failed:
    name: Failed
    end: escalate
"""
TOOLS = """
import pathlib
from sopwith.tools import tool

@tool(name="desk.call", effect="write")
def call(phone: str) -> bool:
    '''Call somebody.'''
    with (pathlib.Path(__file__).parent / "called.txt").open("a") as file:
        file.write(phone + "\\n")
    return True
"""
LI, HAN = "13812345678", "13987654321"


@pytest.fixture
def desk(sopwith: Command) -> Command:
    """Three runs that wait for an answer: two for Li about Li's and Han's phone, one for Han."""
    sopwith.write("procedure.yaml", PROCEDURE)
    sopwith.write("tools.py", TOOLS)
    sopwith.write("policy.yaml", "allow_writes: [desk.call]\nredact: {names: [李雷], principal: true}\n")
    for principal, phone in (("u-li", LI), ("u-li", HAN), ("u-han", f"+86 {HAN[:3]} {HAN[3:7]} {HAN[7:]}")):
        inputs = ("--inputs", f"phone={phone}", "--inputs", "name=李雷")
        assert sopwith("run", "procedure.yaml", "--principal", principal, *inputs).code == ExitCode.SUSPENDED
    return sopwith


def runs(desk: Command) -> list[str]:
    """The runs, the first first."""
    return [row["run"] for row in desk("runs", "--json").document][::-1]


def left(desk: Command) -> dict[str, int]:
    """How many entries of each run are not erased."""
    found: dict[str, int] = {}
    for row in desk("vault", "show", "--json").document:
        found[row["run"]] = found.get(row["run"], 0) + row["entries"] - row["erased"]
    return found


def called(desk: Command) -> list[str]:
    """The numbers that were called."""
    file = desk.folder / "called.txt"
    return file.read_text().splitlines() if file.exists() else []


def assert_every_chain_is_valid(desk: Command) -> None:
    """Reading a run verifies its chain."""
    for run in runs(desk):
        assert desk("trace", run, "--jsonl").code == ExitCode.OK


def test_entries_are_counted_and_none_is_shown(desk: Command) -> None:
    ran = desk("vault", "show")
    assert ran.code == ExitCode.OK
    assert ran.out.splitlines()[0].split() == ["run", "kind", "entries", "erased"]
    assert [line.split()[1:] for line in ran.out.splitlines()[1:3]] == [
        ["name", "2", "0"],
        ["phone", "1", "0"],
    ]
    assert LI not in ran.out and "李雷" not in ran.out
    first = runs(desk)[0]
    assert desk("vault", "show", first[:6], "--json").document == [
        {"run": first, "kind": "name", "entries": 2, "erased": 0},
        {"run": first, "kind": "phone", "entries": 1, "erased": 0},
    ]
    assert "种类" in desk("vault", "show", "--lang", "zh").out


@pytest.mark.parametrize("arguments", [(), ("--value", HAN), ("--value", "-")])
def test_a_value_is_erased_from_all_runs_however_it_was_written(
    desk: Command, arguments: tuple[str, ...]
) -> None:
    first, second, third = runs(desk)
    ran = desk("vault", "erase", *arguments, stdin=f"{HAN}\n")
    assert (ran.code, ran.out) == (ExitCode.OK, "erased: 2 entries in 2 runs\n")
    assert left(desk) == {first: 3, second: 2, third: 2}
    assert_every_chain_is_valid(desk)
    again = desk("vault", "erase", *arguments, "--json", stdin=f"{HAN}\n")
    assert (again.code, again.document) == (ExitCode.OK, {"entries": 0, "runs": {}})


def test_a_value_is_typed_without_an_echo(desk: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def typed(prompt: str) -> str:
        asked.append(prompt)
        return LI

    monkeypatch.setattr("sopwith.cli.terminal.Terminal.asks", True)
    monkeypatch.setattr("getpass.getpass", typed)
    assert desk("vault", "erase", "--lang", "zh").out == "已抹除：1 个条目，涉及1 个运行\n"
    assert asked == ["要抹除的值（不回显）："]


def test_a_run_is_erased(desk: Command) -> None:
    first, second, third = runs(desk)
    assert desk("vault", "erase", "--run", first[:6]).out == "erased: 3 entries in 1 run\n"
    assert left(desk) == {first: 0, second: 3, third: 3}


def test_a_person_is_forgotten_in_all_runs_that_were_for_them(desk: Command) -> None:
    first, second, third = runs(desk)
    ran = desk("vault", "erase", "--principal", "u-li", "--json")
    assert ran.document == {"entries": 6, "runs": {first: 3, second: 3}}
    assert left(desk) == {first: 0, second: 0, third: 3}
    assert_every_chain_is_valid(desk)
    again = desk("vault", "erase", "--principal", "u-li")
    assert (again.code, again.out) == (ExitCode.OK, "erased: 0 entries in 0 runs\n")
    assert "nothing matched" in again.err and "sopwith vault show" in again.err


def test_a_run_that_needs_what_was_erased_goes_to_a_person_and_calls_nothing(desk: Command) -> None:
    first, second, _ = runs(desk)
    desk("vault", "erase", "--value", LI)
    ran = desk("resume", first, "--answer", "yes")
    assert ran.code == ExitCode.ESCALATED
    assert f"<phone:1> of run {first} was erased" in ran.err
    assert called(desk) == []
    outcome = desk("trace", first, "--json").document["outcome"]
    assert (outcome["kind"], outcome["packet"]["error"]["code"]) == ("escalated", "erased")
    assert "<phone:1>" in desk("trace", first).out
    assert desk("resume", second, "--answer", "yes").code == ExitCode.OK
    assert called(desk) == [HAN]
    assert_every_chain_is_valid(desk)


def test_nothing_of_it_stays_in_the_files(desk: Command) -> None:
    with closing(sqlite3.connect(desk.folder / ".sopwith" / "vault.db")) as connection:
        rows = connection.execute("SELECT mark, sealed FROM entry").fetchall()
    for name in ("u-li", "u-han"):
        assert desk("vault", "erase", "--principal", name).code == ExitCode.OK
    data = b"".join(file.read_bytes() for file in (desk.folder / ".sopwith").glob("vault.db*"))
    assert len(rows) == 9
    assert not any(mark in data or sealed in data for mark, sealed in rows)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--value", LI, "--run", "x"), "give one of"),
        (("--run", "none"), "no run 'none'"),
        (("--value", "x"), "two characters"),
        (("--value", LI, "--data", "elsewhere"), "no vault in"),
    ],
)
def test_a_mistake_erases_nothing(desk: Command, arguments: tuple[str, ...], says: str) -> None:
    before = left(desk)
    ran = desk("vault", "erase", *arguments)
    assert ran.code == ExitCode.USAGE
    assert says in ran.err
    assert left(desk) == before


def test_a_key_that_others_may_read_opens_nothing(desk: Command) -> None:
    (desk.folder / ".sopwith" / "vault.db.key").chmod(0o640)
    for arguments in (("vault", "show"), ("vault", "erase", "--value", LI), ("resume", runs(desk)[0])):
        ran = desk(*arguments)
        assert ran.code == ExitCode.USAGE
        assert "chmod 600" in ran.err


def test_a_policy_with_a_mistake_starts_nothing(desk: Command) -> None:
    before = len(runs(desk))
    desk.write("policy.yaml", "redact:\n  rules:\n    - {kind: badge, pattern: '('}\n")
    ran = desk("run", "procedure.yaml", "--inputs", "phone=1", "--inputs", "name=2", "--json")
    assert ran.code == ExitCode.USAGE
    assert "policy.yaml:3:21 redact.rules[0].pattern" in json.loads(ran.out)["error"]["message"]
    assert len(runs(desk)) == before
