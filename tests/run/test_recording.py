"""The calls of a stored run, read from its log with their true values."""

from __future__ import annotations

import json

from sopwith import Engine, MemoryLog, Policy
from sopwith.guard.vault import MemoryVault
from sopwith.ir.procedure import Procedure
from sopwith.models.scripted import ScriptedModel
from sopwith.run.recording import recording_of
from sopwith.tools import ToolError, tool

ROWS = [{"id": i, "note": f"row {i} of anna@example.com"} for i in range(200)]
PROCEDURE = Procedure.from_data(
    {
        "id": "report",
        "start": "read",
        "steps": {
            "read": {"id": "read", "tool": "t.rows", "as": "rows", "next": [{"to": "count"}]},
            "count": {
                "id": "count",
                "do": "Count the rows.",
                "tool": "t.count",
                "uses": ["rows"],
                "as": "n",
                "next": [{"to": "fail"}],
            },
            "fail": {"id": "fail", "tool": "t.fail", "on_error": [{"to": "done"}], "next": [{"to": "done"}]},
            "done": {"id": "done", "end": "complete"},
        },
    }
)


@tool(name="t.rows")
def rows() -> list[dict[str, int | str]]:
    """All rows."""
    return list(ROWS)


@tool(name="t.count", effect="write")
def count(rows: list[dict[str, int | str]]) -> int:
    """Count rows."""
    return len(rows)


@tool(name="t.fail")
def fail(code: int = 7) -> int:
    """Fail."""
    raise ToolError("no", f"code {code}")


async def test_recorded_calls_have_their_true_values_also_those_passed_by_reference() -> None:
    log, vault = MemoryLog(), MemoryVault()
    model = ScriptedModel([json.dumps({"rows": {"$value": "rows"}})])
    async with Engine(
        [PROCEDURE], [rows, count, fail], model, log=log, vault=vault, policy=Policy(allow_writes=["t.*"])
    ) as engine:
        run = await engine.run("count them")
        assert run.status == "completed"
        found = await recording_of(log, run.id, vault)
    assert [call.tool for call in found.calls] == ["t.rows", "t.count", "t.fail"]
    assert found.calls[0].result.value == ROWS
    assert found.calls[1].arguments == {"rows": ROWS} and found.calls[1].result.value == 200
    failed = found.calls[2]
    assert failed.result.error is not None and failed.result.error.code == "no"
    assert (failed.arguments, failed.defaults) == ({"code": 7}, {"code"})
