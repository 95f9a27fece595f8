"""`sopwith find`, and `sopwith run` of a folder: the right procedure for a request, with reasons."""

from __future__ import annotations

import json

import pytest
from tests.cli.command import Command

from sopwith.cli.exit_code import ExitCode

PROCEDURE = """\
schema: sopwith/procedure/1
id: {id}
name: {name}
description: {description}
examples: [{examples}]
start: tell
steps:
  tell: {{answer: "{id} it is", next: done}}
  done: {{end: complete}}
"""
LIBRARY = {
    "leave": ("Request leave", "Ask for days off and have them approved", "three days off next week"),
    "expenses": ("费用报销", "提交发票并报销差旅费用", "报销出租车费"),
    "password": ("Reset a password", "Give a colleague who is locked out a new password", "I am locked out"),
}


@pytest.fixture
def library(sopwith: Command) -> Command:
    for id, (name, description, examples) in LIBRARY.items():
        text = PROCEDURE.format(id=id, name=name, description=description, examples=examples)
        sopwith.write(f"{id}.yaml", text)
    sopwith.write("all.jsonl", '"done"\n')
    return sopwith


def test_a_request_finds_its_procedure_and_says_why(library: Command) -> None:
    ran = library("find", "three days off in May")
    assert ran.code == ExitCode.OK and "picked: leave.yaml" in ran.err
    first = ran.out.splitlines()[1].split()
    assert first[3] == "leave" and "days" in ran.out and all(float(part) > 0 for part in first[:3])
    told = library("find", "报销昨天的出租车费", "--json", "--limit", "1").document
    assert (told["verdict"], told["picked"], told["by"], len(told["procedures"])) == (
        "picked",
        "expenses.yaml",
        "meaning",
        1,
    )
    assert told["procedures"][0]["words"] and told["procedures"][0]["semantic"] > 0


def test_what_no_procedure_is_for_is_told_in_the_language_of_the_reader(library: Command) -> None:
    ran = library("find", "今天天气怎么样", "--lang", "zh")
    assert "没有流程适用于该请求" in ran.err and "今天天气怎么样" in ran.err
    ran = library("find", "cancel the three days off")
    assert "does not say: cancel" in ran.out and "picked" not in ran.err


def test_a_folder_is_run_by_what_is_asked_for(library: Command) -> None:
    model = ("--model", "scripted:all.jsonl")
    ran = library("run", ".", "--request", "three days off in May", *model)
    assert ran.code == ExitCode.OK and "procedure: leave.yaml (Request leave" in ran.err
    none = library("run", ".", "--request", "tell me a joke", *model)
    assert none.code == ExitCode.ESCALATED and "SW016" in none.err and "sopwith find" in none.err
    unasked = library("run", ".", *model)
    assert unasked.code == ExitCode.USAGE and "--request" in unasked.err
    assert len(library("runs", "--json").document) == 1


def test_where_it_is_not_sure_nobody_is_guessed_for(library: Command) -> None:
    library.write("sopwith.toml", "find = {meaning = {threshold = 0.9, margin = 0.5}}\n")
    ran = library("run", ".", "--request", "three days off in May", "--model", "scripted:all.jsonl")
    assert ran.code == ExitCode.ESCALATED and "may be for leave.yaml" in ran.err
    assert "unsure between: leave.yaml" in library("find", "three days off in May").err


def test_limits_come_from_labelled_requests(library: Command) -> None:
    rows = [
        {"query": "two days off please", "procedure": "leave"},
        {"query": "出租车费怎么报销", "procedure": "expenses"},
        {"query": "I cannot get in, locked out", "procedure": "password"},
        {"query": "what is the weather", "procedure": None},
        {"query": "write a poem", "procedure": None},
    ]
    library.write("labelled.yaml", json.dumps(rows, ensure_ascii=False))
    dry = library("find", "--calibrate", "labelled.yaml", "--dry-run")
    assert dry.out.startswith("find.meaning = {threshold = ") and "3 of 3 right, 0 wrong, 0 of 2" in dry.err
    assert not (library.folder / "sopwith.toml").exists()
    assert "written to" in library("find", "--calibrate", "labelled.yaml").err
    limits = library("find", "two days off please", "--json").document["limits"]
    assert limits["threshold"] == pytest.approx(float(dry.out.split("threshold = ")[1].split(",")[0]))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "--calibrate FILE"),
        ((" ",), "--calibrate FILE"),
        (("--calibrate", "none.yaml"), "none.yaml"),
        (("--calibrate", "leave.yaml"), "a list of requests"),
        (("--calibrate", "wrong.yaml"), "request 2: there is no procedure 'holiday'"),
        (("x", "--kind", "document"), "documents ="),
        (("x", "--in", "nowhere"), "nowhere"),
    ],
)
def test_bad_input_is_named(library: Command, arguments: tuple[str, ...], said: str) -> None:
    library.write("wrong.yaml", "[{query: a, procedure: leave}, {query: b, procedure: holiday}]")
    ran = library("find", *arguments)
    assert ran.code in (ExitCode.USAGE, ExitCode.INVALID) and said in ran.err


def test_a_file_that_cannot_be_read_is_left_out_and_two_with_one_id_stay(library: Command) -> None:
    library.write("broken.yaml", "schema: sopwith/procedure/1\nid: [\n")
    library.write(
        "again.yaml", PROCEDURE.format(id="leave", name="Sabbatical", description="A year", examples="")
    )
    ran = library("find", "a sabbatical of a year")
    assert "broken.yaml is left out" in ran.err and "have the same id: leave" in ran.err
    assert "leave.yaml" in ran.out.splitlines()[1] or "again.yaml" in ran.err


def test_tools_and_documents_are_found_too(library: Command) -> None:
    library.write(
        "tools.py",
        "from sopwith import tool\n\n@tool(effect='read')\ndef leave_balance(user: str) -> int:\n"
        '    """Says how many days of leave somebody has left."""\n    return 7\n',
    )
    (library.folder / "papers").mkdir()
    library.write("papers/leave.md", "# Leave\n\nEverybody has 30 days of annual leave.\n")
    library.write("sopwith.toml", 'documents = "papers"\n')
    told = library("find", "days of leave", "--kind", "tool", "--kind", "document", "--json").document
    assert told["tools"][0]["id"].endswith("leave_balance")
    assert told["documents"][0]["id"].startswith("leave.md#")
    shown = library("find", "days of annual leave", "--kind", "document")
    assert "leave.md#L" in shown.out and "annual" in shown.out
