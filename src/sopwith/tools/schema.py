"""The schemas of tools that somebody else wrote: whether they can be used at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from sopwith.errors import Text, UserError
from sopwith.ir.coerce import resolve
from sopwith.ir.schema import validator
from sopwith.ir.value import Json, canonical

LARGEST = 1_000_000
"""Bytes of one schema as JSON, with all that it refers to."""

UNUSABLE, TOO_LARGE, ENDLESS = "SW430", "SW431", "SW432"

_ALL, _ANY = "allOf", ("anyOf", "oneOf")


def hold_to_usable(schema: Json) -> None:
    """Raise `UserError` for what is no JSON Schema (SW430), and as `hold_to_limits`."""
    hold_to_limits(schema)
    try:
        validator(schema)
    except UserError as error:
        raise UserError(error.message, error.hint, UNUSABLE) from error


def hold_to_limits(schema: Json) -> None:
    """Raise `UserError` for a schema larger than `LARGEST` (SW431), and for one that nothing satisfies because it
    demands itself (SW432)."""
    size = len(canonical(schema))
    if size > LARGEST:
        raise UserError(
            Text(
                f"the schema has {size:,} bytes, and {LARGEST:,} are the most",
                f"schema 有 {size:,} 字节，上限为 {LARGEST:,}",
            ),
            Text("Leave the tool out, or have its schema made smaller.", "请去掉该工具，或精简它的 schema。"),
            TOO_LARGE,
        )
    if endless(schema):
        raise UserError(
            Text("its $ref goes in a circle that no value can end", "它的 $ref 循环，没有任何值能满足"),
            Text(
                "Make the reference optional: a property that is not required, a list, or one of several forms.",
                "请让该引用可选：非必需的属性、列表，或多种形式之一。",
            ),
            ENDLESS,
        )


def endless(schema: Json) -> bool:
    """Whether `schema` refers to something that no finite value satisfies: what it demands comes back to itself.

    Where that cannot be said for sure, as with conditions and patterns, it is not said.
    """
    if not isinstance(schema, dict) or '"$ref"' not in canonical(schema).decode():
        return False
    return _Ends(schema).some_endless()


class _Ends:
    """The least fixed point of "a finite value satisfies it" over all that a schema refers to."""

    def __init__(self, root: Json) -> None:
        self._targets = {ref: resolve(root, ref) for ref in dict.fromkeys(_references(root))}
        self._ending: set[str] = {ref for ref, node in self._targets.items() if node is None}
        self._waiting: dict[str, set[str]] = {}
        """The references that could not be said to end because of this one."""
        self._asked = ""

    def some_endless(self) -> bool:
        """Whether the target of some reference is satisfied by no finite value."""
        left = list(self._targets)
        while left:
            self._asked = left.pop()
            if self._asked not in self._ending and self.ends(self._targets[self._asked]):
                self._ending.add(self._asked)
                left += self._waiting.pop(self._asked, ())
        return len(self._ending) < len(self._targets)

    def ends(self, schema: Json) -> bool:
        """Whether some finite value satisfies `schema`, as far as is known by now."""
        if not isinstance(schema, dict):
            return schema is not False
        node = cast("dict[str, Json]", schema)
        ref = node.get("$ref")
        if isinstance(ref, str) and ref in self._targets and ref not in self._ending:
            self._waiting.setdefault(ref, set()).add(self._asked)
            return False
        if not all(map(self.ends, _list(node.get(_ALL)))):
            return False
        for key in _ANY:
            arms = _list(node.get(key))
            if arms and not any(map(self.ends, arms)):
                return False
        return all(map(self.ends, _demanded(node)))


def _demanded(node: Mapping[str, Json]) -> Iterator[Json]:
    """The schemas of what every value of `node` holds, where it can only be an object or only be a list."""
    kind = node.get("type")
    if kind == "object":
        properties = cast("dict[str, Json]", node.get("properties") or {})
        for name in _list(node.get("required")):
            yield properties.get(cast("str", name), True)
    if kind == "array" and isinstance(least := node.get("minItems"), int) and least > 0:
        first = _list(node.get("prefixItems"))
        yield from first[:least]
        if least > len(first):
            yield node.get("items", True) if not isinstance(node.get("items"), list) else True


def _references(node: Any) -> Iterator[str]:
    """All texts of `$ref` in a schema that point into it."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            known = cast("dict[str, Any]", each)
            ref = known.get("$ref")
            if isinstance(ref, str) and ref.startswith("#"):
                yield ref
            waiting.extend(known.values())
        elif isinstance(each, list):
            waiting.extend(cast("list[Any]", each))


def _list(value: Json) -> list[Json]:
    return cast("list[Json]", value) if isinstance(value, list) else []
