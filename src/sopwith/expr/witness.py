"""Values made from a JSON Schema: the few that expressions fail on, if they fail on any.

An integer, a fraction, null where it is admitted, an object without an optional field, an empty list, each
listed value. Made in a fixed order, never at random.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from typing import cast

from sopwith.errors import UserError
from sopwith.expr.shape import Schema, flatten, properties_of
from sopwith.ir.schema import validator
from sopwith.ir.value import Json

_DEEPEST = 6
_LISTED = 6

Uses = Mapping[str, "Uses"]
"""The fields of a value that are read, as a tree; an empty one means: all of it."""


@dataclass(frozen=True, slots=True)
class Seeds:
    """Texts and whole numbers to try beside the standard ones: those that an expression compares with."""

    texts: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()


@dataclass(slots=True)
class _Maker:
    seeds: Seeds
    limit: int
    absent: object = field(default_factory=object)


def witness(schema: Json) -> Json:
    """One value that `schema` admits, with all its properties; None where it admits nothing known."""
    found = variants(schema, limit=1)
    return found[0] if found else None


def variants(
    schema: Json, uses: Uses | None = None, seeds: Seeds | None = None, limit: int = 24
) -> list[Json]:
    """Up to `limit` values that `schema` admits, different in the fields that `uses` names."""
    return _variants(_Maker(seeds or Seeds(), limit), schema, schema, uses or {}, 0)


def _variants(maker: _Maker, schema: Json, root: Json, uses: Uses, depth: int) -> list[Json]:
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return [] if schema is False else ["text"]
    node = cast("Schema", schema)
    if "$id" in node:
        root = node
    node, root = flatten(node, root)
    if "const" in node:
        return [node["const"]]
    if isinstance(node.get("enum"), list):
        return cast("list[Json]", node["enum"])[: max(_LISTED, maker.limit // 2)]
    for key in ("anyOf", "oneOf"):
        branches = node.get(key)
        if isinstance(branches, list) and branches:
            rest = {name: value for name, value in node.items() if name != key}
            each = [
                _variants(maker, {"allOf": [rest, branch]} if rest else branch, root, uses, depth + 1)
                for branch in cast("list[Json]", branches)
            ]
            return _interleave(each)[: maker.limit]
    found = [value for name in _type_names(node) for value in _typed(maker, name, node, root, uses, depth)]
    if node.get("nullable") is True and None not in found:
        found.append(None)
    return found[: maker.limit]


def _interleave(each: list[list[Json]]) -> list[Json]:
    """The first of each, then the second of each, and so on: a limit cuts none of the alternatives off."""
    longest = max(map(len, each), default=0)
    return [values[i] for i in range(longest) for values in each if i < len(values)]


def _type_names(node: Schema) -> list[str]:
    declared = node.get("type")
    if isinstance(declared, str):
        return [declared]
    if isinstance(declared, list):
        return cast("list[str]", declared)
    if "properties" in node:
        return ["object"]
    return ["array"] if "items" in node else ["string"]


def _typed(maker: _Maker, name: str, node: Schema, root: Json, uses: Uses, depth: int) -> list[Json]:
    match name:
        case "null":
            return [None]
        case "boolean":
            return [True, False]
        case "integer":
            return _integers(maker, node)
        case "number":
            integers = _integers(maker, node)
            return [integers[0], _fraction(integers[0], node), *integers[1:]]
        case "array":
            return _arrays(maker, node, root, depth)
        case "object":
            return _objects(maker, node, root, uses, depth)
        case _:
            return [text_of(node), *_admitted(maker.seeds.texts, node)]


def _integers(maker: _Maker, node: Schema) -> list[Json]:
    low, high = node.get("minimum"), node.get("maximum")
    first = 3
    if isinstance(high, int | float) and first > high:
        first = int(high)
    if isinstance(low, int | float) and first < low:
        first = int(low) + (low != int(low))
    return list(dict.fromkeys([first, *_admitted(maker.seeds.numbers, node)]))


_BOUNDS = frozenset({
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
    "pattern", "format",
})  # fmt: skip


def _admitted(seeds: Sequence[Json], node: Schema) -> list[Json]:
    """Those of the seeds that are within the bounds of `node`."""
    bounds = {key: value for key, value in node.items() if key in _BOUNDS}
    if not bounds or not seeds:
        return list(seeds)
    try:
        return [seed for seed in seeds if validator(bounds).accepts(seed)]
    except UserError:
        return []


def _fraction(near: int, node: Schema) -> float:
    high = node.get("maximum")
    return near - 0.5 if isinstance(high, int | float) and near + 0.5 > high else near + 0.5


_FORMATS = {
    "date": "2026-03-02", "date-time": "2026-03-02T09:00:00Z", "time": "09:00:00Z", "email": "a@example.org",
    "uuid": "00000000-0000-4000-8000-000000000000", "uri": "https://example.org/", "duration": "P1D",
}  # fmt: skip


def text_of(node: Schema) -> str:
    """One text that a schema of texts probably admits."""
    text = _FORMATS.get(str(node.get("format")), "text")
    shortest, longest = node.get("minLength"), node.get("maxLength")
    if isinstance(shortest, int) and len(text) < shortest:
        text = text.ljust(min(shortest, 10_000), "x")
    return text[:longest] if isinstance(longest, int) and "format" not in node else text


def _arrays(maker: _Maker, node: Schema, root: Json, depth: int) -> list[Json]:
    if isinstance(node.get("prefixItems"), list):
        firsts = [_variants(maker, part, root, {}, depth + 1)[:1] for part in node["prefixItems"]]
        return [[value for values in firsts for value in values]]
    low = node.get("minItems")
    shortest = low if isinstance(low, int) else 0
    items = _variants(maker, node.get("items", True), root, {}, depth + 1)
    lists: list[Json] = [[item] * max(1, min(shortest, 50)) for item in items]
    return [*lists, []] if shortest == 0 else lists


def _objects(maker: _Maker, node: Schema, root: Json, uses: Uses, depth: int) -> list[Json]:
    properties = properties_of(node)
    required = cast("list[str]", node.get("required") or [])
    other = node.get("additionalProperties")
    if not properties and isinstance(other, dict):
        # A plain mapping, such as dict[str, str], says nothing about which keys it has: those that are read are there.
        properties, required = dict.fromkeys(uses, cast("Json", other)), [*uses, *required]
    names = [
        name for name in dict.fromkeys((*properties, *required)) if name in properties or name in required
    ]
    options: dict[str, Sequence[Json]] = {}
    for name in names:
        schema = properties.get(name, True)
        if uses and name not in uses:
            options[name] = _variants(maker, schema, root, {}, depth + 1)[:1]
            continue
        found = _variants(maker, schema, root, uses.get(name, {}), depth + 1)
        options[name] = found if name in required else [*found, maker.absent]
    combined = combine(list(options.values()), maker.limit)
    return [
        {name: value for name, value in zip(options, values, strict=True) if value is not maker.absent}
        for values in combined
    ]


def combine(options: Sequence[Sequence[Json]], limit: int) -> list[tuple[Json, ...]]:
    """All choices of one from each; beyond `limit` at first each option once, beside the firsts of the rest.

    Room that is left is filled with other choices."""
    if any(not choices for choices in options):
        return []
    count = 1
    for choices in options:
        count *= len(choices)
    if count <= limit:
        return list(product(*options))
    first = tuple(choices[0] for choices in options)
    found = [first]
    for i, choices in enumerate(options):
        found.extend((*first[:i], choice, *first[i + 1 :]) for choice in choices[1:])
    room = max(0, limit - len(found))
    return [*found[:limit], *islice(product(*(tuple(reversed(c)) for c in options)), room)]
