"""The text of a procedure as a model is shown it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sopwith.ir.procedure import Edge
from sopwith.ir.tool import ToolSpec
from sopwith.lang.compile import compile_procedure
from sopwith.lang.yaml import read_yaml
from sopwith.models.profile import PLAIN
from sopwith.run.procedure_text import routine

PROCEDURE = read_yaml(
    """\
schema: sopwith/procedure/1
id: p
inputs: {users: {type: array}}
start: go
steps:
  go: {each: {in: "${inputs.users}", as: user}, do: greet them, tool: t.greet, next: rest}
  rest: {wait: {for: 2d}, next: sub}
  sub: {name: Book it, call: {procedure: book}, approval: boss, end: complete}
"""
).procedure


TOOLS = {"t.greet": ToolSpec(name="t.greet", input_schema={"type": "object"})}


@pytest.mark.parametrize("flat", [False, True])
def test_a_model_reads_what_steps_do_that_have_no_words(flat: bool) -> None:
    text = routine(compile_procedure(PROCEDURE, TOOLS), "en", replace(PLAIN, flat=flat))
    assert "for each user of `inputs.users`, greet them" in text
    assert "wait 2 days" in text
    assert "Book it: run the procedure `book`" in text
    assert "approval" not in text


def test_a_model_is_not_told_where_a_failure_leads() -> None:
    go = PROCEDURE.steps["go"].model_copy(update={"on_error": (Edge(to="rest"),)})
    procedure = PROCEDURE.model_copy(update={"steps": PROCEDURE.steps | {"go": go}})
    text = routine(compile_procedure(procedure, TOOLS), "en", PLAIN)
    assert text == routine(compile_procedure(PROCEDURE, TOOLS), "en", PLAIN)
