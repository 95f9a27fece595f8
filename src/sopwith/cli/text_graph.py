"""A drawing in a terminal: one line a step, arms of a branch indented, every other way named by where it goes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Iterator, Mapping

from sopwith.cli.columns import cut, width
from sopwith.errors import Text
from sopwith.lang.drawing import Drawing, DrawnStep, DrawnWay, Look, Walk

_MARKS: Mapping[Look, str] = {
    "route": "◇",
    "read": "□",
    "write": "■",
    "model": "◆",
    "ask": "?",
    "wait": "◷",
    "call": "▷",
    "each": "≡",
    "complete": "●",
    "escalate": "!",
}
_LEGEND: Mapping[Look, Text] = {
    "route": Text("decides", "分支"),
    "read": Text("tool", "工具"),
    "write": Text("writes", "写操作"),
    "model": Text("model", "模型"),
    "ask": Text("person", "询问人员"),
    "wait": Text("waits", "等待"),
    "call": Text("procedure", "流程"),
    "each": Text("for each", "逐项"),
    "complete": Text("completes", "完成"),
    "escalate": Text("hands over", "转交人工"),
}
_BAR, _ARM, _LAST, _GAP = "│", "├", "╰", "  "
_DEEPEST = 14
"""Arms inside so many others are not indented any further: their numbers say where they are."""
_LEAST = 24
"""A line of this many cells is never cut."""


def draw_text(drawing: Drawing, cells: int, walk: Walk | None = None, language: str = "en") -> list[str]:
    """The lines of `drawing`, each at most `cells` wide, and a last one that says what the marks mean."""
    return _Lines(drawing, cells, walk or Walk(), language).draw()


class _Lines:
    """One drawing on its way to text."""

    def __init__(self, drawing: Drawing, cells: int, walk: Walk, language: str) -> None:
        self.drawing = drawing
        self.cells = cells
        self.walk = walk
        self.language = language
        self.box = {box.step: box for box in drawing.boxes}
        self.ways: dict[str, list[DrawnWay]] = defaultdict(list)
        for arrow in drawing.arrows:
            self.ways[arrow.start].append(arrow)
        self.line: dict[str, list[DrawnStep]] = defaultdict(list)
        """The boxes by the line that their numbers stand on: "" for the main line, `4-2` for an arm."""
        for box in drawing.boxes:
            self.line[box.number.rpartition(" ")[0]].append(box)

    def draw(self) -> list[str]:
        """All lines. The arms of a branch are walked on a stack, since they may lie deep in each other."""
        found: list[str] = []
        stack: list[Iterator[str | _Arm]] = [self._steps(_Arm("", "", 0))]
        while stack:
            item = next(stack[-1], None)
            if item is None:
                stack.pop()
            elif isinstance(item, str):
                found.append(item)
            else:
                stack.append(self._steps(item))
        return [*found, "", self._legend()]

    def _steps(self, arm: _Arm) -> Iterator[str | _Arm]:
        boxes = self.line[arm.line]
        for i, box in enumerate(boxes):
            follows = boxes[i + 1].step if i + 1 < len(boxes) else None
            yield self._cut(f"{arm.indent}{self._box(box)}")
            onward = yield from self._ways(arm, box, follows)
            if follows is not None:
                yield f"{arm.indent}{_BAR}" if onward else arm.indent.rstrip()

    def _box(self, box: DrawnStep) -> str:
        visits = self.walk.visits.get(box.step, ())
        been = f"  ✓ {', '.join(map(str, visits))}" if visits else ""
        name = box.title if box.title == box.step else f"{box.title} ({box.step})"
        detail = f" · {box.detail}" if box.detail else ""
        return f"{_MARKS[box.look]} {box.number} · {name}{detail}{been}"

    def _ways(self, arm: _Arm, box: DrawnStep, follows: str | None) -> Generator[str | _Arm, None, bool]:
        """The ways on from a box, and its arms. Returns whether the run may go straight on to the box below."""
        ways = self.ways[box.step]
        onward = any(way.end == follows for way in ways)
        shown = [way for way in ways if not (way.end == follows and way.kind == "always")]
        for i, way in enumerate(shown):
            last = i == len(shown) - 1 and not onward
            line = self._arm_of(way) if way.kind != "error" else None
            yield self._cut(
                f"{arm.indent}{_LAST if last else _ARM}{self._way(way, follows, line is not None)}"
            )
            if line is not None:
                yield arm.inside(line, " " if last else _BAR)
        return onward

    def _arm_of(self, way: DrawnWay) -> str | None:
        """The line of the arm that a way opens; None where it opens none."""
        line = self.box[way.end].number.rpartition(" ")[0]
        opened = f"{self.box[way.start].number}-{way.index + 1}"
        return line if line == opened and self.line[line][0].step == way.end else None

    def _way(self, way: DrawnWay, follows: str | None, opens: bool) -> str:
        taken = self.walk.taken.get(way.key, ())
        been = f"  ✓ {', '.join(map(str, taken))}" if taken else ""
        dash = "┄" if way.kind == "error" else "─"
        said = f"{way.label} " if way.label else ""
        if opens:
            return f"{dash} {said.rstrip()}{been}"
        if way.end == follows:
            return f"{dash} {said}↓{been}"
        end = self.box[way.end]
        where = f"{'↺' if way.back else '→'} {end.number} · {end.title}{been}"
        room = max(_LEAST, self.cells - width(where) - 24)
        return f"{dash} {cut(said, room) + ' ' if said else ''}{where}"

    def _cut(self, line: str) -> str:
        if width(line) <= self.cells:
            return line
        indent = line[: len(line) - len(line.lstrip(" │"))]
        return indent + cut(line[len(indent) :], max(_LEAST, self.cells - width(indent)))

    def _legend(self) -> str:
        drawn = {box.look for box in self.drawing.boxes}
        looks: list[Look] = [look for look in _LEGEND if look in drawn]
        return "  ".join(f"{_MARKS[look]} {_LEGEND[look].in_(self.language)}" for look in looks)


class _Arm:
    """A line of steps, and what stands to the left of it."""

    def __init__(self, line: str, indent: str, depth: int) -> None:
        self.line = line
        self.indent = indent
        self.depth = depth

    def inside(self, line: str, bar: str) -> _Arm:
        """An arm of this one; `bar` goes on beside it."""
        deeper = self.depth < _DEEPEST
        return _Arm(line, f"{self.indent}{bar}{_GAP}" if deeper else self.indent, self.depth + 1)
