"""The table of operators and functions says what the library does, for every pair of kinds."""

from __future__ import annotations

from itertools import product

import pytest

from sopwith.expr.expression import parse
from sopwith.expr.failure import Failure
from sopwith.expr.functions import FUNCTIONS, METHODS, NAMES, OPERATORS, Overload
from sopwith.expr.infer import Inference
from sopwith.expr.shape import DYN, kinds, of_kind

SAMPLES = {
    "null": "null",
    "bool": "true",
    "int": "2",
    "uint": "2u",
    "double": "2.5",
    "string": "'2'",
    "bytes": "b'2'",
    "list": "['2']",
    "map": "{'2': 2}",
    "timestamp": "timestamp('2026-03-02T00:00:00Z')",
    "duration": "duration('2s')",
    "type": "int",
}


def refused(source: str) -> bool:
    """Whether the library says that no operation takes these operands (as opposed to: not these values)."""
    found = parse(source).attempt({})
    return isinstance(found, Failure) and found.kind in ("types", "field")


def listed(overloads: tuple[Overload, ...], given: tuple[str, ...]) -> bool:
    return any(
        len(row) == len(given) and all(p in ("dyn", g) for p, g in zip(row, given, strict=True))
        for row, _ in overloads
    )


@pytest.mark.parametrize("operator", [name for name in OPERATORS if name.startswith("_")])
def test_binary_operators(operator: str) -> None:
    symbol = operator.strip("_")
    for left, right in product(SAMPLES, repeat=2):
        source = f"{SAMPLES[left]} {symbol} {SAMPLES[right]}"
        assert refused(source) is not listed(OPERATORS[operator], (left, right)), source


def test_unary_operators() -> None:
    for kind, sample in SAMPLES.items():
        assert refused(f"!({sample})") is not listed(OPERATORS["!_"], (kind,))
        assert refused(f"-({sample})") is not listed(OPERATORS["-_"], (kind,)), kind


def test_membership() -> None:
    for left, right in product(SAMPLES, ("list", "map", "string", "int", "null")):
        source = f"{SAMPLES[left]} in {SAMPLES[right]}"
        assert refused(source) is not listed(OPERATORS["@in"], (left, right)), source


ONE = [
    name
    for name in FUNCTIONS
    if not name.startswith("math.@") and any(len(r) == 1 for r, _ in FUNCTIONS[name])
]


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_value(name: str) -> None:
    for kind, sample in SAMPLES.items():
        assert refused(f"{name}({sample})") is not listed(FUNCTIONS[name], (kind,)), kind


@pytest.mark.parametrize("name", METHODS)
def test_methods(name: str) -> None:
    for row, _ in METHODS[name]:
        target, *args = (SAMPLES[kind] for kind in row)
        assert not refused(f"{target}.{name}({', '.join(args)})"), row
    for kind, sample in SAMPLES.items():
        if not any(row[0] == kind for row, _ in METHODS[name]):
            one = next(row for row, _ in METHODS[name])
            args = ", ".join(SAMPLES[k] for k in one[1:])
            assert refused(f"({sample}).{name}({args})"), kind


RESULTS = [
    (name, row, result)
    for table in (OPERATORS, FUNCTIONS, METHODS)
    for name, overloads in table.items()
    for row, result in overloads
    if result != "dyn" and "@" not in name
]


def source_of(name: str, row: tuple[str, ...]) -> str:
    args = [f"({SAMPLES[kind]})" for kind in row]
    if name in OPERATORS:
        return f"{name.strip('_')}{args[0]}" if len(args) == 1 else f"{args[0]} {name.strip('_')} {args[1]}"
    if name in METHODS and name not in FUNCTIONS:
        return f"{args[0]}.{name}({', '.join(args[1:])})"
    return f"{name}({', '.join(args)})"


@pytest.mark.parametrize(("name", "row", "result"), RESULTS, ids=lambda v: str(v))
def test_the_kind_of_a_result(name: str, row: tuple[str, ...], result: str) -> None:
    found = parse(f"type({source_of(name, row)}) == type({SAMPLES[result]})").attempt({})
    assert found is True or (isinstance(found, Failure) and found.kind == "value"), found


def test_every_name_can_be_called() -> None:
    assert {"size", "math.greatest", "has", "map", "lowerAscii", "timestamp"} <= set(NAMES)
    assert not any("@" in name for name in NAMES)


def test_what_is_not_known_is_never_wrong() -> None:
    for name in OPERATORS:
        symbol = name.strip("_@")
        source = f"{symbol}x" if name in ("!_", "-_") else f"x {symbol} y"
        inference = Inference({"x": DYN, "y": of_kind("int", "string", "list", "null", "bool")})
        inference.of(parse(source).tree)
        assert inference.problems == []


def test_a_whole_number_beside_a_fraction_keeps_both() -> None:
    inference = Inference({"x": of_kind("int", "double")})
    assert kinds(inference.of(parse("x + x").tree)) == {"int", "double"}
