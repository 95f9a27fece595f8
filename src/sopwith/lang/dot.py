"""A procedure written as a Graphviz graph (DOT). Source: https://graphviz.org/doc/info/lang.html."""

from __future__ import annotations

from sopwith.ir.procedure import Procedure
from sopwith.lang.chart import Shape
from sopwith.lang.procedure_chart import chart_of, numbered

_SHAPES = {
    Shape.STEP: "box",
    Shape.CHOICE: "diamond",
    Shape.QUESTION: "hexagon",
    Shape.END: "oval",
    Shape.ESCALATE: "invtrapezium",
}


def write_dot(procedure: Procedure, *, full: bool = False, language: str = "en") -> str:
    """The graph of `procedure`: one node a step, one edge a way on; ways after an error are dashed.

    `read_dot` reads it without losing a node, an edge or a label. With `full` a node also says what its step does.
    `language` ("en" or "zh") is that of `otherwise` and `on error`.
    """
    chart, number = chart_of(procedure, full=full, language=language), numbered(procedure)
    lines = [f"digraph {_quoted(chart.id)} {{"]
    if chart.title:
        lines.append(f"  label={_quoted(chart.title)}; labelloc=t;")
    for box in chart.boxes.values():
        if box.shape is Shape.MARK:
            lines.append(f'  {_quoted(box.key)} [label="", shape=point];')
            continue
        label = _quoted(number.get(box.key, "") + box.words, f"`{box.tool}`" if box.tool else "")
        lines.append(f"  {_quoted(box.key)} [label={label}, shape={_SHAPES[box.shape]}];")
    for arrow in chart.arrows:
        looks = [f"label={_quoted(arrow.words)}"] if arrow.words else []
        looks += ["style=dashed"] if arrow.after_error else []
        end = f" [{', '.join(looks)}]" if looks else ""
        lines.append(f"  {_quoted(arrow.tail)} -> {_quoted(arrow.head)}{end};")
    return "\n".join((*lines, "}")) + "\n"


def _quoted(*rows: str) -> str:
    """Lines of words as one quoted text."""
    shown = (" ".join(row.split()).replace("\\", "\\\\").replace('"', '\\"') for row in rows if row)
    return '"' + "\\n".join(shown) + '"'
