"""JSON Schema of any draft: does a value satisfy it, and if not, where and why, in short sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, time
from typing import Any, Protocol, cast
from urllib.parse import quote

import jsonschema_rs

from sopwith.errors import Text, UserError
from sopwith.ir.cut import cut
from sopwith.ir.schema_problem import LONGEST, problem
from sopwith.ir.value import Json, canonical

MOST_PROBLEMS = 8
"""At most so many sentences are made for one value: they are read by a model."""

_REMEMBERED = 1024
_IN_URIS = "%/#:?&=+,;@!$'()*~[]"


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

    def problems(self, value: Json) -> tuple[Text, ...]:
        """What is wrong with `value`: a sentence per problem with its path, `$.files[0].p: …`."""
        try:
            if self._judge.is_valid(value):
                return ()
            errors = list(self._judge.iter_errors(value))
        except (ValueError, UnicodeError) as error:
            why = cut(str(error), LONGEST)
            return (Text(f"$: cannot be checked: {why}", f"$：无法检查：{why}"),)
        sentences = {said.en: said for said in map(problem, errors)}
        return tuple(sentences.values())[:MOST_PROBLEMS]


def together(problems: Iterable[Text]) -> Text:
    """Several problems as one sentence."""
    listed = tuple(problems)
    return Text("; ".join(said.en for said in listed), "；".join(said.zh for said in listed))


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
            _encoded(schema, key),
            validate_formats=True,
            formats={"date-time": _is_datetime, "time": _is_time},
            offline=True,
        )
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        what = cut(str(error).split("\n", 1)[0], LONGEST)
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


def _encoded(schema: Json, key: bytes) -> Json:
    """`schema` with every `$ref` as a URI: `#/$defs/部门` is written as an IRI, and no URI of RFC 3986."""
    return schema if key.isascii() or b'"$ref"' not in key else _with_uris(schema)


def _with_uris(schema: Json) -> Json:
    if isinstance(schema, list):
        return [_with_uris(each) for each in cast("list[Json]", schema)]
    if not isinstance(schema, dict):
        return schema
    return {
        name: quote(value, safe=_IN_URIS)
        if name == "$ref" and isinstance(value, str)
        else value
        if name in ("const", "enum")
        else _with_uris(value)
        for name, value in cast("dict[str, Json]", schema).items()
    }


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
