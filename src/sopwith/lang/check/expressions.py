"""Expressions: they can be read, their names have a value on every path, and their types fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sopwith.errors import NO_HINT, ExpressionError, Text
from sopwith.expr.expression import Expression
from sopwith.expr.infer import ProblemKind, TypeProblem, print_kinds, sole
from sopwith.expr.respell import in_cel
from sopwith.expr.shape import Shapes, kinds
from sopwith.expr.syntax import Name, walk
from sopwith.ir.diagnostic import Diagnostic, Edit
from sopwith.lang.check.flow import ERROR, Known, path_without
from sopwith.lang.check.sites import Site
from sopwith.lang.check.subject import Subject, close

_CODES: dict[ProblemKind, str] = {
    "name": "SW302", "field": "SW305", "function": "SW306", "types": "SW307",
    "never": "SW308", "witness": "SW309",
}  # fmt: skip


def problems(subject: Subject) -> Iterator[Diagnostic]:
    """SW301 to SW311, SW334."""
    for site in subject.sites:
        if isinstance(site.found, ExpressionError):
            fix = () if site.role in ("value", "text") else _rewritten(subject, site)
            yield subject.error("SW301", site.path, site.found.message, site.found.hint, site.column, fix)
        else:
            yield from _judge(subject, site, site.found)


def _judge(subject: Subject, site: Site, expression: Expression) -> Iterator[Diagnostic]:
    if site.role == "use" and not _is_path(expression):
        message = Text(f"'{expression.source}' is not a name", f"“{expression.source}”不是名称")
        hint = Text(
            "Write a name with fields, as in inputs.request.", "请写名称及其字段，如 inputs.request。"
        )
        yield subject.error("SW334", site.path, message, hint)
        return
    known = subject.scopes.known(site)
    if known is None:
        return  # a step that is never reached: reported as such
    yield from _missing(subject, site, expression, known)
    found = subject.scopes.examine(site)
    if found is None:
        return
    for problem in found.problems:
        yield _typed(subject, site, problem)
    if not found.problems:
        yield from _role(subject, site, found.result)


def _is_path(expression: Expression) -> bool:
    return expression.paths == (tuple(expression.source.split(".")),)


def _typed(subject: Subject, site: Site, problem: TypeProblem) -> Diagnostic:
    column = site.column + problem.column - 1
    fix = _respelled(subject, site, problem, column)
    return subject.error(_CODES[problem.kind], site.path, problem.message, problem.hint, column, fix)


def _respelled(subject: Subject, site: Site, problem: TypeProblem, column: int) -> tuple[Edit, ...]:
    """The edit that corrects the misspelled word of a problem, if there is one and it stands there once."""
    if problem.misspelled is None:
        return ()
    wrong, right = problem.misspelled
    if problem.kind != "never":
        return subject.respelled(site.path, column, wrong, right)
    text = subject.text_at(site.path) or ""
    found = [text.index(quoted) + 2 for q in "'\"" if text.count(quoted := f"{q}{wrong}{q}") == 1]
    return subject.respelled(site.path, found[0], wrong, right) if len(found) == 1 else ()


def _rewritten(subject: Subject, site: Site) -> tuple[Edit, ...]:
    """The edit that writes a condition in CEL which was written in another spelling, if it can be read then."""
    text = subject.text_at(site.path)
    right = None if text is None else in_cel(text)
    return () if right is None else (Edit(path=site.path, text=right),)


def _role(subject: Subject, site: Site, result: Shapes) -> Iterator[Diagnostic]:
    have = kinds(result)
    if "dyn" in have or not have:
        return
    if site.role == "condition" and have - {"bool"}:
        words = print_kinds(result)
        message = Text(
            f"a condition must be true or false; this is {words}", f"条件应为 true 或 false，这里是 {words}"
        )
        hint = Text("Compare it with something: x == …, x != null", "请写成比较：x == …、x != null")
        yield subject.error("SW310", site.path, message, hint, site.column)
    if site.role == "list" and "list" not in have:
        words = print_kinds(result)
        message = Text(f"'enum' takes a list; this is {words}", f"enum 需要列表，这里是 {words}")
        hint = Text("Make a list, as in ${hits.map(h, h.id)}.", "请给出列表，如 ${hits.map(h, h.id)}。")
        yield subject.error("SW311", site.path, message, hint, site.column)


def _missing(subject: Subject, site: Site, expression: Expression, known: Known) -> Iterator[Diagnostic]:
    """A diagnostic for each name that has no value at `site`, at least on one path."""
    flow = subject.flow
    inner = subject.scopes.inner(site)
    for name in expression.names:
        if name in inner or name in subject.scopes.fixed or flow.has(known, name):
            continue
        if name == ERROR:
            code, message, hint = "SW304", _NO_ERROR, _ERROR_HINT
        elif name in flow.by_name:
            code, message = "SW303", _unset(subject, site, name)
            hint = _unset_hint(subject, site, name)
        else:
            code, message = "SW302", Text(f"there is no name '{name}'", f"没有名称“{name}”")
            hint = _unknown_hint(subject, name, known, inner)
        column = site.column + _column(expression, name) - 1
        right = _right_name(subject, name, known) if code == "SW302" else None
        fix = () if right is None else subject.respelled(site.path, column, name, right)
        yield subject.error(code, site.path, message, hint, column, fix)


def _right_name(subject: Subject, name: str, known: Known) -> str | None:
    """What was meant by an unknown `name`, where that is clear: its step's own name for it, an input, a misspelling."""
    step = subject.steps.get(name)
    if step is not None:
        return step.writes
    if name in subject.procedure.inputs:
        return f"inputs.{name}"
    return sole(name, (*subject.scopes.fixed, *subject.flow.names_at(known)))


def _unset(subject: Subject, site: Site, name: str) -> Text:
    writers = subject.flow.by_name[name]
    listed = ", ".join(f"'{w}'" for w in writers)
    if writers == (site.step,):
        if site.moment == "failed":
            return Text(
                f"'{name}' has no value where its own step has failed", f"步骤失败后，它自己的“{name}”没有值"
            )
        return Text(f"'{name}' has no value before its own step", f"“{name}”在本步骤完成之前没有值")
    return Text(
        f"'{name}' (written by {listed}) has no value here on every path",
        f"“{name}”（由 {listed} 写入）并非在每条到此的路径上都有值",
    )


def _unset_hint(subject: Subject, site: Site, name: str) -> Text:
    goal = site.step
    way = () if goal is None else path_without(subject.procedure, subject.flow, name, goal)
    if not way:
        guided = [writer for writer in subject.flow.by_name[name] if writer in subject.flow.regions]
        return _guided_hint(guided[0]) if guided else NO_HINT
    words = " → ".join(way if len(way) <= 8 else (*way[:4], "…", *way[-3:]))
    return Text(f"It is missing on the path {words}.", f"在路径 {words} 上没有值。")


def _guided_hint(writer: str) -> Text:
    return Text(
        f"Steps of grip guide may fail before '{writer}' is done: make it strict, or use what is set before them.",
        f"grip 为 guide 的步骤可能在“{writer}”完成之前失败：请将其设为 strict，或使用在此之前已有值的名称。",
    )


def _unknown_hint(subject: Subject, name: str, known: Known, inner: Iterable[str]) -> Text:
    lists = [one.id for one in subject.steps.values() if one.each is not None and one.each.as_ == name]
    if lists:
        return Text(
            f"It is an item of step '{lists[0]}', and has a value only inside it.",
            f"它是步骤“{lists[0]}”的列表项，只在该步骤内有值。",
        )
    step = subject.steps.get(name)
    if step is not None and step.writes:
        return Text(
            f"The result of step '{name}' is called '{step.writes}'.",
            f"步骤“{name}”的结果名为“{step.writes}”。",
        )
    if step is not None:
        return Text(f"Step '{name}' has no result.", f"步骤“{name}”没有结果。")
    if name in subject.procedure.inputs:
        return Text(f"Inputs are read as inputs.{name}.", f"输入应写作 inputs.{name}。")
    return close(name, (*inner, *subject.scopes.fixed, *subject.flow.names_at(known)))


_NO_ERROR = Text("'error' has no value where no failure has led", "没有失败通向此处，“error”没有值")
_ERROR_HINT = Text(
    "It is set in 'on_error' and in the steps that only 'on_error' leads to.",
    "它只在 on_error 中，以及只由 on_error 通向的步骤中有值。",
)


def _column(expression: Expression, name: str) -> int:
    """Where `name` stands in the text of the expression."""
    return next((n.column for n in walk(expression.tree) if isinstance(n, Name) and n.name == name), 1)
