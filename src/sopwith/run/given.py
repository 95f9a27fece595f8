"""What an engine and a run are given, checked: procedures, tools, inputs, a grip."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from sopwith.errors import Text, UserError
from sopwith.ir.procedure import Grip, Procedure
from sopwith.ir.schema import together, validator
from sopwith.ir.value import Json, storable
from sopwith.lang.document import Document
from sopwith.tools.port import ToolSource

ProcedureLike = Procedure | Document | Path | str
ToolLike = ToolSource | Callable[..., Any]


def held_grip(grip: Grip | str | None) -> Grip | None:
    """The grip that a run is held by, where the caller names one. Raises `UserError` for one that does not exist."""
    if grip is None or grip in tuple(Grip):
        return None if grip is None else Grip(grip)
    listed = ", ".join(Grip)
    raise UserError(
        Text(f"there is no grip '{grip}'", f"没有约束程度“{grip}”"),
        Text(f"one of {listed}", f"其中之一：{listed}"),
    )


def document_of(item: ProcedureLike) -> Document:
    """A procedure with the places of its parts. Raises `ProcedureError` for what cannot be read."""
    if isinstance(item, Document):
        return item
    if isinstance(item, Procedure):
        return Document(item, {}, f"<{item.id}>", "")
    from sopwith.lang.read import read  # a procedure that is an object needs no YAML

    return read(item)


def tool_sources(tools: Sequence[ToolLike]) -> list[ToolSource]:
    """The sources among `tools`, and one more for its functions. Raises `UserError` for what is no tool."""
    functions = [cast("Callable[..., Any]", item) for item in tools if not hasattr(item, "specs")]
    sources = [cast("ToolSource", item) for item in tools if hasattr(item, "specs")]
    if not functions:
        return sources
    from sopwith.tools.function import FunctionSource  # servers need no signatures

    return [*sources, FunctionSource(functions)]


def checked_inputs(procedure: Procedure, given: dict[str, Json]) -> dict[str, Json]:
    """Inputs as they can be stored. Raises `UserError` for one that is not passed, or does not fit its schema."""
    for name, value in given.items():
        item = procedure.inputs.get(name)
        if item is None or item.from_ is not None:
            raise UserError(
                Text(f"'{name}' is not an input that is passed", f"“{name}”不是可传入的输入"),
                Text(f"inputs: {', '.join(procedure.inputs)}", f"输入：{'、'.join(procedure.inputs)}"),
            )
        problems = validator(item.schema_).problems(value)
        if problems:
            said = together(problems)
            raise UserError(Text(f"input '{name}': {said.en}", f"输入“{name}”：{said.zh}"))
    return {name: storable(value) for name, value in given.items()}
