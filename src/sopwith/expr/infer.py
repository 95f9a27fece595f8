"""What an expression gives and what in it cannot work, from the kinds of the values it reads.

Only what fails for *every* value that the schemas admit is reported here: an unknown name, field or function,
operands of kinds that never fit, a comparison that is never true. What fails for some values is found by
evaluation on witnesses (`sopwith.expr.types`), which knows about guards such as `has(…)` and `!= null`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches
from typing import Literal as OneOf

from sopwith.errors import NO_HINT, Text
from sopwith.expr.expression import TYPE_NAMES
from sopwith.expr.failure import MIXED
from sopwith.expr.functions import FUNCTIONS, INTERNAL, METHODS, NAMES, OPERATORS, Overload
from sopwith.expr.shape import (
    DYN,
    Kind,
    Shape,
    Shapes,
    items_of,
    kinds,
    member,
    member_names,
    of_kind,
    union,
)
from sopwith.expr.syntax import NAMESPACES, Call, Fold, ListLiteral, Literal, MapLiteral, Name, Node, Select

ProblemKind = OneOf["name", "field", "function", "types", "never", "witness"]

BOOL: Shapes = of_kind("bool")
_LOGIC = frozenset({"_&&_", "_||_"})
_EQUALITY = frozenset({"_==_", "_!=_"})
_SURE = (Name, Select)
_NUMERIC = frozenset({"int", "uint", "double"})
_NEAR, _CLEARLY = 0.6, 0.1
_TYPES = TYPE_NAMES - {"timestamp", "duration", "dyn"}
"""The names of types that are values too: `type(x) == int`."""


@dataclass(frozen=True, slots=True)
class TypeProblem:
    """One thing that is wrong with an expression: a sentence, a remedy, the 1-based column in its text."""

    message: Text
    column: int
    hint: Text = NO_HINT
    kind: ProblemKind = "types"
    misspelled: tuple[str, str] | None = None
    """The word that is wrong, and the only one that can have been meant."""


def near(word: str, known: Iterable[str]) -> list[str]:
    """What may have been meant by `word`, the nearest first: at most three, and one where no other is about as near."""
    found = get_close_matches(word, list(known), n=3, cutoff=_NEAR)
    likeness = [SequenceMatcher(None, one, word).ratio() for one in found]
    return found[:1] if len(found) > 1 and likeness[0] - likeness[1] >= _CLEARLY else found


def sole(word: str, known: Iterable[str]) -> str | None:
    """What alone can have been meant by `word`: what is suggested where nothing else is."""
    found = near(word, known)
    return found[0] if len(found) == 1 else None


def close(word: str, known: Iterable[str]) -> Text:
    """ "Did you mean …", or the first few that exist."""
    names = list(known)
    if found := near(word, names):
        return Text(f"Did you mean {' or '.join(found)}?", f"是否想写 {' 或 '.join(found)}？")
    if not names:
        return NO_HINT
    listed, more = ", ".join(names[:8]), ", …" if len(names) > 8 else ""
    return Text(f"Known here: {listed}{more}", f"此处可用：{listed}{more}")


def print_kinds(shapes: Shapes) -> str:
    """`int or double`."""
    return " or ".join(sorted(kinds(shapes)))


class Inference:
    """One walk over an expression; `problems` collects what it finds.

    `vague` tells that a value was met about which the schemas say nothing: then no failure is certain. `sure` tells
    that nothing was met that could fail for any value: only names, and fields that are always there.
    """

    def __init__(self, types: Mapping[str, Shapes]) -> None:
        self.problems: list[TypeProblem] = []
        self.vague = False
        self.sure = True
        self._types = types
        self._bound: dict[str, list[Shapes]] = {}

    def of(self, node: Node) -> Shapes:
        """The alternatives of the value of `node`."""
        found = self._of(node)
        self.vague = self.vague or found is DYN
        self.sure = self.sure and isinstance(node, _SURE)
        return found

    def _of(self, node: Node) -> Shapes:
        match node:
            case Literal():
                return self._literal(node)
            case Name():
                return self._name(node)
            case Select():
                return self._select(node)
            case Call():
                return self._call(node)
            case ListLiteral():
                return (Shape("list", items=union(self.of(item) for item in node.items) or DYN),)
            case MapLiteral():
                return self._map(node)
            case Fold():
                return self._fold(node)

    def _problem(self, kind: ProblemKind, column: int, message: Text, hint: Text = NO_HINT) -> Shapes:
        self.problems.append(TypeProblem(message, column, hint, kind))
        return DYN

    def _misspelled(
        self, kind: ProblemKind, column: int, message: Text, word: str, known: Iterable[str]
    ) -> Shapes:
        names = list(known)
        meant = sole(word, names)
        both = None if meant is None else (word, meant)
        self.problems.append(TypeProblem(message, column, close(word, names), kind, both))
        return DYN

    def _literal(self, node: Literal) -> Shapes:
        kind: Kind = node.kind  # pyright: ignore[reportAssignmentType]
        return (Shape(kind, values=(node.value,) if kind in ("string", "int", "double") else None),)

    def _name(self, node: Name) -> Shapes:
        name = node.name.removeprefix(".")
        if bound := self._bound.get(name):
            return bound[-1]
        if name in self._types:
            return self._types[name]
        if name in _TYPES:
            self.sure = False  # no JSON
            return of_kind("type")
        message = Text(f"there is no name '{name}' here", f"此处没有名称“{name}”")
        return self._misspelled("name", node.column, message, name, self._types)

    def _select(self, node: Select) -> Shapes:
        column = _end(node.operand) if node.test else node.column
        found = self._field(self.of(node.operand), node.field, column)
        return BOOL if node.test else found

    def _field(self, operand: Shapes, name: str, column: int) -> Shapes:
        """The field `name` of a value with these alternatives."""
        parts: list[Shapes] = []
        maps = [shape for shape in operand if shape.kind == "map"]
        if any(shape.kind == "dyn" for shape in operand):
            return DYN
        if not maps:
            message = Text(
                f"'{name}' is read from a value of kind {print_kinds(operand)}, which has no fields",
                f"在 {print_kinds(operand)} 类型的值上读取“{name}”，它没有字段",
            )
            return self._problem("types", column, message)
        for shape in maps:
            found = member(shape, name)
            self.sure = self.sure and not found.optional and len(maps) == len(operand)
            if not found.unknown:
                parts.append(found.shapes)
        if parts:
            return union(parts)
        names = dict.fromkeys(known for shape in maps for known in member_names(shape))
        message = Text(f"there is no field '{name}'", f"没有字段“{name}”")
        return self._misspelled("field", column + 1, message, name, names)

    def _map(self, node: MapLiteral) -> Shapes:
        fields: dict[str, Shapes] = {}
        constant = True
        for key, value in node.entries:
            shapes = self.of(value)
            self.of(key)
            if isinstance(key, Literal) and isinstance(key.value, str):
                fields[key.value] = shapes
            else:
                constant = False
        return (Shape("map", fields=fields if constant else None),)

    def _fold(self, node: Fold) -> Shapes:
        source = self.of(node.source)
        item = self._items(source, node.source.column)
        if isinstance(node.start, ListLiteral):
            made = self._within(node, item, DYN, element=True)
            return (Shape("list", items=made),)
        self._within(node, item, self.of(node.start), element=False)
        return BOOL

    def _items(self, source: Shapes, column: int) -> Shapes:
        if any(shape.kind == "dyn" for shape in source):
            return DYN
        parts = [items_of(shape) for shape in source if shape.kind == "list"]
        parts += [of_kind("string") for shape in source if shape.kind == "map"]
        if parts:
            return union(parts)
        message = Text(
            f"a value of kind {print_kinds(source)} is not a list", f"{print_kinds(source)} 类型的值不是列表"
        )
        return self._problem("types", column, message)

    def _within(self, node: Fold, item: Shapes, start: Shapes, *, element: bool) -> Shapes:
        """Infer the step of a comprehension; with `element`, what it appends to its list."""
        self._bound.setdefault(node.variable, []).append(item)
        self._bound.setdefault(node.accumulator, []).append(start)
        step = node.step
        made = DYN
        if element:
            condition, appended = _appended(step)
            if condition is not None:
                self._condition(condition)
            made = self.of(appended) if appended is not None else self.of(step)
        else:
            self.of(step)
        self._bound[node.variable].pop()
        self._bound[node.accumulator].pop()
        return made

    # Calls.

    def _call(self, node: Call) -> Shapes:
        if node.function in INTERNAL:
            return BOOL
        if node.function in _LOGIC or node.function == "!_":
            for arg in node.args:
                self._condition(arg)
            return BOOL
        if node.function == "_?_:_":
            condition, yes, no = node.args
            self._condition(condition)
            return union((self.of(yes), self.of(no)))
        if node.function == "_[_]":
            return self._index(node)
        if node.target is not None and isinstance(node.target, Name) and self._is_namespace(node.target):
            return self._function(f"{node.target.name}.{node.function}", node, node.args)
        args = tuple(self.of(arg) for arg in node.args)
        if node.function in _EQUALITY:
            return self._equality(node, *args)
        if node.function in OPERATORS:
            if node.function == "@in":
                self._membership(node, *args)
            return self._apply(OPERATORS[node.function], node, args)
        if node.target is not None:
            target = self.of(node.target)
            if node.function not in METHODS:
                return self._unknown(node.function, node.column)
            return self._apply(METHODS[node.function], node, (target, *args))
        if node.function not in FUNCTIONS:
            return self._unknown(node.function, node.column)
        return self._apply(FUNCTIONS[node.function], node, args)

    def _is_namespace(self, name: Name) -> bool:
        return name.name in NAMESPACES and not self._bound.get(name.name)

    def _function(self, name: str, node: Call, args: tuple[Node, ...]) -> Shapes:
        shapes = tuple(self.of(arg) for arg in args)
        if name not in FUNCTIONS:
            return self._unknown(name, node.column)
        return self._apply(FUNCTIONS[name], node, shapes)

    def _unknown(self, name: str, column: int) -> Shapes:
        message = Text(f"there is no function '{name}'", f"没有函数“{name}”")
        return self._misspelled("function", max(1, column - len(name)), message, name, NAMES)

    def _condition(self, node: Node) -> None:
        shapes = self.of(node)
        if kinds(shapes) & {"bool", "dyn"}:
            return
        message = Text(
            f"a condition is of kind {print_kinds(shapes)}, not true or false",
            f"条件的类型是 {print_kinds(shapes)}，不是 true 或 false",
        )
        hint = Text("Compare the value with something: x == …, x > …", "请写成比较：x == …、x > …")
        self._problem("types", node.column, message, hint)

    def _index(self, node: Call) -> Shapes:
        container, key = self.of(node.args[0]), node.args[1]
        if isinstance(key, Literal) and isinstance(key.value, str):
            if kinds(container) & {"list"} and not kinds(container) & {"map", "dyn"}:
                message = Text("a list is indexed by a number, not by text", "列表的下标是数字，不是文本")
                return self._problem("types", node.column, message)
            return self._field(container, key.value, node.column)
        self.of(key)
        if any(shape.kind in ("dyn", "map") for shape in container):
            return DYN
        return self._items(container, node.column)

    def _equality(self, node: Call, one: Shapes, two: Shapes) -> Shapes:
        left, right = kinds(one), kinds(two)
        never = not (left & right or "dyn" in left | right or (left & _NUMERIC and right & _NUMERIC))
        if never and "null" not in left | right:
            message = Text(
                f"{print_kinds(one)} is compared with {print_kinds(two)}: they are never equal",
                f"{print_kinds(one)} 与 {print_kinds(two)} 比较，永远不相等",
            )
            self._problem("never", node.column, message)
        self._listed(node.column, one, two)
        self._listed(node.column, two, one)
        return BOOL

    def _membership(self, node: Call, one: Shapes, two: Shapes) -> None:
        for shape in two:
            if shape.kind == "list" and shape.items is not None:
                self._listed(node.column, one, shape.items)

    def _listed(self, column: int, one: Shapes, two: Shapes) -> None:
        """Text that `one`, whose texts are listed, can never be."""
        texts = [shape for shape in one if shape.kind == "string"]
        if not texts or "dyn" in kinds(one) or any(shape.values is None for shape in texts):
            return
        legal = [str(value) for shape in texts for value in shape.values or ()]
        given = [str(v) for shape in two if shape.kind == "string" for v in shape.values or ()]
        if len(legal) == 1 and len(given) != 1:
            return  # two constants, or a constant and a list: the other direction tells more
        for word in given:
            if word not in legal:
                message = Text(f"the value is never '{word}'", f"该值永远不会是“{word}”")
                self._misspelled("never", column, message, word, legal)

    def _apply(self, overloads: tuple[Overload, ...], node: Call, args: tuple[Shapes, ...]) -> Shapes:
        """The result for the overloads that some alternatives of `args` fit; a problem where none does."""
        if node.function in ("math.@max", "math.@min") and len(args) > 1:
            return union(args)
        given = [kinds(arg) for arg in args]
        fitting: list[Kind] = [
            result
            for parameters, result in overloads
            if len(parameters) == len(given)
            and all("dyn" in g or p == "dyn" or p in g for p, g in zip(parameters, given, strict=True))
        ]
        if fitting:
            return self._result(node, args, fitting)
        symbol = node.function.strip("_@") if node.function[0] in "_@-" else f"{node.function}()"
        listed = ", ".join(print_kinds(arg) for arg in args)
        hint = NO_HINT
        if len(given) == 2 and all(g <= _NUMERIC for g in given):
            hint = MIXED
        message = Text(f"'{symbol}' does not take {listed}", f"“{symbol}”不能用于 {listed}")
        self._problem("types", node.column, message, hint)
        results: list[Kind] = [result for _, result in overloads]
        return of_kind(*dict.fromkeys(results))

    def _result(self, node: Call, args: tuple[Shapes, ...], fitting: Sequence[Kind]) -> Shapes:
        if node.function == "split":
            return (Shape("list", items=of_kind("string")),)
        if node.function == "_+_" and set(fitting) == {"list"}:
            return (Shape("list", items=union(items_of(s) for arg in args for s in arg if s.kind == "list")),)
        if node.function == "dyn":
            return args[0]
        return DYN if "dyn" in fitting else of_kind(*dict.fromkeys(fitting))


def _end(node: Node) -> int:
    """The column after a name with fields; macros do not keep the place of the dot."""
    match node:
        case Name():
            return node.column + len(node.name)
        case Select():
            return node.column + 1 + len(node.field)
        case _:
            return node.column


def _appended(step: Node) -> tuple[Node | None, Node | None]:
    """The condition and the element of a step `condition ? @result + [element] : @result`."""
    condition = None
    if isinstance(step, Call) and step.function == "_?_:_":
        condition, step, _ = step.args
    if isinstance(step, Call) and step.function == "_+_" and isinstance(step.args[1], ListLiteral):
        return condition, step.args[1].items[0]
    return condition, None
