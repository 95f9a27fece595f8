"""A step over a list at the command line: its line, its trace, its approval, and what a person says of its items."""

from __future__ import annotations

import json

from tests.cli.command import Command

from sopwith.cli.exit_code import ExitCode

LETTERS = """\
schema: sopwith/procedure/1
id: letters
name: Letters
output: {type: object, required: [ids], properties: {ids: {type: array}}}
start: send
steps:
  send:
    name: Send letters
    each: {in: "${['ann', 'bo', 'cy', 'di']}", as: person, at_once: 2}
    tool: mail.send
    with: {to: "${person}"}
    as: sent
    next: tell
  tell: {name: Tell, end: complete, result: {ids: "${sent.map(s, s.id)}"}}
"""

TOOLS = '''\
import asyncio
import os
from pathlib import Path

from sopwith import tool

both = asyncio.Event()


@tool(name="mail.send", effect="irreversible")
async def send(to: str) -> dict[str, str]:
    """Send."""
    with Path("sent").open("a", encoding="utf-8") as letters:
        letters.write(to + "\\n")
    if os.environ.get("LOST"):
        if to == "bo":
            both.set()
        await both.wait()
        raise ConnectionError("the line is dead")
    return {"id": "M-" + to}
'''


def sent(project: Command) -> list[str]:
    path = project.folder / "sent"
    return path.read_text(encoding="utf-8").split() if path.exists() else []


def office(project: Command, policy: str = "allow_writes: [mail.send]\n") -> Command:
    project.write("letters.yaml", LETTERS)
    project.write("tools.py", TOOLS)
    project.write("policy.yaml", policy)
    return project


def test_a_list_is_one_line_and_its_trace_tells_the_items(project: Command) -> None:
    done = office(project)("run", "letters.yaml", "--request", "go", "--lang", "en")
    assert done.code == ExitCode.OK, done.err
    assert "mail.send × 4 items" in done.err
    assert sent(project) == ["ann", "bo", "cy", "di"]
    run = project("runs", "--json").document[0]["run"]
    trace = project("trace", run, "--lang", "en").out
    assert "list: 4 items" in trace and 'call: [3] mail.send {"to": "di"} (bound)' in trace
    assert 'value: sent = [{"id": "M-ann"}' in trace
    assert "mail.send × 4 项" in project("trace", run, "--lang", "zh").out


def test_one_approval_is_for_all_calls_of_a_list(project: Command) -> None:
    policy = "rules:\n  - {id: letters, verdict: ask, tool: mail.send}\n"
    waits = office(project, policy)("run", "letters.yaml", "--request", "go")
    assert waits.code == ExitCode.SUSPENDED and sent(project) == []
    assert 'send[3]: {"to": "di"}' in waits.err + waits.out
    listed = project("approvals", "--lang", "en").out
    assert 'mail.send × 4 {"send[0]": {"to": "ann"}' in listed
    (one,) = project("approvals", "--json").document
    assert one["calls"] == 4 and one["arguments"]["send[2]"] == {"to": "cy"}
    done = project("approve", one["run"], "--by", "alice", "--json")
    assert done.code == ExitCode.OK, done.err
    assert done.document["outcome"]["output"] == {"ids": ["M-ann", "M-bo", "M-cy", "M-di"]}


def test_writes_in_doubt_are_said_one_by_one(project: Command) -> None:
    lost = office(project).process("run", "letters.yaml", "--request", "go", LOST="1")
    assert lost.code == ExitCode.ESCALATED
    assert sent(project) == ["ann", "bo"]
    run = project("runs", "--json").document[0]["run"]
    assert "outcome unknown: [0], [1]" in " ".join(project("trace", run, "--lang", "en").out.split())
    taken = ("takeover", run, "--by", "alice", "--to", "send", "--lang", "en")
    assert "--happened 'send[0]=yes' --happened 'send[1]=yes'" in project(*taken).err
    both = project(*taken, "--happened", "yes")
    assert both.code == ExitCode.USAGE and "2 writes have an unknown outcome" in both.err
    vague = project(*taken, "--happened", "send[0]=perhaps")
    assert vague.code == ExitCode.USAGE and "neither yes nor no" in vague.err
    cut_off = project(*taken, "--happened", "send[1]=")
    assert cut_off.code == ExitCode.USAGE and "or --happened 'send[1]=no' for one of several" in cut_off.err
    known = ("--happened", "send[0]=yes", "--happened", "send[1]=no")
    unsaid = project(*taken, *known)
    assert unsaid.code == ExitCode.USAGE and "--set send[0]=VALUE" in unsaid.err
    value = json.dumps({"id": "seen"})
    done = project(*taken, *known, "--set", f"send[0]={value}", "--json")
    assert done.code == ExitCode.OK, done.err
    assert done.document["outcome"]["output"] == {"ids": ["seen", "M-bo", "M-cy", "M-di"]}
    assert sent(project) == ["ann", "bo", "bo", "cy", "di"]
    assert project("audit", "verify", run).code == ExitCode.OK
