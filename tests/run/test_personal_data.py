"""Personal data that people bring with them: names of operators, and inputs that the policy names as secret."""

from __future__ import annotations

from typing import Any

import pytest

from sopwith import Engine, MemoryLog, Policy, UserError, tool
from sopwith.guard.redact_rules import RedactRules
from sopwith.guard.vault import MemoryVault

BAD = """
schema: sopwith/procedure/1
id: bad
start: s
steps:
  s: {tool: b.bad, as: v, verify: v, next: t}
  t: {tool: b.read, as: w, end: complete}
"""
READ = """
schema: sopwith/procedure/1
id: a
inputs:
  n: {type: TYPE}
start: s
steps:
  s: {tool: b.read, as: v, end: complete}
"""


@tool(name="b.bad", effect="write")
def bad() -> bool:
    raise ValueError("x")


@tool(name="b.read")
def read() -> bool:
    return True


async def test_who_takes_a_run_over_is_not_written_in_clear_and_still_known() -> None:
    who, log, vault = "张三 13800138000", MemoryLog(), MemoryVault()
    rules = RedactRules(names=("张三",))
    engine = Engine(BAD, [bad, read], log=log, vault=vault, policy=Policy(allow_writes=["*"]), redact=rules)
    assert (await engine.run("x", run_id="r")).status == "escalated"
    await engine.take_over("r", by=who, why=who)
    with pytest.raises(UserError, match="has taken the run over"):
        await engine.take_over("r", by="李四")
    run = await engine.take_over("r", by=who, to="t", happened=True, values={"v": True})
    assert run.status == "completed"
    kinds = {event.body.kind for event in run.events}
    assert {"run.taken_over", "call.reconciled", "value.stored", "run.handed_back"} <= kinds
    told = repr(await log.read("r"))
    assert "张三" not in told
    assert "13800138000" not in told


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("number", 5000.5), ("number", 1e300), ("number", 7), ("number", -7), ("boolean", True), ("string", "x"),
        ("object", {"a": [5000.5, "张三"], "b": {"c": 12, "d": False}}), ("array", [1.5, ["李四"]]),
    ],
)  # fmt: skip
async def test_nothing_is_left_of_an_input_that_is_named_as_secret(kind: str, value: Any) -> None:
    engine = Engine(READ.replace("TYPE", kind), [read], redact=RedactRules(inputs=("n",)))
    run = await engine.run("x", inputs={"n": value})
    assert all(text.startswith("<name:") for text in _leaves(run.state.inputs["n"]))
    assert run.status == "completed"


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict | list):
        items = value.values() if isinstance(value, dict) else value
        return [leaf for item in items for leaf in _leaves(item)]
    return [value]
