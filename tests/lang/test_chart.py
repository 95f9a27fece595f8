"""A procedure that is drawn and read again has the same boxes, arrows and labels."""

from __future__ import annotations

import pytest
from hypothesis import given
from tests.lang.charts import arrows, boxes
from tests.lang.strategies import SETTINGS, procedures

from sopwith.ir.procedure import Edge, Procedure
from sopwith.lang.arrow_label import Label, read_label, write_label
from sopwith.lang.dot import write_dot
from sopwith.lang.dot_text import read_dot
from sopwith.lang.mermaid import draw
from sopwith.lang.mermaid_text import read_mermaid
from sopwith.lang.read import read
from sopwith.lang.routine_line import Condition
from sopwith.lang.write import write


@SETTINGS
@given(procedures())
def test_a_mermaid_chart_is_read_as_it_was_drawn(procedure: Procedure) -> None:
    for language in ("en", "zh"):
        again = read_mermaid(draw(procedure, full=True, language=language)).procedure
        assert boxes(again) == boxes(procedure)
        assert arrows(again) == arrows(procedure)


@SETTINGS
@given(procedures())
def test_a_graph_is_read_as_it_was_written(procedure: Procedure) -> None:
    for language in ("en", "zh"):
        again = read_dot(write_dot(procedure, full=True, language=language)).procedure
        assert boxes(again) == boxes(procedure)
        assert arrows(again) == arrows(procedure)
        assert list(again.steps) == list(procedure.steps)


@SETTINGS
@given(procedures())
def test_a_short_picture_loses_no_box_and_no_arrow(procedure: Procedure) -> None:
    again = read_mermaid(draw(procedure)).procedure
    assert len(again.steps) == len(procedure.steps)
    assert [len(step.next) for step in again.steps.values()] == [
        len(s.next) for s in procedure.steps.values()
    ]


@pytest.mark.parametrize(
    ("words", "label"),
    [
        ("", Label(None)),
        ("otherwise", Label(Condition())),
        ("否则", Label(Condition())),
        ("left.days > 2", Label(Condition(when="left.days > 2"))),
        ("name.contains('x')", Label(Condition(when="name.contains('x')"))),
        ("`agreed`", Label(Condition(when="agreed"))),
        ("Yes", Label(Condition(judge="Yes"), plain=True)),
        ("Yes (No Service)", Label(Condition(judge="Yes (No Service)"), plain=True)),
        ("金额 > 500", Label(Condition(judge="金额 > 500"), plain=True)),
        ("“a > b”", Label(Condition(judge="a > b"))),
        ("on error", Label(None, after_error=True)),
        ("出错时", Label(None, after_error=True)),
        ("出错时：否则", Label(Condition(), after_error=True)),
        ("失败", Label(Condition(judge="失败"), plain=True)),
        ("on error: error.code == 'x'", Label(Condition(when="error.code == 'x'"), after_error=True)),
    ],
)
def test_a_label_says(words: str, label: Label) -> None:
    assert read_label(words) == label


@pytest.mark.parametrize(
    "edge",
    [
        Edge(to="a", otherwise=True),
        Edge(to="a", when="agreed"),
        Edge(to="a", when="a > 1"),
        Edge(to="a", judge="otherwise"),
        Edge(to="a", judge="a > 1"),
        Edge(to="a", judge="on error"),
        Edge(to="a", judge='say “no” to "it"'),
        Edge(to="a", judge="the user agrees"),
    ],
)
def test_a_condition_is_read_as_it_was_written(edge: Edge) -> None:
    expected = Condition(edge.when, edge.judge)
    assert read_label(write_label(edge)).condition == expected
    failed = read_label(write_label(edge, after_error=True))
    assert (failed.condition, failed.after_error) == (expected, True)


def test_a_chinese_chart_is_written_with_chinese_words() -> None:
    ways = {"next": [{"to": "b", "when": "a > 1"}, {"to": "c", "otherwise": True}], "on_error": [{"to": "c"}]}
    steps = {
        "a": {"id": "a", "tool": "x.y", **ways},
        "b": {"id": "b", "end": "complete"},
        "c": {"id": "c", "end": "escalate"},
    }
    procedure = Procedure.from_data({"id": "p", "name": "测试 (t)", "start": "a", "steps": steps})
    for text, failed in (
        (write(procedure, "dot", "zh"), '"a" -> "c" [label="出错时", style=dashed];'),
        (write(procedure, "mermaid", "zh"), 'a -.->|"出错时"| c'),
    ):
        assert failed in text
        assert "否则" in text and "otherwise" not in text and "on error" not in text
        again = read(text, "p.dot" if "digraph" in text else "p.mmd").procedure
        assert (again.name, again.steps["a"].next, again.steps["a"].on_error) == (
            "测试 (t)",
            procedure.steps["a"].next,
            procedure.steps["a"].on_error,
        )


@pytest.mark.parametrize("name", ["退货 流程", "测试 (t)", "returns of shoes", 'the "old" way'])
def test_the_name_of_a_graph_is_kept(name: str) -> None:
    quoted = name.replace('"', '\\"')
    procedure = read(f'digraph "{quoted}" {{ "{quoted}" -> b; b [shape=oval] }}', "x.dot").procedure
    assert (procedure.name, procedure.steps[procedure.start].name) == (name, name)
    again = read(write(procedure, "dot", "zh"), "x.dot").procedure
    assert again == procedure
    assert read("digraph returns { a -> b; b [shape=oval] }", "x.dot").procedure.name == ""
