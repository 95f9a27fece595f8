"""A Mermaid flowchart read as a procedure. Syntax: https://mermaid.js.org/syntax/flowchart.html.

    flowchart TD
      ask[Ask for the order] --> known{Known?}
      known -->|yes| refund["Refund it: <br/> `shop.refund`"] & note
      known -- no --> person([Hand over to a person])

Read: boxes of every shape, arrows of every kind and length with their labels, chains, `&`, subgraphs, quoted and
Markdown labels, entity codes, comments. Looks (`style`, `classDef`, `direction`) are passed over.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field, replace
from typing import NoReturn, cast

from sopwith.errors import Text
from sopwith.ir.diagnostic import Place
from sopwith.ir.value import Json
from sopwith.lang.chart import Arrow, Box, Chart, Shape
from sopwith.lang.chart_procedure import expression_asked, read_chart, with_tool_line
from sopwith.lang.document import Document
from sopwith.lang.label_text import words_of_html
from sopwith.lang.problem import Problems
from sopwith.lang.source import Source
from sopwith.lang.tree import read_tree, too_long

_HEAD = re.compile(r"(?:flowchart(?:-elk)?|graph)\b[ \t]*(?:TB|TD|BT|RL|LR|[<>^v])?[ \t]*(?=[;\n]|$)")
_OTHER_DRAWING = re.compile(
    r"(?:sequenceDiagram|classDiagram|stateDiagram(?:-v2)?|erDiagram|gantt|pie|journey|mindmap|timeline|gitGraph)\b"
)
_FRONT = re.compile(r"\s*---[ \t]*\n(?P<yaml>.*?)\n[ \t]*---[ \t]*\n", re.DOTALL)
_SPACE = re.compile(r"(?:[ \t　]|%%[^\n]*)*")
_GAP = re.compile(r"(?:[\s;　]|%%[^\n]*)*")
_KEY = re.compile(r"(?:\w|[.*+#$!?,'/\\]|[^\x00-\x7f]|=(?!=)|-(?![-.]))+")
_LOOKS = re.compile(r"(?:classDef|class|style|linkStyle|direction|accTitle|accDescr)\b[^\n;]*")
_CLICK = re.compile(r"click\b[^\n;]*")
_GROUP = re.compile(r"subgraph\b[ \t]*(?P<rest>[^\n;]*)")
_END = re.compile(r"end\b(?=[ \t]*(?:[;\n&]|$|%%))")
_CLASS = re.compile(r":::[\w-]+(?:,[\w-]+)*")
_ATTRIBUTES = re.compile(r"@\{(?P<inside>(?:[^{}\"]|\"[^\"]*\")*)\}")
_ATTRIBUTE = re.compile(r"(?P<key>\w+)\s*:\s*(?:\"(?P<quoted>[^\"]*)\"|(?P<plain>[^,}\n]+))")
_EDGE_KEY = re.compile(r"\w+@(?=[<xo]?[-=~])")
_LINK = re.compile(
    r"(?P<left>[<xo](?=--|==|-\.))?(?:--+(?P<a>[->xo])|==+(?P<b>[=>xo])|-\.+-(?P<c>[>xo]?)|~~~+)"
)
_OPEN = re.compile(r"(?P<left>[<xo](?=--|==|-\.))?(?P<line>--|==|-\.)(?!\n)")
_CLOSE = {
    "--": re.compile(r"--+(?P<a>[->xo])"),
    "==": re.compile(r"==+(?P<a>[=>xo])"),
    "-.": re.compile(r"\.+-(?P<a>[>xo]?)"),
}
_AND = re.compile(r"[ \t\n]*&")
_QUOTE = re.compile(r'\s*"(?P<words>[^"]*)"\s*')
_CODE = re.compile(r"#(?P<name>\w+);")
_BRACKETS: tuple[tuple[str, tuple[str, ...], Shape], ...] = (
    ("(((", (")))",), Shape.END),
    ("((", ("))",), Shape.END),
    ("([", ("])",), Shape.END),
    ("(", (")",), Shape.STEP),
    ("[[", ("]]",), Shape.STEP),
    ("[(", (")]",), Shape.STEP),
    ("[/", ("/]", "\\]"), Shape.STEP),
    ("[\\", ("/]", "\\]"), Shape.STEP),
    ("[", ("]",), Shape.STEP),
    ("{{", ("}}",), Shape.QUESTION),
    ("{", ("}",), Shape.CHOICE),
    (">", ("]",), Shape.STEP),
)
_SHAPES = {
    Shape.CHOICE: {"diam", "diamond", "decision", "question"},
    Shape.QUESTION: {"hex", "hexagon", "prepare", "sl-rect", "manual-input"},
    Shape.END: {
        "stadium",
        "pill",
        "terminal",
        "circle",
        "circ",
        "dbl-circ",
        "double-circle",
        "fr-circ",
        "stop",
    },
    Shape.ESCALATE: {"trap-t", "manual", "inv-trapezoid", "trapezoid-top"},
    Shape.MARK: {"sm-circ", "small-circle", "start", "f-circ", "filled-circle", "junction"},
}
_FORM = Text(
    "an arrow is written 'a -->|words| b', a box 'a[words]'; put words with brackets in quotes",
    "箭头写作“a -->|文字| b”，节点写作“a[文字]”；含括号的文字请加引号",
)


def read_mermaid(text: str, file: str = "<text>") -> Document:
    """The procedure that the flowchart `text` draws. Raises `ProcedureError` with a diagnostic for every problem."""
    problems = Problems(file)
    reader = _Reader(Source(text, file), problems)
    if not too_long(text, problems):
        reader.read()
    return read_chart(reader.chart, problems, text)


class _Unread(Exception):
    """The rest of a line cannot be read; the problem has been noted."""


@dataclass(slots=True)
class _Group:
    """A subgraph: its title, its place, and the boxes in it."""

    title: str
    place: Place
    keys: list[str] = field(default_factory=list[str])


class _Reader:
    """One reading: a cursor `at` that moves through the text."""

    def __init__(self, source: Source, problems: Problems) -> None:
        self.source = source
        self.text = source.text
        self.problems = problems
        self.chart = Chart()
        self.at = 0
        self.open: list[_Group] = []
        self.groups: dict[str, _Group] = {}

    def read(self) -> None:
        """Fill the chart; what cannot be read is a problem, and reading goes on with the next line."""
        self._front()
        head = self._take(_HEAD, _GAP)
        other = None if head is not None else self._take(_OTHER_DRAWING)
        if other is not None:
            self._problem(
                Text(f"a {other.group()} is no flowchart", f"{other.group()} 不是流程图"),
                Text("draw the steps as 'flowchart TD'", "请用“flowchart TD”画出步骤"),
            )
            return
        if head is None:
            self._problem(
                Text("the flowchart does not begin with 'flowchart TD'", "流程图没有以“flowchart TD”开头"),
                Text("write 'flowchart TD' as the first line", "请把“flowchart TD”写在第一行"),
            )
            return
        while self._skip(_GAP) < len(self.text):
            try:
                self._statement()
            except _Unread:
                self.at = self._end_of_line()
        for group in self.open:
            self.problems.add(
                "SW701",
                group.place,
                Text(f"the subgraph '{group.title}' has no 'end'", f"子图“{group.title}”没有“end”"),
                Text("close it with a line 'end'", "请用一行“end”结束它"),
            )
        self._resolve_groups()

    # statements

    def _front(self) -> None:
        """The title in the YAML before the chart."""
        front = _FRONT.match(self.text)
        if front is None:
            return
        self.at = front.end()
        value = read_tree(front["yaml"], Problems(self.problems.file)).value
        title = cast("dict[str, Json]", value).get("title") if isinstance(value, dict) else None
        if isinstance(title, str):
            self.chart.title = " ".join(title.split())

    def _statement(self) -> None:
        if self._take(_LOOKS) is not None:
            return
        place = self.source.place(self.at)
        click = self._take(_CLICK)
        if click is not None:
            said = click.group().strip()
            self._lost(
                place,
                Text(f"what a click does is not kept: {said}", f"不保留点击操作：{said}"),
                Text("say in the words of the box what is to be done", "请在节点文字中写明要做什么"),
            )
            return
        group = self._take(_GROUP)
        if group is not None:
            self._open_group(group["rest"].strip(), place)
        elif self._take(_END) is not None:
            if self.open:
                self.open.pop()
            else:
                self._problem(Text("'end' without a subgraph", "“end”没有对应的子图"), _FORM, place)
        else:
            self._chain()

    def _open_group(self, rest: str, place: Place) -> None:
        key, _, title = (part.strip() for part in rest.partition("["))
        title = self._words((title.removesuffix("]") or key).strip().strip('"'), place)
        group = _Group(title, place)
        self.groups.setdefault(key.strip('"') or title, group)
        self.open.append(group)
        self._lost(
            place,
            Text(
                f"the frame '{title}' is not kept, only the boxes in it",
                f"不保留外框“{title}”，只读取其中的节点",
            ),
            Text(
                "number the steps, or write a procedure for each frame",
                "可为步骤编号，或为每个外框写一个流程",
            ),
        )

    def _chain(self) -> None:
        """Boxes, and arrows between them: `a & b --> c -->|words| d`."""
        tails = self._boxes()
        while self._skip(_SPACE) < len(self.text) and self.text[self.at] not in ";\n":
            place = self.source.place(self.at)
            words, left, right, drawn = self._arrow()
            heads = self._boxes()
            for tail in tails if drawn else ():
                for head in heads:
                    self._add(tail, head, words, left, right, place)
            tails = heads

    def _add(self, tail: str, head: str, words: str, left: bool, right: bool, place: Place) -> None:
        if left and not right:
            tail, head = head, tail
        self.chart.arrows.append(Arrow(tail, head, words, place))
        if left and right:
            self.chart.arrows.append(Arrow(head, tail, words, place))
        if not left and not right:
            said = Text(
                "a line without an arrowhead is read in the direction it is written",
                "没有箭头的连线按书写方向读取",
            )
            self._lost(place, said, Text("write '-->'", "请写“-->”"))

    # boxes

    def _boxes(self) -> list[str]:
        found = [self._box()]
        while self._take(_AND) is not None:
            self._skip(_GAP)
            found.append(self._box())
        return found

    def _box(self) -> str:
        start = self._skip(_SPACE)
        key = self._take(_KEY)
        if key is None:
            self._unread(Text("a box is expected", "这里应是一个节点"))
        place = self.source.place(start)
        shape, words = self._corners(place)
        self._take(_CLASS)
        return self._note_box(key.group(), shape, words, place)

    def _note_box(self, key: str, shape: Shape | None, words: str | None, place: Place) -> str:
        before = self.chart.boxes.get(key)
        if before is None:
            for group in self.open:
                group.keys.append(key)
            box = Box(key, key if words is None else words, shape or Shape.STEP, None, place)
        elif words is None and shape is None:
            return key
        else:
            box = replace(
                before,
                words=before.words if words is None else words,
                shape=shape or before.shape,
                tool=None,
                place=place,
            )
        if box.shape is Shape.END and not box.words:
            box = replace(box, shape=Shape.MARK)
        self.chart.boxes[key] = with_tool_line(box)
        return key

    def _corners(self, place: Place) -> tuple[Shape | None, str | None]:
        """The shape and the words that stand behind an id, or None for each that does not."""
        attributes = self._take(_ATTRIBUTES)
        if attributes is not None:
            return self._attributes(attributes["inside"], place)
        self._take(_CLASS)
        for opening, closings, shape in _BRACKETS:
            if not self.text.startswith(opening, self.at):
                continue
            start = self.at
            self.at += len(opening)
            quoted = self._take(_QUOTE)
            ends = [(self.text.find(closing, self.at), closing) for closing in closings]
            end, closing = min(((at, one) for at, one in ends if at >= 0), default=(-1, ""))
            inside = self.text[self.at : end] if end >= 0 else ""
            if (
                end < 0
                or (quoted is not None and inside)
                or (quoted is None and re.match(r'\s*"|[^\n]*\n', inside))
            ):
                self.at = start
                self._unread(Text(f"the bracket '{opening}' is not closed", f"括号“{opening}”没有闭合"))
            self.at = end + len(closing)
            if opening == "[\\" and closing == "/]":
                shape = Shape.ESCALATE
            return shape, self._words(inside if quoted is None else quoted["words"], place)
        return None, None

    def _attributes(self, inside: str, place: Place) -> tuple[Shape | None, str | None]:
        """`@{ shape: diam, label: "words" }`."""
        held = {
            one["key"]: (one["quoted"] or one["plain"] or "").strip() for one in _ATTRIBUTE.finditer(inside)
        }
        shape = next((shape for shape, names in _SHAPES.items() if held.get("shape") in names), None)
        if "img" in held or "icon" in held:
            said = held.get("img") or held.get("icon") or ""
            self._lost(place, Text(f"a picture is not kept: {said}", f"不保留图片：{said}"), _SAY_IT)
        if "shape" in held and shape is None:
            shape = Shape.STEP
        return shape, self._words(held["label"], place) if "label" in held else None

    # arrows

    def _arrow(self) -> tuple[str, bool, bool, bool]:
        """The words of an arrow, whether it points to the left and to the right, and whether it is drawn at all."""
        self._take(_EDGE_KEY)
        start = self.at
        link = self._take(_LINK)
        if link is not None:
            if link.group().startswith("~"):
                return "", False, True, False
            right = (link["a"] or link["b"] or link["c"] or "") in (">", "x", "o")
            self._skip(_SPACE)
            words = ""
            if self.text.startswith("|", self.at):
                end = self.text.find("|", self.at + 1)
                if end < 0 or "\n\n" in self.text[self.at : end]:
                    self._unread(
                        Text("the words of the arrow are not closed with '|'", "箭头文字缺少结尾的“|”")
                    )
                words = self._label(self.text[self.at + 1 : end])
                self.at = end + 1
            return words, link["left"] is not None, right, True
        opened = self._take(_OPEN)
        if opened is None:
            self._unread(Text("an arrow is expected", "这里应是箭头"))
        return self._words_in_the_middle(opened, start)

    def _words_in_the_middle(self, opened: re.Match[str], start: int) -> tuple[str, bool, bool, bool]:
        """The rest of `-- words -->`, of which `--` has been read."""
        quoted = self._take(_QUOTE)
        close = _CLOSE[opened["line"]]
        if quoted is not None:
            closing = close.match(self.text, self.at)
        else:
            closing = close.search(self.text, self.at, self._end_of_line())
        if closing is None:
            self.at = start
            self._unread(Text("an arrow that does not end", "箭头没有写完"))
        words = quoted["words"] if quoted is not None else self.text[self.at : closing.start()]
        self.at = closing.end()
        return self._label(words), opened["left"] is not None, closing["a"] in (">", "x", "o"), True

    def _label(self, words: str) -> str:
        quoted = _QUOTE.fullmatch(words)
        said = self._words(quoted["words"] if quoted is not None else words, self.source.place(self.at))
        return " ".join(said.split())

    # words

    def _words(self, raw: str, place: Place) -> str:
        """The words of a label: entity codes and HTML resolved, a line for each line that it shows."""
        text = raw.strip()
        marked = len(text) > 2 and text[0] == text[-1] == "`" and raw.count("`") == 2
        if marked and expression_asked(html.unescape(text)) is None:
            text = re.sub(r"\*\*|__", "", text[1:-1])
        # Codes come last: `#60;b#62;` is no tag.
        hidden: list[str] = []

        def hide(code: re.Match[str]) -> str:
            hidden.append(_character(code["name"]) or code.group())
            return f"\ue000{len(hidden) - 1}\ue001"

        words, lost = words_of_html(_CODE.sub(hide, text.replace("\\n", "<br/>")))
        for tag in lost:
            self._lost(place, Text(f"<{tag}> in a label is not kept", f"不保留标签中的 <{tag}>"), _SAY_IT)
        return re.sub(r"\ue000([0-9]+)\ue001", lambda found: hidden[int(found[1])], words)

    # groups

    def _resolve_groups(self) -> None:
        """Arrows to a frame lead to its first box, arrows from it leave its last one."""
        boxes = self.chart.boxes
        named = {key: group for key, group in self.groups.items() if key in boxes and group.keys}
        if not named:
            return
        arrows: list[Arrow] = []
        for arrow in self.chart.arrows:
            tail, head = arrow.tail, arrow.head
            if tail in named or head in named:
                key = tail if tail in named else head
                self._lost(
                    arrow.place,
                    Text(
                        f"the arrow leads to or from the frame '{named[key].title}'",
                        f"箭头连接外框“{named[key].title}”",
                    ),
                    Text(
                        "it is read as leading to its first box, or from its last: draw it between boxes",
                        "按指向其首个节点或从其末个节点出发读取；请在节点之间画箭头",
                    ),
                )
            tail = (
                next((k for k in reversed(named[tail].keys) if k not in named), tail)
                if tail in named
                else tail
            )
            head = next((k for k in named[head].keys if k not in named), head) if head in named else head
            arrows.append(replace(arrow, tail=tail, head=head))
        self.chart.arrows[:] = arrows
        used = {key for arrow in arrows for key in (arrow.tail, arrow.head)}
        for key in named:
            if key not in used:
                del boxes[key]

    # the cursor

    def _take(self, pattern: re.Pattern[str], before: re.Pattern[str] | None = None) -> re.Match[str] | None:
        if before is not None:
            self._skip(before)
        found = pattern.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
        return found

    def _skip(self, pattern: re.Pattern[str]) -> int:
        found = pattern.match(self.text, self.at)
        self.at = found.end() if found is not None else self.at
        return self.at

    def _end_of_line(self) -> int:
        end = self.text.find("\n", self.at)
        return len(self.text) if end < 0 else end

    def _lost(self, place: Place, message: Text, hint: Text) -> None:
        self.problems.warn("SW707", place, message, hint)

    def _problem(self, message: Text, hint: Text, place: Place | None = None) -> None:
        self.problems.add("SW701", place or self.source.place(self.at), message, hint)

    def _unread(self, message: Text) -> NoReturn:
        rest = self.text[self.at : self._end_of_line()].strip()[:60]
        told = Text(f"{message.en}: {rest}", f"{message.zh}：{rest}") if rest else message
        self._problem(told, _FORM)
        raise _Unread


_SAY_IT = Text("say in words what it means", "请用文字写明其含义")


def _character(name: str) -> str | None:
    """The character of an entity code: `quot`, `35`; None where there is none."""
    if name.isdecimal():
        code = int(name) if len(name) < 8 else 0
        return chr(code) if 0 < code < 0xD800 or 0xE000 <= code < 0x110000 else None
    found = html.unescape(f"&{name};")
    return None if found == f"&{name};" else found
