"""What rules are broken with: a register by code, tools, and steps that are put before those of any procedure."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from sopwith.ir.procedure import Procedure
from sopwith.ir.tool import Effect, ToolSpec

Data = dict[str, Any]
Break = Callable[[Data, Random], None]

TEXT = {"type": "string"}
_WHO = {
    "type": "object",
    "properties": {"who": TEXT, "kind": {"enum": ["a", "b"]}},
    "required": ["who"],
    "additionalProperties": False,
}
_STATE = {"type": "object", "properties": {"state": TEXT}, "required": ["state"]}
TOOLS = {
    "broken.look": ToolSpec(name="broken.look", input_schema=_WHO, output_schema=_STATE),
    "broken.write": ToolSpec(
        name="broken.write", input_schema=_WHO, output_schema=_STATE, effect=Effect.WRITE
    ),
}
"""What the broken steps call, beside the tools of the procedure."""

IMPLIED: dict[str, frozenset[str]] = {}
"""Codes of errors that stand beside a code wherever it does."""

BREAKS: dict[str, Break] = {}


def breaks(code: str) -> Callable[[Break], Break]:
    """Register the function that breaks the rule of `code`."""

    def register(function: Break) -> Break:
        BREAKS[code] = function
        return function

    return register


def first(data: Data, id_: str = "broken", *, end: str | None = None, **step: Any) -> None:
    """Put a step before the others. Without `next` and `end` it leads to what was the first."""
    if "tool" in step and data.get("tools") is not None:
        data["tools"].append(step["tool"])
    if end is None:
        step.setdefault("next", [{"to": data["start"]}])
    else:
        step["end"] = end
    data["steps"][id_] = {"id": id_, **step}
    data["start"] = id_


def strictly(data: Data) -> None:
    """Hold the procedure strictly, for a rule that says nothing about other grips."""
    data.pop("grip", None)
    for step in data["steps"].values():
        if step.get("grip") != "free":
            step.pop("grip", None)


def also(data: Data, id_: str, **step: Any) -> None:
    """Put a step before the others that sometimes leads to the new step `id_`, and else to what was the first."""
    start = data["start"]
    data["steps"][id_] = {"id": id_, **step}
    first(data, next=[{"to": id_, "when": "run.request == 'x'"}, {"to": start, "otherwise": True}])


def condition(data: Data, when: str) -> None:
    """Put a step before the others whose first edge has the condition `when`."""
    also(data, "over", end="escalate")
    data["steps"]["broken"]["next"][0]["when"] = when


def value(data: Data, **step: Any) -> None:
    """Put a step before the others that lets the model write a text."""
    first(data, **{"returns": TEXT, "do": "say it", **step})


def seen(data: Data, **properties: Any) -> None:
    """Put a step before the others that gives the record `seen`."""
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    first(data, "seen", returns=schema, do="say it")


def with_output(data: Data) -> None:
    """Give the procedure an output of its own, and each of its completing ends that."""
    data["output"] = {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}
    for step in data["steps"].values():
        if step.get("end") == "complete":
            step["result"] = {"a": 1}


def named_tools(data: Data) -> list[str]:
    return list(Procedure.from_data(data).step_tools())
