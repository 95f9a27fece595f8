"""Every kind of step fails along its `on_error`, with the code, the message and the step."""

from __future__ import annotations

from typing import Any

import pytest
from tests.run.family import START

from sopwith import Engine, MemoryLog, ToolError, tool
from sopwith.guard.vault import MemoryVault
from sopwith.models.scripted import ScriptedModel

HEAD = """
schema: sopwith/procedure/1
id: whole
inputs:
  list: {type: array, items: {type: integer}}
output: {type: object, properties: {code: {type: string}, step: {type: string}, said: {type: boolean}}}
start: work
steps:
  work:
%s
    on_error:
      - {to: failed, when: "error.code == '%s' && error.message != ''"}
      - {otherwise: other}
%s
  failed:
    end: complete
    result: {code: "${error.code}", step: "${error.step}", said: "${error.message != ''}"}
  other:
    end: escalate
"""
OTHER = """
schema: sopwith/procedure/1
id: inner
start: end
steps:
  end: {end: escalate}
"""
ON = "    next: other"

CASES: dict[str, tuple[str, str, str, list[Any]]] = {
    "tool": ("    tool: shop.look\n    with: {number: 1}", "gone", ON, []),
    "returns": ("    do: Say a number.\n    returns: {type: integer}", "invalid_arguments", ON, ['"x"', '"y"', '"z"']),
    "answer": ("    answer: Say it.", "model", ON, []),
    "ask": ("    ask: Which?\n    timeout: 1h", "timeout", ON, []),
    "wait": ("    wait: {event: paid}\n    timeout: 1h", "timeout", ON, []),
    "wait until": ('    wait: {until: "${run.date}"}', "no_time", ON, []),
    "call": ("    call: {procedure: inner}", "escalated", ON, []),
    "each": (
        '    each: {in: "${inputs.list}", as: one}\n    tool: shop.look\n    with: {number: "${one}"}', "gone", ON, [],
    ),
    "free": ("    grip: free\n    do: Find it.\n    returns: {type: integer}", "model", ON, []),
    "route": (
        "    name: Decide", "expression",
        "    next:\n      - {to: other, when: 'inputs.list[5] > 1'}\n      - {otherwise: other}", [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", CASES)
async def test_a_step_that_fails_goes_along_its_on_error(kind: str) -> None:
    fields, code, onward, replies = CASES[kind]
    now = [START]

    @tool(name="shop.look", effect="read")
    def look(number: int) -> int:
        """Look."""
        raise ToolError("gone", f"{number} is not there")

    def made() -> Engine:
        return Engine(
            [HEAD % (fields, code, onward), OTHER],
            [look],
            ScriptedModel(list(replies)),
            log=log,
            vault=vault,
            clock=lambda: now[0],
        )

    log, vault = MemoryLog(), MemoryVault()
    run = await made().run("go", procedure="whole", inputs={"list": [1, 2]}, run_id="r1")
    if run.status == "suspended":
        now[0] += 3_700_000_000
        (run,) = await made().wake()
    assert run.output == {"code": code, "step": "work", "said": True}
    assert "work" not in run.state.values
