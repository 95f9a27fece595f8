"""`python -m benchmarks.report`: writes `docs/results.md` from the files in `benchmarks/results`.

What a benchmark compares is the docstring of its module; what its numbers mean, and why one is missed, is written by
hand in `benchmarks/notes/NAME.md`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from benchmarks.goals import GOALS
from benchmarks.measure import RESULTS, Measure, Result, load

HERE = Path(__file__).parent
NOTES = HERE / "notes"
PAGE = HERE.parent / "docs" / "results.md"
HEAD = """\
# Results

Good and bad, each with the command that makes it. Generated from `benchmarks/results` by
`python -m benchmarks.report`; a test holds the page to those files. Both sides of a comparison run in one process run,
in turns. Times and sizes depend on the machine named beside them; quote the ratios. An interval is a 95 % Wilson
interval over the cases of this one set; `n` is the number of cases, runs or repeats. A target was set before the first
measurement and stays when it is missed.
"""
COLUMNS = ("Measure", "Value", "95 %", "Target", "Met", "n", "Beside")
UNITS = {"share": "", "times": " ×"}
"""How a unit is printed; the others as they are called."""


def render(results: Sequence[Result], notes: Path = NOTES) -> str:
    """The page, results in order of their names, each with its note in the folder `notes`."""
    ordered = sorted(results, key=lambda result: result.name)
    sections = [_section(result, notes / f"{result.name}.md") for result in ordered]
    measured = {measure.name for result in results for measure in result.measures}
    missing = [f"`{name}` ({goal})" for name, goal in GOALS.items() if name not in measured]
    if missing:
        sections.append(f"## Not measured yet\n\nTargets without a result: {', '.join(missing)}.\n")
    return "\n".join([HEAD, *sections])


def read_results(folder: Path = RESULTS) -> list[Result]:
    """Every result in the folder."""
    return [load(path) for path in sorted(folder.glob("*.json"))]


def about(name: str) -> str:
    """What the benchmark `name` compares, in its own words; empty for one that is gone."""
    module = HERE / f"{name}.py"
    if not module.exists():
        return ""
    return ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""


def _section(result: Result, note: Path) -> str:
    facts = ", ".join(f"{name} {value}" for name, value in result.machine.items())
    # What has a target comes first, then ratios and rates; otherwise the order is the benchmark's own.
    aimed = [m for m in result.measures if m.name in GOALS]
    others = sorted((m for m in result.measures if m.name not in GOALS), key=lambda m: m.unit not in UNITS)
    parts = [
        f"## {result.name}",
        about(result.name),
        f"`{result.command}` on {result.date}: {facts}.",
        _table(aimed),
        note.read_text(encoding="utf-8").strip() if note.exists() else "",
        "Also measured:" if aimed and others else "",
        _table(others),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(measures: Sequence[Measure]) -> str:
    """One row a measure; what stands beside it more than once is one cell. Columns that say nothing are left out."""
    rows = [_cells(list(same)) for _, same in groupby(measures, key=lambda m: m.name)]
    used = [at for at in range(len(COLUMNS)) if any(row[at] for row in rows)]
    lines = [COLUMNS, ["---"] * len(COLUMNS), *rows]
    return "\n".join(_row([line[at] for at in used]) for line in lines) if rows else ""


def _cells(same: list[Measure]) -> list[str]:
    measure = same[0]
    goal = GOALS.get(measure.name)
    interval = ""
    if measure.low is not None and measure.high is not None:
        interval = f"{measure.low:g} to {measure.high:g}"
    return [
        f"`{measure.name}`",
        _value(measure.value, measure.unit),
        interval,
        "" if goal is None else str(goal),
        "" if goal is None else "yes" if goal.met(measure.value) else "**no**",
        f"{measure.n:,}",
        "<br>".join(_beside(one) for one in same if one.peer is not None),
    ]


def _value(value: float, unit: str) -> str:
    return f"{value:,}".removesuffix(".0") + UNITS.get(unit, f" {unit}")


def _beside(measure: Measure) -> str:
    if measure.peer_value is None:
        return str(measure.peer)
    return f"{_value(measure.peer_value, measure.unit)}: {measure.peer}"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Write the page."""
    PAGE.write_text(render(read_results()), encoding="utf-8")
    print(f"wrote {PAGE.name} from {len(read_results())} results")


if __name__ == "__main__":
    main()
