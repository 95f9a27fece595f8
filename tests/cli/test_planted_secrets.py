"""Secrets planted wherever data comes in are in no byte of the data folder but the vault, and in no printed line."""

from __future__ import annotations

import json
import os
import signal
from urllib.parse import quote, quote_plus

import pytest
from tests.cli.command import Command, Ran

SECRETS = {
    "phone": "13812345678",
    "phone with blanks": "139 1234 5678",
    "landline": "010-87654321",
    "identity card": "11010519491231002X",
    "old identity card": "110105491231002",
    "bank card": "6222021234567890128",
    "e-mail": "zhang.san@example.com",
    "key": "sk-live-Zm9vYmFyMTIz",
    "token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N",
    "password": "hunter2secret",
    "name": "张三丰",
    "latin name": "Zhang Sanfeng",
    "employee number": "E20261130",
}
BAIT = (
    " ; ".join(text for kind, text in SECRETS.items() if kind != "password")
    + f" ; db: postgres://app:{SECRETS['password']}@db.internal/x"
)
KINDS = {"phone", "id", "card", "email", "key", "token", "password", "name", "employee_no"}
POLICY = """
allow_writes: [desk.note]
redact:
  names: [张三丰, Zhang Sanfeng]
  inputs: customer
  principal: true
  rules:
    - kind: employee_no
      pattern: 'E\\d{8}'
"""
PROCEDURE = """
schema: sopwith/procedure/1
id: desk
name: Desk
tools: [desk.note]
inputs:
  customer: {type: string}
  request: {type: string, from: run.request}
output:
  type: object
  properties:
    echo: {}
start: note
steps:
  note:
    name: Note it
    do: Note what is wanted
    tool: desk.note
    uses: [inputs.request, inputs.customer]
    as: noted
    on_error: [{otherwise: person}]
    next: sure
  sure:
    name: Ask
    ask: Is it so? ${noted.echo}
    returns: {type: string}
    as: said
    next: tell
  tell:
    name: Tell
    answer: Say what was noted
    uses: [noted, said]
    end: complete
    result: {echo: "${noted}"}
  person:
    name: To a person
    end: escalate
"""
TOOLS = """
import json
import os
import pathlib
import time
from sopwith.tools import tool

BAIT = {bait!r}
HERE = pathlib.Path(__file__).parent

@tool(name="desk.note", effect="write", idempotent=True)
def note(text: str) -> dict:
    '''Note a text.'''
    with (HERE / "noted.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(text) + "\\n")
    ready = os.environ.get("READY")
    if ready:
        os.write(int(ready), b"ready")
        while True:
            time.sleep(0.01)
    place = os.environ.get("PLACE")
    if place == "exception":
        raise ValueError("no such customer:\\n" + BAIT)
    if place == "chained exception":
        try:
            raise KeyError(BAIT)
        except KeyError as error:
            raise RuntimeError({{"cause": BAIT}}) from error
    if place != "result":
        return {{"echo": "noted"}}
    return {{
        "echo": BAIT, BAIT: 1, "number": 13812345678, "card": 6222021234567890128, "long": [BAIT] * 40,
        "text": json.dumps({{"said": "line\\n" + BAIT}}), "address": "https://x.example/?q={quoted}",
        "form": "q={form}",
    }}
"""
PLACES = (
    "request",
    "argument",
    "wrong argument",
    "result",
    "exception",
    "chained exception",
    "reply",
    "input",
    "answer",
    "principal",
)


NAMES = ("input", "principal")
"""Where the policy says that the whole of it is a name."""


def forms(secret: str) -> list[bytes]:
    """The bytes by which a secret could be read."""
    escaped = json.dumps(secret)[1:-1]
    texts = {
        secret,
        escaped,
        secret.replace(" ", ""),
        quote(secret),
        quote_plus(secret),
        quote(secret).lower(),
    }
    if "/" not in secret:
        texts.add(escaped.replace("\\", "\\\\"))
    return [
        form for text in texts for form in (text.encode(), text.encode("utf-16-le"), text.encode("utf-16-be"))
    ]


def leaks(data: bytes) -> set[str]:
    """The kinds of planted secrets that can be read in `data`."""
    return {kind for kind, secret in SECRETS.items() if any(form in data for form in forms(secret))}


def assert_nothing_leaks(desk: Command, *printed: Ran) -> None:
    data = desk.folder / ".sopwith"
    files = [path for path in data.rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"runs.db", "vault.db"}
    for path in files:
        assert leaks(path.read_bytes()) == set(), path
    for ran in printed:
        assert leaks((ran.out + ran.err).encode()) == set(), ran.out + ran.err


@pytest.fixture
def desk(sopwith: Command) -> Command:
    """A desk with a model that says what its script says."""
    sopwith.write("procedure.yaml", PROCEDURE)
    sopwith.write("policy.yaml", POLICY)
    sopwith.write("tools.py", TOOLS.format(bait=BAIT, quoted=quote(BAIT), form=quote_plus(BAIT)))
    return sopwith


def command(desk: Command, place: str) -> list[str]:
    """A run with the secrets in one place."""

    def planted(here: str, harmless: str) -> str:
        return BAIT if here == place else harmless

    replies = [json.dumps({"text": planted("argument", "a note")}), planted("reply", "It is noted.")]
    if place == "wrong argument":
        replies.insert(0, json.dumps({"text": {"deep": "x" * 60 + BAIT}, BAIT: BAIT}))
    desk.write("script.jsonl", "\n".join(json.dumps(reply, ensure_ascii=False) for reply in replies) + "\n")
    return [
        "run", "procedure.yaml", "--model", "scripted:script.jsonl",
        "--request", planted("request", "Please note it"),
        "--inputs", f"customer={planted('input', 'a customer')}",
        "--principal", planted("principal", "u1001"), "--by", planted("principal", "li"),
    ]  # fmt: skip


def looked_at(desk: Command) -> list[Ran]:
    """Whatever else prints something of a run."""
    commands = (
        ("trace",),
        ("trace", "--json"),
        ("trace", "--prompts"),
        ("trace", "--jsonl"),
        ("runs",),
        ("vault", "show"),
    )
    return [desk(*each) for each in commands]


@pytest.mark.parametrize("place", PLACES)
def test_secrets_are_nowhere_but_in_the_vault(
    desk: Command, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = [*command(desk, place), "--answer", BAIT if place == "answer" else "yes"]
    monkeypatch.setenv("PLACE", place)
    ran = desk.process(*arguments, SOPWITH_DEBUG="1")
    ended = 4 if "exception" in place else 0
    assert ran.code == ended, ran.err
    document, lines = desk(*arguments, "--json"), desk(*arguments, "--jsonl")
    assert (document.code, lines.code) == (ended, ended)
    assert_nothing_leaks(desk, ran, document, lines, *looked_at(desk))
    counted = desk("vault", "show", "--json").document
    assert {row["kind"] for row in counted} >= ({"name"} if place in NAMES else KINDS)


def test_tools_get_the_true_values(desk: Command) -> None:
    assert desk.process(*command(desk, "argument"), "--answer", "yes").code == 0
    assert json.loads((desk.folder / "noted.jsonl").read_text(encoding="utf-8")) == BAIT


def test_true_values_are_printed_where_they_are_asked_for(desk: Command) -> None:
    arguments = [*command(desk, "reply"), "--answer", "yes"]
    assert BAIT in desk.process(*arguments, "--reveal").out
    assert desk.process(*arguments, "--reveal", "--json").document["outcome"]["answer"] == BAIT
    assert_nothing_leaks(desk, *looked_at(desk))


@pytest.mark.skipif(os.name != "posix", reason="signals and inherited descriptors")
@pytest.mark.parametrize("place", ["request", "argument", "result"])
def test_a_killed_process_leaves_nothing_and_the_resumed_run_has_the_true_values(
    desk: Command, place: str
) -> None:
    arguments = command(desk, place)
    reads, writes = os.pipe()
    with desk.start(*arguments, ready=writes) as started:
        os.close(writes)
        assert os.read(reads, 5) == b"ready"
        started.send_signal(signal.SIGKILL)
        out, err = started.communicate(timeout=60)
    os.close(reads)
    assert_nothing_leaks(desk, Ran(0, out, err), *looked_at(desk))
    run = desk("runs", "--json").document[0]["run"]
    second = json.dumps("It is noted.")
    desk.write("script.jsonl", second + "\n")
    waiting = desk.process("resume", run, PLACE=place)
    assert waiting.code == 7, waiting.err
    done = desk.process("resume", run, "--answer", "yes", PLACE=place)
    assert done.code == 0, done.err
    assert_nothing_leaks(desk, waiting, done, *looked_at(desk))
    noted = (desk.folder / "noted.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in noted] == [BAIT if place == "argument" else "a note"] * 2


def test_an_error_before_the_run_quotes_no_secret(desk: Command) -> None:
    desk.write(
        ".mcp.json",
        json.dumps({"mcpServers": {"shop": {"command": "sh", "args": ["-c", f"echo '{BAIT}' >&2; exit 3"]}}}),
    )
    for more in ((), ("--json",)):
        ran = desk.process(*command(desk, "none"), *more, SOPWITH_DEBUG="1")
        assert ran.code != 0
        assert "shop" in ran.err
        assert leaks((ran.out + ran.err).encode()) == set(), ran.err
