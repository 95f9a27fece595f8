"""A Graphviz graph (DOT) read as a procedure. Source: https://graphviz.org/doc/info/lang.html.

    digraph returns {
        known [label="Is the order known?", shape=diamond];
        ask -> known;
        known -> refund [label="yes"];
        known -> person [label="no"];
    }

Read: the whole language, with chains, subgraphs as ends of edges, defaults, ports, HTML labels and records. Looks
(colours, ranks, sizes) are passed over; what has a meaning and no place in a procedure is noted.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NoReturn

from sopwith.errors import Text
from sopwith.lang.chart import Arrow, Box, Chart, Shape
from sopwith.lang.chart_procedure import read_chart, with_tool_line
from sopwith.lang.document import Document
from sopwith.lang.dot_token import Token, tokens
from sopwith.lang.label_text import words_of_html
from sopwith.lang.problem import Problems
from sopwith.lang.source import Source
from sopwith.lang.tree import MAX_DEPTH, too_long

_SHAPES = {
    Shape.CHOICE: {"diamond", "mdiamond"},
    Shape.QUESTION: {"hexagon"},
    Shape.END: {"oval", "doublecircle", "circle", "mcircle", "ellipse"},
    Shape.ESCALATE: {"invtrapezium"},
    Shape.MARK: {"point"},
}
_FORM = Text(
    "an edge is written 'a -> b [label=\"words\"];', a node 'a [label=\"words\"];'",
    '边写作“a -> b [label="文字"];”，节点写作“a [label="文字"];”',
)
_SAY_IT = Text("say in words what it means", "请用文字写明其含义")
_IDENTIFIER = re.compile(r"[A-Za-z0-9_]*")
_ESCAPE = re.compile(r"\\(?P<letter>.)", re.DOTALL)
_RECORD = re.compile(r"(?<!\\)(?:[{}|]|<[^<>]*>)")

_Attributes = dict[str, Token]


def read_dot(text: str, file: str = "<text>") -> Document:
    """The procedure that the graph `text` draws. Raises `ProcedureError` with a diagnostic for every problem."""
    problems = Problems(file)
    chart = Chart()
    if not too_long(text, problems):
        chart = _Parser(Source(text, file), problems).chart()
    return read_chart(chart, problems, text)


class _Stop(Exception):
    """The rest of the text cannot be read; the problem has been noted."""


@dataclass(slots=True)
class _Scope:
    """A graph or subgraph that is read: its defaults, its own attributes, the nodes in it, and its named subgraphs."""

    node: _Attributes = field(default_factory=dict[str, Token])
    edge: _Attributes = field(default_factory=dict[str, Token])
    graph: _Attributes = field(default_factory=dict[str, Token])
    members: dict[str, None] = field(default_factory=dict[str, None])
    groups: dict[str, _Scope] = field(default_factory=dict[str, "_Scope"])


@dataclass(slots=True)
class _Edge:
    tail: str
    head: str
    attributes: _Attributes
    at: int


class _Parser:
    """One reading, by recursive descent; subgraphs are nested at most `MAX_DEPTH` deep."""

    def __init__(self, source: Source, problems: Problems) -> None:
        self.source = source
        self.problems = problems
        self.tokens = tokens(source, problems)
        self.ahead = next(self.tokens)
        self.nodes: dict[str, tuple[int, _Attributes]] = {}
        self.edges: list[_Edge] = []
        self.name = ""
        self.strict = False

    def chart(self) -> Chart:
        """What was read, up to the first mistake."""
        top = _Scope()
        with suppress(_Stop):
            self._graph(top)
        title = ""
        if "label" in top.graph:
            title = self._words(top.graph["label"], self.name)
        elif not _IDENTIFIER.fullmatch(self.name):
            title = self.name  # people's words, of which no id keeps all
        chart = Chart(self.name, " ".join(title.split()))
        for key, (at, attributes) in self.nodes.items():
            chart.boxes[key] = self._box(key, at, attributes)
        seen: set[tuple[str, str]] = set()
        for edge in self.edges:
            if self.strict and (edge.tail, edge.head) in seen:
                continue
            seen.add((edge.tail, edge.head))
            chart.arrows += self._arrows(edge)
        return chart

    # grammar

    def _graph(self, top: _Scope) -> None:
        self.strict = self._accept("strict") is not None
        head = self._accept("digraph", "graph")
        if head is None:
            if not self.problems:
                self._stop(Text("the text does not begin with 'digraph {'", "文本没有以“digraph {”开头"))
            raise _Stop
        if self.ahead.kind == "id":
            self.name = self._next().text
        self._expect("{")
        self._statements(top, depth=1)
        self._expect("}")
        if self.ahead.kind != "end":
            self._stop(Text("a second graph begins here", "这里开始了第二个图"))

    def _statements(self, scope: _Scope, depth: int) -> None:
        while not self.ahead.is_("}") and self.ahead.kind != "end":
            if self._accept(";") is None:
                self._statement(scope, depth)

    def _statement(self, scope: _Scope, depth: int) -> None:
        defaults = self._accept("graph", "node", "edge")
        if defaults is not None:
            held = {"graph": scope.graph, "node": scope.node, "edge": scope.edge}[defaults.text.lower()]
            held.update(self._attributes())
            return
        first = self.ahead
        tails = self._end(scope, depth)
        if first.kind == "id" and not first.is_("subgraph") and self._accept("=") is not None:
            scope.graph[first.text] = self._value()
            return
        if not self.ahead.is_("->", "--"):
            if first.kind == "id" and not first.is_("subgraph"):
                self._node(first, scope, self._attributes(), explicit=True)
            return
        pairs: list[tuple[str, str, int]] = []
        for name in tails[1]:
            self._node(name, scope, {})
        while (arrow := self._accept("->", "--")) is not None:
            heads = self._end(scope, depth)
            for name in heads[1]:
                self._node(name, scope, {})
            pairs += ((tail, head, arrow.at) for tail in tails[0] for head in heads[0])
            if arrow.text == "--":
                self._lost(
                    arrow.at, _NO_DIRECTION, Text("write '->' in a 'digraph'", "请在 digraph 中写“->”")
                )
            tails = heads
        attributes = scope.edge | self._attributes()
        self.edges += (_Edge(tail, head, attributes, at) for tail, head, at in pairs)

    def _end(self, scope: _Scope, depth: int) -> tuple[list[str], list[Token]]:
        """One end of an edge: a node (with its token), or the nodes of a subgraph."""
        if self.ahead.is_("subgraph", "{"):
            return self._subgraph(scope, depth), []
        if self.ahead.kind != "id":
            self._stop(Text("a node is expected", "这里应是节点"))
        name = self._next()
        text = self._joined(name).text
        port = self._accept(":")
        while port is not None:
            self._value()
            port = self._accept(":")
        return [text], [Token("id", text, name.at, quoted=True)]

    def _subgraph(self, scope: _Scope, depth: int) -> list[str]:
        word = self._accept("subgraph")
        name = self._next() if word is not None and self.ahead.kind == "id" else None
        start = self._expect("{")
        if depth >= MAX_DEPTH:
            self.problems.add(
                "SW102",
                self.source.place(start.at),
                Text(f"nested deeper than {MAX_DEPTH} levels", f"嵌套超过 {MAX_DEPTH} 层"),
                Text("make the graph flatter", "请减少嵌套"),
            )
            raise _Stop
        inner = _Scope(dict(scope.node), dict(scope.edge))
        if name is not None:  # one name in one graph is one subgraph
            first = scope.groups.setdefault(name.text, inner)
            inner.members, inner.groups = first.members, first.groups
        self._statements(inner, depth + 1)
        self._expect("}")
        scope.members |= inner.members
        if name is not None and name.text.startswith("cluster"):
            self._cluster(name, inner)
        return list(inner.members)

    def _cluster(self, name: Token, inner: _Scope) -> None:
        title = self._words(inner.graph["label"], name.text) if "label" in inner.graph else name.text
        title = " ".join(title.split())
        self._lost(
            name.at,
            Text(
                f"the frame '{title}' is not kept, only the nodes in it",
                f"不保留外框“{title}”，只读取其中的节点",
            ),
            Text(
                "number the steps, or write a procedure for each frame",
                "可为步骤编号，或为每个外框写一个流程",
            ),
        )

    def _node(self, name: Token, scope: _Scope, attributes: _Attributes, *, explicit: bool = False) -> None:
        scope.members[name.text] = None
        if name.text not in self.nodes:
            self.nodes[name.text] = (name.at, scope.node | attributes)
        elif explicit:
            self.nodes[name.text] = (name.at, self.nodes[name.text][1] | attributes)

    def _attributes(self) -> _Attributes:
        found: _Attributes = {}
        while self._accept("[") is not None:
            while self._accept("]") is None:
                if self._accept(",", ";") is not None:
                    continue
                if self.ahead.kind != "id":
                    self._stop(Text("an attribute is expected", "这里应是属性"))
                key = self._next()
                found[key.text] = (
                    self._value() if self._accept("=") is not None else Token("id", "true", key.at)
                )
        return found

    def _value(self) -> Token:
        if self.ahead.kind not in ("id", "html"):
            self._stop(Text("a value is expected", "这里应是值"))
        return self._joined(self._next())

    def _joined(self, first: Token) -> Token:
        """`"a" + "b"` is one text."""
        parts = [first.text]
        while first.quoted and self._accept("+") is not None:
            if not self.ahead.quoted:
                self._stop(Text("a text in quotes is expected after '+'", "“+”之后应是带引号的文本"))
            parts.append(self._next().text)
        return Token(first.kind, "".join(parts), first.at, first.quoted)

    # tokens

    def _next(self) -> Token:
        token = self.ahead
        self.ahead = next(self.tokens, token)
        return token

    def _accept(self, *words: str) -> Token | None:
        return self._next() if self.ahead.is_(*words) else None

    def _expect(self, mark: str) -> Token:
        if not self.ahead.is_(mark):
            self._stop(Text(f"'{mark}' is expected", f"这里应是“{mark}”"))
        return self._next()

    def _stop(self, message: Text) -> NoReturn:
        """Note what is wrong with the next token, unless the text has broken off, which has been noted."""
        if self.ahead.kind != "end" or not self.problems:
            met = self.ahead.text[:40]
            told = Text(f"{message.en}: {met}", f"{message.zh}：{met}") if met else message
            self.problems.add("SW701", self.source.place(self.ahead.at), told, _FORM)
        raise _Stop

    # boxes and arrows

    def _box(self, key: str, at: int, attributes: _Attributes) -> Box:
        shape_name = attributes["shape"].text.lower() if "shape" in attributes else ""
        shape = next((shape for shape, names in _SHAPES.items() if shape_name in names), Shape.STEP)
        label = attributes.get("label")
        words = key if label is None else self._words(label, key, record="record" in shape_name.lower())
        if shape is Shape.MARK and words == key:
            words = ""
        if "image" in attributes:
            said = attributes["image"].text
            self._lost(
                attributes["image"].at, Text(f"a picture is not kept: {said}", f"不保留图片：{said}"), _SAY_IT
            )
        return with_tool_line(Box(key, words, shape, None, self.source.place(at)))

    def _arrows(self, edge: _Edge) -> list[Arrow]:
        held = edge.attributes
        if "style" in held and held["style"].text == "invis":
            return []
        labels = [
            self._words(held[key], "") for key in ("label", "xlabel", "headlabel", "taillabel") if key in held
        ]
        words = " ".join(" ".join(labels).split())
        arrow = Arrow(edge.tail, edge.head, words, self.source.place(edge.at))
        direction = held["dir"].text if "dir" in held else "forward"
        back = Arrow(edge.head, edge.tail, words, arrow.place)
        return {"back": [back], "both": [arrow, back]}.get(direction, [arrow])

    def _words(self, label: Token, name: str, *, record: bool = False) -> str:
        """The words of a label, a line for each line that it shows."""
        if label.kind == "html":
            words, lost = words_of_html(label.text)
            for tag in lost:
                self._lost(
                    label.at, Text(f"<{tag}> in a label is not kept", f"不保留标签中的 <{tag}>"), _SAY_IT
                )
            return words
        text = _RECORD.sub("\n", label.text) if record else label.text

        def character(escape: re.Match[str]) -> str:
            letter = escape["letter"]
            return {"n": "\n", "l": "\n", "r": "\n", "N": name, "G": self.name, "L": "", "E": ""}.get(
                letter, letter
            )

        lines = (" ".join(line.split()) for line in _ESCAPE.sub(character, text).split("\n"))
        return "\n".join(line for line in lines if line)

    def _lost(self, at: int, message: Text, hint: Text) -> None:
        self.problems.warn("SW707", self.source.place(at), message, hint)


_NO_DIRECTION = Text("an edge without a direction is read from left to right", "无方向的边按从左到右读取")
