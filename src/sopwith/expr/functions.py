"""The operators and functions of CEL, with the kinds they take and give.

Of https://github.com/google/cel-spec/blob/master/doc/langdef.md and the extensions for text and numbers that
the environment has. A test compares every row, and what is not a row, with the library.
"""

from __future__ import annotations

from itertools import chain
from typing import cast

from sopwith.expr.shape import Kind

Overload = tuple[tuple[Kind, ...], Kind]

_NUMBERS: tuple[Kind, ...] = ("int", "uint", "double")


def _rows(*rows: str) -> tuple[Overload, ...]:
    """`"int int -> int"` as an overload; `a|b` stands for each."""
    result: list[Overload] = []
    for row in rows:
        left, _, right = row.partition("->")
        argument_lists: list[tuple[str, ...]] = [()]
        for word in left.split():
            argument_lists = [(*before, kind) for before in argument_lists for kind in word.split("|")]
        result.extend(
            (cast("tuple[Kind, ...]", kinds), cast("Kind", right.strip())) for kinds in argument_lists
        )
    return tuple(result)


_SAME = ("bool bool", "string string", "bytes bytes", "timestamp timestamp", "duration duration")
_ORDER = _rows(*(f"{pair} -> bool" for pair in (*_SAME, "int|uint|double int|uint|double")))
_CLOCK = _rows("timestamp -> int", "timestamp string -> int")
_CALENDAR = (
    "getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear",
)  # fmt: skip
_TIME = ("getHours", "getMinutes", "getSeconds", "getMilliseconds")

OPERATORS: dict[str, tuple[Overload, ...]] = {
    "_+_": _rows(
        "int int -> int", "uint uint -> uint", "double double -> double", "string string -> string",
        "bytes bytes -> bytes", "list list -> list", "timestamp duration -> timestamp",
        "duration timestamp -> timestamp", "duration duration -> duration",
    ),
    "_-_": _rows(
        "int int -> int", "uint uint -> uint", "double double -> double", "timestamp timestamp -> duration",
        "timestamp duration -> timestamp", "duration duration -> duration",
    ),
    "_*_": _rows("int int -> int", "uint uint -> uint", "double double -> double"),
    "_/_": _rows("int int -> int", "uint uint -> uint", "double double -> double"),
    "_%_": _rows("int int -> int", "uint uint -> uint"),
    "-_": _rows("int -> int", "double -> double"),
    "!_": _rows("bool -> bool"),
    "_<_": _ORDER, "_<=_": _ORDER, "_>_": _ORDER, "_>=_": _ORDER,
    "@in": _rows(
        "dyn list -> bool",
        "string|int|uint|double|bool map -> bool",
    ),
}  # fmt: skip
"""Operators; `==`, `!=`, `&&`, `||`, `?:` and `[]` have rules of their own."""

FUNCTIONS: dict[str, tuple[Overload, ...]] = {
    "size": _rows("string|bytes|list|map -> int"),
    "int": _rows("int|uint|double|bool|string|timestamp -> int"),
    "uint": _rows("int|uint|double|string -> uint"),
    "double": _rows("int|uint|double|string -> double"),
    "string": _rows("int|uint|double|bool|string|bytes|timestamp|duration -> string"),
    "bytes": _rows("string|bytes -> bytes"),
    "bool": _rows("bool|string -> bool"),
    "timestamp": _rows("string|int|timestamp -> timestamp"),
    "duration": _rows("string|duration -> duration"),
    "type": _rows("null|bool|int|uint|double|string|bytes|list|map|timestamp|duration|type -> type"),
    "dyn": _rows("null|bool|int|uint|double|string|bytes|list|map|timestamp|duration|type -> dyn"),
    "matches": _rows("string string -> bool"),
    "math.@max": _rows("list -> dyn", *(f"{' '.join(['int|uint|double'] * n)} -> dyn" for n in (1, 2))),
    "math.@min": _rows("list -> dyn", *(f"{' '.join(['int|uint|double'] * n)} -> dyn" for n in (1, 2))),
    **dict.fromkeys(("math.ceil", "math.floor", "math.round", "math.trunc"), _rows("double -> double")),
    **dict.fromkeys(("math.isNaN", "math.isInf", "math.isFinite"), _rows("double -> bool")),
    **dict.fromkeys(("math.abs", "math.sign"), _rows("int -> int", "uint -> uint", "double -> double")),
    "math.sqrt": _rows("int|uint|double -> double"),
    **dict.fromkeys(
        ("math.bitAnd", "math.bitOr", "math.bitXor"), _rows("int int -> int", "uint uint -> uint")
    ),
    "math.bitNot": _rows("int -> int", "uint -> uint"),
    **dict.fromkeys(
        ("math.bitShiftLeft", "math.bitShiftRight"), _rows("int int -> int", "uint int -> uint")
    ),
    "strings.quote": _rows("string -> string"),
}  # fmt: skip

METHODS: dict[str, tuple[Overload, ...]] = {
    "size": _rows("string|bytes|list|map -> int"),
    **dict.fromkeys(("contains", "startsWith", "endsWith", "matches"), _rows("string string -> bool")),
    **dict.fromkeys(_CALENDAR, _CLOCK),
    **dict.fromkeys(_TIME, (*_CLOCK, *_rows("duration -> int"))),
    "charAt": _rows("string int -> string"),
    **dict.fromkeys(("indexOf", "lastIndexOf"), _rows("string string -> int", "string string int -> int")),
    **dict.fromkeys(("lowerAscii", "upperAscii", "trim", "reverse"), _rows("string -> string")),
    "replace": _rows("string string string -> string", "string string string int -> string"),
    "split": _rows("string string -> list", "string string int -> list"),
    "substring": _rows("string int -> string", "string int int -> string"),
    "join": _rows("list -> string", "list string -> string"),
    "format": _rows("string list -> string"),
}

MACROS = ("all", "exists", "exists_one", "filter", "has", "map", "math.greatest", "math.least")

NAMES: tuple[str, ...] = tuple(sorted({*FUNCTIONS, *METHODS, *MACROS} - {"math.@max", "math.@min"}))
"""All that can be called, as it is written."""

INTERNAL = frozenset({"@not_strictly_false", "__not_strictly_false__"})


def all_overloads() -> dict[str, tuple[Overload, ...]]:
    """Every row, for the test that evaluates them."""
    return dict(chain(OPERATORS.items(), FUNCTIONS.items(), METHODS.items()))
