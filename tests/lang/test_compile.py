"""A compiled procedure holds everything that does not depend on a run."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from tests.lang.strategies import SETTINGS, procedures

from sopwith.errors import ExpressionError, UserError
from sopwith.ir.procedure import Grip, Procedure
from sopwith.ir.tool import ToolSpec
from sopwith.lang.compile import compile_procedure, parameters
from sopwith.lang.machine import Choice, Machine, Node, Use
from sopwith.lang.yaml import read_yaml

SUBMIT = ToolSpec(
    name="hr.submit",
    input_schema={
        "type": "object",
        "required": ["user_id", "days"],
        "properties": {"user_id": {}, "reason": {"type": "string"}, "days": {"type": "integer"}},
    },
)
LOOK = ToolSpec(name="hr.look", input_schema={"type": "object", "properties": {"user_id": {}}})
TOOLS = {"hr.submit": SUBMIT, "hr.look": LOOK, "unused.tool": ToolSpec(name="unused.tool")}


def machine(steps: str, head: str = "", grip: Grip | None = None) -> Machine:
    start = steps.partition(":")[0]
    body = "\n".join(f"  {line}" for line in steps.splitlines())
    text = f"schema: sopwith/procedure/1\nid: p\nstart: {start}\n{head}steps:\n{body}\n"
    return compile_procedure(read_yaml(text).procedure, TOOLS, grip)


def node(step: str) -> Node:
    lines = "\n".join(f"  {line}" for line in step.splitlines())
    return machine(f"a:\n{lines}\n  next: z\nz: {{end: complete}}").nodes["a"]


def test_a_call_with_all_required_arguments_bound_needs_no_model() -> None:
    found = node('tool: hr.submit\nwith: {user_id: "${inputs.user_id}", days: 2}')
    assert (found.kind, found.tool, found.bound, found.free, found.ready) == (
        "tool",
        SUBMIT,
        ("user_id", "days"),
        (),
        True,
    )
    assert found.arguments.render({"inputs": {"user_id": "u1"}}) == {"user_id": "u1", "days": 2}


def test_the_model_fills_what_is_required_and_not_bound() -> None:
    found = node('tool: hr.submit\nwith: {user_id: "${inputs.user_id}"}')
    assert (found.free, found.ready) == (("days",), False)


def test_optional_parameters_are_the_models_only_where_the_step_says_what_to_do() -> None:
    assert node("tool: hr.submit\nwith: {user_id: u, days: 1}\ndo: give a reason").free == ("reason",)
    assert node("tool: hr.submit\ndo: submit it").free == ("user_id", "reason", "days")
    assert node("tool: hr.look").ready
    assert node("tool: hr.look\ndo: look").free == ("user_id",)


def test_the_model_sees_what_the_words_and_arguments_read() -> None:
    found = node(
        'tool: hr.submit\nwith: {user_id: "${inputs.user_id}", days: "${leave.days}"}\ndo: for ${wish.kind}'
    )
    assert found.uses == (
        Use("user_id", ("inputs", "user_id")),
        Use("days", ("leave", "days")),
        Use("kind", ("wish", "kind")),
    )
    assert found.judge_uses == (*found.uses, Use("a", ("a",)))


def test_uses_replaces_what_the_model_sees_and_alike_names_keep_their_path() -> None:
    found = node("uses: [inputs.request, wish.kind, other.kind, wish.kind]\nreturns: {type: boolean}\nas: ok")
    assert found.uses == (
        Use("request", ("inputs", "request")),
        Use("wish.kind", ("wish", "kind")),
        Use("other.kind", ("other", "kind")),
    )
    assert found.judge_uses[-1] == Use("ok", ("ok",))


def test_a_whole_value_hides_its_parts() -> None:
    found = node("answer: ${wish} and ${wish.kind} and ${left.days}")
    assert [use.path for use in found.uses] == [("wish",), ("left", "days")]


@pytest.mark.parametrize(
    ("returns", "choices"),
    [
        ("{enum: [a, 2, null]}", (Choice("a"), Choice(2), Choice(None))),
        ("{oneOf: [{const: a, description: first}, {const: b, title: 二}]}", (Choice("a", "first"), Choice("b", "二"))),
        ("{anyOf: [{const: true}, {const: false}]}", (Choice(True), Choice(False))),
        ("{anyOf: [{const: a}, {type: string}]}", ()),
        ("{type: object, properties: {k: {enum: [a, b]}}}", ()),
        ("{enum: [only]}", ()),
        (f"{{enum: {list(range(27))}}}", ()),
        ('{enum: "${hits.map(h, h.id)}"}', ()),
    ],
)  # fmt: skip
def test_a_value_that_is_a_choice_has_its_choices(returns: str, choices: tuple[Choice, ...]) -> None:
    assert node(f"returns: {returns}").choices == choices


def test_an_enum_that_is_an_expression_is_found_where_it_stands() -> None:
    text = 'returns:\n  type: object\n  properties:\n    ids: {type: array, items: {enum: "${hits.map(h, h.id)}"}}'
    (found,) = node(text).dynamic_enums
    assert found.path == ("properties", "ids", "items")
    assert found.values.render({"hits": [{"id": "A1"}, {"id": "B2"}]}) == ["A1", "B2"]


def test_edges_keep_their_order() -> None:
    steps = (
        "a:\n  next:\n    - {to: z, when: x}\n    - {to: z, judge: one}\n    - {to: z, judge: two}\n"
        "    - {to: z, when: y}\n"
        "    - {to: z, judge: three}\n    - otherwise: z\n  on_error: z\nz: {end: complete}"
    )
    found = machine(steps).nodes["a"]
    assert [(e.index, e.kind) for e in found.edges] == [
        (0, "when"), (1, "judge"), (2, "judge"), (3, "when"), (4, "judge"), (5, "otherwise"),
    ]  # fmt: skip
    assert found.edges[0].condition is not None and found.edges[0].condition.evaluate({"x": True}) is True
    assert [e.kind for e in found.on_error] == ["always"]


def test_visits_are_bounded_on_cycles_only() -> None:
    nodes = machine(
        "a: {next: b}\nb:\n  next:\n    - {to: a, when: x}\n    - otherwise: c\nc: {visits: 7, end: complete}"
    ).nodes
    assert {name: n.visits for name, n in nodes.items()} == {"a": 3, "b": 3, "c": 7}
    assert machine("a: {next: b}\nb: {end: complete}").nodes["a"].visits == 1


def test_the_machine_is_pinned_numbered_and_permits_its_tools_sorted() -> None:
    found = machine(
        "a: {tool: hr.submit, next: b}\nb: {tool: hr.look, end: complete}", "verify: b.ok\ntimeout: 1m\n"
    )
    assert found.hash == found.procedure.digest()
    assert (found.start, found.numbers, list(found.tools)) == (
        "a",
        {"a": "1", "b": "2"},
        ["hr.look", "hr.submit"],
    )
    assert found.verify is not None and found.verify.source == "b.ok"
    assert found.nodes["a"].grip is Grip.STRICT


def test_of_grip_free_there_is_one_step_with_the_whole_task() -> None:
    head = (
        "name: Leave\ndescription: handle leave\noutput: {type: object}\n"
        "inputs: {request: {type: string}}\ngrip: free\n"
    )
    found = machine("a: {tool: hr.submit, next: b}\nb: {end: complete}", head)
    assert (list(found.nodes), found.start, found.numbers) == (["work"], "work", {"work": "1"})
    work = found.nodes["work"]
    assert (work.kind, work.grip, work.returns, work.step.tools) == (
        "free",
        Grip.FREE,
        {"type": "object"},
        ("hr.submit",),
    )
    assert work.do is not None and work.do.render({}) == "handle leave"
    assert work.uses == (Use("request", ("inputs", "request")),)


def test_a_description_is_not_a_template() -> None:
    head = "description: 'costs ${price and more'\ngrip: free\n"
    work = machine("a: {end: complete}", head).nodes["work"]
    assert work.do is not None and work.do.render({}) == "costs ${price and more"


def test_the_grip_can_be_turned_from_outside() -> None:
    steps = "a: {tool: hr.look, grip: guide, next: b}\nb: {end: complete}"
    assert list(machine(steps, grip=Grip.FREE).nodes) == ["work"]
    strict = machine(steps, "grip: free\n", Grip.STRICT)
    assert {name: n.grip for name, n in strict.nodes.items()} == {"a": Grip.GUIDE, "b": Grip.STRICT}


def test_a_tool_that_is_not_there_and_a_broken_expression_are_told() -> None:
    with pytest.raises(UserError, match="is not connected"):
        machine("a: {tool: other.tool, end: complete}")
    with pytest.raises(ExpressionError):
        machine("a: {verify: 1 +, end: complete}")


def test_parameters_follow_references_and_parts() -> None:
    schema: dict[str, Any] = {
        "$ref": "#/$defs/args",
        "$defs": {
            "args": {
                "allOf": [
                    {"properties": {"a": {"type": "string"}}, "required": ["a"]},
                    {"$ref": "#/$defs/more"},
                ]
            },
            "more": {"properties": {"b": {}}, "required": ["b", "c"], "allOf": [{"$ref": "#/$defs/args"}]},
        },
    }
    assert parameters(schema) == ({"a": {"type": "string"}, "b": {}, "c": {}}, frozenset("abc"))
    assert parameters({"$ref": "#/nowhere"}) == ({}, frozenset())
    assert parameters({"properties": {"x": True}}) == ({"x": True}, frozenset())


@SETTINGS
@given(procedures())
def test_every_procedure_compiles_to_a_node_for_each_step(procedure: Procedure) -> None:
    tools = {name: ToolSpec(name=name) for name in (*procedure.permitted_tools(), *procedure.step_tools())}
    try:
        found = compile_procedure(procedure, tools, Grip.STRICT)
    except ExpressionError:
        return
    assert set(found.nodes) == set(procedure.steps)
    for name, compiled in found.nodes.items():
        assert compiled.step is procedure.steps[name]
        assert [e.edge for e in compiled.edges] == list(compiled.step.next)
