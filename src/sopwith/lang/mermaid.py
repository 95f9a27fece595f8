"""A procedure drawn as a Mermaid flowchart (text). Syntax: https://mermaid.js.org/syntax/flowchart.html."""

from __future__ import annotations

from collections.abc import Iterator

from sopwith.ir.procedure import Edge, Procedure, Step
from sopwith.lang.numbering import numbers

LONGEST_LABEL = 60


def draw(procedure: Procedure) -> str:
    """The flowchart of `procedure`: one node a step, one arrow an edge; ways after an error are dotted."""
    number = numbers(procedure)
    names = {step: f"s{i}" for i, step in enumerate(procedure.steps, 1)}
    lines = ["flowchart TD"]
    if procedure.start in names:
        lines.append(f"  begin(( )) --> {names[procedure.start]}")
    for step in procedure.steps.values():
        lines.append(f"  {names[step.id]}{_shape(step, number[step.id])}")
    for step in procedure.steps.values():
        lines += _arrows(step, step.next, names, "-->")
        lines += _arrows(step, step.on_error, names, "-.->")
    return "\n".join(lines) + "\n"


def _shape(step: Step, number: str) -> str:
    """The node: a box, a hexagon for a question to a person, a circle-ended box for an end."""
    label = f"{number} · {step.title}"
    words = _text(label) + (f"<br/><small>{_text(step.tool)}</small>" if step.tool else "")
    if step.end is not None:
        return f'(["{words}"])'
    return f'{{{{"{words}"}}}}' if step.ask is not None else f'["{words}"]'


def _arrows(step: Step, edges: tuple[Edge, ...], names: dict[str, str], arrow: str) -> Iterator[str]:
    for edge in edges:
        if edge.to in names:
            label = _label(edge)
            middle = f'|"{_text(label)}"|' if label else ""
            yield f"  {names[step.id]} {arrow}{middle} {names[edge.to]}"


def _label(edge: Edge) -> str:
    return "otherwise" if edge.otherwise else edge.when or edge.judge or ""


def _text(words: str) -> str:
    """`words` as a quoted label: one line, cut, with every character that means something in Mermaid or HTML
    written as its code."""
    line = " ".join(words.split())
    line = line if len(line) <= LONGEST_LABEL else line[: LONGEST_LABEL - 1] + "…"
    return "".join(c if c.isalnum() or c in " ·.,…，。、：；？！（）“”-_/" else f"#{ord(c)};" for c in line)
