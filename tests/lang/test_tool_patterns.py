"""`tools: [crm.*]`: what a pattern permits, what the check says of it, and what it compiles to."""

from __future__ import annotations

import pytest

from sopwith.ir.procedure import Grip, matching
from sopwith.ir.tool import ToolSpec
from sopwith.lang.check import check
from sopwith.lang.compile import compile_procedure
from sopwith.lang.read import read

TOOLS = {name: ToolSpec(name=name) for name in ("crm.find", "crm.note", "hr.find", "hr.x.y", "人事.查询")}


def procedure(
    tools: str, step: str = "{grip: free, do: Work, returns: {type: string}, end: complete}"
) -> str:
    return f"schema: sopwith/procedure/1\nid: p\nname: P\ntools: {tools}\nstart: a\nsteps:\n  a: {step}\n"


@pytest.mark.parametrize(
    ("listed", "found"),
    [
        (["crm.*"], ("crm.find", "crm.note")),
        (["*.find"], ("crm.find", "hr.find")),
        (["hr.find", "hr.*"], ("hr.find", "hr.x.y")),
        (["人事.*"], ("人事.查询",)),
        (["crm.[fn]*"], ()),
        (["gone"], ("gone",)),
        (["*"], tuple(sorted(TOOLS))),
    ],
)
def test_a_pattern_is_every_tool_that_fits(listed: list[str], found: tuple[str, ...]) -> None:
    assert matching(listed, TOOLS) == found


def codes(text: str, tools: dict[str, ToolSpec] | None = TOOLS) -> list[str]:
    return [problem.code for problem in check(read(text, "p.yaml"), tools)]


def test_a_pattern_that_fits_nothing_is_told() -> None:
    assert codes(procedure("['mail.*']")) == ["SW403"]
    assert codes(procedure("['crm.*']")) == []
    assert codes(procedure("['mail.*']"), None) == []


def test_a_step_may_use_what_a_pattern_permits() -> None:
    step = "{tool: crm.find, end: complete}"
    assert codes(procedure("['crm.*']", step)) == []
    assert codes(procedure("['hr.*', crm.find]", step)) == ["SW410"]
    assert "SW402" in codes(procedure("['hr.*']", step))


def test_the_narrower_list_of_a_step_may_be_a_pattern() -> None:
    step = "{grip: free, do: Work, tools: ['crm.*'], returns: {type: string}, end: complete}"
    assert codes(procedure("['*']", step)) == []
    assert "SW402" in codes(procedure("[crm.find]", step))
    machine = compile_procedure(read(procedure("['*']", step), "p.yaml").procedure, TOOLS)
    assert machine.nodes["a"].step.tools == ("crm.find", "crm.note")


@pytest.mark.parametrize("grip", [None, Grip.FREE])
def test_a_machine_has_the_tools_that_there_were(grip: Grip | None) -> None:
    machine = compile_procedure(read(procedure("['crm.*', hr.find]"), "p.yaml").procedure, TOOLS, grip)
    assert machine.permitted == ("crm.find", "crm.note", "hr.find")
    assert tuple(machine.tools) == machine.permitted
