"""What a JSON Schema says about a value, as the alternatives that CEL tells apart.

A schema is read leniently: what it does not say, or says in a way that is not followed here, is `dyn`, of
which nothing is ever found wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from sopwith.ir.coerce import resolve
from sopwith.ir.value import Json

Kind = Literal[
    "dyn",
    "null",
    "bool",
    "int",
    "uint",
    "double",
    "string",
    "bytes",
    "list",
    "map",
    "timestamp",
    "duration",
    "type",
]
Schema = dict[str, Json]

_DEEPEST = 24
_JSON_KINDS: dict[str, tuple[Kind, ...]] = {
    "null": ("null",), "boolean": ("bool",), "integer": ("int",), "number": ("int", "double"),
    "string": ("string",), "array": ("list",), "object": ("map",),
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """One alternative: a CEL kind; its possible `values` where they are listed; what is inside it.

    A list or map is described by `schema` within `root` (the document its `$ref`s point into), or, where an
    expression made it, by `items` and `fields`.
    """

    kind: Kind
    values: tuple[Json, ...] | None = None
    schema: Schema | None = None
    root: Json = None
    items: Shapes | None = None
    fields: Mapping[str, Shapes] | None = None


Shapes = tuple[Shape, ...]
"""The alternatives of a value; empty where the schema admits nothing."""

DYN: Shapes = (Shape("dyn"),)


def of_kind(*kinds: Kind) -> Shapes:
    """Alternatives of these kinds, about which nothing more is known."""
    return tuple(Shape(kind) for kind in kinds)


def kinds(shapes: Shapes) -> frozenset[Kind]:
    """The kinds that a value may have."""
    return frozenset(shape.kind for shape in shapes)


def union(parts: Iterable[Shapes]) -> Shapes:
    """The alternatives of all `parts`; `dyn` as soon as one of them is."""
    result: dict[int, Shape] = {}
    plain: dict[Kind, Shape] = {}
    for shape in (shape for part in parts for shape in part):
        if shape.kind == "dyn":
            return DYN
        if shape.kind not in ("list", "map") and shape.values is None:
            plain[shape.kind] = shape
        else:
            result[id(shape)] = shape
    return (*plain.values(), *result.values())


def shapes_of(schema: Json, root: Json = None, depth: int = 0) -> Shapes:
    """The alternatives of the values that `schema` admits."""
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return () if schema is False else DYN
    node = cast("Schema", schema)
    if root is None or "$id" in node:
        root = node
    node, root = flatten(node, root, depth)
    for key in ("anyOf", "oneOf"):
        branches = node.get(key)
        if isinstance(branches, list) and branches:
            rest = {name: value for name, value in node.items() if name != key}
            return _nullable(node, union(_branch(rest, b, root, depth) for b in cast("list[Json]", branches)))
    if "const" in node:
        return _listed([node["const"]])
    values = node.get("enum")
    if isinstance(values, list):
        return _listed(cast("list[Json]", values))
    return _nullable(node, _typed(node, root))


def _branch(rest: Schema, branch: Json, root: Json, depth: int) -> Shapes:
    if not isinstance(branch, dict) or not rest:
        return shapes_of(branch, root, depth + 1)
    other = cast("Schema", branch)
    if "$id" in other:
        return shapes_of(other, root, depth + 1)
    flat, root = flatten(other, root, depth + 1)
    return shapes_of(_merge(rest, flat), root, depth + 1)


def flatten(node: Schema, root: Json, depth: int = 0) -> tuple[Schema, Json]:
    """`node` with its `$ref` and `allOf` merged in, and the document that its own `$ref`s point into."""
    while isinstance(node.get("$ref"), str) and depth < _DEEPEST:
        depth += 1
        target = resolve(root, cast("str", node["$ref"]))
        rest = {key: value for key, value in node.items() if key != "$ref"}
        if not isinstance(target, dict):
            return rest, root
        node = _merge(cast("Schema", target), rest)
    parts = node.get("allOf")
    if isinstance(parts, list) and depth < _DEEPEST:
        node = {key: value for key, value in node.items() if key != "allOf"}
        for part in cast("list[Json]", parts):
            if isinstance(part, dict):
                node = _merge(node, flatten(cast("Schema", part), root, depth + 1)[0])
    return node, root


def _merge(one: Schema, two: Schema) -> Schema:
    """Both at once, as far as types and members go."""
    merged = {**one, **two}
    for key in ("properties", "$defs", "definitions"):
        if isinstance(one.get(key), dict) and isinstance(two.get(key), dict):
            merged[key] = {**one[key], **two[key]}
    if "required" in one and "required" in two:
        merged["required"] = [*one["required"], *two["required"]]
    if "type" in one and "type" in two:
        both = [name for name in _types(two) if name in _types(one)] or _types(two)
        merged["type"] = both[0] if len(both) == 1 else both
    return merged


def _types(node: Schema) -> list[str]:
    declared = node.get("type")
    return [declared] if isinstance(declared, str) else cast("list[str]", declared)


def _typed(node: Schema, root: Json) -> Shapes:
    declared = node.get("type")
    if isinstance(declared, str | list):
        names = _types(node)
    elif "properties" in node:
        names = ["object"]
    elif "items" in node or "prefixItems" in node:
        names = ["array"]
    else:
        return DYN
    found: dict[Kind, Shape] = {}
    for name in names:
        for kind in _JSON_KINDS.get(name, ()):
            inside = kind in ("list", "map")
            found[kind] = Shape(kind, schema=node if inside else None, root=root if inside else None)
    return tuple(found.values())


def _nullable(node: Schema, shapes: Shapes) -> Shapes:
    if node.get("nullable") is True and "null" not in kinds(shapes):
        return (*shapes, Shape("null"))
    return shapes


def _listed(values: list[Json]) -> Shapes:
    """Alternatives for listed values; a comparison with a text that is not in the list is found."""
    by_kind: dict[Kind, list[Json]] = {}
    for value in values:
        by_kind.setdefault(kind_of(value), []).append(value)
    return tuple(
        Shape(kind, values=tuple(listed)) if kind not in ("list", "map") else Shape("dyn")
        for kind, listed in by_kind.items()
    )


def kind_of(value: Any) -> Kind:
    """The CEL kind of a JSON value."""
    if value is None:
        return "null"
    for python, kind in _KINDS:
        if isinstance(value, python):
            return kind
    return "dyn"


_KINDS: tuple[tuple[type, Kind], ...] = (
    (bool, "bool"), (int, "int"), (float, "double"), (str, "string"), (list, "list"), (dict, "map"),
)  # fmt: skip


# Inside a value.


@dataclass(frozen=True, slots=True)
class Member:
    """A field of a map: its shapes, whether it may be missing, whether the map is known not to have it."""

    shapes: Shapes
    optional: bool = False
    unknown: bool = False


def member(shape: Shape, name: str) -> Member:
    """The field `name` of one alternative of kind `map`."""
    if shape.fields is not None:
        found = shape.fields.get(name)
        return Member(DYN, unknown=True) if found is None else Member(found)
    node = shape.schema
    if node is None:
        return Member(DYN)
    properties = properties_of(node)
    if name in properties:
        required = node.get("required")
        optional = not (isinstance(required, list) and name in required)
        return Member(shapes_of(properties[name], shape.root, 1), optional=optional)
    other = node.get("additionalProperties")
    if isinstance(other, dict) and other:
        return Member(shapes_of(cast("Json", other), shape.root, 1), optional=True)
    closed = other is False or (bool(properties) and other is None and "patternProperties" not in node)
    return Member(DYN, optional=not closed, unknown=closed)


def member_names(shape: Shape) -> tuple[str, ...]:
    """The fields that one alternative of kind `map` declares."""
    if shape.fields is not None:
        return tuple(shape.fields)
    return tuple(properties_of(shape.schema)) if shape.schema is not None else ()


def properties_of(node: Schema) -> Schema:
    """The `properties` of a schema, or none."""
    properties = node.get("properties")
    return cast("Schema", properties) if isinstance(properties, dict) else {}


def items_of(shape: Shape) -> Shapes:
    """What one alternative of kind `list` holds."""
    if shape.items is not None:
        return shape.items
    node = shape.schema
    if node is None or "prefixItems" in node or not isinstance(node.get("items"), dict):
        return DYN
    return shapes_of(node["items"], shape.root, 1)
