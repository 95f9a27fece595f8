"""Routine text, the form in which experts write procedures down, read into a procedure.

    # Salary questions (salary)
    Answers questions about a salary.

Step 1. Check: verify that the user may ask, using the check_permission tool. Input: user_id. Output: allowed.
Branch 1-1 Step 1. Query: if allowed, query the salary, using the query_salary tool. Branch 1-2 Step 1.
Refuse: if not allowed, explain why and terminate the workflow. Step 2. Tell: report the salary, using the
send_message tool and terminate the workflow.

Source: the Routine paper (structural planning for enterprise agents).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePath

from sopwith.errors import NO_HINT, Text
from sopwith.ir.diagnostic import Place
from sopwith.ir.procedure import Edge, Input, Procedure, Step
from sopwith.ir.value import Json
from sopwith.lang.document import Document, Path
from sopwith.lang.problem import Problems
from sopwith.lang.request import REQUEST
from sopwith.lang.routine_line import Condition, Line, begins_line, read_line
from sopwith.lang.routine_outline import Outline, branch_of, index_of
from sopwith.lang.tree import too_long

MAX_LINE = 4000
_TITLE = re.compile(r"#+\s*(?P<name>.*?)\s*(?:[(（]\s*(?P<id>[A-Za-z_][A-Za-z0-9_]*)\s*[)）])?\s*")
_FORM = Text(
    "a step is 'Step 2. Name: what is done, using the X tool. Input: a. Output: b.'; indent a continued line",
    "步骤写作“步骤 2. 名称：描述，使用 X 工具。输入：a。输出：b。”；续行请缩进",
)


def text_value() -> dict[str, Json]:
    """What the form says about an input, or a value that a model writes: it is text."""
    return {"type": "string"}


def read_routine(text: str, file: str = "<text>") -> Document:
    """The procedure in `text`, in English or Chinese.

    Raises `ProcedureError` with a diagnostic for every problem.
    """
    return _Reader(text, file).read()


class _Reader:
    """One reading: lines, then their outline, then the steps."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.problems = Problems(file)
        self.places: dict[Path, Place] = {(): Place(file=file)}
        self.sources: dict[str, tuple[int, str]] = {}
        self.title: tuple[str, str | None] = ("", None)
        self.description: list[str] = []

    def read(self) -> Document:
        self.outline = Outline(self._lines())
        self._check_numbers()
        written = {line.output or self.outline.ids[n] for n, line in self.outline.steps.items()}
        steps = {self.outline.ids[n]: self._step(line, written) for n, line in self.outline.steps.items()}
        self._check_ids(steps)
        self.problems.refuse()
        procedure = Procedure(
            id=self.title[1] or id_of_file(self.problems.file),
            name=self.title[0],
            description="\n".join(self.description),
            inputs=inputs_used(steps.values()),
            start=self.outline.ids["1"],
            steps=steps,
        )
        return Document(procedure, self.places, self.problems.file, self.text, form="routine")

    # lines

    def _lines(self) -> list[Line]:
        """The steps and branches of the text; what is neither is a problem."""
        if too_long(self.text, self.problems):
            self.problems.refuse()
        found: dict[tuple[bool, str], Line] = {}
        for at, source in _logical_lines(self.text):
            if len(source) > MAX_LINE:
                said = Text(f"a line of more than {MAX_LINE} characters", f"一行超过 {MAX_LINE} 个字符")
                self._problem("SW102", at, said, Text("say it in several steps", "请分成多个步骤"))
                continue
            line = read_line(source.strip())
            if line is None:
                self._other(at, source, started=bool(found))
            elif (line.way, line.number) in found:
                first = self.sources[line.number][0]
                said = Text(
                    f"the number {line.number} stands twice; the first is on line {first}",
                    f"编号 {line.number} 重复，第一次在第 {first} 行",
                )
                self._problem("SW121", at, said, Text("number each line once", "每行的编号应唯一"))
            else:
                found[line.way, line.number] = line
                self.sources[line.number] = (at, source)
                self._unclear(line, at)
        return list(found.values())

    def _other(self, at: int, source: str, started: bool) -> None:
        """A line that is neither a step nor a branch: the title, the description, or a problem."""
        title = _TITLE.fullmatch(source.strip())
        if started:
            said = Text(
                f"neither a step nor a branch: {source.strip()}", f"既不是步骤也不是分支：{source.strip()}"
            )
            self._problem("SW120", at, said, _FORM)
        elif title is not None and self.title == ("", None) and not self.description:
            self.title = (title["name"], title["id"])
            self.places["name",] = self.places["id",] = self._place(at, source, title["name"])
        else:
            self.places.setdefault(("description",), self._place(at, source, source.strip()))
            self.description.append(source.strip())

    def _unclear(self, line: Line, at: int) -> None:
        if line.unclear is None:
            return
        said = Text(f"this part cannot be read: {line.unclear}", f"这一部分无法读取：{line.unclear}")
        hint = Text(
            "a step has one tool, one input list and one output; a branch without a step only goes to one, and after"
            " 'On error:' stands 'go to Step 5'",
            "一个步骤只有一个工具、一处输入和一个输出；不带步骤的分支只写转到哪一步；“出错时：”之后写“转到步骤 5”",
        )
        self._problem("SW122", at, said, hint)

    # numbers

    def _check_numbers(self) -> None:
        """Every line has its predecessor, every branch its step, and no branch is missing."""
        outline = self.outline
        if not outline.steps:
            said = Text("the text has no step", "文本中没有步骤")
            if not self.text.strip():
                said = Text("the file is empty", "文件是空的")
            self._problem("SW121", 1, said, _FORM)
            return
        for number in outline.steps:
            branch, i = branch_of(number), index_of(number)
            before = f"{branch} {i - 1}".strip()
            if i == 0 or (i > 1 and before not in outline.steps):
                self._number_problem(number, f"{branch} 1".strip() if i == 0 else before)
            if branch in outline.ways:
                said = Text(
                    f"branch {branch} both has steps and goes elsewhere", f"分支 {branch} 既有步骤又转到别处"
                )
                self._problem("SW123", self.sources[branch][0], said)
        for branch, step in outline.parents():
            if step not in outline.steps:
                self._number_problem(branch, step)
        for step in outline.steps:
            for n, branch in enumerate(outline.arms(step), 1):
                if branch != f"{step}-{n}":
                    self._number_problem(branch, f"{step}-{n}")
                    break

    def _number_problem(self, number: str, missing: str) -> None:
        on_branch = (one for one in self.outline.steps if branch_of(one) == number)
        at = self.sources.get(number) or self.sources[next(on_branch)]
        said = Text(
            f"{number} stands here, but there is no {missing}", f"此处编号为 {number}，但没有 {missing}"
        )
        hint = Text("number steps and branches without gaps", "步骤和分支的编号应连续")
        self._problem("SW121", at[0], said, hint)

    def _check_ids(self, steps: dict[str, Step]) -> None:
        if len(steps) < len(self.outline.ids):
            seen: set[str] = set()
            for number, id_ in self.outline.ids.items():
                if id_ in seen:
                    said = Text(f"the id '{id_}' stands twice", f"标识“{id_}”重复")
                    self._problem("SW121", self.sources[number][0], said)
                seen.add(id_)

    # steps

    def _step(self, line: Line, written: set[str]) -> Step:
        at, source = self.sources[line.number]
        id_ = self.outline.ids[line.number]
        path: Path = ("steps", id_)
        self.places[path] = self._place(at, source, source.strip())
        for key, words in (
            ("name", line.name), ("do", line.do), ("tool", line.tool), ("needs", line.needs),
            ("gives", line.gives), ("as", line.output), ("uses", ", ".join(line.inputs[:1])),
        ):  # fmt: skip
            if words:
                self.places[(*path, key)] = self._place(at, source, words)
        return Step.model_validate(
            {
                "id": id_,
                "name": line.name,
                "do": line.do,
                "needs": line.needs,
                "gives": line.gives,
                "tool": line.tool,
                "as": line.output,
                "uses": tuple(_use(name, written) for name in line.inputs) or None,
                "returns": text_value() if line.output and not line.tool else None,
                "next": self._next(line, path),
                "on_error": self._on_error(line, path),
                "end": line.end,
            }
        )

    def _next(self, line: Line, path: Path) -> tuple[Edge, ...]:
        """The edges of a step: where it says, its branches, or on to what follows."""
        arms = self.outline.arms(line.number)
        if line.end or line.goto:
            if arms or (line.end and line.goto):
                said = Text(
                    "this step ends or goes elsewhere, and has branches", "该步骤已结束或转到别处，却又有分支"
                )
                hint = Text("remove the ending, or the branches", "请删去结束语或分支")
                self._problem("SW123", self.sources[line.number][0], said, hint)
            return self._edge(line.goto, None, line, (*path, "next", 0)) if line.goto else ()
        edges: list[Edge] = []
        for n, branch in enumerate(arms):
            way = self.outline.ways.get(branch)
            head = self.outline.steps.get(f"{branch} 1")
            where: Path = (*path, "next", n)
            if way is not None:
                edges += self._edge(way.goto or "?", way.condition, way, where)
            elif head is not None:
                edges += self._edge(head.number, head.condition, head, where)
        following = self.outline.following(line.number)
        if not arms and following is not None:
            return self._edge(following, None, line, (*path, "next", 0))
        return tuple(edges)

    def _on_error(self, line: Line, path: Path) -> tuple[Edge, ...]:
        """The ways on after a failure of the step."""
        ways = enumerate(line.on_error)
        return tuple(
            edge
            for n, way in ways
            for edge in self._edge(way.goto, way.condition, line, (*path, "on_error", n))
        )

    def _edge(self, target: str, condition: Condition | None, line: Line, path: Path) -> tuple[Edge, ...]:
        at, source = self.sources[line.number]
        self.places[path] = self._place(at, source, source.strip())
        if target not in self.outline.ids:
            if line.unclear is None:
                said = Text(f"there is no step {target}", f"没有步骤 {target}")
                self._problem("SW124", at, said, Text("correct the number", "请更正编号"))
            return ()
        to = self.outline.ids[target]
        if condition is None:
            return (Edge(to=to),)
        for key, words in (("when", condition.when), ("judge", condition.judge)):
            if words:
                self.places[(*path, key)] = self._place(at, source, words)
        edge = Edge(to=to, when=condition.when, judge=condition.judge, otherwise=condition.otherwise)
        return (edge,)

    def _place(self, at: int, source: str, words: str) -> Place:
        return Place(file=self.problems.file, line=at, column=max(source.find(words), 0) + 1)

    def _problem(self, code: str, at: int, message: Text, hint: Text = NO_HINT) -> None:
        self.problems.add(code, Place(file=self.problems.file, line=at, column=1), message, hint)


def _logical_lines(text: str) -> list[tuple[int, str]]:
    """The lines that hold something, with their numbers; an indented one continues the one before."""
    found: list[tuple[int, str]] = []
    for at, line in enumerate(re.split(r"\r\n|\r|\n", text.removeprefix("\ufeff")), 1):
        if not line.strip():
            continue
        if found and line[0] in " \t　" and not begins_line(line.strip()):
            number, before = found[-1]
            words = line.strip()
            glue = " " if before[-1:].isascii() or words[:1].isascii() else ""
            found[-1] = (number, before.rstrip() + glue + words)
        else:
            found.append((at, line.rstrip()))
    return found


def id_of_file(file: str) -> str:
    """The id of a procedure whose text does not say one: the name of its file."""
    stem = re.sub(r"[^A-Za-z0-9]+", "_", PurePath(file).name.partition(".")[0]).strip("_")
    return stem if stem and file != "<text>" and not stem[0].isdigit() else "procedure"


def _use(name: str, written: set[str]) -> str:
    """A name that no step writes is an input."""
    return name if "." in name or name in written else f"inputs.{name}"


def inputs_used(steps: Iterable[Step]) -> dict[str, Input]:
    """The inputs that the steps use, as text."""
    names = (use.split(".") for step in steps for use in step.uses or ())
    found = dict.fromkeys(parts[1] for parts in names if parts[0] == "inputs" and len(parts) == 2)
    return {name: Input.model_validate(_input(name)) for name in found}


def _input(name: str) -> dict[str, Json]:
    """An input is text; the one called `request` is the request of the run."""
    return {"schema": text_value(), "from": REQUEST} if name == "request" else {"schema": text_value()}
