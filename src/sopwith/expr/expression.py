"""One expression: CEL, by Google's runtime, behind one small face.

Parsed once; an evaluation converts only the names that the expression reads. What fails on the values it
meets is an `ExpressionError`, never a wrong value. The language: https://github.com/google/cel-spec.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, cast

from cel_expr_python import cel
from cel_expr_python.ext import ext_math, ext_strings

from sopwith.errors import ExpressionError, Text
from sopwith.expr.failure import Failure, parse_failure, run_failure
from sopwith.expr.syntax import Node, decode, paths
from sopwith.ir.value import Json

# fmt: off
RESERVED = frozenset({
    "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let",
    "loop", "namespace", "null", "package", "return", "true", "var", "void", "while",
})
"""The words that CEL keeps for itself: never a name."""

TYPE_NAMES = frozenset({
    "bool", "bytes", "double", "duration", "dyn", "int", "list", "map", "null_type", "string", "timestamp",
    "type", "uint",
})
"""The names of CEL's types, and so of its conversions: `int(…)`."""
# fmt: on

_ERROR = cel.Type.ERROR


@lru_cache(1)
def _environment() -> Any:
    """The environment of all expressions: no names, the standard functions and those for text and numbers."""
    return cel.NewEnv(extensions=[ext_strings.ExtStrings(), ext_math.ExtMath()])


class Expression:
    """A parsed expression. `paths` is what it reads: `("leave", "days")`; the first part is the name."""

    __slots__ = ("_names", "_program", "paths", "source", "tree")

    def __init__(self, source: str, program: Any) -> None:
        self.source = source
        self.tree: Node = decode(program.serialize())
        self.paths: tuple[tuple[str, ...], ...] = paths(self.tree)
        self._program = program
        self._names = tuple(dict.fromkeys(path[0] for path in self.paths))

    @property
    def names(self) -> tuple[str, ...]:
        """The names it reads, each once, in the order of the text."""
        return self._names

    def evaluate(self, scope: Mapping[str, Json]) -> Json:
        """The value over `scope`, as plain JSON; timestamps and durations as CEL prints them.

        Raises `ExpressionError` for an unknown name, operands that do not fit, and whatever else fails.
        """
        found = self.attempt(scope)
        if isinstance(found, Failure):
            raise found.error(self.source)
        return found

    def attempt(self, scope: Mapping[str, Json]) -> Json | Failure:
        """The value over `scope`, or the failure as data."""
        for path in self.paths:
            if _nul_at(scope, path):
                return _NUL
        try:
            value = self._program.eval(data={name: scope[name] for name in self._names if name in scope})
        except Exception as error:
            return run_failure(str(error))
        plain = value.plain_value()
        kind = plain.__class__
        if kind is bool or kind is int or plain is None:
            return plain
        if kind is str:
            return run_failure(plain) if value.type() == _ERROR else plain
        try:
            return _plain(plain)
        except _NotJson as error:
            return error.failure

    def __repr__(self) -> str:
        return f"Expression({self.source!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and other.source == self.source

    def __hash__(self) -> int:
        return hash(self.source)


@lru_cache(8192)
def parse(source: str) -> Expression:
    """Parse `source`. Raises `ExpressionError` with the column of the first problem."""
    try:
        program = _environment().compile(source, disable_check=True)
    except Exception as error:
        raise _placed(parse_failure(str(error)), source) from None
    return Expression(source, program)


def _placed(failure: Failure, source: str) -> ExpressionError:
    if not source.strip():
        return ExpressionError(source, Text("the expression is empty", "表达式为空"))
    return failure.error(source)


_NUL = Failure(
    "value",
    Text("a text holds the character NUL", "文本含有 NUL 字符"),
    Text("Remove it where the text comes from.", "请在文本的来源处去掉它。"),
)


def _nul_at(scope: Mapping[str, Json], path: tuple[str, ...]) -> bool:
    """Whether the value at `path` holds a NUL, at which the library would cut a text off without a word."""
    value: Any = scope
    for part in path:
        if value.__class__ is not dict:
            break
        value = value.get(part)
    if value.__class__ is str:
        return "\0" in value
    # Scalars cannot hold one; of what is long, the printed form is searched first, which is much faster.
    return value.__class__ in (dict, list) and "\\x00" in repr(value) and _has_nul(value)


def _has_nul(value: Any) -> bool:
    if value.__class__ is str:
        return "\0" in value
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return any("\0" in key for key in fields) or any(map(_has_nul, fields.values()))
    return isinstance(value, list) and any(map(_has_nul, cast("list[Any]", value)))


class _NotJson(Exception):
    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message.en)
        self.failure = failure


def _plain(value: object) -> Json:
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        raise _NotJson(Failure("value", Text("the result is not a finite number", "结果不是有限的数")))
    if isinstance(value, list):
        return [_plain(item) for item in cast("list[object]", value)]
    if isinstance(value, dict):
        return {_key(key): _plain(item) for key, item in cast("dict[object, object]", value).items()}
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, timedelta):
        seconds = value.total_seconds()
        return f"{int(seconds) if seconds.is_integer() else seconds}s"
    kind = "bytes" if isinstance(value, bytes | bytearray) else "type"
    raise _NotJson(
        Failure(
            "value",
            Text(
                f"the result holds a value of CEL's type '{kind}', which JSON cannot say",
                f"结果含 CEL 的 {kind} 类型值，JSON 无法表示",
            ),
            Text("Convert it with string(…).", "请用 string(…) 转换。"),
        )
    )


def _key(key: object) -> str:
    if isinstance(key, str):
        return key
    raise _NotJson(Failure("value", Text("the result has a key that is not text", "结果中有不是文本的键")))
