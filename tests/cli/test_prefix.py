"""`sopwith show --prefix`: how much of each prompt had been sent before."""

from __future__ import annotations

import pytest
from tests.cli.command import Command

from sopwith.cli.exit_code import ExitCode

PROCEDURE = """
schema: sopwith/procedure/1
id: look
name: Look
tools: [shop.look]
inputs: {request: {type: string, from: run.request}}
start: read
steps:
  read: {do: Copy the number, uses: [inputs.request], returns: {type: string}, as: number, next: work}
  work: {grip: free, do: Look around, returns: {type: string}, as: found, next: tell}
  tell: {answer: Say it, end: complete}
"""
TOOLS = """
from sopwith import tool

@tool(name="shop.look")
def look(at: str) -> str:
    '''Look.'''
    return "x" * 40
"""
SCRIPT = r"""
"\"A-7\""
{"name": "shop__look", "arguments": {"at": "door"}}
{"name": "nothing", "arguments": {}}
{"name": "finish", "arguments": {"outcome": "complete", "result": "seen"}}
"It was seen."
"""


@pytest.fixture
def run(sopwith: Command) -> tuple[Command, str]:
    """A run that calls a model in two strict steps, and three times in a transcript."""
    for name, text in (("procedure.yaml", PROCEDURE), ("tools.py", TOOLS), ("script.jsonl", SCRIPT)):
        sopwith.write(name, text)
    ran = sopwith("run", "procedure.yaml", "--request", "A-7", "--model", "scripted:script.jsonl")
    assert ran.code == ExitCode.OK
    return sopwith, sopwith("runs", "--json").document[0]["run"]


def test_the_share_that_was_sent_before_is_that_of_the_log(run: tuple[Command, str]) -> None:
    sopwith, name = run
    found = sopwith("show", "--prefix", name[:8], "--json").document
    sent = sopwith("trace", name, "--prompts", "--json").document
    strict, work, looked, refused, tell = found["calls"]
    assert [call["purpose"] for call in found["calls"]] == ["returns", "free", "free", "free", "answer"]
    assert [call["step"] for call in found["calls"]] == ["read", "work", "work", "work", "tell"]
    system = len(sent[0]["system"])
    assert strict["sent_before"] == 0 and strict["characters"] == system + len(sent[0]["user"])
    assert work["sent_before"] < len(sent[1]["system"])  # the two begin with the same words of advice
    assert looked["sent_before"] == work["characters"]
    assert refused["sent_before"] == looked["characters"]
    said = len(sent[1]["reply"])
    assert looked["characters"] == work["characters"] + said + len(sent[2]["user"])
    assert system <= tell["sent_before"] < tell["characters"]
    assert found["sent_before"] == sum(call["sent_before"] for call in found["calls"])
    assert found["share"] == round(found["sent_before"] / found["characters"], 4)


def test_it_is_a_table_in_both_languages(run: tuple[Command, str]) -> None:
    sopwith, name = run
    english = sopwith("show", "--prefix", name).out.splitlines()
    assert english[0].split("  ")[0] == "event" and "sent before" in english[0]
    assert english[-1].startswith("5 model calls, ")
    chinese = sopwith("show", "--prefix", name, "--lang", "zh").out
    assert "先前已发送" in chinese and "模型调用 5 次" in chinese


def test_a_run_that_called_no_model_says_so(sopwith: Command) -> None:
    sopwith.write(
        "empty.yaml", "schema: sopwith/procedure/1\nid: e\nname: E\nstart: a\nsteps: {a: {end: complete}}\n"
    )
    assert sopwith("run", "empty.yaml").code == ExitCode.OK
    name = sopwith("runs", "--json").document[0]["run"]
    assert "called no model" in sopwith("show", "--prefix", name).err
    assert sopwith("show", "--prefix", name, "--json").document["share"] == 0


def test_an_unknown_run_is_named(sopwith: Command) -> None:
    assert sopwith("show", "--prefix", "nope").code == ExitCode.USAGE
