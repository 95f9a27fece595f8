"""`sopwith tools`: listed, shown, called, imported, tried and judged; and recorded calls given again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.cli.command import Command
from tests.tools.ledger_server import DOCUMENTS, LedgerServer

FIND = "orders.find"


@pytest.fixture
def server() -> Iterator[LedgerServer]:
    made = LedgerServer()
    yield made
    made.close()


@pytest.fixture
def ledger(sopwith: Command, server: LedgerServer, monkeypatch: pytest.MonkeyPatch) -> Command:
    """A project whose tools are those of a document."""
    monkeypatch.setenv("LEDGER_KEY", "sesame-123")
    sopwith.write("ledger.yaml", (DOCUMENTS / "ledger.yaml").read_text(encoding="utf-8"))
    sopwith.write(
        "sopwith.toml",
        f'[openapi.ledger]\ndocument = "ledger.yaml"\nurl = "{server.url}/v1"\nauth = {{ key = "${{LEDGER_KEY}}" }}\n',
    )
    return sopwith


def test_tools_are_listed_with_their_effects_and_sources(ledger: Command) -> None:
    ran = ledger("tools", "list", "--json")
    listed = {tool["name"]: (tool["effect"], tool["source"], tool["alias"]) for tool in ran.document["tools"]}
    assert listed["ledger.closeAccount"] == ("irreversible", "ledger", "ledger__closeAccount")
    assert [(p["code"], p["file"].rpartition("/")[2]) for p in ran.document["problems"]] == [
        ("SW434", "ledger.yaml"),
        ("SW432", "ledger.yaml"),
        ("SW435", "ledger.yaml"),
    ]
    plain = ledger("tools", "list", "--lang", "zh")
    assert "ledger.getAccount     read" in plain.out and "警告[SW432]" in plain.err


def test_one_tool_is_shown_by_either_name(ledger: Command) -> None:
    for name in ("ledger.transfer", "ledger__transfer"):
        shown = ledger("tools", "show", name, "--json").document
        assert (shown["effect"], shown["idempotent"], shown["timeout"]) == ("write", True, 60.0)
    assert "可用同一键重复  是" in ledger("tools", "show", name, "--lang", "zh").out
    missing = ledger("tools", "show", "ledger.transfers")
    assert missing.code == 2 and "ledger.get_transfers" in missing.err


def test_a_call_without_what_the_tool_requires_says_how_to_give_it(ledger: Command) -> None:
    ran = ledger("tools", "call", "ledger.getAccount")
    assert ran.code == 2 and ran.out == ""
    assert "ledger.getAccount requires account" in ran.err and """--with '{"account": "…"}'""" in ran.err
    misspelled = ledger("tools", "call", "ledger.getAccount", "--with", '{"acount": "A-1"}')
    assert "account?" in misspelled.err


def test_a_call_is_told_in_the_language_of_the_command(sopwith: Command) -> None:
    sopwith.write(
        "tools.py",
        "from sopwith import ToolError, tool\n\n@tool\ndef look(n: int) -> int:\n"
        "    raise ToolError('none', 'there is none', zh='没有')\n",
    )
    for language, said in (("en", "there is none"), ("zh", "没有")):
        ran = sopwith("tools", "call", "local.look", "--with", '{"n": 1}', "--lang", language)
        assert ran.code == 4 and f"{said}\n" in ran.err


def test_a_call_is_a_run_on_record(ledger: Command, server: LedgerServer) -> None:
    ran = ledger("tools", "call", "ledger.getAccount", "--with", '{"account": "A-1"}', "--json")
    assert ran.code == 0
    assert ran.document["outcome"]["output"]["result"]["owner"] == "you sent [credential]"
    trace = ledger("trace", ran.document["run"])
    assert "ledger.getAccount" in trace.out
    assert "sesame-123" not in (ledger.folder / ".sopwith" / "runs.db").read_bytes().decode("latin-1")


def test_a_write_is_called_only_with_leave(ledger: Command, server: LedgerServer) -> None:
    call = ("tools", "call", "ledger.transfer", "--with", '{"body": {"to": "${inputs.a0}", "amount": 5}}')
    refused = ledger(*call)
    assert refused.code == 2 and "--yes" in refused.err and server.transfers() == []
    dry = ledger(*call, "--dry-run")
    assert dry.code == 0 and server.transfers() == []
    done = ledger(*call, "--yes")
    assert done.code == 0 and server.transfers() == [("${inputs.a0}", 5.0)]
    ledger.write("policy.yaml", "rules:\n  - {id: no_transfers, verdict: deny, tool: ledger.transfer}\n")
    assert ledger(*call, "--yes").code == 5 and len(server.transfers()) == 1


def test_a_budget_holds_for_a_call(ledger: Command) -> None:
    call = ("tools", "call", "ledger.getAccount", "--with", '{"account": "A-1"}')
    assert ledger(*call, "--budget-tool-calls", "0").code == 6


@pytest.mark.parametrize("given", ["[1]", "{", '{"account": 5}', '{"acount": "A-1"}'])
def test_arguments_that_do_not_fit_call_nothing(ledger: Command, server: LedgerServer, given: str) -> None:
    ran = ledger("tools", "call", "ledger.getAccount", "--with", given)
    assert ran.code != 0 and server.requests == []


def test_an_imported_document_is_a_setting(sopwith: Command) -> None:
    sopwith.write("apis/ledger.yaml", (DOCUMENTS / "ledger.yaml").read_text(encoding="utf-8"))
    looked = sopwith("tools", "import", "apis/ledger.yaml", "--dry-run", "--json")
    assert len(looked.document["tools"]) == 7 and looked.document["file"] is None
    assert not (sopwith.folder / "sopwith.toml").exists()
    assert (
        sopwith("tools", "import", "apis/ledger.yaml", "--name", "bank", "--url", "http://127.0.0.1:9").code
        == 0
    )
    names = {tool["name"] for tool in sopwith("tools", "list", "--json").document["tools"]}
    assert "bank.transfer" in names


def test_a_document_may_stand_among_the_tools(sopwith: Command) -> None:
    document = str(DOCUMENTS / "ledger.yaml")
    names = [
        tool["name"] for tool in sopwith("tools", "list", "--tools", document, "--json").document["tools"]
    ]
    assert "ledger.transfer" in names
    odd = sopwith("tools", "list", "--tools", "nothing.yaml")
    assert odd.code == 2 and "nothing.yaml" in odd.err


def test_recorded_calls_are_given_again_and_nothing_acts(ledger: Command, server: LedgerServer) -> None:
    call = (
        "tools",
        "call",
        "ledger.transfer",
        "--with",
        '{"body": {"to": "anna@example.com", "amount": 5}}',
        "--yes",
    )
    first = ledger(*call, "--json").document
    came = len(server.requests)
    again = ledger(*call, "--tools", f"recorded:{first['run'][:6]}", "--json", "--quiet").document
    assert again["status"] == "completed" and len(server.requests) == came
    other = ledger(
        *call[:4],
        '{"body": {"to": "bob", "amount": 5}}',
        "--yes",
        "--tools",
        f"recorded:{first['run']}",
        "--json",
    )
    assert other.code == 4 and "not_recorded" in ledger("trace", other.document["run"]).out
    assert len(server.requests) == came


TESTED = '''
from typing import Annotated
from pydantic import Field
from sopwith.tools import tool

calls = []

@tool(name="t.read")
def read(n: Annotated[int, Field(examples=[{read}])]) -> int:
    """Read the number that is meant, not its name."""
    return n

@tool(name="t.write", effect="write")
def write(n: Annotated[int, Field(examples=[3])]) -> int:
    """Write a number."""
    raise RuntimeError("called")
'''


def test_examples_are_judged_and_those_of_reads_called(sopwith: Command) -> None:
    sopwith.write("tools.py", TESTED.replace("{read}", "3"))
    ran = sopwith("tools", "test", "--json")
    assert ran.code == 0
    assert [(t["tool"], t["called"], t["judged"]) for t in ran.document["tools"]] == [
        ("t.read", 1, 1),
        ("t.write", 0, 1),
    ]
    assert sopwith("tools", "test", "t.write", "--yes").code == 3
    sopwith.write("tools.py", TESTED.replace("{read}", '"3"'))
    assert sopwith("tools", "test", "--json").document["tools"][0]["code"] == "SW447"


LINTED = """
from typing import Literal
from sopwith.tools import tool

def made(name, text, function):
    function.__doc__ = text
    return tool(name=name)(function)

def one(day: str) -> str: ...
def two(action: Literal["make", "drop"]) -> str: ...
def three(): ...
def four() -> str: ...
def five() -> str: ...

all_of_them = [
    made("a.look_up", "Look a booking up by its day. Use it when the day is known, not to list all.", one),
    made("a.bookings", "用于新建或取消预订，不用于查询。", two),
    made("a.run", "", three),
    made("a.weather", "查询城市天气预报，用于出行安排，不用于历史天气。", four),
    made("a.forecast", "查询城市天气预报，用于出行安排，不用于历史的天气。", five),
]
look_up, bookings, run, weather, forecast = all_of_them
"""


def test_lint_names_what_is_missing_in_either_language(sopwith: Command) -> None:
    sopwith.write("tools.py", LINTED)
    ran = sopwith("tools", "lint", "--json")
    found: dict[str, set[str]] = {}
    for problem in ran.document["problems"]:
        found.setdefault(problem["message"].partition(":")[0], set()).add(problem["code"])
    assert ran.code == 0
    assert found == {
        "a.look_up": {"SW443"},
        "a.bookings": {"SW442"},
        "a.run": {"SW440", "SW444", "SW445"},
        "a.weather": {"SW446"},
    }
    zh = sopwith("tools", "lint", "a.run", "--lang", "zh")
    assert "警告[SW440]" in zh.out and "没有描述" in zh.out


def test_a_run_is_taken_up_with_the_documents_that_it_began_with(
    ledger: Command, server: LedgerServer, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.write("policy.yaml", "rules:\n  - {id: ask, verdict: ask, tool: ledger.transfer}\n")
    call = (
        "tools",
        "call",
        "ledger.transfer",
        "--with",
        '{"body": {"to": "anna", "amount": 5}}',
        "--yes",
        "--json",
    )
    waits = ledger(*call)
    assert waits.code == 7 and server.transfers() == []
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    data = str(ledger.folder / ".sopwith")
    done = ledger("approve", waits.document["run"], "--by", "eva", "--data", data, "--json")
    assert json.loads(done.out)["status"] == "completed" and server.transfers() == [("anna", 5.0)]
