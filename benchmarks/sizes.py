"""Procedures of any length, for measuring what a step costs: like an expert's, only longer."""

from __future__ import annotations

from typing import Any

from sopwith.ir.procedure import Procedure
from sopwith.ir.tool import ToolSpec

STEPS_A_PART = 4

TOOLS = {
    "desk.look": ToolSpec(
        name="desk.look",
        input_schema={"type": "object", "properties": {"who": {"type": "string"}}, "required": ["who"]},
        output_schema={
            "type": "object",
            "properties": {
                "kind": {"enum": ["annual", "sick", "none"]},
                "days": {"type": "number"},
                "owner": {"type": "string"},
                "note": {"type": ["string", "null"]},
            },
            "required": ["kind", "days", "owner", "note"],
        },
    )
}
"""The tool that every part looks things up with."""


def long_procedure(steps: int) -> Procedure:
    """A procedure of exactly `steps` steps, at least ten, of which a fifth branch.

    It is a row of parts: a tool is called with what an earlier part found, a step branches over the result into two
    arms that write the same name, and the arms meet in the next part. What is left over is one line of steps.
    """
    parts = steps // 5
    found: dict[str, dict[str, Any]] = {}
    for i in range(parts):
        found |= _part(i)
    rest = steps - parts * STEPS_A_PART - 1
    for i in range(rest):
        onward = "done" if i == rest - 1 else f"part_{parts + i + 1}"
        words = f"说明第 {i} 项：${{found_{i % parts}.owner}}"
        found[f"part_{parts + i}"] = {"do": words, "returns": {"type": "string"}, "next": [{"to": onward}]}
    found["done"] = {
        "answer": "告知 ${found_0.kind}", "end": "complete", "result": {"kind": "${found_0.kind}"}
    }  # fmt: skip
    return Procedure.from_data(
        {
            "id": "long",
            "name": "很长的流程",
            "description": "A procedure that is long",
            "inputs": {"who": {"schema": {"type": "string"}, "from": "run.principal.id"}},
            "output": {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}}},
            "start": "part_0",
            "steps": {name: {"id": name, **step} for name, step in found.items()},
        }
    )


def _part(i: int) -> dict[str, dict[str, Any]]:
    """A call, a branch over its result, and two arms."""
    who = "${inputs.who}" if i == 0 else f"${{found_{i // 2}.owner}}"
    arm = {"do": f"用一句话说明 ${{found_{i}.kind}}", "returns": {"type": "string"}, "as": f"said_{i}"}
    onward = [{"to": f"part_{i + 1}"}]
    return {
        f"part_{i}": {
            "tool": "desk.look",
            "with": {"who": who},
            "as": f"found_{i}",
            "next": [{"to": f"fork_{i}"}],
        },
        f"fork_{i}": {
            "name": f"按类型分开 {i}",
            "next": [
                {"to": f"yes_{i}", "when": f"found_{i}.kind == 'annual' && double(found_{i}.days) >= 1.5"},
                {"to": f"no_{i}", "judge": "原话中提到了别的诉求"},
                {"to": f"part_{i + 1}", "otherwise": True},
            ],
        },
        f"yes_{i}": {**arm, "next": onward},
        f"no_{i}": {**arm, "next": onward},
    }
