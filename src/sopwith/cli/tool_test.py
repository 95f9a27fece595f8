"""Whether tools do what they declare: their schemas can be used, their examples fit, and what reads gives a result."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from sopwith.errors import Text, UserError
from sopwith.ir.tool import Effect, ErrorData, ToolSpec
from sopwith.ir.value import Json
from sopwith.tools.catalogue import Catalogue
from sopwith.tools.refusal import both
from sopwith.tools.schema import hold_to_usable


@dataclass(frozen=True, slots=True)
class Tested:
    """What became of one tool: how many examples were called and how many only judged, and what is wrong."""

    tool: str
    called: int = 0
    judged: int = 0
    code: str = ""
    problem: Text | None = None


async def test_tool(catalogue: Catalogue, spec: ToolSpec, *, writes: bool) -> Tested:
    """Hold a tool to its schemas and examples. What reads is called; what writes only with `writes`."""
    try:
        for schema in (spec.input_schema, spec.output_schema):
            if schema is not None:
                hold_to_usable(schema)
    except UserError as error:
        return Tested(spec.name, code=error.code, problem=error.message)
    called = judged = 0
    for example in examples_of(spec):
        prepared = catalogue.prepare(spec.name, dict(example))
        if isinstance(prepared, ErrorData):
            return Tested(spec.name, called, judged, "SW447", both(prepared))
        judged += 1
        if spec.effect is not Effect.READ and not writes:
            continue
        called += 1
        result = await catalogue.call(spec.name, prepared, key=uuid.uuid4().hex, seconds=spec.timeout)
        if result.error is not None:
            code, said = result.error.code, both(result.error)
            told = Text(f"{code}: {said.en}", f"{code}：{said.zh}")
            return Tested(spec.name, called, judged, code, told)
    return Tested(spec.name, called, judged)


def examples_of(spec: ToolSpec) -> Iterator[Mapping[str, Json]]:
    """Arguments that the tool itself gives: its schema's `examples`, else one made of those of its parameters."""
    whole = spec.input_schema.get("examples")
    if isinstance(whole, list):
        yield from (
            cast("dict[str, Json]", each) for each in cast("list[Json]", whole) if isinstance(each, dict)
        )
        return
    properties = cast("dict[str, Json]", spec.input_schema.get("properties", {}))
    required = cast("list[str]", spec.input_schema.get("required", []))
    made: dict[str, Json] = {}
    for name, schema in properties.items():
        given = cast("dict[str, Json]", schema).get("examples") if isinstance(schema, dict) else None
        if isinstance(given, list) and given:
            made[name] = given[0]
    if all(name in made for name in required):
        yield made
