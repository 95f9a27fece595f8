"""Effects happen once: runs that are killed with `kill -9` and resumed, against a ledger that counts what was done.

A run has reads, a question to a model, idempotent writes (`post`), writes that can be asked about (`book`) and ones
that are neither (`send`), in a random order, some of them for all items of a list at once; the tools are Python
functions, or an MCP server that dies or survives with its client. Each process that drives it is killed: held at a
named instant (before and after each append to the log, before and after the ledger's commit, while a tool is asked,
in a call of the model), shortly after such an instant, or after a random time; resumed processes are killed as well.
The last one drives the run to its end.

Everything is counted from the ledger and the rows of the log, not from the engine's own state. `kills_in_window` fell
where the killed process had acted, and the log did not say so yet. `needless_unknown` are runs that escalated although
the log held no intent without an outcome at any kill, or the tool could have been asked. The naive loop keeps a
checkpoint after each step and runs the step again that has none; it is killed in the same way.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import select
import shutil
import signal
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.ledger import Gate
from benchmarks.measure import Measure, options, publish, result
from benchmarks.verdict import Kill, entries, events, judge, judge_naive, read_log, story
from benchmarks.victim import Case, live

WRITES = ("post", "book", "send", "post_again", "book_again", "post_all", "book_all", "send_all")
PATIENCE = 60.0
"""So many seconds a process has; after that it hangs, which is an error."""
MOST = 12
"""So many processes drive one run at the latest to its end."""


@dataclass(frozen=True, slots=True)
class Size:
    """How many kills there are of engines and of naive loops, on how many lanes side by side."""

    kills: int
    naive: int
    lanes: int = 4


FULL = Size(kills=1_000, naive=200)
QUICK = Size(kills=40, naive=24)


@dataclass(frozen=True, slots=True)
class Plan:
    """When one process is killed: at its gate's instant, or after `seconds`; and whether its server is as well."""

    gate: Gate
    seconds: float = PATIENCE
    server: bool = False

    @property
    def kills(self) -> bool:
        """Whether it is to be killed at all."""
        return bool(self.gate.instant) or self.seconds < PATIENCE


class Lane:
    """Cases one after the other. It forks what it kills: everything is imported already."""

    def __init__(self, folder: Path, seed: int, *, naive: bool) -> None:
        self._folder = folder
        self._random = random.Random(seed)
        self._naive = naive
        self._seconds = {True: 0.5, False: 0.5}
        """How long an undisturbed run takes, with a server and without."""
        self.counts: Counter[str] = Counter()

    def fill(self, kills: int) -> Counter[str]:
        """Cases until there were so many kills."""
        for server in (False, True):
            began = time.monotonic()
            self._case(server, 0)
            self._seconds[server] = time.monotonic() - began
        while self.counts["kills"] < kills:
            self._case(self._random.random() < 0.4, self._random.choice((1, 2, 2, 3, 5)))
        return self.counts

    def _case(self, server: bool, most: int) -> None:
        """One run that is killed up to `most` times, and then driven to its end."""
        writes = self._random.sample(WRITES, len(WRITES))
        case = Case(self._folder / f"case-{self.counts['runs']}", tuple(writes), server)
        case.folder.mkdir(parents=True)
        os.mkfifo(case.pipe)
        kills: list[Kill] = []
        for turn in range(MOST):
            plan = self._plan(case, turn) if turn < most else Plan(Gate(case.pipe))
            killed = self._life(case, f"driver-{turn}", plan)
            if killed is not None:
                kills.append(killed)
            if self._ended(case):
                break
        self.counts += (judge_naive if self._naive else judge)(case, kills)
        self.counts["errors"] += (case.folder / "errors").exists()
        if not self.counts["errors"]:
            shutil.rmtree(case.folder)

    def _ended(self, case: Case) -> bool:
        if self._naive:
            return bool(read_log(case.log, "SELECT 1 FROM done WHERE step = ''", ()))
        return bool(story(events(case)).outcome)

    def _plan(self, case: Case, turn: int) -> Plan:
        done = {entry.step for entry in entries(case)} if case.ledger.exists() else set[str]()
        left = [step for step in case.effects if step not in done] or ["none"]
        step = self._random.choice(left)
        dies = self._random.random() < 0.5
        chance = self._random.random()
        if chance < 0.12:
            seconds = self._random.uniform(0, 1.1 * self._seconds[case.server])
            return Plan(Gate(case.pipe), seconds, server=dies)
        resumed = turn > 0 and chance < 0.24
        instant = self._random.choice(_RESUMING if resumed else _IN_WINDOW if chance < 0.75 else _ELSEWHERE)
        hold = self._random.random() < 0.8
        return Plan(Gate(case.pipe, instant.format(step), hold), server=dies)

    def _life(self, case: Case, actor: str, plan: Plan) -> Kill | None:
        """Let a process drive the case; the kill, where it came before the end."""
        pipe = os.open(case.pipe, os.O_RDWR | os.O_NONBLOCK)
        ended, held = os.pipe()
        pid = os.fork()
        if not pid:
            os.setpgid(0, 0)
            live(case, actor, plan.gate, naive=self._naive)
        with suppress(PermissionError, ProcessLookupError):
            os.setpgid(pid, pid)
        os.close(held)
        try:
            ready, _, _ = select.select((pipe, ended), (), (), plan.seconds)
            killed = ended not in ready
            if killed:
                servers = _children(pid) if plan.server else []
                os.killpg(pid, signal.SIGKILL)
                for server in servers:
                    with suppress(ProcessLookupError):
                        os.kill(server, signal.SIGKILL)
        finally:
            os.close(pipe)
            os.close(ended)
        os.waitpid(pid, 0)
        if not killed:
            return None
        self.counts["errors"] += not plan.kills
        return Kill(actor, time.time_ns(), () if self._naive else tuple(story(events(case)).open.values()))


_IN_WINDOW = ("acted {}", "acted {}", "before call.finished {}")
_ELSEWHERE = (
    "before run.started",
    "after run.started",
    "model",
    "before call.started {}",
    "after call.started {}",
    "arrived {}",
    "after call.finished {}",
    "before run.finished",
    "after run.finished",
)
_RESUMING = (
    "before run.resumed",
    "after run.resumed",
    "asked",
    "before call.reconciled {}",
    "after call.reconciled {}",
)


def _children(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children")
    try:
        return [int(child) for child in children.read_text(encoding="ascii").split()]
    except OSError:
        return []


def _lane(folder: Path, seed: int, kills: int, naive: bool) -> Counter[str]:
    return Lane(folder, seed, naive=naive).fill(kills)


def chaos(size: Size, folder: Path) -> tuple[Counter[str], Counter[str]]:
    """The counts of the engine and of the naive loop."""
    with ProcessPoolExecutor(size.lanes, multiprocessing.get_context("fork")) as pool:
        lanes = [
            (naive, pool.submit(_lane, folder / f"{naive}-{seed}", seed, -(-kills // size.lanes), naive))
            for naive, kills in ((False, size.kills), (True, size.naive))
            for seed in range(size.lanes)
        ]
        counts = {False: Counter[str](), True: Counter[str]()}
        for naive, lane in lanes:
            counts[naive].update(lane.result())
    return counts[False], counts[True]


def measures(engine: Counter[str], naive: Counter[str]) -> list[Measure]:
    """What is published of the counts."""
    kills, runs = engine["kills"], engine["runs"]
    of_kills = ("window", "before_act", "unknown", "outside")
    of_runs = ("completed", "escalated", "reconciled", "called_again")
    return [
        Measure("kills", kills, "kills", kills),
        Measure("kills_in_window", engine["window"], "kills", kills),
        Measure("effects_lost", engine["lost"], "effects", runs),
        Measure("effects_twice", engine["twice"], "effects", runs),
        Measure("unknown_unhandled", engine["unhandled"], "writes", runs),
        Measure("needless_unknown", engine["needless"], "runs", runs),
        Measure("naive_effects_twice", naive["twice"], "effects", naive["runs"]),
        Measure("naive_effects_lost", naive["lost"], "effects", naive["runs"]),
        Measure("naive_kills", naive["kills"], "kills", naive["kills"]),
        Measure("driver_errors", engine["errors"] + naive["errors"], "processes", runs + naive["runs"]),
        *(Measure(f"kills_{name}", engine[name], "kills", kills) for name in of_kills[1:]),
        *(Measure(f"runs_{name}", engine[name], "runs", runs) for name in of_runs[:2]),
        *(Measure(f"writes_{name}", engine[name], "writes", runs) for name in of_runs[2:]),
    ]


def main() -> None:
    """Kill, count, keep."""
    given = options(__doc__.partition("\n")[0])
    with tempfile.TemporaryDirectory() as folder:
        engine, naive = chaos(QUICK if given.quick else FULL, Path(folder))
    publish(result("chaos", measures(engine, naive)), given)


if __name__ == "__main__":
    main()
