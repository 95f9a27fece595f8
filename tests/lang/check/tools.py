"""The tools that stand behind the examples of `docs/diagnostics.md`."""

from __future__ import annotations

from typing import Any

from benchmarks.broken_calls import TOO_DEEP

from sopwith.ir.procedure import Call, Input, Procedure, Step
from sopwith.ir.tool import Effect, ToolSpec


def _object(required: tuple[str, ...], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


TEXT = {"type": "string"}

TOOLS = {
    spec.name: spec
    for spec in (
        ToolSpec(
            name="hr.balance",
            input_schema=_object(("user_id",), user_id=TEXT, kind={"enum": ["annual", "sick"]}),
            output_schema=_object(("days", "unit"), days={"type": "number"}, unit=TEXT),
        ),
        ToolSpec(
            name="hr.submit",
            input_schema=_object(("user_id", "days"), user_id=TEXT, days={"type": "integer"}),
            output_schema=_object(("status",), status=TEXT),
            effect=Effect.WRITE,
        ),
    )
}

LIBRARY = {
    one.id: one
    for one in (
        Procedure(
            id="notify",
            inputs={
                "user_id": Input(schema={"type": "string"}),
                "who": Input(**{"from": "run.principal.id"}),
            },
            start="end",
            steps={"end": Step(id="end", end="complete")},
        ),
        Procedure(
            id="circle",
            start="back",
            steps={"back": Step(id="back", call=Call(procedure="example"), end="complete")},
        ),
        *TOO_DEEP,
    )
}

NOW = 1_790_000_000_000_000
"""In September 2026."""
