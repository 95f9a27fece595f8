"""Sopwith's side of the overhead benchmark: the same work as a procedure, with all events and their chain.

Events of steps that only read are appended in batches, as always: here, where the model never waits, a short
run is one transaction, while the bare loop and LangGraph commit at every step.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers import PEERS, Model, Runner, Side
from benchmarks.workload import Prompter, Script, Shape, noop
from sopwith import Engine, Principal, Procedure, SqliteLog, tool
from sopwith.models.port import ModelReply, ModelRequest

TOOL = "bench.noop"
SOMEBODY = Principal(id="u-1", roles=("clerk",))


def procedure(shape: Shape) -> Procedure:
    """`shape` as a strict procedure: the model fills the arguments of every step's tool."""
    before: dict[str, list[str]] = {step: [] for step in shape.steps}
    for step, ways in shape.edges.items():
        for after in ways.values():
            before[after].append(step)
    steps: dict[str, Any] = {}
    for step in shape.steps:
        # Which arm came before a join differs by path: the joined step uses what the start found.
        last = before[step] if len(before[step]) == 1 else [shape.start]
        steps[step] = {
            "id": step,
            "do": f"Carry out {step.replace('_', ' ')}",
            "tool": TOOL,
            "uses": ["inputs.request"] if step == shape.start else last,
            "next": _edges(step, shape.edges.get(step, {"": "done"})),
        }
    steps["done"] = {"id": "done", "end": "complete"}
    return Procedure.from_data(
        {
            "id": shape.name,
            "name": shape.name,
            "inputs": {"request": {"schema": {"type": "string"}, "from": "run.request"}},
            "start": shape.start,
            "steps": steps,
        }
    )


def _edges(step: str, ways: dict[str, str]) -> list[dict[str, Any]]:
    if "" in ways:
        return [{"to": ways[""]}]
    *first, (_, last) = ways.items()
    edges: list[dict[str, Any]] = [{"to": to, "when": f"{step}.route == '{route}'"} for route, to in first]
    return [*edges, {"to": last, "otherwise": True}]


@dataclass(frozen=True, slots=True)
class Port:
    """A peer's model behind Sopwith's model port."""

    model: Model
    id: str = "scripted"

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Join the parts of the prompt, as an endpoint would, and ask."""
        prompt = request.prompt
        turns = "".join(f"{turn.user}\n{turn.assistant}\n" for turn in prompt.turns)
        return ModelReply(text=await self.model.reply(f"{prompt.prefix}\n{turns}{prompt.tail}"))

    async def close(self) -> None:
        """Nothing is held."""


@dataclass(slots=True)
class Sopwith:
    """An engine, ready to run the shape."""

    engine: Engine

    async def run(self, request: str) -> None:
        run = await self.engine.run(request, principal=SOMEBODY)
        if run.outcome is None or run.outcome.kind != "completed":
            raise RuntimeError(f"the run ended as {run.outcome}")


@asynccontextmanager
async def sopwith(shape: Shape, model: Model, prompter: Prompter, path: Path) -> AsyncIterator[Runner]:
    """Sopwith with its SQLite log. It renders its own prompts; `prompter` is that of the peers."""
    engine = Engine(
        procedures=[procedure(shape)],
        tools=[tool(name=TOOL)(noop)],
        model=Port(model),
        log=SqliteLog(path),
    )
    try:
        yield Sopwith(engine)
    finally:
        await engine.close()


OURS = "sopwith"
SIDES: dict[str, Side] = {OURS: sopwith, **PEERS}
"""Everything that is compared."""


async def prompt_characters(shape: Shape, folder: Path) -> int:
    """The mean length of the prompts that Sopwith renders for `shape`: the peers render as much."""
    script = Script(shape.length)
    async with sopwith(shape, script, Prompter(0), folder / "calibration.db") as runner:
        await runner.run("request 1")
        await runner.run("request 2")
    return script.characters // script.calls
