"""What one run has found to be secret is secret wherever it goes: in its own log, and in those of its family."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from sopwith import Engine, MemoryLog, Policy, ToolError, tool
from sopwith.guard.redact import Redactor
from sopwith.guard.vault import MemoryVault, Secret
from sopwith.log.port import Log

SECRET = "hunter2horse"

CHILD = """
schema: sopwith/procedure/1
id: child
inputs: {{who: {{type: string}}}}
output: {{type: object, required: [value], properties: {{value: {{type: string}}}}}}
start: g
steps:
  g:
    tool: vault.get
    with: {{who: "${{inputs.who}}"}}
    returns: {{type: object, required: [password], properties: {{password: {{type: string}}}}}}
    next: b
  b: {{tool: vault.use, with: {{pw: "${{g.password}}", fail: {fail}}}, next: w}}
  w: {{wait: {{event: go}}, next: d}}
  d: {{end: complete, result: {{value: "${{g.password}}"}}}}
"""
PARENT = """
schema: sopwith/procedure/1
id: parent
inputs: {who: {type: string}}
output: {type: object, required: [v], properties: {v: {type: string}}}
start: c
steps:
  c: {call: {procedure: child, with: {who: "${inputs.who}"}}, on_error: x, next: u}
  u: {tool: vault.use, with: {pw: "see ${c.value}", fail: false}, next: d}
  d: {end: complete, result: {v: "${c.value}"}}
  x: {end: escalate}
"""
seen: list[str] = []


@tool(name="vault.get", effect="read")
async def get(who: str) -> dict[str, str]:
    """Get an account."""
    return {"password": SECRET, "owner": who}


@tool(name="vault.use", effect="read")
async def use(pw: str, fail: bool) -> str:
    """Log in."""
    seen.append(pw)
    if fail:
        raise ToolError("no_login", f"login with {pw} failed")
    return f"logged in with {pw}"


def engine(log: Log, vault: MemoryVault, fail: str = "false") -> Engine:
    procedures = [PARENT, CHILD.format(fail=fail)]
    return Engine(procedures, [get, use], log=log, vault=vault, policy=Policy(allow_writes=["*"]))


async def in_clear(log: Log) -> Sequence[str]:
    rows = await log.runs()
    assert {row.procedure_id for row in rows} == {"parent", "child"}
    return [
        f"{row.procedure_id} {event.body.kind}"
        for row in rows
        for event in await log.read(row.run)
        if SECRET in repr(event)
    ]


@pytest.mark.parametrize("again", [False, True])
async def test_a_secret_of_a_child_is_one_in_its_parent(*, again: bool) -> None:
    seen.clear()
    log, vault = MemoryLog(), MemoryVault()
    first = engine(log, vault)
    assert (await first.run("x", procedure="parent", inputs={"who": "ann"}, run_id="p")).status == "suspended"
    child = next(row.run for row in await log.runs() if row.procedure_id == "child")
    run = await (engine(log, vault) if again else first).signal(child, "go")
    assert run.called_by is not None
    assert run.called_by.output == {"v": SECRET}
    assert seen == [SECRET, f"see {SECRET}"]
    assert await in_clear(log) == []


async def test_a_secret_in_the_error_of_a_child_is_one_in_its_parent() -> None:
    log = MemoryLog()
    run = await engine(log, MemoryVault(), "true").run("x", procedure="parent", inputs={"who": "ann"})
    assert run.status == "escalated"
    assert await in_clear(log) == []


def test_what_stood_under_a_name_is_secret_everywhere_also_after_a_restart() -> None:
    vault = MemoryVault()
    redactor = Redactor(vault, "r")
    value = {"note": f"it is {SECRET}!", "password": SECRET, "pin": [5, 654321], "pwd": 654321}
    told = redactor.redact(value)
    assert told == {"note": "it is <password:1>!", "password": "<password:1>", "pin": [5, "<password:2>"],
                    "pwd": "<password:2>"}  # fmt: skip
    assert redactor.reveal(told) == {**value, "note": f"it is {SECRET}!"}
    later = Redactor(vault, "r")
    assert later.redact(SECRET) == SECRET
    later.recall()
    assert later.redact([SECRET, f"a{SECRET}b", 654321]) == ["<password:1>", "a<password:1>b", "<password:2>"]


@pytest.mark.parametrize("short", ["true", "admin", "1234", "expired"])
def test_a_short_secret_hides_no_other_text(short: str) -> None:
    redactor = Redactor(MemoryVault(), "r")
    assert redactor.redact({"token": short}) == {"token": "<password:1>"}
    assert redactor.redact(f"it is {short}") == f"it is {short}"


def test_a_word_is_known_as_a_whole_word_only() -> None:
    redactor = Redactor(MemoryVault(), "r")
    redactor.redact({"password": "swordfish"})
    assert redactor.redact("swordfishes and swordfish") == "swordfishes and <password:1>"


def test_what_is_hidden_by_the_words_around_it_is_learnt_with_its_kind() -> None:
    one, other = Redactor(MemoryVault(), "r1"), Redactor(MemoryVault(), "r2")
    told = one.redact(f"password: {SECRET}, phone 13800138000")
    assert one.hidden(told) == [Secret("password", f'"{SECRET}"')]
    other.learn_secrets(one.hidden(told))
    assert other.redact(SECRET) == "<password:1>"
