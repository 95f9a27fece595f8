"""A flowchart read as a procedure: a box is a step, an arrow is a way on."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from sopwith.errors import Text
from sopwith.ir.diagnostic import Place
from sopwith.ir.procedure import Edge, Procedure, Step
from sopwith.lang.arrow_label import Label, is_condition, read_label, says_no, says_yes
from sopwith.lang.chart import Arrow, Box, Chart, Shape
from sopwith.lang.document import Document, Path
from sopwith.lang.identifier import identifier
from sopwith.lang.kinds import UNUSABLE
from sopwith.lang.mention import note_names, tools_mentioned
from sopwith.lang.problem import Problems
from sopwith.lang.routine import id_of_file, inputs_used, text_value
from sopwith.lang.routine_line import Condition, read_fields
from sopwith.lang.sight import with_sight

LONGEST_NAME = 60
_ESCALATES = re.compile(
    r"\b(?:transfer(?:red)?|escalat\w*|hand(?:ed)?[ -]?over|human|live agent)\b|转人工|转接|人工|升级处理",
    re.IGNORECASE,
)
_ENDS = re.compile(
    r"\b(?:end|ends|stop|finish\w*|done|complete\w*|clos\w+|resolved|exit)\b|结束|完成|终止|关闭|已解决",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\s*(?:[0-9]+-[0-9]+ )*[0-9]+ · ")
_STARTS = re.compile(r"\b(?:start|begin)\b|开始|起点", re.IGNORECASE)
_ASKED = re.compile(r"(?P<words>[^`]*)`(?P<code>[^`]+)`\s*[?？]?")
_NAMED = re.compile(r"(?P<name>[^:：]{1,40}?)\s*(?::\s+|：\s*)(?P<do>\S.*)", re.DOTALL)


def read_chart(chart: Chart, problems: Problems, text: str) -> Document:
    """The procedure that `chart` draws. Raises `ProcedureError` with all `problems` where one of them is an error."""
    return _Reading(chart, problems).document(text)


MOST_ARROWS = 20_000
"""A chart with more arrows is not read: groups that were joined box by box make as many of a short line."""


class _Reading:
    """One reading of one chart."""

    def __init__(self, chart: Chart, problems: Problems) -> None:
        self.problems = problems
        self.id, self.title = chart.id, chart.title
        self.boxes = dict(chart.boxes)
        self.arrows = chart.arrows
        self.start = self._take_mark()
        self.out: dict[str, list[Arrow]] = defaultdict(list)
        for arrow in self.arrows:
            self.out[arrow.tail].append(arrow)
        self.ids: dict[str, str] = {}
        for n, box in enumerate(self.boxes.values(), 1):
            tool = (box.tool or "").rpartition(".")[2]
            id_ = identifier(box.key, tool or f"step_{n}", {*self.ids.values(), *UNUSABLE})
            self.ids[box.key] = id_
        self.places: dict[Path, Place] = {(): Place(file=problems.file)}

    def document(self, text: str) -> Document:
        if not self.boxes and not self.problems:
            self.problems.add(
                "SW702",
                Place(file=self.problems.file),
                Text("the chart has no boxes", "图中没有节点"),
                Text(
                    "draw a box for each step, and arrows between them",
                    "请为每个步骤画一个节点，并用箭头连接",
                ),
            )
        if len(self.arrows) > MOST_ARROWS:
            self.problems.add(
                "SW102",
                Place(file=self.problems.file),
                Text(
                    f"the chart has {len(self.arrows)} arrows; at most {MOST_ARROWS} are read",
                    f"图中有 {len(self.arrows)} 个箭头，最多读取 {MOST_ARROWS} 个",
                ),
                Text("do not join every box of a group to every other", "不要把一组节点两两相连"),
            )
        self.problems.refuse()
        start = self.start if self.start is not None else self._guess_start()
        steps = {self.ids[key]: self._step(box) for key, box in self.boxes.items()}
        written = {step.writes for step in steps.values()}
        steps = {name: with_inputs(step, written) for name, step in steps.items()}
        self.places["start",] = self.boxes[start].place
        procedure = Procedure(
            id=identifier(self.id, id_of_file(self.problems.file)),
            name=self.title,
            start=self.ids[start],
            inputs=inputs_used(steps.values()),
            steps=steps,
        )
        return Document(
            with_sight(procedure), self.places, self.problems.file, text, self.problems.diagnostics(), "chart"
        )

    # where it begins

    def _take_mark(self) -> str | None:
        """The box that an empty mark points to, where exactly one mark is the beginning; the mark is no step."""
        heads = {arrow.head for arrow in self.arrows}
        marks = [
            (box.key, out)
            for box in self.boxes.values()
            if box.shape is Shape.MARK and not box.words and box.key not in heads
            for out in [[arrow for arrow in self.arrows if arrow.tail == box.key]]
            if len(out) == 1 and not out[0].words
        ]
        if len(marks) != 1:
            return None
        key, (arrow,) = marks[0]
        del self.boxes[key]
        self.arrows = [one for one in self.arrows if one is not arrow]
        return arrow.head

    def _guess_start(self) -> str:
        """The box that no arrow leads to; where several are or none is, the one that says so, else the first."""
        heads = {arrow.head for arrow in self.arrows}
        roots = [key for key in self.boxes if key not in heads]
        if len(roots) == 1:
            return roots[0]
        among = roots or list(self.boxes)
        named = [key for key in among if _STARTS.search(f"{key} {self.boxes[key].words}")]
        chosen = (named or among)[0]
        if len(named) != 1:
            listed = ", ".join(f"'{self._said(key)}'" for key in roots[:5])
            said = (
                Text(f"several boxes could be the first: {listed}", f"有多个节点可能是起点：{listed}")
                if roots
                else Text(
                    "an arrow leads to every box: none is the first", "每个节点都有箭头指向，无法确定起点"
                )
            )
            taken = self._said(chosen)
            hint = Text(
                f"'{taken}' is taken; name the first box 'Start', or lead one arrow to it from an empty circle",
                f"已取“{taken}”；请把第一个节点命名为“开始”，或用空心圆的箭头指向它",
            )
            self.problems.warn("SW703", self.boxes[chosen].place, said, hint)
        return chosen

    def _said(self, key: str) -> str:
        return " ".join(self.boxes[key].words.split()) or key

    # steps

    def _step(self, box: Box) -> Step:
        id_ = self.ids[box.key]
        path: Path = ("steps", id_)
        self.places[path] = box.place
        name, do = name_and_do(box.words, id_, box.key)
        ways = self.out[box.key]
        data: dict[str, Any] = {"id": id_, "name": name, "do": do, "tool": self._tool(box)}
        data |= self._fields(box, data)
        if box.shape is Shape.QUESTION and not data["tool"]:
            data |= {"do": None, "ask": do or name or id_}
        labels = [(arrow, read_label(arrow.words)) for arrow in ways]
        code = expression_asked(box.words)
        if code is not None:
            data["name"], data["do"] = (code[0] or code[1]), None
            labels = self._answered(box, code[1], labels)
        data["on_error"] = self._edges(
            (*path, "on_error"), [(a, found.condition) for a, found in labels if found.after_error]
        )
        on = [(arrow, found) for arrow, found in labels if not found.after_error]
        if len(on) == 1 and on[0][1].plain and box.shape is not Shape.CHOICE:
            arrow = on[0][0]
            self.places[(*path, "next", 0)] = arrow.place
            data["next"] = (Edge(to=self.ids[arrow.head], guidance=arrow.words),)
        else:
            data["next"] = self._choice(path, [(arrow, found.condition) for arrow, found in on])
        if not on:
            data["end"] = self._end(box)
        return Step.model_validate(data)

    def _tool(self, box: Box) -> str | None:
        if box.tool or expression_asked(box.words) is not None:
            return box.tool
        mentioned = tools_mentioned(box.words)
        if len(mentioned) > 1:
            listed = ", ".join(mentioned)
            self.problems.warn(
                "SW706",
                box.place,
                Text(f"the box names several tools: {listed}", f"该节点提到多个工具：{listed}"),
                Text(
                    f"{mentioned[0]} is taken; draw a box for each tool",
                    f"已取 {mentioned[0]}；请为每个工具画一个节点",
                ),
            )
        return mentioned[0] if mentioned else None

    def _fields(self, box: Box, data: dict[str, Any]) -> dict[str, Any]:
        """What the words of a box say after `Input:` and `Output:`, and the words without it."""
        words = " ".join(box.words.split())
        said = read_fields(words)
        if said is None:
            return {}
        name, do = name_and_do(said.words, data["id"], box.key)
        note_names(said.needs, said.gives, box.place, self.problems)
        found: dict[str, Any] = {"name": name, "do": do, "needs": said.needs, "gives": said.gives}
        found |= {"uses": said.inputs or None, "as": said.output}
        if said.output and not data["tool"]:
            found["returns"] = text_value()
        return found

    def _answered(self, box: Box, code: str, labels: list[tuple[Arrow, Label]]) -> list[tuple[Arrow, Label]]:
        """The ways on from a box that asks an expression: yes is where it is true, no is the rest."""
        found: list[tuple[Arrow, Label]] = []
        for arrow, label in labels:
            judged = label.condition is not None and label.condition.judge is not None
            if not label.after_error and judged and says_no(arrow.words):
                label = Label(Condition())
            elif not label.after_error and judged and says_yes(arrow.words):
                label = Label(Condition(when=code))
            elif judged and not label.after_error:
                self.problems.warn(
                    "SW704",
                    arrow.place,
                    Text(
                        f"'{arrow.words}' is neither yes nor no, and the box asks `{code}`",
                        f"节点问的是 `{code}`，而“{arrow.words}”既非“是”也非“否”",
                    ),
                    Text("write yes and no on its arrows", "请在箭头上写“是”和“否”"),
                )
            found.append((arrow, label))
        return found

    def _end(self, box: Box) -> str:
        if box.shape is Shape.ESCALATE or (box.shape is not Shape.MARK and _ESCALATES.search(box.words)):
            return "escalate"
        if box.shape not in (Shape.END, Shape.MARK) and not _ENDS.search(f"{box.words} {box.key}"):
            self.problems.warn(
                "SW705",
                box.place,
                Text(
                    f"no arrow leaves '{self._said(box.key)}': the run completes there",
                    f"“{self._said(box.key)}”没有出边：运行在此完成",
                ),
                Text(
                    "if it should go on, draw the arrow; else round its corners",
                    "若应继续，请补画箭头；否则请画成圆角",
                ),
            )
        return "complete"

    # ways on

    def _choice(self, path: Path, ways: list[tuple[Arrow, Condition | None]]) -> tuple[Edge, ...]:
        """The ways on: those with a condition, then the one for what is left."""
        if len(ways) > 1:
            ways = self._with_rest(ways)
        return self._edges((*path, "next"), ways)

    def _with_rest(self, ways: list[tuple[Arrow, Condition | None]]) -> list[tuple[Arrow, Condition | None]]:
        """`ways` with a condition each, the one for what is left last.

        An arrow without a label is what is left; else it is the one whose label says no.
        """
        bare = [i for i, (_, condition) in enumerate(ways) if condition is None]
        rest = [i for i, (_, condition) in enumerate(ways) if condition is not None and condition.otherwise]
        if bare and not rest:
            rest = [bare.pop()]
        if not rest:
            rest = [i for i, (arrow, one) in enumerate(ways) if one and one.judge and says_no(arrow.words)]
            rest = rest if len(rest) == 1 else []
        for i in bare:
            arrow = ways[i][0]
            self.problems.warn(
                "SW704",
                arrow.place,
                Text(
                    f"one of several ways on from '{self._said(arrow.tail)}' has no label",
                    f"“{self._said(arrow.tail)}”有多条出边，其中一条没有标注",
                ),
                Text(
                    "write on the arrow when it is taken; the words of its target stand in",
                    "请在箭头上写明条件；暂以目标节点的文字代替",
                ),
            )
        found: list[tuple[Arrow, Condition | None]] = [
            (arrow, Condition(judge=self._said(arrow.head)) if i in bare else condition)
            for i, (arrow, condition) in enumerate(ways)
            if i not in rest
        ]
        return found + [(ways[i][0], Condition()) for i in rest]

    def _edges(self, path: Path, ways: list[tuple[Arrow, Condition | None]]) -> tuple[Edge, ...]:
        edges: list[Edge] = []
        for i, (arrow, condition) in enumerate(ways):
            edge = Edge(to=self.ids[arrow.head])
            if condition is not None:
                edge = replace_condition(edge, condition, arrow.words)
            for key in ("to", "when", "judge"):
                self.places[(*path, i, key)] = arrow.place
            self.places[(*path, i)] = arrow.place
            edges.append(edge)
        return tuple(edges)


def expression_asked(words: str) -> tuple[str, str] | None:
    """The words and the expression of a box that asks one in backticks: ``Too warm? `temp > 8` ``.

    A lone name in backticks is a tool.
    """
    found = _ASKED.fullmatch(" ".join(words.split()))
    if found is None or not is_condition(found["code"].strip()):
        return None
    return found["words"].rstrip(" :："), found["code"].strip()


def replace_condition(edge: Edge, condition: Condition, words: str) -> Edge:
    """`edge` under `condition`; the words of a label that says no stay as its guidance."""
    said = words if condition.otherwise and says_no(words) else None
    return edge.model_copy(
        update={
            "when": condition.when,
            "judge": condition.judge,
            "otherwise": condition.otherwise,
            "guidance": said,
        }
    )


def with_inputs(step: Step, written: Collection[str | None]) -> Step:
    """`step`, where a name that no step writes is an input."""
    if step.uses is None:
        return step
    uses = tuple(n if "." in n or n in written else f"inputs.{n}" for n in step.uses)
    return step.model_copy(update={"uses": uses})


def name_and_do(words: str, id_: str, key: str) -> tuple[str | None, str | None]:
    """The name of a step and what it does, from the words of its box: `name: what is done`, or one of the two."""
    words = " ".join(words.split())
    if words in ("", id_, key):
        return (None if key == id_ or not words else key), None
    parts = _NAMED.fullmatch(words)
    if parts is not None:
        return parts["name"].strip(), parts["do"].strip()
    return (words, None) if len(words) <= LONGEST_NAME else (None, words)


def with_tool_line(box: Box) -> Box:
    """`box` as our own charts write it: the number before its words is left out, since numbers are derived, and the
    last line of its words is its tool, where it stands in backticks."""
    head, newline, last = _NUMBER.sub("", box.words, count=1).rpartition("\n")
    last = last.strip()
    if newline and len(last) > 2 and last[0] == last[-1] == "`" and expression_asked(last) is None:
        return replace(box, words=head.strip(), tool=last[1:-1].strip())
    return replace(box, words=_NUMBER.sub("", box.words, count=1).strip())
