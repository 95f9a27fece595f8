"""Values with `${CEL}` inside: text, or lists and objects of it.

`${` starts an expression and the brace that closes it is found as CEL reads it (strings, comments, nested
maps); `$${` stands for the two characters `${`. A text that is nothing but one `${…}` keeps the type of its
value; inside other text the value is printed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from sopwith.errors import ExpressionError, Text
from sopwith.ir.value import Json

if TYPE_CHECKING:
    from sopwith.expr.expression import Expression

_Render = Callable[[Mapping[str, Json]], Json]


@dataclass(frozen=True, slots=True)
class Placed:
    """An expression in a template: where its text is (keys, indices), its column, and whether it is alone."""

    where: tuple[str | int, ...]
    column: int
    lone: bool
    expression: Expression


class Template:
    """A parsed value: `paths` is what its expressions read; `constant` is true where there is none."""

    __slots__ = ("_render", "constant", "expressions", "paths", "value")

    def __init__(self, value: Json) -> None:
        found: list[Placed] = []
        self.value = value
        self._render = _compile(value, (), found)
        self.expressions = tuple(found)
        self.constant = not found
        self.paths = tuple(dict.fromkeys(path for placed in found for path in placed.expression.paths))

    def render(self, scope: Mapping[str, Json]) -> Json:
        """The value with every expression replaced. Constant parts are shared: treat it as read-only.

        Raises `ExpressionError`.
        """
        return self._render(scope)

    def __repr__(self) -> str:
        return f"Template({self.value!r})"


def parse_template(value: Json) -> Template:
    """Parse `value`: text, or lists and objects with text in them. Raises `ExpressionError` with a column."""
    return Template(value)


def print_value(value: Json) -> str:
    """How a value reads inside text: text as it is, numbers and truth values plainly, null as nothing,
    lists and objects as compact JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class _Constant:
    """The render of a value without expressions."""

    __slots__ = ("value",)

    def __init__(self, value: Json) -> None:
        self.value = value

    def __call__(self, _scope: Mapping[str, Json]) -> Json:
        return self.value


def _compile(value: Json, where: tuple[str | int, ...], found: list[Placed]) -> _Render:
    if isinstance(value, str):
        return _compile_text(value, where, found)
    if isinstance(value, list | tuple):
        given = cast("list[Any]", value)
        items = [_compile(item, (*where, i), found) for i, item in enumerate(given)]
        if all(isinstance(item, _Constant) for item in items):
            return _Constant([item({}) for item in items])
        return lambda scope: [item(scope) for item in items]
    if isinstance(value, Mapping):
        entries = cast("Mapping[str, Any]", value)
        fields = {key: _compile(item, (*where, key), found) for key, item in entries.items()}
        if all(isinstance(field, _Constant) for field in fields.values()):
            return _Constant({key: field({}) for key, field in fields.items()})
        return lambda scope: {key: field(scope) for key, field in fields.items()}
    return _Constant(value)


def _compile_text(text: str, where: tuple[str | int, ...], found: list[Placed]) -> _Render:
    if "${" not in text:
        return _Constant(text)
    parts = [part if isinstance(part, str) else _parse(*part) for part in _split(text)]
    placed = [part for part in parts if isinstance(part, tuple)]
    if not placed:
        return _Constant("".join(part for part in parts if isinstance(part, str)))
    lone = len(parts) == 1
    found.extend(Placed(where, column, lone, expression) for expression, column in placed)
    if lone:
        return placed[0][0].evaluate
    pieces = [part if isinstance(part, str) else part[0] for part in parts]
    return lambda scope: "".join(
        piece if isinstance(piece, str) else print_value(piece.evaluate(scope)) for piece in pieces
    )


def _parse(source: str, column: int) -> tuple[Expression, int]:
    from sopwith.expr.expression import parse  # many templates are plain text, which needs no CEL

    try:
        return parse(source), column
    except ExpressionError as error:
        raise ExpressionError(source, error.message, error.hint, column + error.column - 1) from None


def _split(text: str) -> Iterator[str | tuple[str, int]]:
    """The pieces of `text`: literal text, and sources of expressions with their 1-based column."""
    literal: list[str] = []
    at = 0
    while at < len(text):
        mark = text.find("${", at)
        if mark < 0:
            break
        if mark > at and text[mark - 1] == "$":
            literal.append(text[at : mark - 1] + "${")
            at = mark + 2
            continue
        literal.append(text[at:mark])
        end = closing_brace(text, mark + 2)
        if end is None:
            raise ExpressionError(
                text[mark:],
                Text("'${' has no closing '}'", "“${”没有对应的“}”"),
                Text(
                    "Close the expression, or write '$${' for the two characters themselves.",
                    "请补上“}”；若只想写这两个字符，请写“$${”。",
                ),
                mark + 1,
            )
        if before := "".join(literal):
            yield before
        literal.clear()
        yield text[mark + 2 : end], mark + 3
        at = end + 1
    if rest := "".join(literal) + text[at:]:
        yield rest


def closing_brace(text: str, at: int) -> int | None:
    """The index of the brace that ends the expression which starts at `at`, or None where there is none."""
    depth = 0
    while at < len(text):
        char = text[at]
        if char in "\"'`":
            end = _string_end(text, at)
            if end is None:
                return None
            at = end
            continue
        if char == "/" and text.startswith("//", at):
            line = text.find("\n", at)
            if line < 0:
                return None
            at = line
        elif char == "{":
            depth += 1
        elif char == "}":
            if depth == 0:
                return at
            depth -= 1
        at += 1
    return None


def _string_end(text: str, at: int) -> int | None:
    """The index after the CEL string whose opening quote is at `at`; in a raw one `\\` is plain."""
    mark = text[at] * 3 if text[at] != "`" and text.startswith(text[at] * 3, at) else text[at]
    raw = _is_raw(text, at) or mark == "`"
    at += len(mark)
    while at < len(text):
        if text[at] == "\\" and not raw:
            at += 2
        elif text.startswith(mark, at):
            return at + len(mark)
        else:
            at += 1
    return None


def _is_raw(text: str, at: int) -> bool:
    """Whether the quote at `at` has a prefix with an `r` (`r`, `rb`, `br`) that is not the end of a name."""
    start = at
    while start > 0 and text[start - 1] in "rRbB":
        start -= 1
    prefix = text[start:at]
    name_before = start > 0 and (text[start - 1].isalnum() or text[start - 1] == "_")
    return "r" in prefix.lower() and not name_before
