"""Where the parts of a drawing stand. Graphviz's `dot` lays them out; it is told sizes and never sees a word.

The measures are pixels, y grows downwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sopwith.errors import Text, UserError
from sopwith.lang.drawing import Drawing, DrawnStep, DrawnWay
from sopwith.lang.lettering import width, wrap

Point = tuple[float, float]

TITLE_SIZE = 14.0
DETAIL_SIZE = 12.0
LABEL_SIZE = 12.0
LINE = 1.35
"""The height of a line, in sizes of its font."""

_TITLE_ROOM, _LABEL_ROOM = 220.0, 180.0
_PAD_X, _PAD_Y = 16.0, 9.0
_LEAST = 92.0
_SIDES = {"ask": 14.0, "call": 10.0, "route": 8.0, "write": 6.0}
"""What the outline of a look takes from the room for words on each side."""
_ROUND = 14.0
"""The same for outlines with round sides: those of ends and waits."""
_BOLD = 1.14
"""How much wider bold letters are."""

LONGEST_WAY = 12
"""A way over more rows than this is not drawn through them all: a signpost beside its start says where it goes."""

_BEGIN = "begin"
_DOT = 14.0
_GRAPH = {"nodesep": "0.35", "ranksep": "0.5", "splines": "true", "nslimit": "8", "mclimit": "0.6"}
_LABEL = (
    '<<TABLE BORDER="0" CELLPADDING="0" CELLSPACING="0" FIXEDSIZE="TRUE" WIDTH="{:.0f}" HEIGHT="{:.0f}">'
    "<TR><TD></TD></TR></TABLE>>"
)
"""The label of an edge: an empty table of the size of its plate."""
_NO_LIBRARY = Text("drawings need a library that is not installed", "绘图所需的库未安装")
_INSTALL = Text("pip install 'sopwith[draw]'", "请运行 pip install 'sopwith[draw]'")


@dataclass(frozen=True, slots=True)
class PlacedBox:
    """A box: its centre, its size, and its words in lines."""

    box: DrawnStep
    centre: Point
    size: Point
    title: tuple[str, ...]
    detail: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Signpost:
    """Where an arrow ends whose step is far away: the words, the centre, the size."""

    words: str
    centre: Point
    size: Point


@dataclass(frozen=True, slots=True)
class PlacedArrow:
    """An arrow: a start and Bézier curves of three points each, its tip, and its label with the middle of it."""

    arrow: DrawnWay | None
    points: tuple[Point, ...]
    tip: Point
    label: tuple[str, ...] = ()
    label_at: Point | None = None
    signpost: Signpost | None = None


@dataclass(frozen=True, slots=True)
class Placement:
    """A drawing laid out; the way in from the beginning is an arrow without a `DrawnWay`."""

    size: Point
    begin: Point | None
    boxes: tuple[PlacedBox, ...]
    arrows: tuple[PlacedArrow, ...]


def place(drawing: Drawing) -> Placement:
    """Lay a drawing out. Raises `UserError` where the library for it is not installed."""
    plan = _Plan(drawing)
    graph = _new_graph()
    for box in plan.boxes:
        _add_node(graph, plan.names[box.box.step], box.size)
    if drawing.begin is not None:
        _add_node(graph, _BEGIN, (_DOT, _DOT), shape="circle")
        graph.add_edge(_BEGIN, plan.names[drawing.begin], key="begin", weight="8")
    for i, label in enumerate(plan.labels):
        if i in plan.signposts:
            _add_node(graph, f"far{i}", _signpost_size(plan.signposts[i]))
        said = {"label": _LABEL.format(*label_size(label))} if label else {}
        graph.add_edge(*plan.ends(i), key=f"e{i}", weight=plan.weight(i), **said)
    graph.layout(prog="dot")
    return _read(graph, plan)


class _Plan:
    """What is laid out: sizes and names for Graphviz, which sees no words."""

    def __init__(self, drawing: Drawing) -> None:
        self.drawing = drawing
        self.boxes = [_sized(box) for box in drawing.boxes]
        self.names = {box.step: f"s{i}" for i, box in enumerate(drawing.boxes)}
        self.labels = [tuple(wrap(arrow.label, LABEL_SIZE, _LABEL_ROOM, 3)) for arrow in drawing.arrows]
        titles = {box.step: f"→ {box.number} · {box.title}" for box in drawing.boxes}
        self.signposts = {
            i: wrap(titles[arrow.end], LABEL_SIZE, _LABEL_ROOM, 1)[0]
            for i, arrow in enumerate(drawing.arrows)
            if arrow.span > LONGEST_WAY
        }
        self._led_to: set[str] = set()

    def ends(self, index: int) -> tuple[str, str]:
        """The nodes that an arrow joins."""
        arrow = self.drawing.arrows[index]
        end = f"far{index}" if index in self.signposts else self.names[arrow.end]
        return self.names[arrow.start], end

    def weight(self, index: int) -> str:
        """How straight an arrow is to be. The first way on to a step that nothing led to before is the spine, which
        keeps a long procedure from drifting to a side."""
        arrow = self.drawing.arrows[index]
        if arrow.kind == "error" or arrow.back or index in self.signposts:
            return "1"
        spine = arrow.index == 0 and arrow.end not in self._led_to
        self._led_to.add(arrow.end)
        return "8" if spine else "2"


def _signpost_size(words: str) -> Point:
    return (width(words, LABEL_SIZE) + 20, LABEL_SIZE * LINE + 8)


def label_size(lines: Sequence[str]) -> Point:
    """The size of the plate of a label."""
    widest = max(width(line, LABEL_SIZE) for line in lines)
    return (widest + 16, len(lines) * LABEL_SIZE * LINE + 6)


def _new_graph() -> Any:
    """An empty graph of the library, which has no types."""
    try:
        import pygraphviz
    except ImportError as error:
        raise UserError(_NO_LIBRARY, _INSTALL) from error
    graph: Any = pygraphviz.AGraph(strict=False, directed=True)
    graph.graph_attr.update(_GRAPH)
    return graph


def _add_node(graph: Any, name: str, size: Point, shape: str = "box") -> None:
    """A node of exactly that size; Graphviz counts in inches of 72 pixels."""
    across, down = (f"{side / 72:.4f}" for side in size)
    graph.add_node(name, shape=shape, fixedsize="true", width=across, height=down, label="")


def _sized(box: DrawnStep) -> PlacedBox:
    """A box with its words in lines, as large as they need it."""
    title = wrap(f"{box.number} · {box.title}", TITLE_SIZE, _TITLE_ROOM, 2)
    detail = wrap(box.detail, DETAIL_SIZE, _TITLE_ROOM, 2)
    words = [width(line, TITLE_SIZE) * _BOLD for line in title] + [
        width(line, DETAIL_SIZE) for line in detail
    ]
    side = _ROUND if box.end is not None or box.look == "wait" else _SIDES.get(box.look, 0)
    across = max(_LEAST, max(words) + 2 * (_PAD_X + side))
    down = len(title) * TITLE_SIZE * LINE + len(detail) * DETAIL_SIZE * LINE + 2 * _PAD_Y
    return PlacedBox(box, (0, 0), (round(across), round(down)), tuple(title), tuple(detail))


def _read(graph: Any, plan: _Plan) -> Placement:
    """What `dot` has found, with y turned round."""
    left, low, right, top = (float(number) for number in graph.graph_attr["bb"].split(","))

    def point(text: str) -> Point:
        x, y = text.split(",")[:2]
        return (float(x) - left, top - float(y))

    def centre(name: str) -> Point:
        return point(graph.get_node(name).attr["pos"])

    boxes = tuple(replace(box, centre=centre(plan.names[box.box.step])) for box in plan.boxes)
    arrows: list[PlacedArrow] = []
    begin = plan.drawing.begin
    if begin is not None:
        arrows.append(PlacedArrow(None, *_curve(graph.get_edge(_BEGIN, plan.names[begin], "begin"), point)))
    for i, (arrow, label) in enumerate(zip(plan.drawing.arrows, plan.labels, strict=True)):
        edge = graph.get_edge(*plan.ends(i), f"e{i}")
        at = point(edge.attr["lp"]) if label else None
        words = plan.signposts.get(i)
        far = None if words is None else Signpost(words, centre(f"far{i}"), _signpost_size(words))
        arrows.append(PlacedArrow(arrow, *_curve(edge, point), label, at, far))
    return Placement(
        (right - left, top - low), None if begin is None else centre(_BEGIN), boxes, tuple(arrows)
    )


def _curve(edge: Any, point: Callable[[str], Point]) -> tuple[tuple[Point, ...], Point]:
    """The points of an edge, and where its arrow points to."""
    parts = edge.attr["pos"].replace("\\\n", "").split()
    tip = next((point(part[2:]) for part in parts if part.startswith("e,")), None)
    points = tuple(point(part) for part in parts if not part.startswith(("e,", "s,")))
    return points, tip or points[-1]
