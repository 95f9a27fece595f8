"""A Graphviz graph is read as Graphviz reads it, or it says what is wrong and where."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pygraphviz
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.lang.strategies import SETTINGS

from sopwith.errors import ProcedureError
from sopwith.ir.diagnostic import Severity
from sopwith.ir.procedure import Procedure
from sopwith.lang.check import check
from sopwith.lang.dot_text import read_dot

DATA = Path(os.environ.get("BENCH_DATA") or Path(__file__).parents[3] / "shared" / "bench")
FLOWS = ("path1_no_service", "path2_mobile_data", "path3_mms")


def pairs(procedure: Procedure, names: dict[str, str]) -> Counter[tuple[str, str]]:
    return Counter(
        (names[s.id], names[e.to]) for s in procedure.steps.values() for e in (*s.next, *s.on_error)
    )


def assert_as_graphviz_reads(text: str) -> None:
    """The nodes in their order, and how many edges each pair of them has, are those of Graphviz itself."""
    graph = pygraphviz.AGraph(string=text)
    found = read_dot(text).procedure
    nodes = [str(node) for node in graph.nodes()]
    assert len(found.steps) == len(nodes)
    names = dict(zip(found.steps, nodes, strict=True))
    assert pairs(found, names) == Counter((str(a), str(b)) for a, b, *_ in graph.edges(keys=True))


@pytest.mark.parametrize("flow", FLOWS)
def test_the_telecom_flows_are_read_without_a_loss(flow: str) -> None:
    file = DATA / "tau2" / "telecom" / f"tech_support_{flow}.dot"
    if not file.is_file():
        pytest.fail(f"the public benchmark data is missing: {file}; set BENCH_DATA to its folder")
    text = file.read_text(encoding="utf-8")
    assert_as_graphviz_reads(text)
    graph, found = pygraphviz.AGraph(string=text), read_dot(text, str(file)).procedure
    labels = Counter(" ".join(str(n.attr["label"]).replace("\\n", " ").split()) for n in graph.nodes())
    # A name and what is done are parted at the colon.
    told = Counter(": ".join(p for p in (s.name, s.do) if p) for s in found.steps.values())
    assert told == labels
    said = Counter(" ".join(str(e.attr["label"] or "").replace("\\n", " ").split()) for e in graph.edges())
    words = Counter(e.judge or e.guidance or "" for s in found.steps.values() for e in s.next)
    assert not Counter({k: n for k, n in said.items() if k}) - words
    assert {d.code for d in check(read_dot(text)) if d.severity is Severity.ERROR} == {"SW209"}


IDS = st.sampled_from(["a", "b", "c_1", "节点", '"two words"', "3.5", "-1", '"q\\"q"', "a", "b"])


@st.composite
def statements(draw: st.DrawFn, depth: int = 2) -> str:
    kind = draw(st.integers(0, 5 if depth else 3))
    if kind == 0:
        return draw(IDS) + draw(
            st.sampled_from(["", ' [label="x"]', " [shape=diamond, label=<b>]", "[a=b;c=d][e=f]"])
        )
    if kind == 1:
        ends = draw(st.lists(IDS, min_size=2, max_size=4))
        return " -> ".join(ends) + draw(st.sampled_from(["", ' [label="words"]']))
    if kind == 2:
        return draw(
            st.sampled_from(
                ["node [shape=box]", "edge [color=red]", "rankdir=LR", "graph [x=1]", "/* c */ a", "// c\n b"]
            )
        )
    if kind == 3:
        return f"{draw(IDS)}:p -> {draw(IDS)}:p:n"
    inner = "; ".join(draw(st.lists(statements(depth=depth - 1), max_size=3)))
    # One name is one subgraph; what a subgraph is inside itself nobody means.
    names = ["", "subgraph ", f"subgraph cluster_{depth} ", f"subgraph 名{depth} "]
    group = draw(st.sampled_from(names)) + "{" + inner + "}"
    return group if kind == 4 else f"{draw(IDS)} -> {group}"


@SETTINGS
@given(
    st.lists(statements(), min_size=1, max_size=8).map(
        lambda rows: "digraph g {\n" + ";\n".join(rows) + "\n}"
    )
)
def test_any_graph_is_read_as_graphviz_reads_it(text: str) -> None:
    if len(pygraphviz.AGraph(string=text).nodes()) == 0:
        with pytest.raises(ProcedureError, match="no boxes"):
            read_dot(text)
        return
    assert_as_graphviz_reads(text)


def test_clusters_html_labels_records_and_pictures() -> None:
    document = read_dot(
        """digraph shop {
          label="退货"; node [shape=box]
          subgraph cluster_a { label=<<b>第一组</b>>;
            ask [label=<Ask <b>politely</b><br/>for the <img src="x.png"/> order>] }
          rec [shape=record, label="{one|<p> two}"]; pic [image="a.png", label="\\N here"]
          ask -> rec:p -> pic; pic -> done [style=invis]; pic -> done [xlabel="go" + " on"]
        }"""
    )
    steps = document.procedure.steps
    assert document.procedure.name == "退货"
    assert [steps[k].name for k in ("ask", "rec", "pic")] == [
        "Ask politely for the order",
        "one two",
        "pic here",
    ]
    assert [(e.to, e.guidance) for e in steps["pic"].next] == [("done", "go on")]
    assert [(n.code, n.place.line) for n in document.notes] == [("SW707", 3), ("SW707", 4), ("SW707", 5)]


def test_strict_graphs_directions_and_undirected_edges() -> None:
    def ways(text: str) -> list[tuple[str, str]]:
        return [(s.id, e.to) for s in read_dot(text).procedure.steps.values() for e in s.next]

    assert ways("strict digraph { a -> b; a -> b }") == [("a", "b")]
    assert ways("digraph { a -> b [dir=back]; c -> b [dir=both]; a -> end }") == [
        ("a", "end"),
        ("b", "a"),
        ("b", "c"),
        ("c", "b"),
    ]
    assert [n.code for n in read_dot("graph { start -- b }").notes] == ["SW707", "SW705"]


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("", 1, 1), ("hello", 1, 1), ("digraph {", 1, 10), ("digraph {\n a -> }", 2, 7),
        ("digraph { a [label= ] }", 1, 21),
        ('digraph { a [label="x] }', 1, 20), ("digraph { a [label=<x ] }", 1, 20), ("digraph {a} digraph {b}", 1, 13),
        ("digraph { a } }", 1, 15), ("digraph { a /* x }", 1, 13), ("digraph { subgraph x }", 1, 22),
    ],
)  # fmt: skip
def test_what_is_wrong_has_a_place(text: str, line: int, column: int) -> None:
    with pytest.raises(ProcedureError) as raised:
        read_dot(text, "x.dot")
    (found,) = raised.value.diagnostics
    assert (found.code, found.place.line, found.place.column) == ("SW701", line, column)  # pyright: ignore


def test_what_is_too_deep_or_too_long_is_refused() -> None:
    for text in ("digraph {" + "{" * 5000 + "}" * 5000 + "}", "digraph { a -> b }" + " " * 300_000):
        with pytest.raises(ProcedureError) as raised:
            read_dot(text)
        assert [d.code for d in raised.value.diagnostics] == ["SW102"]  # pyright: ignore


def test_a_thousand_nodes_in_a_circle() -> None:
    text = "digraph {" + " -> ".join(f"n{i}" for i in range(1000)) + " -> n0 }"
    document = read_dot(text)
    assert len(document.procedure.steps) == 1000
    assert [n.code for n in document.notes] == ["SW703"]
    assert "SW204" in {d.code for d in check(document)}
