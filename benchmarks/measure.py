"""The result of a benchmark: measures, the machine, and the file that keeps them.

`benchmarks/results/NAME.json` holds `{"name", "command", "date", "machine", "measures": [{"name", "value",
"unit", "n", "low", "high", "peer", "peer_value"}]}`. `low` and `high` are a 95 % interval where the measure
is a rate.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import sqlite3
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class Measure:
    """One number: `value` in `unit` over `n` runs (or cases), beside `peer_value` of the same unit where a
    `peer` was measured in the same process run."""

    name: str
    value: float
    unit: str
    n: int
    low: float | None = None
    high: float | None = None
    peer: str | None = None
    peer_value: float | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """All measures of one benchmark, and the command that repeats them."""

    name: str
    command: str
    date: str
    machine: dict[str, str]
    measures: tuple[Measure, ...]


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for: `quick` proves that the benchmark works and is never a timing to
    quote."""

    quick: bool
    json: bool


def options(description: str, arguments: Sequence[str] | None = None) -> Options:
    """Read `--quick` and `--json`; `arguments` default to those of the process."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="a small size that only shows that it works")
    parser.add_argument("--json", action="store_true", help="print the result as one JSON document")
    given = parser.parse_args(arguments)
    return Options(quick=given.quick, json=given.json)


def rate(
    name: str, hits: int, n: int, *, peer: str | None = None, peer_value: float | None = None
) -> Measure:
    """The share `hits / n` with its 95 % Wilson score interval (Wilson 1927, by scipy). `n` must be
    positive."""
    from scipy.stats import binomtest

    interval = binomtest(hits, n).proportion_ci(confidence_level=0.95, method="wilson")
    low, high = round(float(interval.low), 4), round(float(interval.high), 4)
    return Measure(name, round(hits / n, 4), "share", n, low, high, peer, peer_value)


def machine() -> dict[str, str]:
    """The facts that a number depends on: processor, cores, memory, system, Python and SQLite. Nothing that
    names the machine."""
    facts = {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
    }
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
        facts["memory"] = f"{memory:.0f} GiB"
    return facts


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def result(name: str, measures: Sequence[Measure]) -> Result:
    """The measures of `python -m benchmarks.NAME`, taken here and today."""
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    return Result(name, f"python -m benchmarks.{name}", today, machine(), tuple(measures))


def publish(outcome: Result, given: Options, folder: Path = RESULTS) -> None:
    """Print the result, and unless it was quick write it to `folder/NAME.json`."""
    document = json.dumps(asdict(outcome), ensure_ascii=False, indent=2) + "\n"
    if not given.quick:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{outcome.name}.json").write_text(document, encoding="utf-8")
    sys.stdout.write(document if given.json else _table(outcome))


def load(path: Path) -> Result:
    """Read a file that `publish` wrote."""
    data = json.loads(path.read_text(encoding="utf-8"))
    measures = tuple(Measure(**measure) for measure in data.pop("measures"))
    return Result(measures=measures, **data)


def _table(outcome: Result) -> str:
    width = max(len(m.name) for m in outcome.measures)
    lines = [f"{outcome.command}  ({outcome.date})"]
    for m in outcome.measures:
        beside = f"   {m.peer}: {m.peer_value:g}" if m.peer is not None and m.peer_value is not None else ""
        interval = f" [{m.low:g}, {m.high:g}]" if m.low is not None and m.high is not None else ""
        lines.append(f"  {m.name:<{width}}  {m.value:g} {m.unit}{interval}  n={m.n}{beside}")
    return "\n".join(lines) + "\n"
