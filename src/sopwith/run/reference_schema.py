"""Which references a model may write: the schema of an action's arguments, widened by the paths that exist."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

from sopwith.ir.coerce import admitted_types
from sopwith.ir.schema_problem import type_name
from sopwith.ir.value import Json
from sopwith.run.preview import MARK
from sopwith.run.references import speaks_of_mark
from sopwith.run.sketch import sampled
from sopwith.run.value_path import is_name

DEPTH = 3
"""So deep arguments are widened, and so deep paths are spelled out."""

MOST_KEYS = 24
MOST_NAMES = 24
LONGEST = 1200
"""Characters of all paths of one argument; beyond it only names are held, and the rest of a path is checked after."""

LONGEST_KEY = 64
_ANY_PART = r"([.][^\s\"\\.\[\]]{1,64}|\[[0-9]{1,7}\])"
_Types = frozenset[str] | None


def widened(schema: Mapping[str, Json], known: Mapping[str, Json]) -> dict[str, Json]:
    """`schema` with references to `known` values (by name, as a model sees them) allowed wherever one fits."""
    if not known or speaks_of_mark(dict(schema)):
        return dict(schema)
    return _Widener(schema, known).members(schema, DEPTH)


def readable_values(schema: Mapping[str, Json], known: Mapping[str, Json]) -> dict[str, Json]:
    """The schema of a look at a value, held to the paths of what is long enough to be looked at."""
    pattern = _pattern(known, frozenset({"string", "array", "object"}))
    properties = {**cast("dict[str, Json]", schema["properties"])}
    properties["value"] = {"type": "string", "pattern": pattern}
    return {**schema, "properties": properties}


class _Widener:
    def __init__(self, root: Mapping[str, Json], known: Mapping[str, Json]) -> None:
        self._root = root
        self._known = known
        self._patterns: dict[_Types, str | None] = {}

    def members(self, schema: Mapping[str, Json], depth: int) -> dict[str, Json]:
        """A schema with the schemas of its members widened."""
        found = dict(schema)
        if depth == 0:
            return found
        properties = found.get("properties")
        if isinstance(properties, dict):
            pairs = cast("dict[str, Json]", properties)
            found["properties"] = {key: self._or_reference(item, depth) for key, item in pairs.items()}
        if isinstance(found.get("items"), dict):
            found["items"] = self._or_reference(found["items"], depth)
        return found

    def _or_reference(self, schema: Json, depth: int) -> Json:
        if not isinstance(schema, dict):
            return schema
        given = cast("dict[str, Json]", schema)
        if "enum" in given or "const" in given:
            return given
        types = admitted_types(dict(self._root), given)
        if types not in self._patterns:
            self._patterns[types] = _pattern(self._known, types)
        pattern = self._patterns[types]
        inner = self.members(given, depth - 1)
        if pattern is None:
            return inner
        reference: Json = {
            "type": "object",
            "properties": {MARK: {"type": "string", "pattern": pattern}},
            "required": [MARK],
            "additionalProperties": False,
        }
        return {"anyOf": [inner, reference]}


def _pattern(known: Mapping[str, Json], types: _Types) -> str | None:
    """The paths to values of `types`, as one pattern; None where there are none."""
    spelled = {name: _paths([value], types, DEPTH) for name, value in known.items()}
    spelled = {name: path for name, path in spelled.items() if path is not None}
    paths = [re.escape(name) + path for name, path in spelled.items()]
    if not paths:
        return None
    pattern = f"^({'|'.join(paths)})$"
    if len(pattern) <= LONGEST:
        return pattern
    loose = [f"{re.escape(name)}{_ANY_PART}{{{0 if _fits(known[name], types) else 1},6}}" for name in spelled]
    return f"^({'|'.join(loose[-MOST_NAMES:])})$"


def _paths(values: list[Json], types: _Types, depth: int) -> str | None:
    """What may follow the path to `values`, that stand in the same place: a pattern, None where nothing fits there."""
    ends = any(_fits(value, types) for value in values)
    more = _further(values, types, depth) if depth else []
    if not more:
        return "" if ends else None
    inside = more[0] if len(more) == 1 else "|".join(more)
    return f"({inside})?" if ends else f"({inside})"


def _further(values: list[Json], types: _Types, depth: int) -> list[str]:
    lists = [cast("list[Json]", value) for value in values if isinstance(value, list) and value]
    objects = [cast("dict[str, Json]", value) for value in values if isinstance(value, dict)]
    found: list[str] = []
    if lists:
        inside = _paths([item for items in lists for item in sampled(items)], types, depth - 1)
        digits = len(str(max(map(len, lists)) - 1))
        if inside is not None:
            found.append(rf"\[[0-9]{{1,{digits}}}\]{inside}")
    keys = dict.fromkeys(key for each in objects for key in each if is_name(key) and len(key) <= LONGEST_KEY)
    for key in list(keys)[:MOST_KEYS]:
        inside = _paths([each[key] for each in objects if key in each], types, depth - 1)
        if inside is not None:
            found.append(rf"\.{key}{inside}")
    return found


def _fits(value: Json, types: _Types) -> bool:
    kind = type_name(value)
    return types is None or kind in types or (kind == "integer" and "number" in types)
