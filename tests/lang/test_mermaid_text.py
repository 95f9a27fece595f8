"""A Mermaid flowchart is read with every box, arrow and label, or it says what is wrong and where."""

from __future__ import annotations

import pytest

from sopwith.errors import ProcedureError
from sopwith.ir.diagnostic import Severity
from sopwith.ir.procedure import Procedure
from sopwith.lang.document import Document
from sopwith.lang.mermaid_text import read_mermaid


def read(body: str) -> Procedure:
    return read_mermaid(f"flowchart TD\n{body}\n").procedure


def edges(procedure: Procedure) -> set[tuple[str, str, str]]:
    return {
        (
            step.id,
            edge.to,
            edge.when or edge.judge or edge.guidance or ("otherwise" if edge.otherwise else ""),
        )
        for step in procedure.steps.values()
        for edge in (*step.next, *step.on_error)
    }


def codes(document: Document) -> list[str]:
    return [note.code for note in document.notes]


@pytest.mark.parametrize(
    "corners",
    ["[{}]", "({})", "([{}])", "[[{}]]", "[({})]", "(({}))", "((({})))", ">{}]", "{{{}}}", "{{{{{}}}}}", "[/{}/]",
     "[\\{}\\]", "[/{}\\]", "[\\{}/]", '["{}"]', '["`{}`"]', '@{{ shape: rect, label: "{}" }}'],
)  # fmt: skip
def test_a_box_of_any_shape_has_its_words(corners: str) -> None:
    step = read("  a" + corners.format("核对 it") + " --> done").steps["a"]
    assert (step.name or step.ask) == "核对 it"


@pytest.mark.parametrize(
    ("arrow", "label"),
    [
        ("-->", ""), ("--->", ""), ("==>", ""), ("-.->", ""), ("--x", ""), ("--o", ""), ("---", ""), ("-.-", ""),
        ("-->|yes|", "yes"), ('-->|"yes (1)"|', "yes (1)"), ("-- yes -->", "yes"), ("== yes ==>", "yes"),
        ("-. yes .->", "yes"), ('-- "a --> b" -->', "a --> b"), ("e1@-->", ""), ("-->|是|", "是"), ("-- 是 ---", "是"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("space", ["", " "])
def test_an_arrow_of_any_spelling(arrow: str, label: str, space: str) -> None:
    space = space or (" " if arrow[0] == "e" or arrow[-1] in "xo" else "")
    assert edges(read(f"  a{space}{arrow}{space}b")) == {("a", "b", label)}


def test_chains_groups_of_boxes_and_semicolons() -> None:
    found = read_mermaid("graph LR; a & b --> c -->|x| d & e; d --> f").procedure
    assert edges(found) == {
        ("a", "c", ""), ("b", "c", ""), ("c", "d", "x"), ("c", "e", "x"), ("d", "f", ""),
    }  # fmt: skip


def test_what_only_looks_is_passed_over_and_what_means_something_is_noted() -> None:
    document = read_mermaid(
        "---\ntitle: 退货 流程\n---\n%%{init: {}}%%\nflowchart TB\n  %% a comment\n"
        "  subgraph shop [The shop]\n    direction LR\n    a:::hot --> b\n  end\n"
        '  click a "https://x.example"\n  classDef hot fill:#f00;\n  class a hot\n  style b fill:#fff\n'
        "  linkStyle 0 stroke:red\n  b --- done\n  a ~~~ done\n"
    )
    assert document.procedure.name == "退货 流程"
    assert edges(document.procedure) == {("a", "b", ""), ("b", "done", "")}
    assert [(n.code, n.place.line) for n in document.notes] == [("SW707", 7), ("SW707", 11), ("SW707", 16)]


def test_entity_codes_and_html_are_words() -> None:
    found = read('  a["#quot;x#quot; #60;b#62; &amp;<br/><b>two</b> #35;1"] --> done')
    assert found.steps["a"].name == '"x" <b> & two #1'


def test_tools_are_found_in_the_words() -> None:
    found = read(
        "  a[使用 hr.get 工具] --> b[call it with `mail.send`] --> c[shop.pay_out#40;id#41;] --> d[service s]"
    )
    assert [step.tool for step in found.steps.values()] == ["hr.get", "mail.send", "shop.pay_out", None]


def test_conditions_of_a_choice() -> None:
    found = read('  a{金额?} -->|"amount > 5"| b\n  a -->|big| c\n  a --> d\n  b --> c --> d([完成])')
    assert edges(found) == {
        ("a", "b", "amount > 5"), ("a", "c", "big"), ("a", "d", "otherwise"), ("b", "c", ""), ("c", "d", ""),
    }  # fmt: skip
    assert found.steps["a"].next[0].when == "amount > 5"
    no = read("  a{Paid?} -->|Yes| b\n  a -->|No, never| c").steps["a"].next
    assert [(e.to, e.judge, e.otherwise, e.guidance) for e in no] == [
        ("b", "Yes", False, None), ("c", None, True, "No, never"),
    ]  # fmt: skip


def test_sinks_end_the_run() -> None:
    found = read("  a --> b[Transfer to a human agent]\n  a -->|x| c[转人工]\n  a -->|y| d([Bye])")
    assert [found.steps[key].end for key in "bcd"] == ["escalate", "escalate", "complete"]


def test_the_start_is_found_or_guessed() -> None:
    assert read("  b --> c\n  begin(( )) --> a --> b").start == "a"
    assert read("  x --> y\n  n[开始] --> y").start == "n"
    guessed = read_mermaid("flowchart TD\n  a --> b --> a\n")
    assert (guessed.procedure.start, codes(guessed)) == ("a", ["SW703"])


def test_ids_become_identifiers() -> None:
    found = read("  核对 --> a-b.c --> a_b_c --> 1st --> error --> inputs --> for --> done")
    assert list(found.steps) == [
        "step_1",
        "a_b_c",
        "a_b_c_2",
        "step_1st",
        "error_2",
        "inputs_2",
        "step_for",
        "done",
    ]
    assert found.steps["step_1"].name == "核对"


def test_arrows_of_a_frame_are_those_of_its_boxes() -> None:
    document = read_mermaid("flowchart TD\n  s --> one\n  subgraph one\n    a --> b\n  end\n  one --> done\n")
    assert edges(document.procedure) == {("s", "a", ""), ("a", "b", ""), ("b", "done", "")}
    assert codes(document).count("SW707") == 3


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", (1, 1)), ("hello", (1, 1)), ("flowchart TD\n  a[x", (2, 4)), ("flowchart TD\n  a --> ", (2, 9)),
        ("flowchart TD\n  a b", (2, 5)), ("flowchart TD\n  end", (2, 3)), ("flowchart TD\n a -->|x b", (2, 7)),
        ("flowchart TD\n subgraph x\n a-->b", (2, 2)), ("flowchart TD\n a -- x", (2, 4)),
        ('flowchart TD\n a["x]', (2, 3)),
    ],
)  # fmt: skip
def test_what_is_wrong_has_a_place(text: str, place: tuple[int, int]) -> None:
    with pytest.raises(ProcedureError) as raised:
        read_mermaid(text, "x.mmd")
    (found,) = (d for d in raised.value.diagnostics if d.severity is Severity.ERROR)  # pyright: ignore
    assert (found.code, found.place.line, found.place.column) == ("SW701", *place)  # pyright: ignore
    assert found.message.zh and found.hint.zh  # pyright: ignore


def test_one_reading_finds_every_mistake() -> None:
    with pytest.raises(ProcedureError) as raised:
        read_mermaid("flowchart TD\n  a[ --> b\n  c d\n  e --> f\n")
    assert [d.place.line for d in raised.value.diagnostics] == [2, 3]  # pyright: ignore


def test_a_thousand_boxes() -> None:
    rows = "\n".join(f"  n{i}[节点 {i}] -->|第 {i} 步| n{i + 1}" for i in range(1000))
    found = read(rows)
    assert (len(found.steps), sum(len(s.next) for s in found.steps.values())) == (1001, 1000)


def test_another_kind_of_drawing_is_refused_by_its_name() -> None:
    with pytest.raises(ProcedureError) as caught:
        read_mermaid("sequenceDiagram\n A->>B: hello\n")
    assert "a sequenceDiagram is no flowchart" in caught.value.message.en


def test_groups_that_are_joined_box_by_box_are_one_problem() -> None:
    tails, heads = (" & ".join(f"{name}{i}" for i in range(200)) for name in "ab")
    with pytest.raises(ProcedureError, match="the chart has 40000 arrows"):
        read_mermaid(f"flowchart TD\n{tails} --> {heads}")
