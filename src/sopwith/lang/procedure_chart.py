"""A procedure as a flowchart: the boxes and arrows that Mermaid and Graphviz write."""

from __future__ import annotations

from sopwith.ir.procedure import Procedure, Step
from sopwith.lang.arrow_label import write_label
from sopwith.lang.chart import Arrow, Box, Chart, Shape
from sopwith.lang.label_text import one_line
from sopwith.lang.numbering import numbers

BEGIN = "begin"


def chart_of(procedure: Procedure, *, full: bool = False, language: str = "en") -> Chart:
    """The chart of `procedure`: one box a step, one arrow an edge, and a mark that points to the start.

    The words of a box are the name of the step, or else its id; with `full` also what it does, as `name: what is done`.
    Ways after an error have a label that begins with `on error` or, where `language` is "zh", 出错时.
    Edges to steps that do not exist are left out.
    """
    steps = procedure.steps
    boxes = {key: _box(step, full=full) for key, step in steps.items()}
    arrows = [
        Arrow(
            step.id,
            edge.to,
            write_label(edge, after_error=after_error, language=language),
            after_error=after_error,
        )
        for step in steps.values()
        for after_error, edges in ((False, step.next), (True, step.on_error))
        for edge in edges
        if edge.to in steps
    ]
    if procedure.start in steps:
        mark = BEGIN
        while mark in steps:
            mark += "_"
        boxes = {mark: Box(mark, "", Shape.MARK), **boxes}
        arrows = [Arrow(mark, procedure.start), *arrows]
    return Chart(procedure.id, one_line(procedure.name), boxes, arrows)


def numbered(procedure: Procedure) -> dict[str, str]:
    """What stands before the words of each box: the number of the step, `2-1 1 · `."""
    return {step: f"{number} · " for step, number in numbers(procedure).items()}


def _box(step: Step, *, full: bool) -> Box:
    parts = [step.name, step.do or step.ask or step.answer] if full else [step.name]
    words = [one_line(part) for part in parts if part and part.strip()]
    if len(words) == 2 and words[0] == words[1]:
        words.pop()
    return Box(step.id, ": ".join(words) or step.id, _shape(step), step.tool)


def _shape(step: Step) -> Shape:
    if step.end is not None:
        return Shape.END if step.end == "complete" else Shape.ESCALATE
    if step.ask is not None:
        return Shape.QUESTION
    return Shape.CHOICE if step.kind == "route" and len(step.next) > 1 else Shape.STEP
