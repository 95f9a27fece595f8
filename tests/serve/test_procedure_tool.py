"""What a procedure takes and gives as a tool."""

from __future__ import annotations

import pytest
from tests.serve.office import BADGE, LEAVE, LOOK

from sopwith.errors import UserError
from sopwith.ir.procedure import Procedure
from sopwith.ir.schema import validator
from sopwith.ir.tool import Effect, ToolSpec
from sopwith.lang.read import read
from sopwith.serve.procedure_tool import ProcedureTool, procedure_tool

SPECS = {
    name: ToolSpec(name=name, effect=effect)
    for name, effect in (
        ("hr.file", Effect.WRITE),
        ("hr.badge", Effect.IRREVERSIBLE),
        ("hr.room", Effect.READ),
    )
}


def procedure(text: str) -> Procedure:
    return read(text).procedure


def made(text: str, *called: str) -> ProcedureTool:
    library = {each.id: each for each in map(procedure, called)}
    return procedure_tool(procedure(text), library, SPECS, "en")


def test_schemas_that_point_into_themselves_still_do_as_parts_of_another() -> None:
    tool = made(
        LOOK.replace(
            "who: {type: string}",
            'who: {$ref: "#/$defs/node", $defs: {node: {type: object, required: [n], properties: '
            '{n: {type: integer}, next: {$ref: "#/$defs/node"}}}}}',
        )
    )
    assert tool.read({"who": {"n": 1, "next": {"n": 2}}}) == ("", {"who": {"n": 1, "next": {"n": 2}}})
    with pytest.raises(UserError):
        tool.read({"who": {"n": 1, "next": {"n": "two"}}})
    given = {"run": "r", "status": "completed", "output": {"room": "R 1"}}
    assert validator(tool.output_schema).accepts(given)
    assert not validator(tool.output_schema).accepts({**given, "output": {"room": 1}})


def test_the_effect_is_the_strongest_of_all_that_may_be_called() -> None:
    caller = """
schema: sopwith/procedure/1
id: caller
start: call
steps:
  call:
    call: {procedure: badge, with: {to: cy}}
    next: done
  done:
    end: complete
"""
    assert [made(text).effect for text in (LOOK, LEAVE, BADGE)] == ["read", "write", "irreversible"]
    assert made(caller, BADGE).effect is Effect.IRREVERSIBLE


def test_a_long_id_becomes_a_name_that_the_protocol_allows() -> None:
    name = made(LOOK.replace("id: look", f"id: {'look_' * 20}x")).name
    assert len(name) <= 64
    assert name.startswith("look_look_")
