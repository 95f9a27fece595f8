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
from sopwith import Engine, Policy, Principal, Procedure, Rule, SqliteLog, tool
from sopwith.models.port import ModelReply, ModelRequest
from sopwith.run import journal

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
    """An engine, ready to run the shape; `batch` is how many events are appended at the latest when a step ends."""

    engine: Engine
    batch: int

    async def run(self, request: str) -> None:
        # No side runs while another does: the module's constant is this side's for the time of the run.
        usual, journal.BATCH = journal.BATCH, self.batch
        try:
            run = await self.engine.run(request, principal=SOMEBODY)
        finally:
            journal.BATCH = usual
        if run.outcome is None or run.outcome.kind != "completed":
            raise RuntimeError(f"the run ended as {run.outcome}")


async def write(value: int, route: str, *, idempotency_key: str) -> dict[str, Any]:
    """The tool as one that acts on the world."""
    return await noop(value, route)


def sopwith(batch: int, *, writes: bool = False) -> Side:
    """Sopwith with its SQLite log. It renders its own prompts; the prompter is that of the peers."""

    @asynccontextmanager
    async def side(shape: Shape, model: Model, prompter: Prompter, path: Path) -> AsyncIterator[Runner]:
        act = tool(name=TOOL, effect="write", idempotent=True)(write) if writes else tool(name=TOOL)(noop)
        engine = Engine(
            procedures=[procedure(shape)],
            tools=[act],
            model=Port(model),
            policy=Policy([Rule(id="bench", verdict="allow", tool=TOOL)]),
            log=SqliteLog(path),
        )
        try:
            yield Sopwith(engine, batch)
        finally:
            await engine.close()

    return side


OURS, BATCHED, WRITES = "sopwith", "sopwith_batched", "sopwith_writes"
SIDES: dict[str, Side] = {
    OURS: sopwith(1),
    BATCHED: sopwith(journal.BATCH),
    WRITES: sopwith(journal.BATCH, writes=True),
    **PEERS,
}
"""Everything that is compared."""


async def prompt_characters(shape: Shape, folder: Path) -> int:
    """The mean length of the prompts that Sopwith renders for `shape`: the peers render as much."""
    script = Script(shape.length)
    async with SIDES[BATCHED](shape, script, Prompter(0), folder / "calibration.db") as runner:
        await runner.run("request 1")
        await runner.run("request 2")
    return script.characters // script.calls
