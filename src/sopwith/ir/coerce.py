"""Values that arrived as text although their schema says otherwise, read back as what they are.

A model or a provider may hand over `"[1,2]"` where an array is declared, or a whole object doubly encoded.
Only where the declared type is an array, object, number, integer or boolean, never text, and the text is the
JSON of such a value, is it decoded. A field that may be text keeps its text.
"""

from __future__ import annotations

import json
import math
from typing import Any, cast
from urllib.parse import unquote

from sopwith.errors import UserError
from sopwith.ir.schema import validator
from sopwith.ir.schema_problem import json_path, type_name
from sopwith.ir.value import Json

_DECODED = frozenset({"array", "object", "number", "integer", "boolean"})
_DEEPEST = 64
_TWICE_ENCODED = 3
_EXACT = 2**53

_Path = tuple[str | int, ...]


def coerce(schema: Json, value: Json) -> tuple[Json, tuple[str, ...]]:
    """`value` with its stringified parts decoded as `schema` declares them, and what was decoded.

    Each repair reads `stringified $.files` (text that was JSON) or `integral $.count` (`3.0` where an integer
    is declared). `value` itself is not changed. The result is not judged: a validator does that.
    """
    repairs: list[str] = []
    result = _Coercion(schema, repairs).at(schema, value, ())
    return result, tuple(repairs)


def parse_json(text: str) -> Json:
    """`text` as exactly one JSON value, or `ValueError`.

    Stricter than `json.loads`: no NaN, no infinite numbers, no key twice in an object, no endless nesting.
    """
    try:
        return _STRICT.decode(text)
    except RecursionError:
        raise ValueError("nested too deep") from None


class _Coercion:
    """One walk over a value, with the root schema at hand for `$ref`."""

    def __init__(self, root: Json, repairs: list[str]) -> None:
        self.root = root
        self.repairs = repairs

    def at(self, schema: Json, value: Json, path: _Path) -> Json:
        if not isinstance(schema, dict) or len(path) > _DEEPEST:
            return value
        node = cast("dict[str, Json]", schema)
        value = self._scalar(admitted_types(self.root, node, 0), value, path)
        if isinstance(value, dict | list):
            value = self._children(node, value, path, 0)
        return value

    def _scalar(self, types: frozenset[str] | None, value: Json, path: _Path) -> Json:
        """`value` decoded where it is text and text is not among the declared `types`."""
        if types is None:
            return value
        if isinstance(value, str) and "string" not in types and types & _DECODED:
            decoded = _decode(value, types)
            if not isinstance(decoded, str):
                self.repairs.append(f"stringified {json_path(path)}")
                value = decoded
        if isinstance(value, float) and "integer" in types and "number" not in types and _integral(value):
            self.repairs.append(f"integral {json_path(path)}")
            return int(value)
        return value

    def _children(self, node: dict[str, Json], value: Json, path: _Path, depth: int) -> Json:
        """`value` with its members coerced by everything in `node` that speaks about them."""
        if depth > _DEEPEST:
            return value
        if isinstance(node.get("$ref"), str):
            target = resolve(self.root, node["$ref"])
            if isinstance(target, dict):
                value = self._children(cast("dict[str, Json]", target), value, path, depth + 1)
        for part in _dicts(node.get("allOf")):
            value = self._children(part, value, path, depth + 1)
        for key in ("anyOf", "oneOf"):
            branch = self._branch(_dicts(node.get(key)), value, path)
            if branch is not None:
                value = self._children(branch, value, path, depth + 1)
        if isinstance(value, dict):
            return self._members(node, cast("dict[str, Json]", value), path)
        return self._items(node, cast("list[Json]", value), path)

    def _members(self, node: dict[str, Json], value: dict[str, Json], path: _Path) -> dict[str, Json]:
        properties = node.get("properties")
        known = cast("dict[str, Json]", properties) if isinstance(properties, dict) else {}
        other = None if "patternProperties" in node else node.get("additionalProperties")
        if not known and not isinstance(other, dict):
            return value
        return {name: self.at(known.get(name, other), item, (*path, name)) for name, item in value.items()}

    def _items(self, node: dict[str, Json], value: list[Json], path: _Path) -> list[Json]:
        items, first = node.get("items"), node.get("prefixItems")
        if isinstance(items, list):  # before draft 2020-12
            items, first = node.get("additionalItems"), cast("list[Json]", items)
        leading = cast("list[Json]", first) if isinstance(first, list) else []
        if not leading and not isinstance(items, dict):
            return value
        return [
            self.at(leading[i] if i < len(leading) else items, item, (*path, i))
            for i, item in enumerate(value)
        ]

    def _branch(self, branches: list[dict[str, Json]], value: Json, path: _Path) -> dict[str, Json] | None:
        """The one alternative that `value` means: of its kind, or the only one it satisfies once decoded."""
        wanted = "object" if isinstance(value, dict) else "array"
        fitting = [b for b in branches if (t := admitted_types(self.root, b, 0)) is None or wanted in t]
        if len(fitting) <= 1:
            return fitting[0] if fitting else None
        if any(self._accepts(b, value) for b in fitting):
            return None
        silent = _Coercion(self.root, [])
        found = [b for b in fitting if self._accepts(b, silent._children(b, value, path, 0))]
        return found[0] if len(found) == 1 else None

    def _accepts(self, branch: dict[str, Json], value: Json) -> bool:
        shared = {key: self.root[key] for key in ("$schema", "$defs", "definitions") if key in self.root}
        try:
            return validator({**shared, **branch}).accepts(value)
        except UserError:  # a $ref to another place of the root: nothing is guessed
            return False


def resolve(root: Json, ref: str) -> Json:
    """What a local `$ref` (`#`, `#/$defs/node`, any JSON pointer) points to in `root`, or None."""
    if ref != "#" and not ref.startswith("#/"):
        return None
    node: Any = root
    for part in unquote(ref[1:]).split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict) and key in node:
            node = cast("dict[str, Any]", node)[key]
        elif isinstance(node, list) and key.isdigit() and int(key) < len(cast("list[Any]", node)):
            node = cast("list[Any]", node)[int(key)]
        else:
            return None
    return node


def admitted_types(root: Json, node: Json, depth: int = 0) -> frozenset[str] | None:
    """The JSON types that `node` admits, or None where it does not say."""
    if not isinstance(node, dict) or depth > _DEEPEST:
        return None
    schema = cast("dict[str, Json]", node)
    admitted: frozenset[str] | None = None
    for types in _statements(root, schema, depth):
        if types is not None:
            admitted = types if admitted is None else admitted & types
    return admitted


def _statements(root: Json, schema: dict[str, Json], depth: int) -> list[frozenset[str] | None]:
    """What each keyword says about the type; all of them hold at once."""
    said: list[frozenset[str] | None] = []
    declared = schema.get("type")
    if isinstance(declared, str):
        said.append(frozenset({declared}))
    elif isinstance(declared, list):
        said.append(frozenset(cast("list[str]", declared)))
    if isinstance(schema.get("enum"), list):
        said.append(frozenset(type_name(option) for option in cast("list[Json]", schema["enum"])))
    if "const" in schema:
        said.append(frozenset({type_name(schema["const"])}))
    if isinstance(schema.get("$ref"), str):
        said.append(admitted_types(root, resolve(root, schema["$ref"]), depth + 1))
    said.extend(admitted_types(root, part, depth + 1) for part in _dicts(schema.get("allOf")))
    for key in ("anyOf", "oneOf"):
        if isinstance(schema.get(key), list):
            each = [admitted_types(root, part, depth + 1) for part in cast("list[Json]", schema[key])]
            known = [types for types in each if types is not None]
            said.append(frozenset[str]().union(*known) if len(known) == len(each) else None)
    return said


def _decode(text: str, types: frozenset[str]) -> Json:
    """The value that `text` is the JSON of, if it is of one of `types`; else `text` itself."""
    value: Json = text
    for _ in range(_TWICE_ENCODED):
        if not isinstance(value, str):
            break
        try:
            value = parse_json(value)
        except ValueError:
            return text
    kind = type_name(value)
    fits = kind in types or (kind == "integer" and "number" in types)
    fits = fits or (isinstance(value, float) and "integer" in types and _integral(value))
    return value if fits and kind in _DECODED else text


def _integral(value: float) -> bool:
    return value.is_integer() and abs(value) < _EXACT


def _dicts(value: Json) -> list[dict[str, Json]]:
    if not isinstance(value, list):
        return []
    return [cast("dict[str, Json]", item) for item in cast("list[Json]", value) if isinstance(item, dict)]


def _no_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is not a finite number")
    return value


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key occurs twice in one object")
    return result


_STRICT = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_unique)
