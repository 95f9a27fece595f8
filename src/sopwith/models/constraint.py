"""A JSON Schema as a constraint on decoding: what a decoder can enforce. The rest is left to the check after.

A keyword that the decoder does not know would switch the whole constraint off, so only known ones are
passed on. Small models repeat themselves without end, so text, lists and integers get a bound. The order of
properties is kept: it is the order in which the model writes.
"""

from __future__ import annotations

import re
from typing import cast

from sopwith.ir.coerce import resolve
from sopwith.ir.value import Json
from sopwith.models.chat import legal_actions
from sopwith.models.port import ModelRequest

_KEPT = frozenset({
    "const", "exclusiveMaximum", "exclusiveMinimum", "maxItems", "maxLength", "maximum", "minItems",
    "minLength", "minimum", "multipleOf", "required",
})  # fmt: skip
_LIMITS = frozenset({"exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"})
_TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_FORMATS = frozenset({"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid"})
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_MAPS = ("properties", "patternProperties", "$defs", "definitions")
_COMBINED = frozenset({"$ref", "allOf", "anyOf", "oneOf", "patternProperties"})
_PATH_WORDS = frozenset({*_LISTS, *_MAPS, "items", "additionalProperties"})
_UNKNOWN_TO_DECODER = re.compile(r"\(\?[^:]|\\[1-9bBAZpPkG]")
_CLASSES = {"d": "0-9", "w": "A-Za-z0-9_", "s": " \\t"}

_CHARACTERS_PER_TOKEN = (
    2  # a text that its schema leaves unbounded may use up the reply's tokens, hardly more
)
_MOST_ITEMS = 64
_LARGEST_INTEGER = 2**62  # the decoder counts in 64 bits; a larger limit would switch it off


def reply_schema(request: ModelRequest) -> dict[str, Json]:
    """The schema of a reply that chooses a legal action, in the forms of `ModelRequest`, for a decoder."""
    actions = legal_actions(request)
    longest_text = request.max_tokens * _CHARACTERS_PER_TOKEN
    if len(actions) == 1:
        narrowed = actions[0].schema if request.constraint is None else request.constraint
        return constraint(narrowed, longest_text)
    branches: list[Json] = []
    definitions: dict[str, Json] = {}
    for i, action in enumerate(actions):
        narrowed = request.constraints.get(action.name, action.schema)
        definitions[str(i)] = constraint(narrowed, longest_text, f"#/$defs/{i}")
        branches.append({
            "type": "object",
            "properties": {"name": {"const": action.name}, "arguments": {"$ref": f"#/$defs/{i}"}},
            "required": ["name", "arguments"],
            "additionalProperties": False,
        })  # fmt: skip
    return {"anyOf": branches, "$defs": definitions}


def constraint(schema: Json, longest_text: int, root: str = "#") -> dict[str, Json]:
    """`schema` with only what a constrained decoder enforces.

    `root` is where it will lie in the whole: `$ref`s follow.
    """
    cleaned = _Cleaner(schema, longest_text, root).node(schema)
    return cleaned if cleaned is not None else {}


class _Cleaner:
    def __init__(self, schema: Json, longest_text: int, root: str) -> None:
        self.schema = schema
        self.longest_text = longest_text
        self.root = root

    def node(self, schema: Json, combined: bool = False) -> dict[str, Json] | None:
        """One schema; None where nothing can satisfy it.

        `combined`: other schemas speak about the same value.
        """
        if not isinstance(schema, dict):
            return None if schema is False else {}
        given = cast("dict[str, Json]", schema)
        options = given.get("enum")
        if isinstance(options, list) and options:
            return {"enum": options}
        result: dict[str, Json] = {}
        for key, value in given.items():  # in the order given
            self._keyword(key, value, result)
        if "const" not in result:
            _exclusive_as_numbers(result)
            self._bounds(result, combined)
        return result

    def _keyword(self, key: str, value: Json, result: dict[str, Json]) -> None:
        if key in _LIMITS and isinstance(value, int | float) and abs(value) > _LARGEST_INTEGER:
            return
        if key in _KEPT and (key != "required" or isinstance(value, list)):
            result[key] = value
        elif key == "type":
            self._type(value, result)
        elif key == "$ref":
            self._reference(value, result)
        elif key in _MAPS and isinstance(value, dict):
            self._members(key, cast("dict[str, Json]", value), result)
        elif key in _LISTS and isinstance(value, list) and value:
            parts = [self.node(v, key == "allOf") for v in cast("list[Json]", value)]
            name = "anyOf" if key == "oneOf" and "anyOf" not in result else key
            if name != "oneOf":
                result[name] = [part for part in parts if part is not None]
        elif key in ("items", "additionalProperties"):
            self._rest(key, value, result)
        elif key == "format" and value in _FORMATS:
            result[key] = value
        elif key == "pattern" and isinstance(value, str) and (pattern := decoder_pattern(value)) is not None:
            result[key] = pattern

    def _members(self, key: str, members: dict[str, Json], result: dict[str, Json]) -> None:
        cleaned = {name: self.node(member) for name, member in members.items()}
        if key == "patternProperties":
            cleaned = {
                found: v for name, v in cleaned.items() if (found := decoder_pattern(name)) is not None
            }
        result[key] = {name: member for name, member in cleaned.items() if member is not None}

    def _type(self, value: Json, result: dict[str, Json]) -> None:
        types = [
            t for t in (cast("list[Json]", value) if isinstance(value, list) else [value]) if t in _TYPES
        ]
        if types:
            result["type"] = types[0] if len(types) == 1 else types

    def _reference(self, ref: Json, result: dict[str, Json]) -> None:
        if not isinstance(ref, str) or resolve(self.schema, ref) is None:
            return
        words = ref[1:].split("/")[1::2]  # every second part is a keyword, the others are names
        if all(word in _PATH_WORDS for word in words):
            result["$ref"] = self.root + ref[1:]

    def _rest(self, key: str, value: Json, result: dict[str, Json]) -> None:
        if isinstance(value, list):  # a tuple, before draft 2020-12
            result["prefixItems"] = [self.node(v) or {} for v in cast("list[Json]", value)]
        else:
            cleaned = self.node(value)
            result[key] = False if cleaned is None else cleaned

    def _bounds(self, result: dict[str, Json], combined: bool) -> None:
        declared = result.get("type")
        types = cast("list[str]", declared) if isinstance(declared, list) else [declared]
        if "string" in types and not {"maxLength", "pattern", "format"} & result.keys():
            result["maxLength"] = max(self.longest_text, cast("int", result.get("minLength", 0)))
        if "array" in types and "maxItems" not in result:
            result["maxItems"] = max(_MOST_ITEMS, cast("int", result.get("minItems", 0)))
        if "integer" in types and "number" not in types and "multipleOf" not in result:
            if not {"maximum", "exclusiveMaximum"} & result.keys():
                result["maximum"] = _LARGEST_INTEGER
            if not {"minimum", "exclusiveMinimum"} & result.keys():
                result["minimum"] = -_LARGEST_INTEGER
        self._close(result, combined)

    def _close(self, result: dict[str, Json], combined: bool) -> None:
        """Admit only the declared properties, where nothing else speaks about the object."""
        if (
            "properties" not in result
            or "additionalProperties" in result
            or combined
            or _COMBINED & result.keys()
        ):
            return
        if (
            set(cast("list[str]", result.get("required", [])))
            <= cast("dict[str, Json]", result["properties"]).keys()
        ):
            result["additionalProperties"] = False


def decoder_pattern(pattern: str) -> str | None:
    r"""`pattern` for a decoder (`\d` as `[0-9]`), or None where it cannot be said there."""
    if _UNKNOWN_TO_DECODER.search(pattern):
        return None
    try:
        re.compile(pattern)
    except re.error:
        return None
    result, inside, i = "", False, 0
    while i < len(pattern):
        character = pattern[i]
        if character == "\\" and i + 1 < len(pattern):
            letter = pattern[i + 1]
            ranges = _CLASSES.get(letter)
            result += f"\\{letter}" if ranges is None else ranges if inside else f"[{ranges}]"
            i += 2
            continue
        inside = character == "[" or (inside and character != "]")
        result += character
        i += 1
    return result


def _exclusive_as_numbers(result: dict[str, Json]) -> None:
    """Draft 4 wrote `exclusiveMinimum: true` beside `minimum`; later drafts write the number itself."""
    for limit, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        flag = result.get(exclusive)
        if isinstance(flag, bool):
            del result[exclusive]
            if flag and limit in result:
                result[exclusive] = result.pop(limit)
