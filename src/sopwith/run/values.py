"""What names stand for: as a model may see it (placeholders, previews), and as it truly is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import cast

from sopwith.expr.template import Template
from sopwith.ir.procedure import Input
from sopwith.ir.value import Json
from sopwith.models.port import ModelReply
from sopwith.run.preview import MARK, THRESHOLD, described, is_long
from sopwith.run.state import Cursor, Reference, State, Stored
from sopwith.run.value_path import Part, replaced, spell, walk

Load = Callable[[str], bytes]
"""The bytes of a blob, by digest."""

RevealText = Callable[[Json], Json]
"""A value with its placeholders replaced by what they stand for."""


class Values:
    """Reads stored values. `load` gets a blob, `reveal` puts true values in the place of placeholders."""

    def __init__(self, load: Load, reveal: RevealText) -> None:
        self.load = load
        self._reveal = reveal

    def whole(self, stored: Stored) -> Json:
        """The whole value, with placeholders."""
        return json.loads(self.load(stored.blob)) if isinstance(stored, Reference) else stored

    def arguments(self, cursor: Cursor) -> dict[str, Json]:
        """The true arguments of the call at hand, with what was passed by reference in its place."""
        true = self._reveal(dict(cursor.arguments or {}))
        for each in cursor.passed:
            found = walk(json.loads(self.load(each.blob)), each.path)
            true = replaced(true, cast("tuple[Part, ...]", self._reveal(list(each.at))), self._reveal(found))
        return cast("dict[str, Json]", true)

    def told_arguments(self, cursor: Cursor) -> dict[str, Json]:
        """The arguments of the call at hand for people: placeholders kept, and long values by their previews."""
        told: Json = dict(cursor.arguments or {})
        for each in cursor.passed:
            name = cast("dict[str, str]", walk(told, each.at))[MARK]
            found = walk(json.loads(self.load(each.blob)), each.path)
            told = replaced(told, each.at, described(name, found))
        return cast("dict[str, Json]", told)

    def reply(self, reply: ModelReply) -> ModelReply:
        """A reply with true values: put into the parsed text where it is JSON, so that it stays JSON."""
        text = reply.text
        if "<" not in text:
            return reply
        try:
            true = json.dumps(self._reveal(json.loads(text)), ensure_ascii=False)
        except (ValueError, RecursionError):  # no JSON, or nested so deep that it is refused as it is
            true = str(self._reveal(text))
        return replace(reply, text=true)

    def true(self, stored: Stored) -> Json:
        """The true value, for tools, policies and expressions."""
        return self._reveal(self.whole(stored))


IDENTITY = Values(lambda digest: b"null", lambda value: value)
"""For states without placeholders and references."""


def run_facts(state: State) -> dict[str, Json]:
    """What expressions see as `run`. Placeholders are not replaced."""
    principal = state.principal
    return {
        "id": state.run,
        "date": state.date,
        "request": state.request,
        "principal": {"id": principal.id, "roles": list(principal.roles)},
    }


def _fact(state: State, source: str) -> Json:
    value: Json = {"run": run_facts(state)}
    for part in source.split("."):
        value = cast("Mapping[str, Json]", value)[part] if isinstance(value, Mapping) else None
    return value


def input_values(state: State, inputs: Mapping[str, Input]) -> dict[str, Stored]:
    """The values of all inputs that have one: facts of the run, and what was passed or extracted."""
    known: dict[str, Stored] = {}
    for name, item in inputs.items():
        if item.from_ is not None:
            known[name] = _fact(state, item.from_)
        elif name in state.inputs:
            known[name] = state.inputs[name]
    return known


def scope(
    state: State, inputs: Mapping[str, Input], names: Iterable[str], convert: Callable[[Stored], Json]
) -> dict[str, Json]:
    """The values of `names` for an expression, each through `convert` (`Values.true` or `Values.whole`).

    A name without a value is left out: the expression then fails with its name.
    """
    found: dict[str, Json] = {}
    for name in names:
        if name == "inputs":
            found[name] = {key: convert(value) for key, value in input_values(state, inputs).items()}
        elif name == "run":
            found[name] = convert(run_facts(state))
        elif name == "error":
            if state.error is not None:
                found[name] = state.error.model_dump(mode="json")
        elif name in state.values:
            found[name] = convert(state.values[name])
    return found


def render(
    template: Template, state: State, inputs: Mapping[str, Input], convert: Callable[[Stored], Json]
) -> Json:
    """The value of a template over the names that it reads. Raises `ExpressionError`."""
    names = dict.fromkeys(path[0] for path in template.paths)
    return template.render(scope(state, inputs, names, convert) if names else {})


def shown(path: tuple[str, ...], state: State, inputs: Mapping[str, Input], values: Values) -> Json:
    """What a model is shown for a path (`inputs.request`, `wish.kind`): placeholders kept, long values previewed."""
    found = part(path, state, inputs, values)
    return described(spell(path[0], path[1:]), found, state.thresholds.get(path[0], THRESHOLD))


def long_parts(
    paths: Iterable[tuple[str, ...]], state: State, inputs: Mapping[str, Input], values: Values
) -> dict[str, Json]:
    """Those of `paths` whose values are long, as they are spelled, with what they hold for a model."""
    found: dict[str, Json] = {}
    for path in paths:
        value = part(path, state, inputs, values)
        if is_long(value, state.thresholds.get(path[0], THRESHOLD)):
            found[spell(path[0], path[1:])] = value
    return found


def part(path: tuple[str, ...], state: State, inputs: Mapping[str, Input], values: Values) -> Json:
    """What a path stands for, with placeholders; None where there is nothing."""
    head, *rest = path
    found = scope(state, inputs, (head,), values.whole)
    value: Json = found.get(head)
    for key in rest:
        value = cast("Mapping[str, Json]", value).get(key) if isinstance(value, Mapping) else None
    return value
