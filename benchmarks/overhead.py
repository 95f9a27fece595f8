"""CPU, wall time, disk and memory of the engine beside LangGraph, pydantic-graph and a bare loop.

All sides run in one process, interleaved in rounds, with SQLite in WAL mode, a scripted model, a no-op tool, and
prompts of equal size that are really rendered. CPU is that of the whole process, threads included. A step is one
prompt, one reply, one call of the tool and whatever the side stores of it; a run takes five steps.

The engine appends the events of steps that only read in batches, and its peers commit at every step. So there are
three pairings, which say how much is committed, by the transactions of one run that are counted in the write-ahead
log:

- A commit a step, at `synchronous=NORMAL`: the engine made to commit at the end of each step (6) beside LangGraph with
  `durability="sync"` (13: the writes of each node, and each checkpoint), a bare loop with one row a step (5), and
  pydantic-graph, which stores nothing itself, with the same row (5). These are the ratios to quote; no setting of the
  engine makes it commit so often.
- `batched`: the engine as it is when steps only read (1) beside LangGraph with `durability="exit"` (1) and with
  `async` (13), its default, which writes while the next step runs; a bare loop that commits once at the end (1); and
  also LangGraph with `sync` (13), which keeps more after a crash.
- `writes`: the tool writes and is idempotent, so that the engine syncs the intent and the outcome of each call to the
  disk (11), beside a bare loop that does the same (10) and LangGraph with `sync` (13), all at `synchronous=FULL`.
  LangGraph writes nothing down before a node acts.

`guards_cpu_ratio` is the engine with a policy, budgets, redaction and a screen over itself with none of them, not even
the redaction that is always on; `synced_write_ms` is what the sync before a write costs on the disk of this machine.

The sides do not store the same: the engine keeps every event with a hash chain and each prompt; LangGraph the whole
state at each step; the bare loop one short row. A ratio is the median over rounds, and what is quoted is the worse
of a 5-step linear and a 7-step branched procedure.
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
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.footprint import import_ms, resident_kb
from benchmarks.guards import guards, synced
from benchmarks.measure import Measure, options, publish, result
from benchmarks.ours import BATCHED, OURS, SIDES, WRITES, prompt_characters
from benchmarks.peers import Runner, Side
from benchmarks.workload import Prompter, Script, Shape, branched, linear

SHAPES = (linear(5), branched())
COMMITS = {
    OURS: 6,
    BATCHED: 1,
    WRITES: 11,
    "bare_loop": 5,
    "bare_loop_once": 1,
    "bare_loop_intent": 10,
    "langgraph_sqlite": 13,
    "langgraph_sqlite_async": 13,
    "langgraph_sqlite_exit": 1,
    "langgraph_sqlite_full": 13,
    "pydantic_graph": 5,
}
"""The transactions that a run of five steps commits, by side; a test counts them in the write-ahead log."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One comparison. `name` is that of the ratio, without what is compared; a higher ratio is better where it says
    how many times less we need, a lower one where it says how many times as much."""

    name: str
    ours: str
    peer: str

    @property
    def less(self) -> bool:
        """Whether the ratio is the peer's cost over ours."""
        return self.name.startswith("times_less_than")


PAIRS = (
    Pair("times_less_than_langgraph_sqlite", OURS, "langgraph_sqlite"),
    Pair("times_bare_loop", OURS, "bare_loop"),
    Pair("times_pydantic_graph", OURS, "pydantic_graph"),
    Pair("times_less_than_langgraph_exit_batched", BATCHED, "langgraph_sqlite_exit"),
    Pair("times_less_than_langgraph_async_batched", BATCHED, "langgraph_sqlite_async"),
    Pair("times_less_than_langgraph_sqlite_batched", BATCHED, "langgraph_sqlite"),
    Pair("times_bare_loop_batched", BATCHED, "bare_loop_once"),
    Pair("times_less_than_langgraph_sqlite_writes", WRITES, "langgraph_sqlite_full"),
    Pair("times_bare_loop_writes", WRITES, "bare_loop_intent"),
)
MODES = {OURS: "", BATCHED: "_batched", WRITES: "_writes"}
"""What the measures of each of our sides end in."""


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


PACKAGES = ("langgraph", "langgraph-checkpoint-sqlite", "pydantic-graph")
WORDS = {
    "bare_loop": "bare asyncio loop, one row a step",
    "bare_loop_once": "bare asyncio loop, one row a step, committed at the end",
    "bare_loop_intent": "bare asyncio loop, intent and outcome of each call synced",
    "langgraph_sqlite": "LangGraph, sync",
    "langgraph_sqlite_async": "LangGraph, async",
    "langgraph_sqlite_exit": "LangGraph, exit",
    "langgraph_sqlite_full": "LangGraph, sync, each commit synced",
    "pydantic_graph": "pydantic-graph and one row a step",
}


def label(name: str) -> str:
    """A side in words, with what it commits."""
    commits = COMMITS[name]
    return f"{WORDS[name]}, {commits} commit{'s' * (commits != 1)} a run"


def ratio(above: Iterable[float], below: Iterable[float]) -> float:
    """The median over rounds of `above / below`."""
    return round(statistics.median(a / b for a, b in zip(above, below, strict=True)), 2)


def ratios(shape: Shape, costs: dict[str, Cost], runs: int) -> list[Measure]:
    """The ratios of one shape, named after it."""
    kinds: dict[str, Callable[[Cost], list[float]]] = {
        "cpu": lambda cost: cost.cpu_us,
        "wall": lambda cost: cost.wall_us,
    }
    found: list[Measure] = []
    for kind, of in kinds.items():
        for pair in PAIRS:
            ours, peer = of(costs[pair.ours]), of(costs[pair.peer])
            value = ratio(peer, ours) if pair.less else ratio(ours, peer)
            name = f"{kind}_{pair.name}_{shape.name}"
            found.append(Measure(name, value, "times", runs, peer=label(pair.peer)))
    return found


def amounts(shape: Shape, costs: dict[str, Cost], runs: int) -> list[Measure]:
    """CPU, wall time and bytes of one shape, once beside each peer."""
    kinds: dict[str, tuple[str, Callable[[Cost], float]]] = {
        "cpu_us_per_step": ("us", lambda cost: statistics.median(cost.cpu_us)),
        "wall_us_per_step": ("us", lambda cost: statistics.median(cost.wall_us)),
        "bytes_per_step": ("bytes", lambda cost: cost.bytes_per_step),
    }
    return [
        Measure(
            f"{kind}{MODES[pair.ours]}_{shape.name}",
            round(of(costs[pair.ours])),
            unit,
            runs,
            peer=label(pair.peer),
            peer_value=round(of(costs[pair.peer])),
        )
        for kind, (unit, of) in kinds.items()
        for pair in PAIRS
    ]


def headlines(found: Sequence[Measure]) -> list[Measure]:
    """The numbers to quote: of each CPU ratio, the worse of the shapes."""
    quoted: list[Measure] = []
    for pair in PAIRS:
        name, worst = f"cpu_{pair.name}", min if pair.less else max
        of_shapes = [m for m in found if m.name in {f"{name}_{shape.name}" for shape in SHAPES}]
        chosen = worst(of_shapes, key=lambda m: m.value)
        quoted.append(Measure(name, chosen.value, chosen.unit, chosen.n, peer=chosen.peer))
    return quoted


async def growth(size: Size, folder: Path) -> Measure:
    """Bytes per step of a 200-step run over those of a 20-step run: the worse of our two ways to commit.

    Without a peer: what others store for a run depends on its shape (distinct nodes, or one in a loop) far more than
    on their store.
    """
    found: list[float] = []
    for name in (OURS, BATCHED):
        short = await bytes_per_step(SIDES[name], 20, size.repeats, folder / f"{name}-20.db")
        long = await bytes_per_step(SIDES[name], 200, size.repeats, folder / f"{name}-200.db")
        found.append(round(long / short, 2))
    return Measure("bytes_per_step_200_over_20", max(found), "times", size.repeats)


def memory(size: Size) -> list[Measure]:
    """Memory per run with `together` runs in flight, each waiting for its model; every side in a fresh
    process."""
    kb = {
        name: round(resident_kb(name, size.together), 1)
        for name in (BATCHED, "langgraph_sqlite", "bare_loop")
    }
    name = f"kb_per_run_at_{size.together}_concurrent"
    return [
        Measure(name, kb[BATCHED], "kB", size.together, peer=label(peer), peer_value=kb[peer])
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
    guarded = await guards(size.runs // 4, size.rounds, folder)
    sync = await synced(size.repeats * 20, folder)
    return [*headlines(found), await growth(size, folder), *guarded, sync, *found, *parts]


def main() -> None:
    """Measure, print, keep."""
    given = options(__doc__.partition("\n")[0])
    size = QUICK if given.quick else FULL
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(measured(size, Path(folder)))
    outcome = result("overhead", [*found, *memory(size), *import_ms(size.repeats)])
    versions = {package: importlib.metadata.version(package) for package in PACKAGES}
    publish(replace(outcome, machine={**outcome.machine, **versions}), given)


if __name__ == "__main__":
    main()
