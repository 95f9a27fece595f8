"""Static guidance: what the words of the graph around a position say, rendered without a model."""

from __future__ import annotations

from dataclasses import dataclass

from sopwith.errors import ExpressionError, Text
from sopwith.expr.template import Template
from sopwith.ir.cut import cut
from sopwith.ir.guidance import GuidanceGiven, Match
from sopwith.ir.value import digest
from sopwith.lang.machine import Node
from sopwith.lang.numbering import label
from sopwith.run.book import Book, harmless
from sopwith.run.position import Way, called_alike, is_done, own_error, ways_on
from sopwith.run.preview import as_text
from sopwith.run.state import State
from sopwith.run.values import Values, scope
from sopwith.tools.names import alias

HOPS = 2
GRAPH_BYTES = 4000
"""Bytes of one advice, at most; a graph that is larger is cut at a whole step, and says so."""

MOST_WORDS = 600
"""Characters of the words or the arguments of one step."""

LAST = 3
"""So many of the latest actions are recalled."""

_NEXT = Text("Next: {}", "下一步：{}")
_DONE = Text("Done: {}. Then:", "已完成：{}。然后：")
_FAILED = Text("Failed: {}. Then:", "已失败：{}。然后：")
_AFTER = Text("After it:", "之后：")
_WHOLE = Text(
    "That is no step of the procedure. All its steps:", "该操作不属于流程中的任何步骤。流程的全部步骤："
)
_RECENT = Text("Latest: {}", "最近的操作：{}")
_ARGUMENTS = Text("arguments {}", "参数 {}")
_NEEDS = Text("needs {}", "需要 {}")
_GIVES = Text("gives {}", "产出 {}")
_MORE = Text("({} more)", "（另有 {} 项）")
_STATE = {True: Text("open", "可走"), False: Text("closed", "不可走")}
_OTHERWISE = Text("otherwise", "否则")
_IF = Text("if {}", "如果 {}")


@dataclass(frozen=True, slots=True)
class Advice:
    """What a guided model is told, and the event that says where that comes from."""

    text: str
    event: GuidanceGiven


def advise(book: Book, node: Node, state: State, values: Values) -> Advice:
    """The advice at `node`: its neighbourhood of two hops, or the whole region where the last action is no step's."""
    lost = state.noted is not None and state.noted[0] == "no_step"
    writer = _Writer(book, node, state, values)
    if lost:
        writer.region()
    else:
        writer.neighbourhood()
    text = writer.text()
    event = GuidanceGiven(
        step=node.step.id,
        match=_match(node, state, lost=lost),
        hops=0 if lost else HOPS,
        fallback=lost,
        steps=tuple(writer.steps),
        bytes=len(text.encode()),
        text=digest(text.encode()),
    )
    return Advice(text, event)


def _match(node: Node, state: State, *, lost: bool) -> Match:
    cursor = state.cursor
    if lost:
        return "none"
    if not state.actions or cursor is None:
        return "start"
    other = cursor.tool is not None and node.tool is not None and node.tool.name != cursor.tool
    return "alias" if other and called_alike(node, alias(cursor.tool or "")) else "exact"


class _Writer:
    """Writes about the graph around `at`, up to so many bytes. `steps` are those it has spoken of."""

    def __init__(self, book: Book, at: Node, state: State, values: Values) -> None:
        self.book = book
        self.at = at
        self.state = state
        self.values = values
        self.steps: dict[str, None] = {}
        self._nodes = book.machine.nodes
        self._inside = frozenset(book.machine.regions[at.step.id].steps)
        self._lines: list[str] = []
        self._used = 0
        self._left_out = 0

    def text(self) -> str:
        """All that was written, and the latest actions."""
        lines = list(self._lines)
        if self._left_out:
            lines.append(self._say(_MORE, self._left_out))
        if self.state.actions:
            lines.append(self._say(_RECENT, " → ".join(self.state.actions[-LAST:])))
        return "\n".join(lines)

    def region(self) -> None:
        """Every step of the region in a line, with its ways on."""
        self._add(self._say(_WHOLE))
        for step in self.book.machine.regions[self.at.step.id].steps:
            node = self._nodes[step]
            ways = "; ".join(
                f"{self._condition(Way(edge, None))}{self._title(self._nodes[edge.edge.to])}"
                for edge in node.edges
            )
            self._add(f"- {self._brief(node)}{f' → {ways}' if ways else ''}", step)

    def neighbourhood(self) -> None:
        """The step at hand, the ways on from it, and the ways on from there."""
        at, state = self.at, self.state
        failed = own_error(at, state) is not None and bool(at.on_error)
        if failed:
            self._add(self._say(_FAILED, self._title(at)), at.step.id)
        elif not is_done(at, state):
            self._add(self._say(_NEXT, self._step(at)), at.step.id)
            self._add_pitfalls(at.step.pitfalls)
            if at.edges:
                self._add(self._say(_AFTER))
        elif at.kind != "route" or state.actions:
            self._add(self._say(_DONE, self._title(at)), at.step.id)
        for way in ways_on(self.book, at, state, self.values):
            self._way(way)
        if at.step.end is not None and not failed:
            self._add(f"- {self._ending(at)}")

    def _way(self, way: Way) -> None:
        to = self._nodes[way.edge.edge.to]
        self._add(f"- {self._condition(way)}{self._step(to)}", to.step.id)
        if way.edge.edge.guidance:
            self._add(f"  {way.edge.edge.guidance}")
        self._add_pitfalls((*way.edge.edge.pitfalls, *to.step.pitfalls))
        if way.open is not False:
            for edge in to.edges:
                then = self._nodes[edge.edge.to]
                self._add(f"  → {self._condition(Way(edge, None))}{self._brief(then)}", then.step.id)

    def _add(self, line: str, step: str | None = None) -> None:
        size = len(line.encode()) + 1
        if self._left_out or self._used + size > GRAPH_BYTES:
            self._left_out += 1
            return
        self._used += size
        self._lines.append(line)
        if step is not None:
            self.steps[step] = None

    def _add_pitfalls(self, pitfalls: tuple[str, ...]) -> None:
        for pitfall in dict.fromkeys(pitfalls):
            self._add(f"  ! {pitfall}")

    def _say(self, text: Text, *values: object) -> str:
        return text.in_(self.book.language).format(*values)

    def _condition(self, way: Way) -> str:
        edge = way.edge
        if edge.kind == "always":
            return ""
        said = edge.edge.when if edge.kind == "when" else edge.edge.judge
        words = self._say(_OTHERWISE) if edge.kind == "otherwise" else self._say(_IF, said)
        state = "" if way.open is None else f" [{self._say(_STATE[way.open])}]"
        return f"{words}{state}: "

    def _title(self, node: Node) -> str:
        return f"{label(node.number, self.book.language)} {node.step.title}"

    def _brief(self, node: Node) -> str:
        """A step in a few words, and what to call for it."""
        action = self._action(node)
        return f"{self._title(node)} ({action})" if action else self._title(node)

    def _action(self, node: Node) -> str:
        """What to call for a step: where it lies outside of the region or is an end, `finish` leads there."""
        if node.step.id not in self._inside:
            return f"{self.book.block.finish_name(self.at)} complete"
        if node.kind == "route":
            return "" if node.step.end is None else self._ending(node)
        return self.book.block.name(node)

    def _ending(self, node: Node) -> str:
        return f"{self.book.block.finish_name(self.at)} {node.step.end}"

    def _step(self, node: Node) -> str:
        """A step in full: what to call, what to do, its bound arguments, what it needs and gives."""
        step = node.step
        words = self._rendered(node.do or node.answer or node.ask)
        parts = [words] if words else []
        if node.bound:
            parts.append(self._say(_ARGUMENTS, self._rendered(node.arguments)))
        parts += [self._say(_NEEDS, step.needs)] if step.needs else []
        parts += [self._say(_GIVES, step.gives)] if step.gives else []
        return f"{self._brief(node)}: {'; '.join(parts)}" if parts else self._brief(node)

    def _rendered(self, template: Template | None) -> str:
        """Words or arguments with their values, or as they are written where those are not there yet."""
        if template is None:
            return ""
        names = [path[0] for path in template.paths]
        inputs = self.book.procedure.inputs
        try:
            found = template.render(scope(self.state, inputs, names, self.values.whole))
        except ExpressionError:
            found = template.value
        return harmless(cut(as_text(found), MOST_WORDS))
