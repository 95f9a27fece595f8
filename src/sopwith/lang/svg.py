"""A drawing as SVG: no script, nothing from outside, readable on light and on dark ground, told to screen readers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from math import atan2, cos, sin

from sopwith.errors import Text
from sopwith.lang.drawing import Drawing, Look, Walk
from sopwith.lang.lettering import width
from sopwith.lang.placement import (
    DETAIL_SIZE,
    LABEL_SIZE,
    LINE,
    TITLE_SIZE,
    PlacedArrow,
    PlacedBox,
    Placement,
    Point,
    label_size,
    place,
)

_MARGIN = 24.0
_FONT = "system-ui, 'Segoe UI', Roboto, 'Noto Sans', 'PingFang SC', 'Microsoft YaHei', 'Noto Sans CJK SC', sans-serif"
_INK, _LINE, _FAULT, _WALK = "#1f2933", "#64748b", "#c2410c", "#2563eb"
_FILLS: dict[Look, tuple[str, str]] = {
    "route": ("#f1f5f9", "#64748b"),
    "read": ("#eff6ff", "#3b82f6"),
    "write": ("#fff1f2", "#e11d48"),
    "model": ("#f5f3ff", "#8b5cf6"),
    "ask": ("#fefce8", "#ca8a04"),
    "wait": ("#ecfeff", "#0891b2"),
    "call": ("#f0fdf4", "#15803d"),
    "each": ("#fdf4ff", "#c026d3"),
    "complete": ("#dcfce7", "#16a34a"),
    "escalate": ("#ffedd5", "#ea580c"),
}
"""The fill and the outline of each look; words on a fill are of `_INK`."""

_SAYS = Text("A flowchart of {} steps and {} ways", "流程图：{} 个步骤，{} 条出边")
_WALKED = Text("; the path of a run is marked: {}", "；标出了一次运行的路径：{}")
_VISIT = Text("visit {}", "第 {} 步")
_ILLEGAL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u202a-\u202e\u2066-\u2069]"
)
"""What XML cannot hold, and what would turn the text around it."""


def draw_svg(drawing: Drawing, walk: Walk | None = None, language: str = "en") -> str:
    """The SVG of `drawing`, with the path of a run over it where there is one.

    Raises `UserError` where the library that lays it out is not installed.
    """
    placed = place(drawing)
    across, down = (side + 2 * _MARGIN for side in placed.size)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="title desc" '
        f'width="{across:.0f}" height="{down:.0f}" viewBox="0 0 {across:.0f} {down:.0f}" '
        f'font-family="{_FONT}" fill="{_INK}">'
    )
    lines = [
        head,
        f'<title id="title">{_text(drawing.title)}</title>',
        f'<desc id="desc">{_text(_description(drawing, walk, language))}</desc>',
        f'<g transform="translate({_MARGIN:.0f} {_MARGIN:.0f})">',
        *(line for arrow in placed.arrows for line in _arrow(arrow, walk)),
        *_beginning(placed),
        *(line for box in placed.boxes for line in _box(box, walk, language)),
        *(line for arrow in placed.arrows for line in _label(arrow, walk)),
        "</g>",
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _description(drawing: Drawing, walk: Walk | None, language: str) -> str:
    said = _SAYS.in_(language).format(len(drawing.boxes), len(drawing.arrows))
    if walk is not None:
        order = sorted((at, step) for step, visits in walk.visits.items() for at in visits)
        said += _WALKED.in_(language).format(" → ".join(step for _, step in order))
    return f"{drawing.description.strip()} {said}".strip()


def _beginning(placed: Placement) -> Iterator[str]:
    if placed.begin is not None:
        x, y = placed.begin
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="7" fill="{_LINE}"/>'


def _box(placed: PlacedBox, walk: Walk | None, language: str) -> Iterator[str]:
    """One step: outline, words, and when a run has been there."""
    box = placed.box
    visits = walk.visits.get(box.step, ()) if walk is not None else ()
    faded = ' opacity="0.45"' if walk is not None and not visits else ""
    told = f"{box.number} {box.title}" + (f" ({box.detail})" if box.detail else "")
    yield f'<g class="step {box.look}" data-step="{_text(box.step)}"{faded}>'
    yield f"<title>{_text(told)}</title>"
    yield from _outline(placed, bold=bool(visits))
    x = placed.centre[0]
    y = placed.centre[1] - _height(placed) / 2
    for line in placed.title:
        y += TITLE_SIZE * LINE
        yield _words(line, x, y - TITLE_SIZE * 0.38, TITLE_SIZE, ' font-weight="600"')
    for line in placed.detail:
        y += DETAIL_SIZE * LINE
        yield _words(line, x, y - DETAIL_SIZE * 0.38, DETAIL_SIZE, ' fill="#475569"')
    if visits:
        yield from _badge(placed, visits, language)
    yield "</g>"


def _height(placed: PlacedBox) -> float:
    return (len(placed.title) * TITLE_SIZE + len(placed.detail) * DETAIL_SIZE) * LINE


def _outline(placed: PlacedBox, *, bold: bool) -> Iterator[str]:
    """The shape of a look: no two are told apart by colour alone."""
    look = placed.box.look
    fill, stroke = _FILLS[look]
    thick = 3.0 if bold else 2.5 if look == "write" else 1.5
    style = f'fill="{fill}" stroke="{_WALK if bold else stroke}" stroke-width="{thick}"'
    (x, y), (w, h) = placed.centre, placed.size
    left, top = x - w / 2, y - h / 2
    if look == "each":
        yield _rect(left + 5, top + 5, w - 5, h - 5, 6, style)
        yield _rect(left, top, w - 5, h - 5, 6, style)
    elif placed.box.end is not None or look == "wait":
        yield _rect(left, top, w, h, h / 2, style)
        if placed.box.end == "complete":
            yield _rect(left + 4, top + 4, w - 8, h - 8, h / 2 - 4, f'fill="none" stroke="{stroke}"')
    elif look in ("ask", "route"):
        yield _polygon(_hexagon(left, top, w, h, 14 if look == "ask" else 8), style)
    else:
        yield _rect(left, top, w, h, 2 if look == "call" else 6, style)
        if look == "call":
            for at in (left + 6, left + w - 6):
                yield f'<path d="M{at:.1f} {top:.1f}v{h:.1f}" stroke="{stroke}" stroke-width="1.5"/>'
        elif look == "model":
            yield f'<path d="M{left + w - 13:.1f} {top:.1f}l13 13h-13z" fill="{stroke}"/>'
    if placed.box.writes and placed.box.end is None:
        yield _rect(left, top, 7, h - (5 if look == "each" else 0), 3, f'fill="{_FILLS["write"][1]}"')


def _hexagon(left: float, top: float, w: float, h: float, slope: float) -> list[Point]:
    middle = top + h / 2
    return [
        (left, middle),
        (left + slope, top),
        (left + w - slope, top),
        (left + w, middle),
        (left + w - slope, top + h),
        (left + slope, top + h),
    ]


def _badge(placed: PlacedBox, visits: Sequence[int], language: str) -> Iterator[str]:
    """When the step was visited, at its upper left corner."""
    said = _order(visits)
    across = width(said, 11) + 12
    left = placed.centre[0] - placed.size[0] / 2 - 8
    top = placed.centre[1] - placed.size[1] / 2 - 9
    yield f"<g><title>{_text(_VISIT.in_(language).format(said))}</title>"
    yield _rect(left, top, across, 18, 9, f'fill="{_WALK}"')
    yield _words(said, left + across / 2, top + 13, 11, ' fill="#ffffff" font-weight="600"')
    yield "</g>"


def _order(numbers: Sequence[int]) -> str:
    """A few numbers, with … for the rest."""
    return (
        ", ".join(map(str, numbers)) if len(numbers) <= 4 else f"{numbers[0]}, {numbers[1]} … {numbers[-1]}"
    )


def _arrow(placed: PlacedArrow, walk: Walk | None) -> Iterator[str]:
    arrow = placed.arrow
    fault = arrow is not None and arrow.kind == "error"
    taken = _taken(placed, walk)
    colour = _WALK if taken else _FAULT if fault else _LINE
    dots = ' stroke-dasharray="2 5" stroke-linecap="round"' if fault else ""
    faded = ' opacity="0.45"' if walk is not None and not taken else ""
    kind = "begin" if arrow is None else arrow.kind
    first, *rest = placed.points
    path = f"M{first[0]:.1f} {first[1]:.1f}"
    if rest:
        path += "C" + " ".join(f"{x:.1f} {y:.1f}" for x, y in rest)
    yield f'<g class="way {kind}" stroke="{colour}" fill="{colour}"{faded}>'
    if arrow is not None and arrow.label:
        yield f"<title>{_text(arrow.label)}</title>"
    yield f'<path d="{path}" fill="none" stroke-width="{2.5 if taken else 1.6}"{dots}/>'
    yield _polygon(_head(placed.points[-1], placed.tip), 'stroke="none"')
    yield "</g>"


def _taken(placed: PlacedArrow, walk: Walk | None) -> tuple[int, ...]:
    if walk is None:
        return ()
    if placed.arrow is None:
        return (1,) if walk.visits else ()
    return walk.taken.get(placed.arrow.key, ())


def _head(start: Point, tip: Point) -> list[Point]:
    """The head of an arrow: a triangle from where the line ends to its tip."""
    along = atan2(tip[1] - start[1], tip[0] - start[0])
    back = (tip[0] - 10 * cos(along), tip[1] - 10 * sin(along))
    aside = (4.2 * sin(along), -4.2 * cos(along))
    return [tip, (back[0] + aside[0], back[1] + aside[1]), (back[0] - aside[0], back[1] - aside[1])]


def _label(placed: PlacedArrow, walk: Walk | None) -> Iterator[str]:
    """The words of a way on a plate of their own, over all lines; and when it was taken."""
    taken = _taken(placed, walk) if placed.arrow is not None else ()
    fault = placed.arrow is not None and placed.arrow.kind == "error"
    if placed.label_at is not None:
        faded = ' opacity="0.45"' if walk is not None and not taken else ""
        (x, y), (w, h) = placed.label_at, label_size(placed.label)
        stroke = _FAULT if fault else "#cbd5e1"
        yield f'<g class="label"{faded}>'
        yield _rect(x - w / 2, y - h / 2, w, h, 4, f'fill="#ffffff" stroke="{stroke}" stroke-width="0.8"')
        top = y - len(placed.label) * LABEL_SIZE * LINE / 2
        for i, line in enumerate(placed.label, 1):
            yield _words(line, x, top + i * LABEL_SIZE * LINE - LABEL_SIZE * 0.38, LABEL_SIZE, "")
        yield "</g>"
    if taken and walk is not None and placed.arrow is not None and len(walk.visits[placed.arrow.start]) > 1:
        yield _when_taken(placed, taken)
    if placed.signpost is not None:
        faded = ' opacity="0.45"' if walk is not None and not taken else ""
        (x, y), (w, h) = placed.signpost.centre, placed.signpost.size
        yield f'<g class="signpost"{faded}>'
        yield _rect(
            x - w / 2, y - h / 2, w, h, h / 2, f'fill="#f8fafc" stroke="{_LINE}" stroke-dasharray="4 3"'
        )
        yield _words(placed.signpost.words, x, y + LABEL_SIZE * 0.36, LABEL_SIZE, "")
        yield "</g>"


def _when_taken(placed: PlacedArrow, taken: Sequence[int]) -> str:
    """After which visits a way was taken: beside its label, or at its middle."""
    said = _order(taken)
    x, y = placed.points[len(placed.points) // 2]
    if placed.label_at is not None:
        x = placed.label_at[0] + label_size(placed.label)[0] / 2
        y = placed.label_at[1] - label_size(placed.label)[1] / 2
    across = width(said, 10) + 9
    plate = _rect(x - across / 2, y - 8, across, 16, 8, f'fill="#ffffff" stroke="{_WALK}"')
    words = _words(said, x, y + 3.6, 10, f' fill="{_WALK}" font-weight="600"')
    return f'<g class="taken">{plate}{words}</g>'


def _words(line: str, x: float, y: float, size: float, style: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" text-anchor="middle"{style}>{_text(line)}</text>'
    )


def _rect(x: float, y: float, w: float, h: float, corner: float, style: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" rx="{corner:.1f}" {style}/>'


def _polygon(points: Iterable[Point], style: str) -> str:
    return f'<polygon points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}" {style}/>'


def _text(words: str) -> str:
    """Words as XML text or attribute."""
    return escape(_ILLEGAL.sub("\ufffd", words))
