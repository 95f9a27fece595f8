"""The setting `documents`: the tool is there, runs use it, what cannot be read is told."""

from __future__ import annotations

import json

import pytest
from tests.cli.command import Command

from sopwith.cli.exit_code import ExitCode

TOOL = "documents.search_documents"
PROCEDURE = """
schema: sopwith/procedure/1
id: look
start: look
output: {type: object, properties: {path: {type: string}}}
steps:
  look: {tool: documents.search_documents, with: {query: annual leave}, as: found, next: wait}
  wait: {ask: Go on?, returns: {type: boolean}, as: agreed, next: again}
  again: {tool: documents.search_documents, with: {query: sick leave}, as: more, next: done}
  done: {end: complete, result: {path: "${found.passages[0].path}"}}
"""


@pytest.fixture
def office(sopwith: Command) -> Command:
    (sopwith.folder / "handbook" / "hr").mkdir(parents=True)
    sopwith.write("handbook/hr/leave.md", "# Leave\n\nEveryone has 25 days of annual leave.\n")
    sopwith.write("sopwith.toml", 'documents = "handbook"\n')
    sopwith.write("look.yaml", PROCEDURE)
    return sopwith


def test_the_tool_is_there_where_a_folder_is_named(office: Command) -> None:
    assert [tool["name"] for tool in office("tools", "list", "--json").document["tools"]] == [TOOL]
    for name in ("search_documents", TOOL):
        tested = office("tools", "test", name, "--json")
        assert (tested.code, tested.document["tools"][0]["called"]) == (ExitCode.OK, 1)
    linted = office("tools", "lint", "--json")
    assert (linted.code, linted.document) == (ExitCode.OK, {"problems": []})
    office.write("sopwith.toml", "")
    assert office("tools", "list", "--json").document["tools"] == []


def test_a_call_gives_passages_with_their_sources(office: Command) -> None:
    called = office("tools", "call", TOOL, "--with", json.dumps({"query": "annual leave"}), "--json")
    (passage,) = called.document["outcome"]["output"]["result"]["passages"]
    assert (passage["path"], passage["heading"], passage["first_line"]) == ("hr/leave.md", "Leave", 3)


def test_a_run_goes_on_with_the_documents_that_it_was_started_with(office: Command) -> None:
    waiting = office("run", "look.yaml", "--json")
    assert waiting.code == ExitCode.SUSPENDED
    office.write("sopwith.toml", "")
    done = office("resume", waiting.document["run"], "--answer", "true", "--json")
    assert (done.code, done.document["outcome"]["output"]) == (ExitCode.OK, {"path": "hr/leave.md"})


def test_a_file_that_cannot_be_read_is_told_and_the_others_are_found(office: Command) -> None:
    (office.folder / "handbook" / "old.txt").write_bytes("员工请假须提前申请".encode("gb18030"))
    listed = office("tools", "list", "--json").document
    assert [(p["code"], p["file"]) for p in listed["problems"]] == [("SW833", "old.txt")]
    assert "iconv" in office("tools", "list", "--lang", "zh").err
    assert office("check", "look.yaml").code == ExitCode.OK


def test_a_folder_that_is_not_there_is_a_mistake_in_the_setting(office: Command) -> None:
    office.write("sopwith.toml", 'documents = "manuals"\n')
    ran = office("tools", "list")
    assert ran.code == ExitCode.USAGE
    assert "manuals" in ran.err and "sopwith.toml" in ran.err
