"""Expressions by chance over names with schemas: conditions, bindings, and text with values in it.

Most are right: what is optional or nullable is guarded, numbers are compared with numbers. A `wild` share is not, in
one of the ways in which people get them wrong: a check has to find those, wherever it says that a procedure is sound.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from benchmarks.values import WORDS, Schema, instance

Scope = Mapping[str, Schema]
"""The names that have a value on every path to a point, with what is known about each."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A place inside a named value: how CEL reads it, its schema, and what must hold before it is read."""

    at: str
    schema: Schema
    guards: tuple[str, ...] = ()


class Expressions:
    """Expressions drawn from `rng`; `wild` is the share of those that may be wrong."""

    def __init__(self, rng: Random, wild: float) -> None:
        self.rng = rng
        self.wild = wild
        self.written: dict[str, Schema] = {}
        """Every name that some step writes, on whatever path."""

    def condition(self, scope: Scope) -> str:
        """Something true or false."""
        leaves = [leaf for leaf in self.leaves(self._hoped(scope)) if leaf.schema.get("type") != "object"]
        if not leaves or self.rng.random() < 0.04:
            return self.rng.choice(("run.request.size() > 3", "run.principal.roles.size() == 0"))
        leaf = self.rng.choice(leaves)
        said = " && ".join((*leaf.guards, self.test(leaf.at, leaf.schema)))
        if self.rng.random() < 0.15:
            other = self.rng.choice(leaves)
            said = f"({said}) || ({' && '.join((*other.guards, self.test(other.at, other.schema)))})"
        return self._wrong(said, leaf) if self.rng.random() < self.wild else said

    def test(self, at: str, schema: Schema) -> str:
        """A condition on the value at `at`."""
        rng = self.rng
        if "enum" in schema or "oneOf" in schema:
            values = schema.get("enum") or [one["const"] for one in schema["oneOf"]]
            one = quoted(rng.choice(values))
            return rng.choice((f"{at} == {one}", f"{at} != {one}", f"{at} in [{one}]", f"!({at} == {one})"))
        match schema.get("type", "string"):
            case "integer":
                n = rng.randint(-1, 9)
                return rng.choice(
                    (f"{at} >= {n}", f"{at} % 3 == 1", f"{at} + 1 > {n}", f"double({at}) > {n}.5")
                )
            case "number":
                return rng.choice((f"double({at}) > 1.5", f"double({at}) * 2.0 <= 31.0", f"{at} > 1.5"))
            case "boolean":
                return rng.choice((at, f"!{at}"))
            case "array":
                inner = self.test("x", schema["items"]) if "anyOf" not in schema["items"] else "x != null"
                return rng.choice((f"{at}.size() > 1", f"{at}.exists(x, {inner})", f"{at}.all(x, {inner})"))
            case "object":
                needed = [n for n in schema["required"] if "anyOf" not in schema["properties"][n]]
                if not needed:
                    return f"{at}.size() >= 0"
                name = rng.choice(needed)
                return self.test(f"{at}.{name}", schema["properties"][name])
            case _:
                word = quoted(rng.choice(WORDS))
                return rng.choice((f"{at} == {word}", f"{at}.contains({word})", f"{at}.size() > 4"))

    def leaves(self, scope: Scope) -> list[Leaf]:
        """Every place that can be read, guarded where it may be missing or null."""
        found: list[Leaf] = []
        for name, schema in scope.items():
            _add(found, Leaf(name, schema), 0)
        return found

    def binding(self, scope: Scope, wanted: Schema) -> Any:
        """An expression that gives what `wanted` takes, or a constant that is."""
        rng = self.rng
        fits = [leaf for leaf in self.leaves(self._hoped(scope)) if same_kind(leaf.schema, wanted)]
        if fits and rng.random() < 0.8:
            leaf = rng.choice(fits)
            if rng.random() < self.wild:
                return "${" + self._wrong(leaf.at, leaf) + "}"
            if leaf.guards:
                other = literal(instance(rng, wanted))
                return "${" + f"{' && '.join(leaf.guards)} ? {leaf.at} : {other}" + "}"
            return "${" + leaf.at + "}"
        lists = [
            leaf for leaf in self.leaves(scope) if leaf.schema.get("type") == "array" and not leaf.guards
        ]
        if wanted.get("type") == "integer" and lists and "maximum" not in wanted:
            return "${" + f"{rng.choice(lists).at}.size()" + "}"
        return escaped(instance(rng, wanted))

    def words(self, scope: Scope, chance: float = 0.6) -> str:
        """Text, perhaps with values in it."""
        rng = self.rng
        parts = [rng.choice(WORDS)]
        while rng.random() < chance:
            chance /= 2
            leaves = [leaf for leaf in self.leaves(self._hoped(scope)) if not leaf.guards]
            if leaves:
                leaf = rng.choice(leaves)
                said = self._wrong(leaf.at, leaf) if rng.random() < self.wild else leaf.at
                parts += ["${" + said + "}", rng.choice(WORDS)]
        return " ".join(parts)

    def choices(self, scope: Scope) -> Leaf | None:
        """A list of texts or numbers that a model could choose from, where there is one."""
        simple = ("string", "integer")
        fits = [
            leaf
            for leaf in self.leaves(scope)
            if leaf.schema.get("type") == "array"
            and not leaf.guards
            and ("enum" in leaf.schema["items"] or leaf.schema["items"].get("type") in simple)
        ]
        return self.rng.choice(fits) if fits else None

    def _hoped(self, scope: Scope) -> Scope:
        """`scope`, and now and then what was written on other paths as well."""
        return {**self.written, **scope} if self.rng.random() < self.wild else scope

    def _wrong(self, said: str, leaf: Leaf) -> str:
        """`said`, with one of the mistakes that people make; now and then it is right all the same."""
        rng = self.rng
        match rng.randrange(6):
            case 0:
                return said.replace(leaf.at, f"{leaf.at}.misspelt", 1)
            case 1:
                return said.replace(leaf.at, leaf.at.replace(leaf.at.partition(".")[0], "unheard_of"), 1)
            case 2:
                return said.replace(leaf.at, rng.choice([*self.written, "unheard_of"]), 1)
            case 3:
                for guard in leaf.guards:
                    said = said.replace(f"{guard} && ", "").replace(f"{guard} ? ", "true ? ")
                return said
            case 4:
                return said.replace("double(", "(")
            case _:
                return f"{said} + 1" if rng.random() < 0.5 else f"unknown({said})"


def _add(found: list[Leaf], leaf: Leaf, depth: int) -> None:
    schema = leaf.schema
    if "anyOf" in schema:
        rest = [one for one in schema["anyOf"] if one.get("type") != "null"]
        if len(rest) == 1:
            _add(found, Leaf(leaf.at, rest[0], (*leaf.guards, f"{leaf.at} != null")), depth)
        return
    found.append(leaf)
    if schema.get("type") == "object" and depth < 3:
        for name, inner in schema["properties"].items():
            at = f"{leaf.at}.{name}"
            optional = () if name in schema["required"] else (f"has({at})",)
            _add(found, Leaf(at, inner, (*leaf.guards, *optional)), depth + 1)


def same_kind(given: Schema, wanted: Schema) -> bool:
    """Whether every value of `given` is one of `wanted`, as far as this module makes schemas."""
    if given == wanted:
        return True
    if "enum" in wanted or "oneOf" in wanted or "anyOf" in wanted:
        return False
    if "enum" in given and wanted.get("type") == "string":
        return "maxLength" not in wanted
    kinds = (given.get("type"), wanted.get("type"))
    open_ = not {"maxLength", "minimum", "maximum"} & set(wanted)
    return open_ and kinds in {
        ("string", "string"),
        ("integer", "integer"),
        ("integer", "number"),
        ("number", "number"),
    }


def quoted(value: object) -> str:
    """A constant as CEL writes it."""
    return json.dumps(value, ensure_ascii=False)


def literal(value: Any) -> str:
    """A JSON value as a CEL expression; its texts must not end the template around it."""
    return quoted(value)


def escaped(value: Any) -> Any:
    """A constant that stands in a template as itself."""
    if isinstance(value, str):
        return value.replace("${", "$${")
    if isinstance(value, list):
        return [escaped(item) for item in value]
    if isinstance(value, dict):
        return {key: escaped(item) for key, item in value.items()}
    return value
