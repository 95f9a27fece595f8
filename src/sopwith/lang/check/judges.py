"""Judgements of a model: they name something that can be observed, and nothing that a condition can decide."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sopwith.errors import Text
from sopwith.expr.shape import Shape, Shapes, member, member_names, shapes_of, union
from sopwith.ir.diagnostic import Diagnostic, Edit
from sopwith.ir.procedure import Grip, Step
from sopwith.ir.value import Json
from sopwith.lang.check.subject import Subject
from sopwith.lang.check.vague import vague

_DEEPEST = 3
_Path = tuple[str, ...]


def problems(subject: Subject) -> Iterator[Diagnostic]:
    """SW223, SW224, SW225."""
    for name, step in subject.steps.items():
        judges = {i: edge.judge for i, edge in enumerate(step.next) if edge.judge is not None}
        if not judges:
            continue
        if _shows_nothing(subject, name, step) and all(edge.when is None for edge in step.next):
            message = Text(
                f"the model that decides here is shown no value, only the words: {next(iter(judges.values()))}",
                f"由模型判断“{next(iter(judges.values()))}”，却没有给它看任何值",
            )
            yield subject.warning("SW225", ("steps", name, "next", next(iter(judges))), message, _SHOW)
        listed, closed = _listed(subject, name, step)
        for i, words in judges.items():
            path = ("steps", name, "next", i, "judge")
            if (found := vague(words)) is not None:
                message = Text(
                    f"'{found}' names nothing that a model can see: it will decide differently each time",
                    f"“{found}”没有说出可观察的事实：模型每次的判断会不同",
                )
                yield subject.warning("SW223", path, message, _OBSERVE)
            about = _about(words, listed, closed)
            if about is not None:
                yield _decidable(subject, path, about, listed, words)


def _shows_nothing(subject: Subject, name: str, step: Step) -> bool:
    """Whether a judgement sees no value: grips that show a model everything are out of the question."""
    loose = subject.procedure.grip is Grip.FREE or subject.grip(step) in (Grip.FREE, Grip.GUIDE)
    return not loose and not any(True for _ in _shown_paths(subject, name, step))


def _decidable(
    subject: Subject, path: tuple[str | int, ...], about: _Path, listed: dict[_Path, list[Json]], words: str
) -> Diagnostic:
    name, values = ".".join(about), listed[about]
    shown = ", ".join(map(str, values[:6])) + (", …" if len(values) > 6 else "")
    message = Text(
        f"a model is asked about '{name}', which is one of a few values: {shown}",
        f"“{name}”只有几种取值（{shown}），却要由模型判断",
    )
    example = _equals(name, values[0])
    hint = Text(f"Write a condition: when: {example}", f"请写成条件：when: {example}")
    alone = sum(path[-1] == about[-1] for path in listed) == 1
    condition = _as_condition(words, (name, about[-1]) if alone else (name,), name, values)
    if condition is None:
        return subject.warning("SW224", path, message, hint)
    fix = (Edit(path=path, text=condition), Edit(path=path, action="rename", text="when"))
    return subject.warning("SW224", path, message, hint, fix)


def _as_condition(words: str, called: tuple[str, ...], name: str, values: list[Json]) -> str | None:
    """The condition that says exactly what `words` say: that `name` has one of its values, and nothing else."""
    said = _EXACTLY.fullmatch(words.strip())
    if said is None or said[1] not in called:
        return None
    for value in values:
        if said[2] == (str(value).lower() if isinstance(value, bool) else str(value)):
            return _equals(name, value)
    return None


_EXACTLY = re.compile(r"""(?:the )?([\w.]+?)\s*(?:\bis\b|==?|是|为|等于)\s*["'“]?(.*?)["'”]?[.。]?""")


def _equals(name: str, value: Json) -> str:
    if isinstance(value, bool):
        return name if value else f"!{name}"
    return f"{name} == '{value}'" if isinstance(value, str) else f"{name} == {value}"


def _listed(subject: Subject, name: str, step: Step) -> tuple[dict[_Path, list[Json]], bool]:
    """What the judgements of a step are shown and has listed values; and whether that is all that they are shown."""
    found: dict[_Path, list[Json]] = {}
    known = subject.flow.after.get(name)
    if known is None:
        return {}, False
    closed = True
    for path in _shown_paths(subject, name, step):
        schema = subject.scopes.type_at(known, path[0])
        shapes = None if schema is None else _inside(shapes_of(schema), path[1:])
        closed = shapes is not None and _collect(shapes, path, found, 0) and closed
    return found, closed and bool(found)


def _shown_paths(subject: Subject, name: str, step: Step) -> Iterator[_Path]:
    if step.writes is not None:
        yield (step.writes,)
    for site in subject.sites_of(name):
        if (
            site.moment == "before"
            and site.role != "list"
            and (site.role == "use") == (step.uses is not None)
        ):
            yield from getattr(site.found, "paths", ())


def _inside(shapes: Shapes, fields: _Path) -> Shapes:
    for name in fields:
        shapes = union(member(shape, name).shapes for shape in shapes if shape.kind in ("map", "dyn"))
    return shapes


def _collect(shapes: Shapes, path: _Path, found: dict[_Path, list[Json]], depth: int) -> bool:
    """Note the listed values at and below `path`; whether there is nothing else."""
    maps = [shape for shape in shapes if shape.kind == "map"]
    rest = [shape for shape in shapes if shape.kind not in ("map", "null")]
    closed = bool(maps or rest)
    if rest:
        values = [value for shape in rest for value in _values(shape)]
        if values and all(_values(shape) for shape in rest):
            found[path] = values
        else:
            closed = False
    for shape in maps:
        names = member_names(shape)
        closed = closed and bool(names) and depth < _DEEPEST
        for name in names if depth < _DEEPEST else ():
            closed = _collect(member(shape, name).shapes, (*path, name), found, depth + 1) and closed
    return closed


def _values(shape: Shape) -> tuple[Json, ...]:
    return (True, False) if shape.kind == "bool" else shape.values or ()


def _about(words: str, listed: dict[_Path, list[Json]], closed: bool) -> _Path | None:
    """The value with listed values that a judgement is about.

    That is sure where nothing else is shown to it, or where its words name the value and one of the list.
    """
    if closed:
        return next(iter(listed))
    for path, values in listed.items():
        if not _mentions(words, ".".join(path)) and not (len(path) > 1 and _mentions(words, path[-1])):
            continue
        if any(
            _mentions(words, str(value).lower() if isinstance(value, bool) else str(value))
            for value in values
        ):
            return path
    return None


def _mentions(words: str, name: str) -> bool:
    return bool(name) and re.search(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])", words) is not None


_OBSERVE = Text(
    "Say what can be seen: 'the customer asks for a refund', 'a date is named'.",
    "请写出可以看到的事实，如“客户要求退款”“写明了日期”。",
)
_SHOW = Text(
    "Say which values it is to see: uses: [inputs.request], or 'Input: …' in text.",
    "请写明让模型看到哪些值：uses: [inputs.request]，文本中写“输入：…”。",
)
