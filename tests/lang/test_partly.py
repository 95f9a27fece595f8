"""A file of which a part cannot be read: the rest is checked, and nothing is told that a repair would take back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from benchmarks.chance import Chance
from benchmarks.language import drawn

from sopwith.errors import ProcedureError
from sopwith.ir.diagnostic import Diagnostic, Severity
from sopwith.lang.check import check
from sopwith.lang.fix import fix
from sopwith.lang.partly import read_file_partly, read_partly
from sopwith.lang.read import read
from sopwith.lang.spelling import spell

HEAD = """\
schema: sopwith/procedure/1
id: refund
inputs:
  request: {type: string, from: run.request}
start: read
steps:
"""
READ = """\
  read:
    do: Read it
    returns: {type: object, required: [order], properties: {order: {type: string}}}
    as: wanted
    next: pay
"""
PAY = """\
  pay:
    answer: "Paid ${wanted.order}"
    end: complete
"""


def told(steps: str, head: str = HEAD) -> list[tuple[str, int]]:
    """The codes and lines of what is wrong, lines counted from that of `steps:`."""
    first = head.count("\n")
    return [(one.code, one.place.line - first) for one in check(read_partly(head + steps))]


def test_what_a_part_that_cannot_be_read_says_nothing_about_is_told() -> None:
    steps = READ.replace("next: pay", "goto: pay") + PAY.replace("wanted", "wantd")
    assert told(steps) == [("SW110", 5), ("SW302", 7)]


def test_a_field_of_a_value_that_is_known_is_told_and_one_of_a_lost_value_is_not() -> None:
    assert told(
        READ.replace("as: wanted", "as: wanted\n    timeout: soon") + PAY.replace("order", "ordr")
    ) == [
        ("SW112", 5),
        ("SW305", 8),
    ]
    lost = READ.replace(
        "returns: {type: object, required: [order], properties: {order: {type: string}}}", "returns: 7"
    )
    assert told(lost + PAY) == [("SW112", 3)]


def test_an_unknown_step_is_told_and_none_where_a_step_has_no_name() -> None:
    assert told(READ.replace("next: pay", "next: pey\n    timeout: soon") + PAY) == [
        ("SW201", 5),
        ("SW112", 6),
        ("SW203", 7),
    ]
    assert told(READ + PAY.replace("pay:", "pay it:")) == [("SW111", 6)]


def test_a_step_that_nothing_leads_to_is_told_only_where_every_way_is_known() -> None:
    alone = PAY.replace("pay", "alone")
    assert told(READ.replace("do: Read it", "do: 7") + PAY + alone) == [("SW112", 2), ("SW203", 9)]
    assert told(READ.replace("next: pay", "nxt: pay") + PAY + alone) == [("SW110", 5)]


def test_what_lost_inputs_may_hold_is_not_told() -> None:
    steps = READ + PAY.replace("wanted.order", "inputs.user")
    assert told(steps) == [("SW305", 7)]
    assert told(steps, HEAD.replace("  request: {type: string, from: run.request}", "  user: text"))[1:] == []
    assert told(steps, HEAD.replace("inputs:", "input:"))[1:] == []


def test_a_text_that_breaks_off_or_has_no_step_is_refused() -> None:
    for text in (HEAD + '  read: {do: "', HEAD, HEAD.replace("steps", "nodes") + READ + PAY, "[]"):
        with pytest.raises(ProcedureError):
            read_partly(text)


def test_other_forms_and_whole_files_are_read_as_ever(tmp_path: Path) -> None:
    whole = tmp_path / "whole.yaml"
    whole.write_text(HEAD + READ + PAY, "utf-8")
    assert read_file_partly(whole) == read(whole) and not read_partly(whole.read_text("utf-8")).lost
    routine = tmp_path / "steps.txt"
    routine.write_text("Step 1. Look: look.\nnonsense\n", "utf-8")
    with pytest.raises(ProcedureError):
        read_file_partly(routine)


def test_fixing_tells_what_is_left_of_a_file_that_still_cannot_be_read() -> None:
    fixed = fix(
        HEAD + READ.replace("do: Read it", "do: 7\n    nxt: pay").replace("    next: pay\n", "") + PAY
    )
    assert [one.code for one in fixed.applied] == ["SW110"] and [one.code for one in fixed.left] == ["SW112"]
    fixed = fix(HEAD + READ.replace("do: Read it", "do: 7") + PAY.replace("order", "number"))
    assert [one.code for one in fixed.left] == ["SW112", "SW305"]


def errors(found: Sequence[Diagnostic]) -> set[tuple[str, str]]:
    return {(one.code, one.message.en) for one in found if one.severity is Severity.ERROR}


def parts(data: dict[str, Any], luck: Random) -> Iterator[tuple[str, ...]]:
    """Paths of what can be damaged: fields of the procedure, inputs, some steps and their fields."""
    yield from ((key,) for key in data if key not in ("schema", "steps"))
    yield from (("inputs", name) for name in data.get("inputs", ()))
    for name in luck.sample(list(data["steps"]), min(3, len(data["steps"]))):
        yield "steps", name
        yield from (("steps", name, key) for key in data["steps"][name])


def damage(data: dict[str, Any], path: tuple[str, ...], how: str) -> dict[str, Any]:
    """A copy of `data` with the part at `path` damaged."""
    key, *rest = path
    if rest:
        return {one: damage(item, tuple(rest), how) if one == key else item for one, item in data.items()}
    name = {"misspelled": f"{key}x", "unknown": "zzz", "no identifier": f"{key} 1"}.get(how, key)
    value: dict[str, Any] = {"a number": 7.5, "a list": [7]}
    return {
        name if one == key else one: value.get(how, item) if one == key else item
        for one, item in data.items()
    }


HOW = ("misspelled", "unknown", "no identifier", "a number", "a list")


@pytest.mark.parametrize("seed", (0, 4, 5, 7, 10, 11, 13, 22))
async def test_damage_brings_no_error_besides_itself(seed: int) -> None:
    made = drawn("damage", seed, guided=seed % 5 == 0)
    specs = {spec.name: spec for spec in await Chance(Random(0)).functions(made.tools).specs()}
    library = {one.id: one for one in (made.procedure, *made.children)}
    data = spell(made.procedure)
    before = errors(check(read_partly(json.dumps(data, ensure_ascii=False)), specs, library))
    tried = 0
    for path in parts(data, Random(seed)):
        for how in HOW:
            try:
                document = read_partly(json.dumps(damage(data, path, how), ensure_ascii=False))
            except ProcedureError:
                continue
            tried += 1 if document.lost else 0
            told = errors(check(document, specs, library)) if document.lost else set()
            assert told <= before | errors(document.notes), (path, how)
    assert tried > 20
