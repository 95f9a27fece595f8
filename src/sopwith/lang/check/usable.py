"""The JSON Schemas of a procedure that can be used, so that no other rule has to doubt their form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from sopwith.errors import UserError
from sopwith.ir.procedure import Procedure
from sopwith.ir.schema import validator
from sopwith.ir.value import Json
from sopwith.lang.document import Path
from sopwith.lang.dynamic_enum import without_dynamic

_Schema = dict[str, Json]


def schemas(procedure: Procedure) -> Iterator[tuple[Path, _Schema, _Schema]]:
    """Every schema of a procedure: its path, as it stands, and without the enums that only a run can fill in."""
    for name, one in procedure.inputs.items():
        yield ("inputs", name), one.schema_, one.schema_
    if procedure.output is not None:
        yield ("output",), procedure.output, procedure.output
    for name, step in procedure.steps.items():
        if step.returns is not None:
            yield ("steps", name, "returns"), step.returns, cast("_Schema", without_dynamic(step.returns))


def unusable(procedure: Procedure) -> dict[Path, tuple[Path, UserError]]:
    """The schemas that are no JSON Schemas, by their paths: the place inside, and what is wrong there."""
    found: dict[Path, tuple[Path, UserError]] = {}
    for path, _, fixed in schemas(procedure):
        try:
            validator(fixed)
        except UserError as error:
            inside = cast("list[str | int]", getattr(error.__cause__, "instance_path", []))
            found[path] = ((*path, *inside), error)
    return found


def without(procedure: Procedure, paths: Mapping[Path, object]) -> Procedure:
    """`procedure` with the schemas at `paths` replaced by one that says nothing."""
    if not paths:
        return procedure
    inputs = {
        name: one.model_copy(update={"schema_": {}}) if ("inputs", name) in paths else one
        for name, one in procedure.inputs.items()
    }
    steps = {
        name: step.model_copy(update={"returns": {}}) if ("steps", name, "returns") in paths else step
        for name, step in procedure.steps.items()
    }
    output: _Schema | None = {} if ("output",) in paths else procedure.output
    return procedure.model_copy(update={"inputs": inputs, "steps": steps, "output": output})
