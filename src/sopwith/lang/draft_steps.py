"""The steps of a draft: its outline read as a procedure that Routine text can say.

A numbered item is a step, the numbered items below it follow it, bullets below it belong to its words. A sentence that
begins with a condition opens a branch; where no other way is given, what does not meet the condition goes on with the
next step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from sopwith.errors import Text
from sopwith.ir.diagnostic import Place
from sopwith.ir.procedure import Edge, Procedure, Step
from sopwith.lang.document import Document, Path
from sopwith.lang.draft import Draft, Table
from sopwith.lang.draft_number import StepNumbers
from sopwith.lang.draft_outline import Entry, Outline, outline
from sopwith.lang.draft_sentence import (
    Action,
    Sentence,
    read_action,
    read_sentence,
    steps_named,
    with_clause,
)
from sopwith.lang.draft_table import StepRow, cases_of, steps_of
from sopwith.lang.identifier import identifier
from sopwith.lang.kinds import UNUSABLE
from sopwith.lang.mention import note_names, tools_mentioned
from sopwith.lang.problem import Problems
from sopwith.lang.routine import id_of_file, inputs_used, text_value
from sopwith.lang.routine_line import Condition, End, Line, read_fields
from sopwith.lang.sight import with_sight


def read_draft(draft: Draft, problems: Problems, text: str) -> Document:
    """The procedure that `draft` describes, with a note for everything in it that was not read.

    Raises `ProcedureError` where it has no steps, or refers to a step that is not there.
    """
    return _Builder(outline(draft, problems), problems).document(text)


@dataclass(slots=True, eq=False)
class _Node:
    """A step that is being made: its edges are filled in as what follows becomes known.

    One that `hands_over` to a person ends the run where nothing follows it.
    """

    line: Line
    place: Place
    id: str = ""
    end: End | None = None
    hands_over: bool = False
    edges: list[tuple[_Open, _Node]] = field(default_factory=list["tuple[_Open, _Node]"])

    def sorted_edges(self) -> list[tuple[_Open, _Node]]:
        """The ways on in the order of the text, `otherwise` last."""
        return sorted(
            self.edges,
            key=lambda edge: (edge[0].condition is not None and edge[0].condition.otherwise, edge[0].rank),
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Open:
    """A way on whose target is not known yet; `rank` is its place among the ways of its step."""

    node: _Node
    place: Place
    condition: Condition | None = None
    rank: int = 0

    def lead_to(self, target: _Node) -> None:
        self.node.edges.append((self, target))


class _Builder:
    """Goes through the outline in the order of the text."""

    def __init__(self, found: Outline, problems: Problems) -> None:
        self.found = found
        self.problems = problems
        self.nodes: list[_Node] = []
        self.open: list[_Open] = []
        self.gotos: list[tuple[_Open, str, tuple[int, ...]]] = []
        self.numbers: StepNumbers[_Node] = StepNumbers(problems)
        self.named = set[str]().union(*map(steps_named, _words_of(found.entries)))
        words = "".join((found.title, *found.description, *_words_of(found.entries)))
        self.zh = sum("\u4e00" <= c <= "\u9fff" for c in words) * 4 > len(words)

    def document(self, text: str) -> Document:
        self._parts(self.found.entries)
        self._resolve_gotos()
        self._close()
        self._lead_past_endings()
        if not self.nodes and not self.problems:
            self._no_steps(text)
        self.problems.refuse()
        places: dict[Path, Place] = {(): Place(file=self.problems.file)}
        if self.found.title_place is not None:
            places["name",] = self.found.title_place
        self._name_ids()
        written = {node.line.output or node.id for node in self.nodes}
        steps = {node.id: self._step(node, written, places) for node in self.nodes}
        procedure = Procedure(
            id=id_of_file(self.problems.file),
            name=" ".join(self.found.title.split()),
            description="\n".join(self.found.description),
            inputs=inputs_used(steps.values()),
            start=self.nodes[0].id,
            steps=steps,
        )
        noted = self.problems.diagnostics()
        return Document(with_sight(procedure), places, self.problems.file, text, noted, "draft")

    def _no_steps(self, text: str) -> None:
        self.problems.add(
            "SW710",
            Place(file=self.problems.file),
            Text("the draft has no steps", "草稿中没有步骤")
            if text.strip()
            else Text("the file is empty", "文件是空的"),
            Text("write the steps as a numbered list", "请把步骤写成编号列表"),
        )

    # the outline

    def _parts(self, parts: list[Entry | Table]) -> None:
        """Entries and tables that follow each other; cases that stand side by side are one decision."""
        at = 0
        while at < len(parts):
            part = parts[at]
            if isinstance(part, Table):
                self._table(part)
                at += 1
                continue
            sentence = self._sentence(part, parts[at + 1 :])
            if sentence.action is not None:
                self._entry(part, sentence)
                at += 1
                continue
            cases: list[tuple[Entry, Sentence]] = []
            while at < len(parts) and isinstance(entry := parts[at], Entry):
                said = sentence if entry is part else read_sentence(entry.text)
                if said.action is not None or (cases and not _belongs(cases, said, entry)):
                    break
                cases.append((entry, said))
                at += 1
            self._decide(cases)

    def _sentence(self, entry: Entry, later: list[Entry | Table]) -> Sentence:
        """What an entry says. One that ends or goes elsewhere, where nothing but it could lead to the numbered entry
        after it, does so under a condition."""
        said = read_sentence(entry.text)
        following = next((one for one in later if isinstance(one, Entry) and one.number), None)
        leaves = said.action is not None and (said.action.goto or said.action.end == "complete")
        if not (leaves and entry.number and following) or following.number.rpartition(".")[2] in self.named:
            return said
        return with_clause(entry.text) or said

    def _entry(self, entry: Entry, sentence: Sentence) -> None:
        """A step without a condition, with the words below it, and then its own steps and cases."""
        if sentence.action is None:
            return
        self._doubt(sentence, entry.place)
        details, rest = self._details(entry.parts)
        action = sentence.action
        if entry.is_heading and details and action.line.name is None:
            action = replace(action, line=replace(action.line, name=action.line.do, do=None))
            if len(details) == 1 and not action.goto and not action.end:
                action, details = _said_below(action, details)
        self.numbers.scopes.append(entry.scope)
        node = self._act(action, entry.place, details)
        note_names(node.line.needs, node.line.gives, entry.place, self.problems)
        self._number(entry, node)
        self._parts(rest)
        self.numbers.scopes.pop()

    def _details(self, parts: list[Entry | Table]) -> tuple[list[str], list[Entry | Table]]:
        """The words of bullets and paragraphs that are no cases, and what is left: steps, cases, tables."""
        words: list[str] = []
        rest: list[Entry | Table] = []
        for part in parts:
            sentence = read_sentence(part.text) if isinstance(part, Entry) and not part.ordered else None
            if isinstance(part, Table) or sentence is None or sentence.action is None:
                rest.append(part)
                continue
            self._doubt(sentence, part.place)
            inner, below = self._details(part.parts)
            words += (" ".join(part.text.split()).rstrip(".。;；"), *inner)
            rest += below
        return [one for one in words if one], rest

    def _number(self, entry: Entry, node: _Node) -> None:
        if entry.number:
            self.numbers.note(entry.number, entry.scope, node)
        for number in entry.headed:
            self.numbers.note_heading(number, node)

    def _decide(self, cases: list[tuple[Entry, Sentence]]) -> None:
        """Cases: a branch each from the step before, or from one that only decides."""
        first, sentence = cases[0]
        decider = self._decider(first, sentence.cases[0].condition)
        exits: list[_Open] = []
        closed, rank = False, 0
        for entry, said in cases:
            self._number(entry, decider)
            self._doubt(said, entry.place)
            self.numbers.scopes.append(entry.scope)
            details, rest = self._details(entry.parts)
            for i, case in enumerate(said.cases):
                closed, rank = closed or case.condition is None, rank + 1
                self.open = [_Open(decider, entry.place, Condition(judge=case.condition), rank)]
                exits += self._branch(case.action, entry.place, *((details, rest) if i == 0 else ([], [])))
            self.numbers.scopes.pop()
        self.open = exits if closed else [*exits, _Open(decider, first.place, Condition())]

    def _branch(
        self, action: Action, place: Place, details: list[str], rest: list[Entry | Table]
    ) -> list[_Open]:
        """One branch of a decision, which is open now. Returns the ways on from its end."""
        if action.empty and action.goto is not None and not details and not rest:
            self._goto(action.goto)
            return []
        if not (action.empty and action.end is None and action.goto is None and not details):
            self._act(action, place, details, in_branch=True)
        self._parts(rest)
        return self.open

    def _decider(self, first: Entry, condition: str | None) -> _Node:
        """The step before, where nothing but it leads here and the cases have no number; else one that only decides."""
        if len(self.open) == 1 and self.open[0].condition is None and not first.number:
            return self.open.pop().node
        words = condition or ""
        do = f"判断是否{words}" if self.zh else f"Decide whether {words}"
        return self._add(Line("1", do=do.strip()), first.place)

    def _act(self, action: Action, place: Place, details: list[str], *, in_branch: bool = False) -> _Node:
        """The step that does `action`, and where it goes on."""
        line = action.line
        if details:
            line, details = _with_fields(line, details)
            parts = [*([line.do] if line.do else []), *details]
            line = replace(line, do=("；" if self.zh else "; ").join(parts))
        node = self._add(replace(line, tool=line.tool or self._tool(line, place)), place)
        if action.goto is not None:
            self._goto(action.goto)
        elif action.end == "complete" or (action.end is not None and in_branch):
            node.end = action.end
            self.open = []
        else:
            node.hands_over = action.end is not None
        return node

    def _table(self, table: Table) -> None:
        scope = -1 - len(self.nodes) - (1 << 20)  # of this table only: no list has such a number
        cases = cases_of(table, self.problems)
        if cases:
            self._decide([(Entry("", row.place), Sentence(None, (row.case,))) for row in cases])
            return
        for row in steps_of(table, self.problems):
            self.numbers.scopes.append(scope)
            self._row(row, scope)
            self.numbers.scopes.pop()

    def _row(self, row: StepRow, scope: int) -> None:
        """The step of a row, or the cases in it, and where it goes on."""
        entry, action = _row(row, scope), row.sentence.action
        self._doubt(row.sentence, row.place)
        if action is not None:
            self._number(entry, self._act(action, row.place, []))
            return
        if row.before is not None:
            self._number(entry, self._act(row.before, row.place, []))
            entry = Entry("", row.place, scope=scope)
        self._decide([(entry, replace(row.sentence, doubts=()))])
        if row.after is None or not self.open:
            return
        if row.after.goto is not None:
            ways, self.open = self.open, []
            self.gotos += ((way, row.after.goto, tuple(self.numbers.scopes)) for way in ways)
        else:
            self._act(row.after, row.place, [], in_branch=True)

    def _add(self, line: Line, place: Place) -> _Node:
        node = _Node(line, place)
        for way in self.open:
            way.lead_to(node)
        self.nodes.append(node)
        self.open = [_Open(node, place)]
        return node

    # what is left at the end

    def _resolve_gotos(self) -> None:
        for way, number, scopes in self.gotos:
            target = self.numbers.find(number, scopes, way.place)
            if target is not None:
                way.lead_to(target)

    def _goto(self, number: str) -> None:
        """The way that is open leads to the step that `number` means here."""
        self.gotos.append((self.open.pop(), number, tuple(self.numbers.scopes)))

    def _close(self) -> None:
        """Ways that lead on to nothing end the run."""
        for way in self.open:
            if way.condition is None:
                way.node.end = "escalate" if way.node.hands_over else "complete"
        self.open = [way for way in self.open if way.condition is not None]
        if self.open:
            self._add(Line("1"), self.open[-1].place).end = "complete"

    def _lead_past_endings(self) -> None:
        """Where nothing leads to a step behind one that leaves, what meets no condition before that goes on with it.

        1. If it is late, refuse. 2. Write down why. 3. End the process. 4. Refund: only what is late comes to 2 and 3.
        """
        into: dict[_Node, list[tuple[_Open, _Node]]] = {node: [] for node in self.nodes}
        for node in self.nodes:
            for way, to in node.edges:
                into[to].append((way, to))
        reached = self._reached()
        for last, node in zip(self.nodes, self.nodes[1:], strict=False):
            if into[node]:
                continue
            first = last
            while len(into[first]) == 1 and into[first][0][0].condition is None:
                first = into[first][0][0].node
            rest = [way for way, _ in into[first] if way.condition is not None and way.condition.otherwise]
            if len(rest) != 1 or not any(way not in rest and way.node in reached for way, _ in into[first]):
                continue
            (way,) = rest
            way.node.edges = [(one, node if one is way else to) for one, to in way.node.edges]
            into[first] = [(one, to) for one, to in into[first] if one is not way]
            into[node] = [(way, node)]
            self.problems.warn("SW718", first.place, *_OF_A_BRANCH)

    def _reached(self) -> set[_Node]:
        """The steps that some path leads to."""
        found: set[_Node] = set()
        todo = self.nodes[:1]
        while todo:
            node = todo.pop()
            if node not in found:
                found.add(node)
                todo += (to for _, to in node.edges)
        return found

    def _name_ids(self) -> None:
        taken: set[str] = set(UNUSABLE)
        for n, node in enumerate(self.nodes, 1):
            words = node.line.output or (node.line.tool or "").rpartition(".")[2]
            node.id = identifier(words, f"step_{n}", taken)
            taken.add(node.id)

    def _step(self, node: _Node, written: set[str], places: dict[Path, Place]) -> Step:
        line, path = node.line, ("steps", node.id)
        places[path] = node.place
        edges = node.sorted_edges()
        for i, (way, _) in enumerate(edges):
            places[(*path, "next", i)] = way.place
        uses = tuple(name if "." in name or name in written else f"inputs.{name}" for name in line.inputs)
        return Step.model_validate(
            {
                "id": node.id,
                "name": line.name,
                "do": line.do,
                "needs": line.needs,
                "gives": line.gives,
                "tool": line.tool,
                "as": line.output,
                "uses": uses or None,
                "returns": text_value() if line.output and not line.tool else None,
                "next": tuple(_edge(to.id, way.condition) for way, to in edges),
                "end": node.end,
            }
        )

    def _tool(self, line: Line, place: Place) -> str | None:
        mentioned = tools_mentioned(" ".join(part for part in (line.name, line.do) if part))
        if len(mentioned) > 1:
            listed = ", ".join(mentioned)
            self.problems.warn(
                "SW706",
                place,
                Text(f"the step names several tools: {listed}", f"该步骤提到多个工具：{listed}"),
                Text(
                    f"{mentioned[0]} is taken; write a step for each",
                    f"已取 {mentioned[0]}；请为每个工具写一个步骤",
                ),
            )
        return mentioned[0] if mentioned else None

    def _doubt(self, sentence: Sentence, place: Place) -> None:
        for words in sentence.doubts:
            self.problems.warn(
                "SW714",
                place,
                Text(
                    f"'{words}' inside the sentence is not read as a condition or a way",
                    f"句中的“{words}”未读作条件或去向",
                ),
                Text(
                    "begin the sentence with it: 'If …, then …', or end it with 'go to step 3'",
                    "请把条件放在句首：“如果……，则……”，或以“转到步骤 3”结尾",
                ),
            )


_OF_A_BRANCH = (
    Text(
        "this and what follows it up to the ending is read as part of the branch above, since nothing else leads to"
        " the steps after it",
        "从这里到结束（或跳转）为止读作上面分支的一部分，否则后面的步骤无法到达",
    ),
    Text(
        "indent it below the condition, or end the condition's own sentence with it",
        "请把它缩进到条件之下，或写在条件那句话的末尾",
    ),
)


def _row(row: StepRow, scope: int) -> Entry:
    return Entry("", row.place, row.number, scope=scope)


def _words_of(parts: list[Entry | Table]) -> Iterator[str]:
    """All words of the outline."""
    for part in parts:
        if isinstance(part, Table):
            yield from (cell for row in part.rows for cell in row.cells)
        else:
            yield part.text
            yield from _words_of(part.parts)


def _with_fields(line: Line, details: list[str]) -> tuple[Line, list[str]]:
    """`line` with what the words below it say after `Input:` and `Output:`, and those words without it."""
    left: list[str] = []
    for words in details:
        said = read_fields(words)
        if said is None:
            left.append(words)
            continue
        left += [said.words] if said.words else []
        line = replace(
            line,
            inputs=line.inputs or said.inputs,
            needs=line.needs or said.needs,
            output=line.output or said.output,
            gives=line.gives or said.gives,
        )
    return line, left


def _said_below(action: Action, details: list[str]) -> tuple[Action, list[str]]:
    """The one paragraph below a heading, read as an item is; the heading is its name."""
    said = read_action(details[0])
    if said.line.name is not None:
        return action, details
    return replace(said, line=replace(said.line, name=action.line.name)), []


def _belongs(cases: list[tuple[Entry, Sentence]], said: Sentence, entry: Entry) -> bool:
    """Whether a further case belongs to the decision before it: numbered cases are decisions of their own, unless they
    say otherwise; bullets side by side are one."""
    closed = any(case.condition is None for _, before in cases for case in before.cases)
    return not closed and (not entry.ordered or said.cases[0].condition is None)


def _edge(to: str, condition: Condition | None) -> Edge:
    if condition is None:
        return Edge(to=to)
    return Edge(to=to, judge=condition.judge, otherwise=condition.otherwise)
