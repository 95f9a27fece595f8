"""Memory per run in flight, and the time of an import: each measured in processes of their own."""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.measure import Measure
from benchmarks.ours import SIDES
from benchmarks.workload import Prompter, Script, linear


@dataclass(slots=True)
class Gate:
    """A model that keeps everybody waiting until `count` runs have asked."""

    script: Script
    count: int
    waiting: int = 0
    full: asyncio.Event = field(default_factory=asyncio.Event)
    opened: asyncio.Event = field(default_factory=asyncio.Event)

    async def reply(self, prompt: str) -> str:
        """The script's reply, once the gate is open."""
        self.waiting += 1
        if self.waiting >= self.count:
            self.full.set()
        await self.opened.wait()
        return self.script.next(prompt)


def resident_kb(side: str, together: int) -> float:
    """The growth of resident memory per run, in kB, when `together` runs of a 5-step procedure wait for
    their model."""
    with ProcessPoolExecutor(max_workers=1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_measure, side, together).result()


def _measure(side: str, together: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_in_flight(side, together, Path(folder)))


async def _in_flight(name: str, together: int, folder: Path) -> float:
    shape = linear(5)
    warm, gate = Gate(Script(shape.length), 1), Gate(Script(shape.length), together)
    warm.opened.set()
    prompter = Prompter(2_000)
    async with (
        SIDES[name](shape, warm, prompter, folder / "warm.db") as first,
        SIDES[name](shape, gate, prompter, folder / "runs.db") as runner,
    ):
        for i in range(20):
            await first.run(f"warm up {i}")
        gc.collect()
        before = _resident_kb()
        async with asyncio.TaskGroup() as group:
            for i in range(together):
                group.create_task(runner.run(f"request {i}"))
            await gate.full.wait()
            after = _resident_kb()
            gate.opened.set()
    return (after - before) / together


def _resident_kb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1_000


def import_ms(repeats: int) -> list[Measure]:
    """What `import sopwith` adds to the start of Python, and what the first use of the engine's name adds, with
    the modules compiled, as installing a package leaves them."""
    programs = {"bare": "pass", "root": "import sopwith", "engine": "from sopwith import Engine"}
    times: dict[str, list[float]] = {name: [] for name in programs}
    with tempfile.TemporaryDirectory() as compiled:
        here = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        here["PYTHONPYCACHEPREFIX"] = compiled
        for turn in range(repeats + 1):
            for name, program in programs.items():
                start = time.perf_counter()
                subprocess.run([sys.executable, "-c", program], check=True, env=here)
                if turn:  # the first one compiles
                    times[name].append((time.perf_counter() - start) * 1_000)
    median = {name: statistics.median(taken) for name, taken in times.items()}
    return [
        Measure("import_ms", round(median["engine"] - median["bare"], 1), "ms", repeats),
        Measure("import_root_ms", round(median["root"] - median["bare"], 1), "ms", repeats),
    ]
