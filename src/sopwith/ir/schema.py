"""JSON Schema of any draft: does a value satisfy it, and if not, where and why, in short sentences."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import datetime, time
from typing import Any, Protocol, cast

import jsonschema_rs

from sopwith.errors import Text, UserError
from sopwith.ir.cut import cut
from sopwith.ir.value import Json, canonical

MOST_PROBLEMS = 8
"""At most so many sentences are made for one value: they are read by a model."""

_LONGEST = 160
_REMEMBERED = 1024


class _Judge(Protocol):
    def is_valid(self, instance: Any) -> bool: ...
    def iter_errors(self, instance: Any) -> Iterator[Any]: ...


class Validator:
    """A schema, ready to judge values. Make it with `validator`."""

    __slots__ = ("_judge", "schema")

    def __init__(self, schema: Json, judge: _Judge) -> None:
        self.schema = schema
        self._judge = judge

    def accepts(self, value: Json) -> bool:
        """Whether `value` satisfies the schema. `True` is not `1`, and integers of any size are exact."""
        try:
            return self._judge.is_valid(value)
        except (ValueError, UnicodeError):  # nested too deep, or a lone surrogate
            return False

    def problems(self, value: Json) -> tuple[str, ...]:
        """What is wrong with `value`: a sentence per problem with its path, `$.files[0].p: …`."""
        try:
            if self._judge.is_valid(value):
                return ()
            errors = list(self._judge.iter_errors(value))
        except (ValueError, UnicodeError) as error:
            return (f"$: cannot be checked: {cut(str(error), _LONGEST)}",)
        sentences = dict.fromkeys(_sentence(error) for error in errors)
        return tuple(sentences)[:MOST_PROBLEMS]


_by_identity: dict[int, tuple[Json, Validator]] = {}
_by_bytes: dict[bytes, Validator] = {}


def validator(schema: Json) -> Validator:
    """The validator of `schema` (an object or a boolean), remembered.

    A schema must not change after its first use. Its draft is its own `$schema`, else 2020-12; every local
    `$ref` is followed, nothing is fetched. `date`, `email`, `uuid` and the like are enforced; `date-time` and
    `time` may leave out the offset.
    Raises `UserError` when `schema` is not a JSON Schema or refers to something outside itself.
    """
    known = _by_identity.get(id(schema))
    if known is not None and known[0] is schema:
        return known[1]
    result = _compile(schema)
    if len(_by_identity) >= _REMEMBERED:
        _by_identity.clear()
    _by_identity[id(schema)] = (schema, result)  # holding the schema keeps its id from being used again
    return result


def _compile(schema: Json) -> Validator:
    key = canonical(schema)
    known = _by_bytes.get(key)
    if known is not None:
        return known
    try:
        judge = jsonschema_rs.validator_for(
            schema, validate_formats=True, formats={"date-time": _is_datetime, "time": _is_time}, offline=True
        )
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        what = cut(str(error).split("\n", 1)[0], _LONGEST)
        raise UserError(
            Text(f"this is not a JSON Schema that can be used: {what}", f"这不是可用的 JSON Schema：{what}"),
            Text(
                "correct the schema; a $ref may only point into the schema itself",
                "请修正该 schema；$ref 只能指向 schema 自身内部",
            ),
        ) from error
    if len(_by_bytes) >= _REMEMBERED:
        _by_bytes.clear()
    result = _by_bytes[key] = Validator(schema, judge)
    return result


def json_path(parts: Iterable[str | int]) -> str:
    """`$.files[0].p`; a key that is not an identifier is quoted: `$["a b"]`."""
    path = "$"
    for part in parts:
        if isinstance(part, int):
            path += f"[{part}]"
        else:
            path += f".{part}" if part.isidentifier() else f"[{json.dumps(part, ensure_ascii=False)}]"
    return path


def _sentence(error: Any) -> str:
    return f"{json_path(error.instance_path)}: {_what(error)}"


def _what(error: Any) -> str:
    kind = jsonschema_rs.ValidationErrorKind
    match error.kind:
        case kind.Type(types):
            return f"must be {' or '.join(types)}, not {type_name(error.instance)}"
        case kind.Enum(options):
            listed = ", ".join(_print(option) for option in cast("list[Json]", options))
            return f"{_print(error.instance)} is not one of {listed}"
        case kind.Constant(expected):
            return f"{_print(error.instance)} is not {_print(expected)}"
        case kind.Required(name):
            return f"{_print(name)} is missing"
        case kind.AdditionalProperties(names) | kind.UnevaluatedProperties(names):
            return f"{', '.join(_print(name) for name in names)} is not allowed here"
        case kind.AnyOf(context) | kind.OneOfNotValid(context):
            return f"fits no alternative: {_alternatives(context)}"
        case _:
            return cut(str(error.message), _LONGEST)


def _alternatives(context: Any) -> str:
    """The first problem of each alternative, so that the reader sees what would have been right."""
    firsts = [errors[0] for errors in cast("list[list[Any]]", context) if errors]
    return cut("; or ".join(dict.fromkeys(_what(first) for first in firsts)), 3 * _LONGEST)


_TYPE_NAMES: dict[type[Any], str] = {
    type(None): "null", bool: "boolean", int: "integer", float: "number", str: "string", list: "array",
}  # fmt: skip


def type_name(value: Json) -> str:
    """The JSON type of `value`: null, boolean, integer, number, string, array or object."""
    return _TYPE_NAMES.get(cast("type[Any]", type(value)), "object")


def _print(value: Json) -> str:
    return cut(json.dumps(value, ensure_ascii=False, default=str), _LONGEST)


def _is_datetime(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return len(text) > len("2026-01-01")


def _is_time(text: str) -> bool:
    try:
        time.fromisoformat(text)
    except ValueError:
        return False
    return True
