"""The syntax tree of an expression, decoded from the bytes that the CEL library serialises it to.

Only what the library itself parsed is read here, so that there is no second grammar of CEL. The field numbers
are those of `cel.expr.ParsedExpr`: https://github.com/google/cel-spec/blob/master/proto/cel/expr/syntax.proto.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant: None, bool, int, float, str or bytes. `kind` is its CEL type ("int" and "uint" differ)."""

    value: bool | int | float | str | bytes | None
    kind: str
    column: int


@dataclass(frozen=True, slots=True)
class Name:
    """A name, as `leave` in `leave.days`."""

    name: str
    column: int


@dataclass(frozen=True, slots=True)
class Select:
    """A field of a value: `operand.field`; with `test` it is `has(operand.field)`."""

    operand: Node
    field: str
    test: bool
    column: int


@dataclass(frozen=True, slots=True)
class Call:
    """A function, method (`target`) or operator (`_+_`, `_[_]`, `!_`, `_?_:_`, `@in`)."""

    function: str
    target: Node | None
    args: tuple[Node, ...]
    column: int


@dataclass(frozen=True, slots=True)
class ListLiteral:
    """`[a, b]`."""

    items: tuple[Node, ...]
    column: int


@dataclass(frozen=True, slots=True)
class MapLiteral:
    """`{key: value}`, or a message where `message` names one."""

    entries: tuple[tuple[Node, Node], ...]
    message: str
    column: int


@dataclass(frozen=True, slots=True)
class Fold:
    """A comprehension, which the macros `all`, `exists`, `exists_one`, `map` and `filter` expand to."""

    variable: str
    source: Node
    accumulator: str
    start: Node
    condition: Node
    step: Node
    result: Node
    column: int


NAMESPACES = frozenset({"math", "strings"})
"""The names before a dot that belong to functions, never to values: `math.round(…)`."""

Node: TypeAlias = Literal | Name | Select | Call | ListLiteral | MapLiteral | Fold


def children(node: Node) -> tuple[Node, ...]:
    """The direct parts of `node`."""
    match node:
        case Literal() | Name():
            return ()
        case Select():
            return (node.operand,)
        case Call():
            return node.args if node.target is None else (node.target, *node.args)
        case ListLiteral():
            return node.items
        case MapLiteral():
            return tuple(part for entry in node.entries for part in entry)
        case Fold():
            return (node.source, node.start, node.condition, node.step, node.result)


def walk(node: Node) -> Iterator[Node]:
    """`node` and everything in it."""
    yield node
    for child in children(node):
        yield from walk(child)


def paths(node: Node) -> tuple[tuple[str, ...], ...]:
    """What an expression reads: `leave.days` and `leave["days"]` both give `("leave", "days")`; each once.

    Variables of comprehensions are left out; an index that is not constant text ends a path.
    """
    found: dict[tuple[str, ...], None] = {}
    _paths(node, frozenset(), found)
    return tuple(found)


def _paths(node: Node, bound: frozenset[str], found: dict[tuple[str, ...], None]) -> None:
    path = chain(node)
    if path is not None:
        if path[0] not in bound:
            found[path] = None
        return
    if isinstance(node, Fold):
        _paths(node.source, bound, found)
        _paths(node.start, bound, found)
        inner = bound | {node.variable, node.accumulator}
        for part in (node.condition, node.step, node.result):
            _paths(part, inner, found)
        return
    if isinstance(node, Call) and isinstance(node.target, Name) and node.target.name in NAMESPACES:
        for arg in node.args:
            _paths(arg, bound, found)
        return
    for child in children(node):
        _paths(child, bound, found)


def chain(node: Node) -> tuple[str, ...] | None:
    """The path that `node` is, where it is nothing but a name with fields."""
    fields: list[str] = []
    while True:
        match node:
            case Name():
                return (node.name.removeprefix("."), *reversed(fields))
            case Select():
                fields.append(node.field)
                node = node.operand
            case Call(function="_[_]", args=(container, Literal(value=str(key)))):
                fields.append(key)
                node = container
            case _:
                return None


# Decoding.


def decode(data: bytes) -> Node:
    """The tree in `data`, the serialised form of a parsed expression."""
    parsed = _message(_message(data)[2][0])
    info = _message(parsed[3][0]) if 3 in parsed else {}
    columns: dict[int, int] = {}
    for entry in info.get(4, ()):
        pair = _message(entry)
        columns[_int(pair, 1)] = _int(pair, 2) + 1
    return _Decoder(columns).node(parsed[2][0])


_Fields: TypeAlias = "dict[int, list[bytes]]"


class _Decoder:
    def __init__(self, columns: dict[int, int]) -> None:
        self._columns: dict[int, int] = columns

    def node(self, data: bytes) -> Node:
        fields = _message(data)
        column = self._columns.get(_int(fields, 2), 1)
        for number, read in _READERS.items():
            if number in fields:
                return read(self, _message(fields[number][0]), column)
        raise ValueError("an expression of an unknown kind")

    def literal(self, fields: _Fields, column: int) -> Node:
        if 2 in fields:
            return Literal(bool(_int(fields, 2)), "bool", column)
        if 3 in fields:
            return Literal(_signed(_int(fields, 3)), "int", column)
        if 4 in fields:
            return Literal(_int(fields, 4), "uint", column)
        if 5 in fields:
            return Literal(struct.unpack("<d", fields[5][0])[0], "double", column)
        if 6 in fields:
            return Literal(fields[6][0].decode("utf-8", "replace"), "string", column)
        if 7 in fields:
            return Literal(fields[7][0], "bytes", column)
        return Literal(None, "null", column)

    def name(self, fields: _Fields, column: int) -> Node:
        return Name(_text(fields, 1), column)

    def select(self, fields: _Fields, column: int) -> Node:
        return Select(self.node(fields[1][0]), _text(fields, 2), bool(_int(fields, 3)), column)

    def call(self, fields: _Fields, column: int) -> Node:
        target = self.node(fields[1][0]) if 1 in fields else None
        return Call(_text(fields, 2), target, tuple(map(self.node, fields.get(3, ()))), column)

    def list(self, fields: _Fields, column: int) -> Node:
        return ListLiteral(tuple(map(self.node, fields.get(1, ()))), column)

    def map(self, fields: _Fields, column: int) -> Node:
        return MapLiteral(tuple(map(self.entry, fields.get(2, ()))), _text(fields, 1), column)

    def entry(self, data: bytes) -> tuple[Node, Node]:
        fields = _message(data)
        key = Literal(_text(fields, 2), "string", 1) if 2 in fields else self.node(fields[3][0])
        return key, self.node(fields[4][0])

    def fold(self, fields: _Fields, column: int) -> Node:
        source, start, condition, step, result = (self.node(fields[n][0]) for n in (2, 4, 5, 6, 7))
        return Fold(_text(fields, 1), source, _text(fields, 3), start, condition, step, result, column)


_READERS = {
    3: _Decoder.literal, 4: _Decoder.name, 5: _Decoder.select, 6: _Decoder.call,
    7: _Decoder.list, 8: _Decoder.map, 9: _Decoder.fold,
}  # fmt: skip


def _message(data: bytes) -> _Fields:
    """The fields of one protobuf message; numbers are kept as their little-endian bytes."""
    fields: _Fields = {}
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        wire = tag & 7
        if wire == 0:
            value, at = _varint(data, at)
            fields.setdefault(tag >> 3, []).append(value.to_bytes(8, "little"))
            continue
        if wire == 2:
            size, at = _varint(data, at)
        else:
            size = 8 if wire == 1 else 4
        fields.setdefault(tag >> 3, []).append(data[at : at + size])
        at += size
    return fields


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
        shift += 7


def _int(fields: _Fields, number: int) -> int:
    return int.from_bytes(fields[number][0], "little") if number in fields else 0


def _text(fields: _Fields, number: int) -> str:
    return fields[number][0].decode("utf-8", "replace") if number in fields else ""


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value
