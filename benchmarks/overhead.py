"""CPU, wall time, disk and memory of the engine beside LangGraph, pydantic-graph and a bare loop.

All sides run in one process, interleaved in rounds, with SQLite in WAL mode at the same `synchronous`
setting, a scripted model, a no-op tool, and prompts of equal size that are really rendered. CPU is that of
the whole process, threads included. A step is one prompt, one reply, one call of the tool and whatever the
side stores of it.
"""

from __future__ import annotations

import asyncio
import gc
import importlib.metadata
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.footprint import import_ms, resident_kb
from benchmarks.measure import Measure, options, publish, result
from benchmarks.ours import OURS, SIDES, prompt_characters
from benchmarks.peers import PEERS, Runner, Side
from benchmarks.workload import Prompter, Script, Shape, branched, linear

SHAPES = (linear(5), branched())


@dataclass(frozen=True, slots=True)
class Size:
    """How much is run: `runs` of each shape on each side in `rounds`, `together` at once, `repeats` of long
    runs and of imports."""

    runs: int
    rounds: int
    together: int
    repeats: int


FULL = Size(runs=1_000, rounds=20, together=1_000, repeats=7)
QUICK = Size(runs=8, rounds=2, together=20, repeats=1)


@dataclass(slots=True)
class Cost:
    """What one side needed for one shape: per step, one entry per round; and the growth of its store."""

    cpu_us: list[float] = field(default_factory=list)
    wall_us: list[float] = field(default_factory=list)
    bytes_per_step: float = 0.0


async def compare(shape: Shape, size: Size, folder: Path) -> dict[str, Cost]:
    """Run `shape` on every side, in rounds that take turns."""
    prompter = Prompter(await prompt_characters(shape, folder))
    costs = {name: Cost() for name in SIDES}
    batch = size.runs // size.rounds
    async with AsyncExitStack() as stack:
        runners: dict[str, Runner] = {}
        for name, side in SIDES.items():
            context = side(shape, Script(shape.length), prompter, folder / f"{name}.db")
            runners[name] = await stack.enter_async_context(context)
            await runners[name].run("warm up 1")
            await runners[name].run("warm up 2")
        for turn in range(size.rounds):
            first = turn % len(runners)
            order = [*runners][first:] + [*runners][:first]
            for name in order:
                requests = [f"request {turn}-{i}" for i in range(batch)]
                await _round(runners[name], costs[name], requests, shape.length)
    for name in SIDES:
        steps = (batch * size.rounds + 2) * shape.length
        costs[name].bytes_per_step = stored_bytes(folder / f"{name}.db") / steps
    return costs


async def _round(runner: Runner, cost: Cost, requests: Sequence[str], length: int) -> None:
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    for request in requests:
        await runner.run(request)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    steps = len(requests) * length
    cost.cpu_us.append(cpu / steps * 1e6)
    cost.wall_us.append(wall / steps * 1e6)


def stored_bytes(path: Path) -> int:
    """The size of a SQLite store that has been closed, with its write-ahead log where one is left."""
    return sum(p.stat().st_size for p in path.parent.glob(f"{path.name}*") if not p.name.endswith("-shm"))


async def bytes_per_step(side: Side, length: int, repeats: int, path: Path) -> float:
    """How much the store of `side` grows per step of a linear procedure of `length` steps, once it has been
    opened and has run a short procedure."""
    await _long_runs(side, linear(2), 1, path)
    before = stored_bytes(path)
    await _long_runs(side, linear(length), repeats, path)
    return (stored_bytes(path) - before) / (length * repeats)


async def _long_runs(side: Side, shape: Shape, repeats: int, path: Path) -> None:
    async with side(shape, Script(shape.length), Prompter(2_000), path) as runner:
        for i in range(repeats):
            await runner.run(f"{shape.name} {i}")


def label(name: str) -> str:
    """A side in words, with the versions that ran."""
    packages = ("langgraph", "langgraph-checkpoint-sqlite", "pydantic-graph")
    graph, saver, pydantic = (importlib.metadata.version(package) for package in packages)
    return {
        "bare_loop": "bare asyncio loop, one SQLite append per step",
        "langgraph_sqlite": f"LangGraph {graph}, AsyncSqliteSaver {saver}, durability=sync",
        "langgraph_sqlite_exit": f"LangGraph {graph}, AsyncSqliteSaver {saver}, durability=exit",
        "pydantic_graph": f"pydantic-graph {pydantic}, which stores nothing, and one SQLite append per step",
    }[name]


def ratio(above: Iterable[float], below: Iterable[float]) -> float:
    """The median over rounds of `above / below`."""
    return round(statistics.median(a / b for a, b in zip(above, below, strict=True)), 2)


def ratios(shape: Shape, costs: dict[str, Cost], runs: int) -> list[Measure]:
    """The ratios of one shape, named after it."""
    ours = costs[OURS]

    def times(name: str, peer: str, value: float) -> Measure:
        return Measure(f"{name}_{shape.name}", value, "times", runs, peer=label(peer))

    sync, late = costs["langgraph_sqlite"], costs["langgraph_sqlite_exit"]
    bare, pydantic = costs["bare_loop"], costs["pydantic_graph"]
    return [
        times("cpu_times_less_than_langgraph_sqlite", "langgraph_sqlite", ratio(sync.cpu_us, ours.cpu_us)),
        times("cpu_times_less_than_langgraph_exit", "langgraph_sqlite_exit", ratio(late.cpu_us, ours.cpu_us)),
        times("cpu_times_bare_loop", "bare_loop", ratio(ours.cpu_us, bare.cpu_us)),
        times("cpu_times_pydantic_graph", "pydantic_graph", ratio(ours.cpu_us, pydantic.cpu_us)),
        times("wall_times_less_than_langgraph_sqlite", "langgraph_sqlite", ratio(sync.wall_us, ours.wall_us)),
        times("wall_times_bare_loop", "bare_loop", ratio(ours.wall_us, bare.wall_us)),
    ]


def amounts(shape: Shape, costs: dict[str, Cost], runs: int) -> list[Measure]:
    """CPU, wall time and bytes of one shape, once beside each peer."""
    kinds: dict[str, tuple[str, Callable[[Cost], float]]] = {
        "cpu_us_per_step": ("us", lambda cost: statistics.median(cost.cpu_us)),
        "wall_us_per_step": ("us", lambda cost: statistics.median(cost.wall_us)),
        "bytes_per_step": ("bytes", lambda cost: cost.bytes_per_step),
    }
    return [
        Measure(
            f"{kind}_{shape.name}",
            round(of(costs[OURS])),
            unit,
            runs,
            peer=label(peer),
            peer_value=round(of(costs[peer])),
        )
        for kind, (unit, of) in kinds.items()
        for peer in PEERS
    ]


def headlines(found: Sequence[Measure]) -> list[Measure]:
    """The numbers to quote: of each goal's ratio, the worse of the shapes."""
    worse: dict[str, Callable[..., Measure]] = {
        "cpu_times_less_than_langgraph_sqlite": min,
        "cpu_times_bare_loop": max,
        "cpu_times_pydantic_graph": max,
    }
    quoted: list[Measure] = []
    for name, worst in worse.items():
        of_shapes = [m for m in found if m.name in {f"{name}_{shape.name}" for shape in SHAPES}]
        chosen = worst(of_shapes, key=lambda m: m.value)
        quoted.append(Measure(name, chosen.value, chosen.unit, chosen.n, peer=chosen.peer))
    return quoted


async def growth(size: Size, folder: Path) -> Measure:
    """Bytes per step of a 200-step run over those of a 20-step run, beside LangGraph's."""
    value: dict[str, float] = {}
    for name in (OURS, "langgraph_sqlite"):
        short = await bytes_per_step(SIDES[name], 20, size.repeats, folder / f"{name}-20.db")
        long = await bytes_per_step(SIDES[name], 200, size.repeats, folder / f"{name}-200.db")
        value[name] = round(long / short, 2)
    peer = label("langgraph_sqlite")
    name = "bytes_per_step_200_over_20"
    return Measure(name, value[OURS], "times", size.repeats, peer=peer, peer_value=value["langgraph_sqlite"])


def memory(size: Size) -> list[Measure]:
    """Memory per run with `together` runs in flight, each waiting for its model; every side in a fresh
    process."""
    kb = {
        name: round(resident_kb(name, size.together), 1) for name in (OURS, "langgraph_sqlite", "bare_loop")
    }
    name = f"kb_per_run_at_{size.together}_concurrent"
    return [
        Measure(name, kb[OURS], "kB", size.together, peer=label(peer), peer_value=kb[peer])
        for peer in ("langgraph_sqlite", "bare_loop")
    ]


async def measured(size: Size, folder: Path) -> list[Measure]:
    """All measures, the quoted ones first."""
    found: list[Measure] = []
    parts: list[Measure] = []
    for shape in SHAPES:
        place = folder / shape.name
        place.mkdir()
        costs = await compare(shape, size, place)
        found += ratios(shape, costs, size.runs)
        parts += amounts(shape, costs, size.runs)
    return [*headlines(found), await growth(size, folder), *found, *parts]


def main() -> None:
    """Measure, print, keep."""
    given = options(__doc__.partition("\n")[0])
    size = QUICK if given.quick else FULL
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(measured(size, Path(folder)))
    publish(result("overhead", [*found, *memory(size), *import_ms(size.repeats)]), given)


if __name__ == "__main__":
    main()
