"""Static checks of an expression against the JSON Schemas of the names it reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, cast

from sopwith.errors import Text
from sopwith.expr.cases import told
from sopwith.expr.expression import Expression
from sopwith.expr.failure import Failure
from sopwith.expr.infer import Inference, TypeProblem, close
from sopwith.expr.shape import Shapes, shapes_of
from sopwith.expr.syntax import Literal, walk
from sopwith.expr.witness import Seeds, Uses, combine, variants
from sopwith.ir.value import Json

__all__ = ["Examination", "TypeProblem", "check_types", "close", "examine"]

JsonSchema = dict[str, Json]

_MOST_WITNESSES = 48


@dataclass(frozen=True, slots=True)
class Examination:
    """What was found out about an expression: what is wrong with it, and what it gives."""

    problems: tuple[TypeProblem, ...]
    result: Shapes


def check_types(expression: Expression, types: Mapping[str, JsonSchema]) -> list[TypeProblem]:
    """What is wrong with `expression` where its names have the `types`; a name that is not there is unknown.

    First what can never work (names, fields, functions, operands), then, where nothing was found, what fails
    on values made from the schemas: a fraction, a null, a missing optional field.
    """
    return list(examine(expression, types).problems)


def examine(expression: Expression, types: Mapping[str, JsonSchema]) -> Examination:
    """`check_types`, and what the expression gives as far as the schemas tell."""
    inference = Inference(_shapes(expression, types))
    result = inference.of(expression.tree)
    problems: Iterable[TypeProblem] = dict.fromkeys(inference.problems)
    if not problems and not inference.sure and not (inference.vague and expression.names):
        problems = _on_witnesses(expression, types)
    return Examination(tuple(sorted(problems, key=lambda problem: problem.column)), result)


def _shapes(expression: Expression, types: Mapping[str, JsonSchema]) -> dict[str, Shapes]:
    """The shapes of all names: those that are read are looked into, the others only known to exist."""
    read = set(expression.names)
    return {name: shapes_of(schema) if name in read else () for name, schema in types.items()}


def _on_witnesses(expression: Expression, types: Mapping[str, JsonSchema]) -> list[TypeProblem]:
    names = [name for name in expression.names if name in types]
    if not names:
        found = expression.attempt({})
        return [_problem(found, {}, expression)] if isinstance(found, Failure) else []
    seeds = seeds_of(expression)
    options = [variants(types[name], _uses(expression, name), seeds) for name in names]
    fields = {part for path in expression.paths for part in path[1:]}
    listed = all(_is_listed(path, types) for path in expression.paths)
    for values in combine(options, _MOST_WITNESSES):
        scope = dict(zip(names, values, strict=True))
        found = expression.attempt(scope)
        if isinstance(found, Failure) and (_counts(found, fields) or (listed and found.kind == "value")):
            return [_problem(found, scope, expression)]
    return []


def _is_listed(path: tuple[str, ...], types: Mapping[str, JsonSchema]) -> bool:
    """Whether the schema lists the values at a path: then a witness is a value that a run can have."""
    schema: Any = types.get(path[0])
    for part in path[1:]:
        properties = cast("Any", schema).get("properties") if isinstance(schema, Mapping) else None
        schema = cast("Any", properties).get(part) if isinstance(properties, Mapping) else None
    if not isinstance(schema, Mapping):
        return False
    found = cast("Mapping[str, Any]", schema)
    return "const" in found or isinstance(found.get("enum"), list)


def _counts(failure: Failure, fields: set[str]) -> bool:
    """Whether a failure is one of types, not one of the particular value (a division by zero, a bad date)."""
    if failure.kind == "key":
        return any(f"'{name}'" in failure.message.en for name in fields)
    return failure.kind in ("types", "field", "budget")


def _problem(failure: Failure, scope: Mapping[str, Json], expression: Expression) -> TypeProblem:
    case = told(expression.paths, scope)
    if not case.en:
        return TypeProblem(failure.message, failure.column, failure.hint, "witness")
    return TypeProblem(
        Text(
            f"it fails with {case.en}: {failure.message.en}", f"当 {case.zh} 时求值失败：{failure.message.zh}"
        ),
        failure.column,
        failure.hint,
        "witness",
    )


def _uses(expression: Expression, name: str) -> Uses:
    """The fields of `name` that are read, as a tree; a value that is read whole has none."""
    tree: dict[str, Any] = {}
    paths = [path[1:] for path in expression.paths if path[0] == name]
    if () in paths:
        return {}
    for path in paths:
        reduce(lambda node, part: node.setdefault(part, {}), path, tree)
    return tree


def seeds_of(expression: Expression) -> Seeds:
    """What the expression compares with, so that each of its arms is entered by some witness."""
    literals = [node for node in walk(expression.tree) if isinstance(node, Literal)]
    texts = dict.fromkeys(node.value for node in literals if isinstance(node.value, str))
    numbers = sorted({int(node.value) for node in literals if node.kind == "int" and node.value is not None})
    around = dict.fromkeys(n for number in numbers[:2] for n in (number, number + 1, number - 1))
    return Seeds(tuple(texts)[:4], tuple(around))
