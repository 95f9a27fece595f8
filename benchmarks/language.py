"""The language, held against procedures that are made by chance, from fixed seeds.

`roundtrip_losses`: each of 2,000 procedures is written as YAML and as a skill, and what Routine text can say of it in
English and in Chinese, and read again: another content hash, or another text when it is written once more, is a loss.
So are other steps, or other ways between them, after a trip through a Mermaid or Graphviz flowchart. What a form
refuses to write, because it would be read as something else, is `roundtrip_refused`; of procedures with plain words,
nothing may be.

`crashes`: 10,000 damaged files (YAML, Routine text, flowcharts, drafts in Markdown and Word, skills) are read, and
where they can be, checked and written; anything but a refusal that says where is a crash.

`unsound`: 2,000 procedures that `check` passes are run by the real engine, with tools, a model, people and a policy
that answer by chance, rightly and wrongly; `benchmarks/soundness.py` says which runs are unsound. One procedure in ten
is decided anew at every prefix of its logs. A tenth of the expressions of half the procedures are wrong on purpose, so
that `check` has something to find (`refused_by_check`); a quarter are guided, with conditions on one input.

`rules_missed`: for every code of `check`, procedures without errors are broken in exactly this rule: either the code
is not reported, or (`rules_blurred`) other errors are reported beside it.

`telecom_legal`: the gold actions of tau2's telecom tasks against its three troubleshooting flows, read as procedures;
`benchmarks/telecom.py` says what a legal path is. `abcd_read`: the guidelines of ABCD that are read into steps as
drafts in Markdown, without a model; `benchmarks/abcd.py` says when one counts.

`check_ms_1000_steps` and the other times are of a procedure of 1,000 steps, 200 of which branch, with nothing
remembered from before, and of the processor: what else the machine does is not counted. `check_growth_10x` is what ten
times as many steps cost.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

from benchmarks import abcd
from benchmarks.broken import BREAKS, IMPLIED, broken, reported
from benchmarks.chance import Chance
from benchmarks.files import FORMS, crash, damaged_file, losses, skill_losses
from benchmarks.generated import Generated, generate
from benchmarks.measure import Measure, options, publish, rate, result
from benchmarks.sizes import TOOLS as LONG_TOOLS
from benchmarks.sizes import long_procedure
from benchmarks.soundness import Tally, checked, exercise
from benchmarks.telecom import legal_paths
from benchmarks.works import ToolPlan, library
from sopwith.errors import ProcedureError
from sopwith.expr.expression import parse
from sopwith.ir.diagnostic import Severity
from sopwith.ir.procedure import Procedure
from sopwith.lang.check import check
from sopwith.lang.compile import compile_procedure
from sopwith.lang.document import Document
from sopwith.lang.yaml import read_yaml, write_yaml

SEED = 20261130


@dataclass(frozen=True, slots=True)
class Size:
    """How much is done."""

    trips: int
    files: int
    sound: int
    broken: int
    steps: int
    repeats: int


FULL = Size(trips=2_000, files=10_000, sound=2_000, broken=20, steps=1_000, repeats=7)
QUICK = Size(trips=8, files=80, sound=10, broken=1, steps=50, repeats=1)


def tools() -> tuple[ToolPlan, ...]:
    """The tools that all procedures draw from."""
    return library(Random(SEED))


def drawn(what: str, i: int, *, wild: float = 0.0, plain: bool = False, guided: bool = False) -> Generated:
    """The `i`-th procedure for the purpose `what`."""
    rng = Random(f"{SEED} {what} {i}")
    return generate(rng, _LIBRARY, size=rng.randint(3, 24), wild=wild, plain=plain, guided=guided)


_LIBRARY = tools()


def round_trips(count: int, folder: Path) -> tuple[list[Measure], dict[str, list[str]], list[str]]:
    """The measures, the texts that were written in each form, and what was lost. `folder` is there for skills."""
    texts: dict[str, list[str]] = {form.name: [] for form in FORMS}
    lost: list[str] = []
    trips = refused = free = 0
    for i in range(count):
        plain = i % 2 == 0
        procedure = drawn("trip", i, wild=0.05, plain=plain).procedure
        works = {form.name: partial(losses, procedure, form) for form in FORMS if form.kept}
        works["skill"] = partial(skill_losses, procedure, folder / "a-skill")
        for name, work in works.items():
            trips += 1
            free += not plain
            try:
                what = work()
            except ProcedureError as error:
                refused += not plain
                what = f"{name}: plain words are refused: {error.message.en}" if plain else None
            if what is not None:
                lost.append(f"procedure {i}: {what}")
        for form in FORMS:
            with suppress(ProcedureError):
                texts[form.name].append(form.write(form.say(procedure)))
    measures = [
        Measure("roundtrip_losses", len(lost), "trips", trips),
        rate("roundtrip_refused", refused, free),
    ]
    return measures, texts, lost


def damaged_files(count: int, texts: dict[str, list[str]], folder: Path) -> tuple[list[Measure], list[str]]:
    """The measure, and what crashed."""
    found: list[str] = []
    for i in range(count):
        form, rng = FORMS[i % len(FORMS)], Random(f"{SEED} file {i}")
        what = crash(damaged_file(rng, form, rng.choice(texts[form.name])), form, folder)
        if what is not None:
            found.append(f"file {i} ({form.name}): {what}")
    return [Measure("crashes", len(found), "files", count)], found


async def sound_runs(count: int) -> tuple[list[Measure], Tally]:
    """Run procedures until `count` of them have passed the check."""
    tally, i, refused, dead = Tally(), 0, 0, 0
    while tally.count["procedures"] < count:
        generated = drawn("sound", i, wild=0.1 if i % 2 else 0.0, guided=i % 4 == 3)
        i += 1
        found = await checked(generated)
        if found.errors:
            refused += 1
        else:
            await exercise(tally, generated, i - 1, found.never, prefixes=i % 10 == 0)
            dead += len(found.never)
    seen = tally.count
    measures = [
        Measure("unsound", len(tally.unsound), "runs", seen["runs"]),
        Measure("procedures_run", count, "procedures", count),
        rate("refused_by_check", refused, i),
        Measure("edges_said_to_be_never_taken", dead, "edges", tally.edges),
        rate("steps_exercised", seen["steps exercised"], tally.steps),
        rate("edges_exercised", seen["edges exercised"], tally.edges),
    ]
    for name in sorted(seen):
        group, _, one = name.partition(" ")
        if group in ("step", "edge", "failure", "outcome") and one:
            measures.append(Measure(f"{group}_{one}", seen[name], "times", seen["runs"]))
    return measures, tally


async def broken_rules(each: int) -> tuple[list[Measure], list[str]]:
    """Break each rule in `each` procedures."""
    source = Chance(Random(0)).functions(_LIBRARY)
    specs = {spec.name: spec for spec in await source.specs()}
    missed, blurred = [], []
    for code in sorted(BREAKS):
        for i in range(each):
            whole = drawn("sound", i * 2)
            procedure = broken(code, whole.procedure, Random(f"{SEED} {code} {i}"))
            found = reported(procedure, specs, whole.children)
            if all(one.code != code for one in found):
                missed.append(f"{code} in procedure {i} is missed")
            errors = {one.code for one in found if one.severity is Severity.ERROR}
            if other := errors - {code} - IMPLIED.get(code, frozenset()):
                blurred.append(f"{code} in procedure {i} is reported with {', '.join(sorted(other))}")
    n = len(BREAKS) * each
    measures = [
        Measure("rules_missed", len(missed), "procedures", n),
        Measure("rules_blurred", len(blurred), "procedures", n),
    ]
    return measures, [*missed, *blurred]


def timed(work: Callable[[], object]) -> float:
    """Milliseconds of the processor for `work`, with nothing remembered from before."""
    parse.cache_clear()
    gc.collect()
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1000


def costs(size: Size) -> list[Measure]:
    """What a long procedure costs; the long and the ten times longer one in turns."""
    short, long = long_procedure(size.steps), long_procedure(size.steps * 10)
    text = write_yaml(short)
    works: dict[str, Callable[[], object]] = {
        "check": lambda: _check(short),
        "check_long": lambda: _check(long),
        "compile": lambda: compile_procedure(short, LONG_TOOLS),
        "compile_long": lambda: compile_procedure(long, LONG_TOOLS),
        "read": lambda: read_yaml(text),
        "write": lambda: write_yaml(short),
    }
    took: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(size.repeats):
        for name, work in works.items():
            took[name].append(timed(work))
    ms = {name: statistics.median(values) for name, values in took.items()}
    measures = [
        Measure(f"{name}_ms_1000_steps", round(ms[name], 1), "ms", size.repeats)
        for name in ("check", "compile", "read", "write")
    ]
    for name in ("check", "compile"):
        growth = round(ms[f"{name}_long"] / ms[name], 2)
        measures.append(Measure(f"{name}_growth_10x", growth, "times", size.repeats))
    return measures


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def shown(size: Size, folder: Path) -> Measure:
    """Seconds of the processor for `sopwith show` of a long procedure, the start included, in the slowest
    way to show it."""
    file = folder / "long.yaml"
    file.write_text(write_yaml(long_procedure(size.steps)), encoding="utf-8")
    ways = (
        [],
        ["--text", "--force", "-o", str(folder / "long.txt")],
        ["--svg", "--force", "-o", str(folder / "long.svg")],
    )
    took: list[list[float]] = [[] for _ in ways]
    for _ in range(max(1, size.repeats // 2)):
        for seconds, way in zip(took, ways, strict=True):
            began = _of_children()
            command = [
                sys.executable,
                "-c",
                "from sopwith.cli.app import main; main()",
                "show",
                str(file),
                *way,
            ]
            subprocess.run(command, check=True, capture_output=True)
            seconds.append(_of_children() - began)
    slowest = max(statistics.median(seconds) for seconds in took)
    return Measure("show_s_1000_steps", round(slowest, 2), "s", len(took[0]))


def _check(procedure: Procedure) -> None:
    for one in check(Document(procedure, {}, "p", ""), LONG_TOOLS):
        if one.severity is Severity.ERROR:
            raise ValueError(one.render())


def public() -> list[Measure]:
    """What is measured on public data, where that is there. The reasons of what falls short are shown."""
    measures, reasons = legal_paths()
    if abcd.GUIDELINES.exists():
        flows = abcd.flows()
        measures.append(rate("abcd_read", *abcd.share(flows)))
        reasons |= {f"not read: {reason}": n for reason, n in abcd.reasons(flows).items()}
    for reason, n in sorted(reasons.items(), key=lambda one: -one[1]):
        sys.stderr.write(f"{n} times {reason}\n")
    return measures


async def measured(size: Size) -> tuple[list[Measure], list[str]]:
    """All measures, and what was found wrong."""
    with tempfile.TemporaryDirectory(prefix="skill") as made:
        folder = Path(made)
        times = [*costs(size), shown(size, folder)]
        trips, texts, lost = round_trips(size.trips, folder)
        files, crashed = damaged_files(size.files, texts, folder)
    runs, tally = await sound_runs(size.sound)
    rules, wrong = await broken_rules(size.broken)
    return [*trips, *files, *runs, *rules, *public(), *times], [*lost, *crashed, *tally.unsound, *wrong]


@contextmanager
def quiet() -> Iterator[None]:
    """Without the engine's warnings: they are what is provoked here."""
    logger = logging.getLogger("sopwith")
    usual = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(usual)


def main() -> None:
    """Draw, measure and publish; what was found wrong is shown."""
    given = options(__doc__ or "")
    with quiet():
        measures, wrong = asyncio.run(measured(QUICK if given.quick else FULL))
    for what in wrong[:40]:
        sys.stderr.write(f"{what}\n")
    publish(result("language", measures), given)


if __name__ == "__main__":
    main()
