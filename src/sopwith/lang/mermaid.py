"""A procedure drawn as a Mermaid flowchart (text). Syntax: https://mermaid.js.org/syntax/flowchart.html."""

from __future__ import annotations

from sopwith.ir.procedure import Procedure
from sopwith.lang.chart import Box, Chart, Shape
from sopwith.lang.procedure_chart import chart_of, numbered

RESERVED = frozenset(
    {"call", "class", "classDef", "click", "default", "direction", "end", "flowchart", "graph", "href", "linkStyle",
     "style", "subgraph"}
)  # fmt: skip
"""Words that Mermaid does not take as the id of a box."""

_BRACKETS = {
    Shape.STEP: ("[", "]"),
    Shape.CHOICE: ("{", "}"),
    Shape.QUESTION: ("{{", "}}"),
    Shape.END: ("([", "])"),
    Shape.ESCALATE: ("[\\", "/]"),
}
"""The corners of each shape: a box, a diamond, a hexagon, a box with round ends, a box that is wider above."""


def draw(procedure: Procedure, *, full: bool = False, language: str = "en") -> str:
    """The flowchart of `procedure`: one box a step, one arrow an edge; ways after an error are dotted.

    `read_mermaid` reads it without losing a box, an arrow or a label. With `full` a box also says what its step
    does, and the chart has a title. `language` ("en" or "zh") is that of `otherwise` and `on error`.
    """
    chart, number = chart_of(procedure, full=full, language=language), numbered(procedure)
    keys = _keys(chart)
    lines = ["flowchart TD"]
    for box in chart.boxes.values():
        lines.append(f"  {keys[box.key]}{_corners(box, number.get(box.key, ''))}")
    for arrow in chart.arrows:
        line = "-.->" if arrow.after_error else "-->"
        middle = f'|"{_text(arrow.words)}"|' if arrow.words else ""
        lines.append(f"  {keys[arrow.tail]} {line}{middle} {keys[arrow.head]}")
    title = ["---", f"title: {_quoted(chart.title)}", "---"] if full and chart.title else []
    return "\n".join((*title, *lines)) + "\n"


def _keys(chart: Chart) -> dict[str, str]:
    """The id of each box in the text: its own, with `_` after what Mermaid keeps for itself."""
    found: dict[str, str] = {}
    for key in chart.boxes:
        name = key
        while name in RESERVED or (name != key and name in chart.boxes):
            name += "_"
        found[key] = name
    return found


def _corners(box: Box, number: str) -> str:
    if box.shape is Shape.MARK:
        return "(( ))"
    opening, closing = _BRACKETS[box.shape]
    tool = f"<br/><small>{_text(box.tool)}</small>" if box.tool else ""
    return f'{opening}"{_text(number + box.words)}{tool}"{closing}'


def _quoted(words: str) -> str:
    """`words` as a quoted scalar of the YAML that the title stands in."""
    return '"' + "".join(f"\\U{ord(c):08x}" if c in '\\"' or not c.isprintable() else c for c in words) + '"'


def _text(words: str) -> str:
    """`words` as a quoted label: one line, with every character that means something in Mermaid or HTML written
    as its code."""
    line = " ".join(words.split())
    return "".join(c if c.isalnum() or c in " ·.,…，。、：；？！（）“”-_/" else f"#{ord(c)};" for c in line)
