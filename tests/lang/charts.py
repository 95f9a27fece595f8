"""What a chart says, for comparison: its boxes and arrows without places."""

from __future__ import annotations

from collections import Counter

from sopwith.ir.procedure import Procedure
from sopwith.lang.mention import tools_mentioned
from sopwith.lang.procedure_chart import chart_of


def boxes(procedure: Procedure) -> Counter[tuple[str, str | None]]:
    """The words of each box, and its tool: the one that it has, or else the first that the words mention."""
    found = chart_of(procedure, full=True).boxes.values()
    return Counter((box.words, box.tool or next(iter(tools_mentioned(box.words)), None)) for box in found)


def arrows(procedure: Procedure) -> Counter[tuple[str, str, str]]:
    """The words of both ends of each arrow, and its label."""
    chart = chart_of(procedure, full=True)
    return Counter((chart.boxes[a.tail].words, chart.boxes[a.head].words, a.words) for a in chart.arrows)
