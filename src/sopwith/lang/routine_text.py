"""Routine text written from a procedure, and what of the procedure it cannot say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

from sopwith.errors import ExpressionError, ProcedureError, Text
from sopwith.expr.template import parse_template
from sopwith.ir.procedure import Edge, Procedure, Step
from sopwith.ir.value import Json
from sopwith.lang.numbering import numbers
from sopwith.lang.routine import inputs_used, read_routine, text_value
from sopwith.lang.routine_line import Condition, ErrorWay, Line, write_line
from sopwith.lang.routine_outline import MAIN, Outline, branch_of, derived_id, index_of


def write_routine(procedure: Procedure, language: str = "en") -> str:
    """What Routine text can say of `procedure`, in English ("en") or Chinese ("zh").

    Reading it again gives `sayable(procedure)`; a name or condition that would be read as something else
    raises `ProcedureError`.
    """
    said = sayable(procedure)
    lines = _Writer(said).lines()
    title = f"# {said.name} ({said.id})" if said.name else f"# ({said.id})"
    head = [title, *(said.description.split("\n") if said.description else ()), ""]
    text = "\n".join((*head, *(write_line(line, language) for line in lines))) + "\n"
    _check(said, text)
    return text


def unsaid(procedure: Procedure) -> tuple[str, ...]:
    """The paths of what Routine text leaves out: `steps.submit.with`, `output`."""
    return differences(procedure, sayable(procedure))


def differences(whole: Procedure, part: Procedure) -> tuple[str, ...]:
    """The paths of what `whole` says and `part` does not say in the same way."""
    return tuple(_differences(whole.to_data(), part.to_data(), ""))


def _differences(whole: Json, part: Json, path: str) -> Iterator[str]:
    """The keys of `whole` that `part` does not hold with the same value; steps, inputs and edges are
    looked into."""
    if isinstance(whole, dict) and isinstance(part, dict) and path.count(".") < 2:
        held = cast("dict[str, Json]", part)
        for key, value in cast("dict[str, Json]", whole).items():
            if value != held.get(key):
                yield from _differences(value, held.get(key), f"{path}.{key}".lstrip("."))
    else:
        yield path


def sayable(procedure: Procedure) -> Procedure:
    """The part of `procedure` that Routine text can say, with its steps in the order of the text."""
    steps = {name: _sayable_step(step, procedure) for name, step in procedure.steps.items()}
    lines = (" ".join(line.split()) for line in procedure.description.splitlines())
    said = Procedure(
        id=procedure.id,
        name=" ".join(procedure.name.split()),
        description="\n".join(line for line in lines if line),
        start=procedure.start,
        steps=steps,
    )
    ordered = {name: steps[name] for name in _Writer(said).order()}
    return said.model_copy(update={"steps": ordered, "inputs": inputs_used(ordered.values())})


def _sayable_step(step: Step, procedure: Procedure) -> Step:
    writes_text = step.tool is None and (step.returns is not None or step.ask is not None)
    edges = () if step.end else tuple(_sayable_edge(e) for e in step.next if e.to in procedure.steps)
    after_error = tuple(_sayable_edge(e) for e in step.on_error if e.to in procedure.steps)
    return Step.model_validate(
        {
            "id": step.id,
            "name": _one_line(step.name),
            "do": _one_line(step.do or step.answer or step.ask),
            "needs": _one_line(step.needs),
            "gives": _one_line(step.gives),
            "tool": step.tool,
            "as": (step.as_ or step.id) if writes_text else (step.as_ if step.tool else None),
            "returns": text_value() if writes_text else None,
            "uses": step.uses or _names_in(step) or None,
            "next": edges,
            "on_error": after_error,
            "end": step.end,
        }
    )


def _sayable_edge(edge: Edge) -> Edge:
    judge, when = _one_line(edge.judge), edge.when
    if when is not None and not {"'", '"'} & set(when):
        when = _one_line(when)
    return Edge(to=edge.to, when=when, judge=judge, otherwise=edge.otherwise)


def _one_line(words: str | None) -> str | None:
    return " ".join(words.split()) or None if words else None


def _names_in(step: Step) -> tuple[str, ...]:
    """The names that bound arguments read: their bindings cannot be said, but the names can. Of an item, its list."""
    try:
        item = None if step.each is None else step.each.as_
        over = () if step.each is None else parse_template(step.each.in_).paths
        paths = [path for path in parse_template(step.with_).paths if path[0] != item]
    except ExpressionError:
        return ()
    return tuple(dict.fromkeys(".".join(path) for path in (*over, *paths)))


class _Writer:
    """The lines of one procedure, in the order in which they are written."""

    def __init__(self, procedure: Procedure) -> None:
        self.procedure = procedure
        self.numbers = numbers(procedure)
        self.step_at = {number: step for step, number in self.numbers.items()}
        self.outline = Outline(Line(number) for number in self.step_at)
        self.on_line: dict[str, list[str]] = {}
        for number in sorted(self.step_at, key=index_of):
            self.on_line.setdefault(branch_of(number), []).append(number)
        self.written = {step.as_ or name for name, step in procedure.steps.items()}

    def lines(self) -> list[Line]:
        """Each step, its branches, and then what follows it. A step whose id cannot be derived carries it."""
        found: list[Line] = []
        taken: set[str] = set()
        todo: list[_Entry] = [(number, None) for number in reversed(self.on_line[MAIN])]
        while todo:
            number, condition = todo.pop()
            if isinstance(number, Line):
                found.append(number)
                continue
            step = self.procedure.steps[self.step_at[number]]
            line = self._line(step, number, condition)
            found.append(line if derived_id(line, taken) == step.id else replace(line, id=step.id))
            taken.add(step.id)
            todo.extend(reversed(self._arms(step, number)))
        return found

    def order(self) -> list[str]:
        """The steps by their ids, as they are written."""
        return [self.step_at[line.number] for line in self.lines() if not line.way]

    def _line(self, step: Step, number: str, condition: Condition | None) -> Line:
        return Line(
            number,
            name=step.name,
            condition=condition,
            do=step.do,
            tool=step.tool,
            end=step.end,
            goto=self._goto(step, number),
            inputs=tuple(self._input(use) for use in step.uses or ()),
            needs=step.needs,
            output=step.as_,
            gives=step.gives,
            on_error=tuple(ErrorWay(_condition(edge), self.numbers[edge.to]) for edge in step.on_error),
        )

    def _goto(self, step: Step, number: str) -> str | None:
        """Where a step goes that does not simply go on."""
        if not _goes_on(step):
            return None
        target = self.numbers[step.next[0].to]
        return None if target == self.outline.following(number) else target

    def _input(self, use: str) -> str:
        """An input is written by its bare name, where no step writes that name."""
        head, _, name = use.partition(".")
        return name if head == "inputs" and "." not in name and name not in self.written else use

    def _arms(self, step: Step, number: str) -> list[_Entry]:
        """The branches of a step: those that begin here with their steps, the others as ways to elsewhere."""
        if _goes_on(step):
            return []
        entries: list[_Entry] = []
        for n, edge in enumerate(step.next, 1):
            branch, target = f"{number}-{n}", self.numbers[edge.to]
            if target == f"{branch} 1":
                head, *rest = self.on_line[branch]
                entries += [(head, _condition(edge)), *((one, None) for one in rest)]
            else:
                entries.append((Line(branch, way=True, condition=_condition(edge), goto=target), None))
        return entries


_Entry = tuple[str | Line, Condition | None]


def _goes_on(step: Step) -> bool:
    """Whether the step has nothing but one unconditional way on."""
    return len(step.next) == 1 and _condition(step.next[0]) is None


def _condition(edge: Edge) -> Condition | None:
    if edge.when is None and edge.judge is None and not edge.otherwise:
        return None
    return Condition(edge.when, edge.judge)


def _check(said: Procedure, text: str) -> None:
    """Raise where the text would be read as something else."""
    hint = Text(
        "take colons out of names, and words such as 'if', 'using … tool' and 'Input:' out of descriptions",
        "请从名称中去掉冒号，从描述中去掉“如果”、“使用…工具”、“输入：”等词",
    )
    try:
        again = read_routine(text).procedure
    except ProcedureError as error:
        raise ProcedureError(_AMBIGUOUS, hint, error.diagnostics) from None
    if again != said:
        paths = [*differences(said, again), *differences(again, said)]
        where = paths[0] if paths else said.id
        raise ProcedureError(
            Text(
                f"{_AMBIGUOUS.en}: {where} would be read as something else",
                f"{_AMBIGUOUS.zh}：{where} 会被读成别的意思",
            ),
            hint,
        )


_AMBIGUOUS = Text("the procedure cannot be written as Routine text", "该流程无法写成 Routine 文本")
