"""A step of a drawing or a draft that asks a model shows it what the steps before it gave."""

from __future__ import annotations

from tests.lang.check.tools import TOOLS

from sopwith.lang.check import check
from sopwith.lang.check.codes import CODES
from sopwith.lang.dot_text import read_dot
from sopwith.lang.markdown_text import read_markdown
from sopwith.lang.mermaid_text import read_mermaid
from sopwith.lang.yaml import read_yaml

RETURNS = """flowchart TD
  ask[询问订单号] --> find[查询订单：使用 shop.get_order 工具]
  find --> late{超过 30 天？}
  late -->|是| person([转人工])
  late -->|否| refund[退款：使用 shop.refund 工具]
  refund --> done([完成])
"""


def test_a_decision_of_a_flowchart_sees_what_was_looked_up() -> None:
    procedure = read_mermaid(RETURNS, "r.mmd").procedure
    assert procedure.steps["late"].uses == ("find",)
    assert procedure.steps["refund"].uses == ("find",)
    assert procedure.steps["find"].uses == ("inputs.request",)
    assert procedure.inputs["request"].from_ == "run.request"
    assert "SW225" not in {d.code for d in check(read_mermaid(RETURNS))}


def test_only_what_has_a_value_on_every_way_is_shown() -> None:
    graph = (
        'digraph g { a [label="Urgent?", shape=diamond]; b [label="Look: using the hr.balance tool"]; '
        'c [label="Agreed?", shape=diamond]; d [label="Done"]; e [label="Stop"];'
        'a -> b [label="yes"]; a -> c [label="no"]; b -> c; c -> d [label="yes"]; c -> e [label="no"]; }'
    )
    steps = read_dot(graph).procedure.steps
    assert steps["a"].uses == steps["c"].uses == ("inputs.request",)


def test_a_decision_of_a_draft_sees_what_was_looked_up() -> None:
    steps = read_markdown(
        "1. Look, using the x.get tool. Output: order.\n2. If it is late, then refuse.\n"
    ).procedure
    assert next(s for s in steps.steps.values() if s.next and s.next[0].judge).uses in (("order",), None)
    assert "SW225" not in {d.code for d in check(read_markdown("1. Look.\n2. If it is late, then refuse.\n"))}


def test_a_judgement_in_yaml_that_is_shown_nothing_is_told_in_every_form() -> None:
    text = (
        "schema: sopwith/procedure/1\nid: p\nstart: a\nsteps:\n  a:\n    name: Late?\n    next:\n"
        "      - {to: b, judge: it is late}\n      - otherwise: c\n  b: {end: escalate}\n  c: {end: complete}\n"
    )
    assert [(d.code, d.place.line) for d in check(read_yaml(text))] == [("SW225", 8)]
    assert "SW225" in CODES


def test_nobody_is_told_to_remove_a_step_that_calls_a_tool() -> None:
    text = (
        "schema: sopwith/procedure/1\nid: p\nstart: a\ninputs: {who: {type: string}}\nsteps:\n"
        "  a: {tool: hr.balance, with: {user_id: '${inputs.who}'}, next: b}\n  b: {answer: Say hello., end: complete}\n"
    )
    (found,) = [d for d in check(read_yaml(text), TOOLS) if d.code == "SW323"]
    assert "remove" not in found.hint.en and "删除" not in found.hint.zh


def test_a_box_that_asks_an_expression_is_a_condition() -> None:
    chart = (
        "flowchart TD\n a[接警：使用 cold.read 工具。输入：waybill。输出：temp] --> b{`temp > 8.0`}\n"
        " b -->|是| c([转人工])\n b -->|否| d([完成])\n"
    )
    document = read_mermaid(chart)
    steps = document.procedure.steps
    assert (steps["a"].tool, steps["a"].as_, steps["a"].uses) == ("cold.read", "temp", ("inputs.waybill",))
    assert [(e.to, e.when, e.judge, e.otherwise) for e in steps["b"].next] == [
        ("c", "temp > 8.0", None, False),
        ("d", None, None, True),
    ]
    assert steps["b"].tool is None
    assert [d.code for d in check(document)] == []
    quoted = read_mermaid(chart.replace("{`temp > 8.0`}", '{"太热？<br/>`temp > 8.0`"}')).procedure
    assert [e.when for e in quoted.steps["b"].next] == ["temp > 8.0", None]
    assert quoted.steps["b"].name == "太热？"


def test_an_expression_over_an_unknown_name_and_answers_that_are_neither_are_told() -> None:
    unknown = (
        'digraph g { a [label="`heat > 8`"]; a -> b [label="yes"]; a -> c [label="no"]; '
        'b [label="End"]; c [label="End"]; }'
    )
    assert "SW302" in {d.code for d in check(read_dot(unknown))}
    neither = unknown.replace("yes", "hot").replace("no", "cold")
    assert [d.code for d in read_dot(neither).notes] == ["SW704", "SW704"]


def test_a_name_in_another_script_is_told_with_a_name_to_take() -> None:
    chart = "flowchart TD\n a[接警：使用 cold.read 工具。输出：报警] --> d([完成])\n"
    document = read_mermaid(chart)
    (note,) = document.notes
    assert (note.code, note.place.line) == ("SW717", 2)
    assert "报警" in note.message.zh and "输出：result（报警）" in note.hint.zh
    assert document.procedure.steps["a"].gives == "报警"
