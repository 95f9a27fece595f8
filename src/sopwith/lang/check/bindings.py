"""Values that a procedure binds (arguments, results) against the schema of what takes them.

What is constant is judged by the schema itself; of an expression it is asked whether anything that it can
give would be taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import cast

from sopwith.errors import ExpressionError, Text, UserError
from sopwith.expr.shape import Schema, Shapes, flatten, kinds, of_kind, properties_of, shapes_of
from sopwith.expr.template import parse_template
from sopwith.ir.schema import validator
from sopwith.ir.schema_problem import TYPES
from sopwith.ir.value import Json
from sopwith.lang.document import Path

Typed = Callable[[Path], Shapes]
"""What the expression at a path gives."""


def misfits(value: Json, schema: Json, root: Json, path: Path, typed: Typed) -> Iterator[tuple[Path, Text]]:
    """The places in `value` that `schema` (a part of `root`) does not admit, each with what it is about."""
    try:
        template = parse_template(value)
    except ExpressionError:
        return  # reported where expressions are read
    if template.constant:
        for problem in constant_problems(template.render({}), schema, root):
            yield path, problem
        return
    if isinstance(value, str):
        given = typed(path) if template.expressions[0].lone else of_kind("string")
        if problem := _kind_problem(given, schema, root):
            yield path, problem
        return
    made = of_kind("map" if isinstance(value, dict) else "list")
    if problem := _kind_problem(made, schema, root):
        yield path, problem
        return
    node, root = flatten(cast("Schema", schema), root) if isinstance(schema, dict) else ({}, root)
    if isinstance(value, dict):
        for key, item in cast("dict[str, Json]", value).items():
            inner = properties_of(node).get(key, True)
            yield from misfits(item, inner, root, (*path, key), typed)
    elif isinstance(value, list):
        for i, item in enumerate(cast("list[Json]", value)):
            yield from misfits(item, node.get("items", True), root, (*path, i), typed)


def constant_problems(value: Json, schema: Json, root: Json) -> tuple[Text, ...]:
    """What `schema` says against a constant; nothing where it cannot be used (reported elsewhere)."""
    whole = schema
    if isinstance(schema, dict) and isinstance(root, dict):
        shared = {k: v for k, v in cast("Schema", root).items() if k in ("$schema", "$defs", "definitions")}
        whole = {**shared, **cast("Schema", schema)}
    try:
        found = validator(whole).problems(value)
        return tuple(Text(said.en.removeprefix("$: "), said.zh.removeprefix("$：")) for said in found)
    except UserError:
        return ()


def _kind_problem(given: Shapes, schema: Json, root: Json) -> Text | None:
    wanted = shapes_of(schema, root, 1)
    have, want = kinds(given), kinds(wanted)
    if not have or not want or "dyn" in have | want:
        return None
    have_json = {_JSON.get(kind, kind) for kind in have}
    want_json = {_JSON.get(kind, kind) for kind in want}
    if not (have_json & want_json) and not ("integer" in have_json and "number" in want_json):
        want_said, have_said = shapes_words(wanted), shapes_words(given)
        return Text(f"must be {want_said.en}, not {have_said.en}", f"应为{want_said.zh}，不是{have_said.zh}")
    legal = [value for shape in wanted for value in shape.values or ()]
    listed = [value for shape in given for value in shape.values or ()]
    closed = all(s.values is not None for s in (*wanted, *given))
    if closed and legal and listed and not any(value in legal for value in listed):
        can, may = [str(value) for value in listed], [str(value) for value in legal]
        return Text(
            f"can only be {', '.join(can)}, which is none of {', '.join(may)}",
            f"只可能是 {'、'.join(can)}，均不在可选值之内：{'、'.join(may)}",
        )
    return None


_JSON = {
    "int": "integer", "uint": "integer", "double": "number", "bool": "boolean", "list": "array",
    "map": "object", "timestamp": "string", "duration": "string",
}  # fmt: skip


def shapes_words(shapes: Shapes) -> Text:
    """What may be given, in words: a text, a number or a list."""
    names = dict.fromkeys(_JSON.get(shape.kind, shape.kind) for shape in shapes)
    if "number" in names:
        names.pop("integer", None)
    said = [TYPES.get(name, Text(name, name)) for name in names]
    return Text(" or ".join(one.en for one in said), "或".join(one.zh for one in said))
