"""Every place of a procedure where an expression stands, and what is known there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from sopwith.errors import ExpressionError
from sopwith.expr.expression import Expression, parse
from sopwith.expr.template import parse_template
from sopwith.ir.procedure import Procedure, Step
from sopwith.ir.value import Json
from sopwith.lang.document import Path

Moment = Literal["before", "item", "checked", "after", "failed", "end"]
"""When an expression is evaluated: `item` and `checked` are before and after the work on one item of a list."""

Role = Literal["value", "text", "condition", "list", "use"]


@dataclass(frozen=True, slots=True)
class Site:
    """One expression: its path, the column of its text there, when it is evaluated, what its value is for.

    `found` is the error where it cannot be read."""

    path: Path
    column: int
    step: str | None
    moment: Moment
    role: Role
    found: Expression | ExpressionError


def sites(procedure: Procedure) -> Iterator[Site]:
    """All sites, in the order of the procedure."""
    if procedure.verify is not None:
        yield _plain(("verify",), None, "end", "condition", procedure.verify)
    for name, step in procedure.steps.items():
        if step.work not in ("script", "code"):
            yield from _of(("steps", name), name, step)


def _of(path: Path, name: str, step: Step) -> Iterator[Site]:
    work: Moment = "before"
    done: Moment = "after"
    if step.each is not None:
        yield from list_sites(name, step)
        work, done = "item", "checked"
    for key in ("do", "ask", "answer"):
        yield from _template((*path, key), name, work, getattr(step, key))
    for key, value in step.with_.items():
        yield from _template((*path, "with", key), name, work, value)
    if step.call is not None:
        for key, value in step.call.with_.items():
            yield from _template((*path, "call", "with", key), name, work, value)
    if step.wait is not None:
        for key, text in (("until", step.wait.until), ("for", step.wait.for_)):
            yield from _template((*path, "wait", key), name, work, text)
    for i, use in enumerate(step.uses or ()):
        yield _plain((*path, "uses", i), name, work, "use", use)
    yield from _enums((*path, "returns"), name, work, step.returns)
    if step.verify is not None:
        yield _plain((*path, "verify"), name, done, "condition", step.verify)
    for i, edge in enumerate(step.next):
        if edge.when is not None:
            yield _plain((*path, "next", i, "when"), name, "after", "condition", edge.when)
    for i, edge in enumerate(step.on_error):
        if edge.when is not None:
            yield _plain((*path, "on_error", i, "when"), name, "failed", "condition", edge.when)
    for key, value in (step.result or {}).items():
        yield from _template((*path, "result", key), name, "after", value)


def list_sites(name: str, step: Step) -> Iterator[Site]:
    """The expressions in the list that a step goes over."""
    if step.each is not None:
        yield from _template(("steps", name, "each", "in"), name, "before", step.each.in_)


def _plain(path: Path, step: str | None, moment: Moment, role: Role, source: str) -> Site:
    try:
        return Site(path, 1, step, moment, role, parse(source))
    except ExpressionError as error:
        return Site(path, error.column, step, moment, role, error)


def _template(path: Path, step: str, moment: Moment, value: Json) -> Iterator[Site]:
    """The expressions of a template, text by text: one that cannot be read does not hide the others."""
    if isinstance(value, Mapping):
        for key, item in cast("Mapping[str, Any]", value).items():
            yield from _template((*path, key), step, moment, item)
    elif isinstance(value, list):
        for i, item in enumerate(cast("list[Any]", value)):
            yield from _template((*path, i), step, moment, item)
    elif isinstance(value, str) and "${" in value:
        try:
            placed = parse_template(value).expressions
        except ExpressionError as error:
            yield Site(path, error.column, step, moment, "value", error)
            return
        for one in placed:
            role: Role = "value" if one.lone else "text"
            yield Site(path, one.column, step, moment, role, one.expression)


def _enums(path: Path, step: str, moment: Moment, schema: Json) -> Iterator[Site]:
    """The `enum`s in a schema that are expressions."""
    if isinstance(schema, list):
        for i, item in enumerate(cast("list[Any]", schema)):
            yield from _enums((*path, i), step, moment, item)
    elif isinstance(schema, Mapping):
        for key, item in cast("Mapping[str, Any]", schema).items():
            if key == "enum" and isinstance(item, str):
                for site in _template((*path, key), step, moment, item):
                    yield Site(site.path, site.column, step, moment, "list", site.found)
            else:
                yield from _enums((*path, key), step, moment, item)
