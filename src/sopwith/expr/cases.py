"""The cases that conditions tell apart: a few values for the names they read, one for each way they can turn out.

Made from the schemas and from what the conditions compare with: each listed value that is asked for and one that is
not, a number on each side of each bound, null and a missing field where they are admitted. Never at random.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from typing import Any, cast

from sopwith.errors import Text, UserError
from sopwith.expr.expression import Expression
from sopwith.expr.shape import Schema, flatten, kind_of, properties_of
from sopwith.expr.syntax import Call, ListLiteral, Literal, Node, Select, chain, paths, walk
from sopwith.expr.template import print_value
from sopwith.expr.witness import text_of
from sopwith.ir.schema import validator
from sopwith.ir.value import Json

MOST = 64
"""More cases than this are not made: what is left out is not claimed."""

_LONGEST = 60
_LISTED = 40
_TURNED = {"_<_", "_<=_", "_>_", "_>=_", "_==_", "_!=_"}
_LOGIC = frozenset({"_&&_", "_||_", "!_", "_?_:_"})
_TIED = frozenset(
    {
        "not",
        "if",
        "oneOf",
        "dependentRequired",
        "dependentSchemas",
        "dependencies",
        "minProperties",
        "maxProperties",
    }
)
"""Keywords that bind the fields of an object to each other."""

MISSING: Any = object()


@dataclass(frozen=True, slots=True)
class Cases:
    """`scopes` hold values for the names that were read, no more fields than that.

    `complete`: whatever the schemas admit turns out as one of the scopes does. `certain`: the schemas admit each.
    """

    scopes: tuple[dict[str, Json], ...]
    complete: bool
    certain: bool


@dataclass(slots=True)
class _Read:
    """How a value is read: the constants it is compared with, its fields; `opaque` where it cannot be told."""

    constants: list[Literal] = field(default_factory=list[Literal])
    opaque: bool = False
    fields: dict[str, _Read] = field(default_factory=dict[str, "_Read"])


def cases(expressions: Iterable[Expression], types: Mapping[str, Schema]) -> Cases:
    """The cases that `expressions` tell apart, where their names have the `types`."""
    root = _Read()
    for expression in expressions:
        _condition(expression.tree, root)
    maker = _Maker()
    options: list[list[Json]] = []
    for name, read in root.fields.items():
        options.append([v for v in maker.values(read, types[name], types[name], 0) if v is not MISSING])
    scopes = tuple(dict(zip(root.fields, values, strict=True)) for values in maker.choices(options))
    return Cases(scopes, maker.complete, maker.certain)


def told(paths: Iterable[tuple[str, ...]], scope: Mapping[str, Json]) -> Text:
    """The values of `paths` in `scope`, as `left.days = 2, left.unit missing`."""
    known = {path: at(scope, path) for path in paths if path[0] in scope}
    given = [f"{'.'.join(path)} = {_shown(value)}" for path, value in known.items() if value is not MISSING]
    gone = [".".join(path) for path, value in known.items() if value is MISSING]
    en = ", ".join((*given, *(f"{path} missing" for path in gone)))
    return Text(en, "，".join(([", ".join(given)] if given else []) + [f"缺少 {path}" for path in gone]))


def at(scope: Mapping[str, Json], path: Sequence[str]) -> Any:
    """The value at `path`, or `MISSING`."""
    value: Any = scope
    for part in path:
        if not isinstance(value, Mapping) or part not in value:
            return MISSING
        value = cast("Mapping[str, Any]", value)[part]
    return value


def _shown(value: Json) -> str:
    text = f"'{value}'" if isinstance(value, str) else "null" if value is None else _plain(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _plain(value: Json) -> str:
    return str(value) if isinstance(value, float) else print_value(value)


# How values are read.


def _condition(node: Node, root: _Read) -> None:
    """Note how a condition reads its names."""
    if isinstance(node, Call) and node.function in _LOGIC:
        for arg in node.args:
            _condition(arg, root)
    elif isinstance(node, Call) and node.function in _TURNED:
        one, two = node.args
        if isinstance(one, Literal):
            one, two = two, one
        _compared(node, one, (two,) if isinstance(two, Literal) else (), root)
    elif isinstance(node, Call) and node.function == "@in":
        one, two = node.args
        listed = two.items if isinstance(two, ListLiteral) else ()
        literals = tuple(item for item in listed if isinstance(item, Literal))
        _compared(node, one, literals if len(literals) == len(listed) else (), root)
    elif isinstance(node, Select) and node.test:
        _leaf(node, root)
    else:
        if _leaf(node, root) is None:
            _opaque(node, root)


def _compared(node: Call, value: Node, literals: tuple[Literal, ...], root: _Read) -> None:
    """A comparison with constants; one of anything else is opaque."""
    ordered = node.function not in ("_==_", "_!=_", "@in")
    if ordered and any(one.kind not in ("int", "uint", "double") for one in literals):
        literals = ()
    if (
        isinstance(value, Call)
        and value.function == "double"
        and len(value.args) == 1
        and chain(value.args[0])
    ):
        literals = literals if all(one.kind in ("int", "double") for one in literals) else ()
        value = value.args[0]
    path = _leaf(value, root) if literals else None
    if path is None:
        _opaque(node, root)
        return
    path.constants += literals


def _leaf(node: Node, root: _Read) -> _Read | None:
    """Where the value of `node` is noted, if it is a name with fields."""
    path = chain(node)
    if path is None:
        return None
    read = root
    for part in path:
        read = read.fields.setdefault(part, _Read())
    return read


def _opaque(node: Node, root: _Read) -> None:
    """Note that what `node` reads cannot be told apart by constants alone."""
    literals = [
        one for one in walk(node) if isinstance(one, Literal) and isinstance(one.value, int | float | str)
    ]
    for path in paths(node):
        read = root
        for part in path:
            read = read.fields.setdefault(part, _Read())
        read.opaque = True
        read.constants += literals[:4]


# Values for what is read.


class _Maker:
    """Makes the values; remembers what could not be covered."""

    def __init__(self) -> None:
        self.complete = True
        self.certain = True

    def choices(self, options: Sequence[Sequence[Json]]) -> list[tuple[Json, ...]]:
        """All combinations, or some of them where they are too many."""
        count = 1
        for one in options:
            count *= len(one)
        if count <= MOST:
            return list(product(*options))
        self.complete = False
        longest = min(MOST // 2, max(map(len, options)))
        mixed = [tuple(one[i % len(one)] for one in options) for i in range(longest)]
        return [*mixed, *islice(product(*options), MOST - longest)]

    def values(self, read: _Read, schema: Json, root: Json, depth: int) -> list[Json]:
        """The values to try for what is read in this way."""
        if depth > 8:
            self.complete = False
            return []
        if read.opaque:
            self.complete = False
        found: list[Json] = []
        for node, inner in self._alternatives(schema, root, depth):
            found += self._of(read, node, inner, depth)
        return _distinct(found)

    def _alternatives(self, schema: Json, root: Json, depth: int) -> list[tuple[Schema, Json]]:
        """`schema` without `$ref`, `allOf`, `anyOf` and `oneOf`."""
        if not isinstance(schema, dict):
            return [] if schema is False else [({}, root)]
        node = cast("Schema", schema)
        if "$id" in node:
            root = node
        node, root = flatten(node, root)
        for key in ("anyOf", "oneOf"):
            branches = node.get(key)
            if isinstance(branches, list) and branches and depth < 8:
                rest = {name: value for name, value in node.items() if name != key}
                if key == "oneOf" and not all("const" in b for b in cast("list[Any]", branches)):
                    self.certain = False
                return [
                    found
                    for branch in cast("list[Json]", branches)
                    for found in self._alternatives(
                        {"allOf": [rest, branch]} if rest and isinstance(branch, dict) else branch,
                        root,
                        depth + 1,
                    )
                ]
        if _TIED & node.keys() or isinstance(node.get("enum"), str):
            self.certain = False
        return [(node, root)]

    def _of(self, read: _Read, node: Schema, root: Json, depth: int) -> list[Json]:
        if "const" in node:
            return [node["const"]]
        if isinstance(node.get("enum"), list):
            return self._listed(read, cast("list[Json]", node["enum"]))
        declared = node.get("type")
        names = [declared] if isinstance(declared, str) else cast("list[str]", declared or [])
        if not names and "properties" in node:
            names = ["object"]
        if node.get("nullable") is True:
            names = [*names, "null"]
        if not names:
            self.complete = False
            return [*(one.value for one in read.constants if not isinstance(one.value, bytes)), "text"]
        return [value for name in names for value in self._typed(name, read, node, root, depth)]

    def _listed(self, read: _Read, values: list[Json]) -> list[Json]:
        """Listed values: those that are asked for, and one of the others of each kind."""
        if len(values) > _LISTED:
            self.complete = False
            values = values[:_LISTED]
        if read.opaque or read.fields:
            return values
        asked = [one.value for one in read.constants]
        numeric = any(one.kind in ("int", "uint", "double") for one in read.constants)
        rest: dict[str, Json] = {}
        for value in values:
            if value not in asked:
                rest.setdefault(str(value) if numeric else kind_of(value), value)
        return [value for value in values if value in asked or any(value is one for one in rest.values())]

    def _typed(self, name: str, read: _Read, node: Schema, root: Json, depth: int) -> list[Json]:
        match name:
            case "null":
                return [None]
            case "boolean":
                return [True, False]
            case "integer" | "number":
                return self._numbers(read, node, whole=name == "integer")
            case "object":
                return self._objects(read, node, root, depth)
            case "array":
                if read.opaque or read.constants:
                    self.complete = False
                return [[], ["text"]] if read.opaque else [[]]
            case _:
                return self._texts(read, node)

    def _numbers(self, read: _Read, node: Schema, *, whole: bool) -> list[Json]:
        """Each bound and constant, and what lies beside and between them."""
        if "multipleOf" in node:
            self.complete = False
        bounds = [node.get(k) for k in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")]
        cuts = sorted({*_only_numbers(one.value for one in read.constants), *_only_numbers(bounds)}) or [3]
        if len(cuts) > 12:
            self.complete = False
            cuts = cuts[:12]
        tried: list[int | float] = []
        for i, cut in enumerate(cuts):
            near = [int(cut) - 1, int(cut), int(cut) + 1] if whole else [cut - 1, cut, cut + 1]
            between = [(cut + cuts[i + 1]) / 2] if not whole and i + 1 < len(cuts) else []
            tried += [*near, *between]
        return self._admitted(tried, node)

    def _texts(self, read: _Read, node: Schema) -> list[Json]:
        asked = [one.value for one in read.constants if isinstance(one.value, str)]
        other = text_of(node)
        while other in asked:
            other += "x"
        found = self._admitted(dict.fromkeys([other, *asked]), node)
        if other not in found:
            self.complete = False
        return found

    def _admitted(self, tried: Iterable[Json], node: Schema) -> list[Json]:
        """Those that the schema admits."""
        values = list(dict.fromkeys(cast("Iterable[int | float | str]", tried)))
        if node.keys() <= _SAYS_NOTHING:
            return list(values)
        plain = {key: value for key, value in node.items() if key not in ("$id", "enum")}
        try:
            return [value for value in values if validator(plain).accepts(value)]
        except UserError:
            self.complete = self.certain = False
            return list(values)

    def _objects(self, read: _Read, node: Schema, root: Json, depth: int) -> list[Json]:
        properties = properties_of(node)
        required = cast("list[str]", node.get("required") or [])
        other = node.get("additionalProperties")
        options: dict[str, list[Json]] = {}
        for name, inner in read.fields.items():
            schema = properties.get(name, other if isinstance(other, dict) else True)
            found = self.values(inner, schema, root, depth + 1)
            optional = name not in required
            options[name] = [*found, MISSING] if optional else found
        return [
            {name: value for name, value in zip(options, values, strict=True) if value is not MISSING}
            for values in self.choices(list(options.values()))
        ]


_SAYS_NOTHING = frozenset({"type", "title", "description", "default", "examples", "nullable"})


def _only_numbers(values: Iterable[Any]) -> list[int | float]:
    return [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]


def _distinct(values: list[Json]) -> list[Json]:
    found: dict[str, Json] = {}
    for value in values:
        found.setdefault("missing" if value is MISSING else f"{kind_of(value)}{value!r}", value)
    return list(found.values())
