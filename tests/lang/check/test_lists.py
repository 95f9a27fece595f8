"""Steps over a list as the check sees them: the type of an item, of what is done with it, and of the result."""

from __future__ import annotations

from typing import Any

import pytest

from sopwith.errors import ProcedureError
from sopwith.ir.tool import Effect, ToolSpec
from sopwith.lang.check import check
from sopwith.lang.yaml import read_yaml

PERSON = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer"},
        "boss": {"$ref": "#/$defs/person"},
    },
}
TOOLS = {
    spec.name: spec
    for spec in (
        ToolSpec(
            name="hr.people",
            output_schema={
                "type": "object",
                "required": ["rows"],
                "properties": {"rows": {"type": "array", "items": {"$ref": "#/$defs/person"}}},
                "$defs": {"person": PERSON},
            },
        ),
        ToolSpec(
            name="mail.send",
            input_schema={"type": "object", "required": ["to"], "properties": {"to": {"type": "string"}}},
            output_schema={
                "type": "object",
                "required": ["id"],
                "properties": {"id": {"type": "string"}, "parts": {"type": "integer"}},
            },
            effect=Effect.WRITE,
            idempotent=True,
        ),
    )
}
TEXT = """
schema: sopwith/procedure/1
id: p
inputs: {{names: {{type: array, items: {{type: string}}}}}}
output: {{type: object, required: [n], properties: {{n: {n}}}}}
start: find
steps:
  find: {{tool: hr.people, as: found, next: each_one}}
  each_one:
    each: {{in: "{over}", as: one{more}}}
    tool: mail.send
    with: {{to: "{to}"}}
    verify: {verify}
    as: sent
    next: tell
  tell: {{end: complete, result: {{n: "{result}"}}}}
"""


def problems(**parts: str) -> list[str]:
    """The codes and sentences of the errors."""
    given: dict[str, Any] = {
        "over": "${found.rows}", "to": "${one.name}", "verify": "sent.id != ''", "result": "${sent.size()}",
        "n": "{type: integer}", "more": "",
    }  # fmt: skip
    document = read_yaml(TEXT.format_map({**given, **parts}), "p.yaml")
    return [f"{d.code} {d.message.en}" for d in check(document, TOOLS) if d.severity == "error"]


def test_an_item_has_the_type_of_the_list_also_behind_references() -> None:
    assert problems() == []
    assert problems(to="${one.boss.name}", verify="has(one.boss)") != []  # it may be missing
    assert problems(to="${has(one.boss) ? one.boss.name : one.name}") == []
    assert problems(to="${one.nmae}") == ["SW305 there is no field 'nmae'"]
    assert problems(to="${has(one.age) ? one.age : 1}")[0].startswith(
        "SW405 'to' of 'mail.send' must be string"
    )


@pytest.mark.parametrize(
    ("over", "to", "codes"),
    [
        ("${inputs.names}", "${one}", []),
        ("${inputs.names}", "${one.name}", ["SW307"]),
        ("${found.rows.map(r, r.name)}", "${one}", []),
        ("${found.rows.map(r, {'mail': r.name, 'n': 1})}", "${one.mail}", []),
        ("${found.rows.map(r, {'mail': r.name, 'n': 1})}", "${one.n}", ["SW405"]),
        ("${['a', 'b']}", "${one}", []),
        ("${[1, 2]}", "${one}", ["SW405"]),
        ("${found}", "${one.name}", ["SW422"]),
        ("names", "${one}", ["SW422"]),
        ("all ${found.rows}", "x", ["SW422"]),
        ("${nobody}", "x", ["SW302"]),
    ],
)
def test_what_the_list_gives_is_what_an_item_is(over: str, to: str, codes: list[str]) -> None:
    assert [problem[:5] for problem in problems(over=over, to=to)] == codes


def test_the_step_has_the_list_of_results_and_its_verify_one_of_them() -> None:
    items = "{type: array, items: {type: string}}"
    assert problems(result="${sent.map(s, s.id)}", n=items) == []
    assert problems(result="${sent.id}", n=items)[0].startswith("SW3")
    assert problems(verify="sent.map(s, s.id).size() > 0") != []
    assert problems(verify="sent.parts > 0")[0].startswith("SW309")  # it may be missing


def test_collected_results_say_how_each_item_went() -> None:
    more = ", on_item_error: collect"
    ids = "${sent.filter(s, s.ok).map(s, s.value.id)}"
    items = "{type: array, items: {type: string}}"
    assert problems(more=more, result="${sent.filter(s, !s.ok).size()}") == []
    assert problems(more=more, result=ids, n=items) == []
    assert problems(more=more, result="${sent.filter(s, s.ok && has(s.value)).size()}") == []
    assert problems(more=more, result="${sent.map(s, s.id)}", n=items)[0] == "SW305 there is no field 'id'"


def test_an_item_is_known_only_inside_its_step() -> None:
    document = read_yaml(
        TEXT.format(
            over="${found.rows}", to="x", verify="2 > 1", result="${one.name}", n="{type: string}", more=""
        ),
        "p.yaml",
    )
    (problem,) = (d for d in check(document, TOOLS) if d.code == "SW302")
    assert problem.message.en == "there is no name 'one'"
    assert "only inside it" in problem.hint.en and "只在该步骤内" in problem.hint.zh


@pytest.mark.parametrize("name", ["found", "sent", "inputs", "run", "error", "size", "int"])
def test_an_item_takes_no_name_that_means_something_else(name: str) -> None:
    text = TEXT.format(
        over="${found.rows}", to="x", verify="2 > 1", result="${sent.size()}", n="{type: integer}", more=""
    ).replace("as: one", f"as: {name}")
    codes = [d.code for d in check(read_yaml(text, "p.yaml"), TOOLS) if d.severity == "error"]
    assert codes == ([] if name == "size" else ["SW423"])


@pytest.mark.parametrize(
    ("work", "code"),
    [
        ("ask: 'What about ${item}?'", "SW421"),
        ("grip: free\n    do: Look.", "SW421"),
        ("", "SW421"),
        ("do: What is ${item}?\n    returns: {enum: [a, b]}", None),
        ("answer: Say something about ${item}.", None),
        ("returns: {type: string}", None),
    ],
)
def test_what_can_be_done_for_each_item(work: str, code: str | None) -> None:
    text = f"""
schema: sopwith/procedure/1
id: p
inputs: {{names: {{type: array, items: {{type: string}}}}}}
start: all
steps:
  all:
    each: {{in: "${{inputs.names}}"}}
    {work}
    end: complete
"""
    found = [d.code for d in check(read_yaml(text, "p.yaml"), TOOLS)]
    assert [one for one in found if one in ("SW421", "SW501")] == ([] if code is None else [code])


@pytest.mark.parametrize(
    ("each", "word"),
    [
        ("{as: one}", "no 'in'"),
        ("{in: '${a}', at_once: 0}", "from 1 to 64"),
        ("{in: '${a}', at_once: 1000}", "from 1 to 64"),
        ("{in: '${a}', limit: 1000000}", "from 1 to 10000"),
        ("{in: '${a}', on_item_error: skip}", "stop, collect"),
        ("{in: '${a}', parallel: 3}", "'parallel'"),
        ("{in: [1, 2]}", "text"),
    ],
)
def test_what_each_cannot_say_is_refused_with_its_place(each: str, word: str) -> None:
    head = "schema: sopwith/procedure/1\nid: p\nstart: a\nsteps:\n  a:\n"
    text = f"{head}    each: {each}\n    answer: x\n    end: complete\n"
    with pytest.raises(ProcedureError) as raised:
        read_yaml(text, "p.yaml")
    problem = raised.value.diagnostics[0]  # pyright: ignore[reportAttributeAccessIssue]
    assert word in problem.message.en and problem.place.line == 6
