"""Tools that do not come back, each called by a procedure with a limit of one second: how long the worst call takes to
return, whether the next step works, and how many of the processes that were started are left when the engine is closed.

A sleep and an endless loop in a thread and in a process, an integer that holds the interpreter lock, children that
ignore SIGTERM, an async function that goes on when it is cancelled, and an MCP server that stalls.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure import Measure, options, publish, result
from benchmarks.stuck import CASES, sources
from sopwith import Engine, MemoryLog
from sopwith.ir.event import Event

REPEATS, QUICK = 5, 1
MARK = "SOPWITH_LIMITS"
"""What stands in the environment of every process that is started, and so of all that those start."""

PROCEDURE = """
schema: sopwith/procedure/1
id: {id}
name: {tool}
description: Call {tool}, then {after}
output: {{type: object, required: [told], properties: {{told: {{type: string}}}}}}
start: stuck
steps:
  stuck:
    name: Call
    tool: {tool}
    timeout: 1s
    on_error: [{{otherwise: after}}]
    next: lost
  after:
    name: Go on
    tool: {after}
    as: told
    end: complete
    result: {{told: "${{told}}"}}
  lost: {{name: Lost, end: escalate}}
"""


def seconds_of(events: Sequence[Event]) -> float:
    """How long the first call of a run took, from its intent to its outcome."""
    started = next(event for event in events if event.body.kind == "call.started")
    finished = next(event for event in events if event.body.kind == "call.finished")
    return (finished.at - started.at) / 1e6


def left(mark: str) -> list[int]:
    """The processes that run with `mark` in their environment, but for this one."""
    found: list[int] = []
    for folder in Path("/proc").iterdir():
        try:
            if not folder.name.isdigit() or int(folder.name) == os.getpid():
                continue
            state = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
            if state != "Z" and mark.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:  # it has ended, or is not ours
            continue
    return found


async def measured(repeats: int) -> list[Measure]:
    """Every case `repeats` times, in turns, in one engine."""
    mark = secrets.token_hex(8)
    os.environ[MARK] = mark
    procedures = {tool: tool.replace(".", "_") for tool in CASES}
    texts = [PROCEDURE.format(id=procedures[tool], tool=tool, after=after) for tool, after in CASES.items()]
    took: dict[str, list[float]] = {tool: [] for tool in CASES}
    works = 0
    async with Engine(texts, tools=sources(), log=MemoryLog()) as engine:
        for _ in range(repeats):
            for tool in CASES:
                run = await engine.run("go", procedure=procedures[tool])
                took[tool].append(seconds_of(run.events))
                works += run.outcome is not None and run.outcome.output == {"told": "next"}
    del os.environ[MARK]
    runs = repeats * len(CASES)
    worst = {tool: max(seconds) for tool, seconds in took.items()}
    return [
        Measure("worst_return_s", round(max(worst.values()), 3), "s", runs),
        Measure("processes_left", len(left(f"{MARK}={mark}")), "processes", runs),
        Measure("next_step_works", works / runs, "share", runs),
        *(Measure(f"return_s_{tool}", round(worst[tool], 3), "s", repeats) for tool in CASES),
    ]


def main() -> None:
    """Measure and publish."""
    given = options(__doc__ or "")
    publish(result("limits", asyncio.run(measured(QUICK if given.quick else REPEATS))), given)
    # A thread that was given up in a sleep does not hold the process up.
    sys.stdout.flush()


if __name__ == "__main__":
    main()
