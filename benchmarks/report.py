"""`python -m benchmarks.report`: writes `docs/results.md` from the files in `benchmarks/results`."""

from __future__ import annotations

from pathlib import Path

from benchmarks.goals import GOALS
from benchmarks.measure import RESULTS, Measure, Result, load

PAGE = Path(__file__).parent.parent / "docs" / "results.md"
HEAD = """\
# Results

Generated from `benchmarks/results` by `python -m benchmarks.report`; a test holds it to those files. Both
sides of a comparison run in one process run, in turns, and ratios are medians over rounds. Times and sizes
depend on the machine named beside them; quote the ratios. An interval is a 95 % Wilson interval.
"""
COLUMNS = ("Measure", "Value", "Goal", "95 %", "n", "Beside")


def render(results: list[Result]) -> str:
    """The page, results in order of their names."""
    return "\n".join([HEAD, *(_section(result) for result in sorted(results, key=lambda r: r.name))])


def read_results(folder: Path = RESULTS) -> list[Result]:
    """Every result in the folder."""
    return [load(path) for path in sorted(folder.glob("*.json"))]


def _section(result: Result) -> str:
    facts = ", ".join(f"{name} {value}" for name, value in result.machine.items())
    # Ratios are what is quoted: they come first. Otherwise the order is the benchmark's own.
    ordered = sorted(result.measures, key=lambda m: (m.name not in GOALS, m.unit not in ("times", "share")))
    rows = [_row(COLUMNS), _row(["---"] * len(COLUMNS)), *(_row(_cells(measure)) for measure in ordered)]
    table = "\n".join(rows)
    return f"## {result.name}\n\n`{result.command}` on {result.date}: {facts}.\n\n{table}\n"


def _cells(measure: Measure) -> list[str]:
    goal = GOALS.get(measure.name)
    held = "" if goal is None else f"{goal}, {'met' if goal.met(measure.value) else '**missed**'}"
    interval = ""
    if measure.low is not None and measure.high is not None:
        interval = f"{measure.low:g} to {measure.high:g}"
    beside = measure.peer or ""
    if measure.peer_value is not None:
        beside = f"{beside}: {measure.peer_value:g} {measure.unit}"
    return [
        f"`{measure.name}`",
        f"{measure.value:g} {measure.unit}",
        held,
        interval,
        f"{measure.n:,}",
        beside,
    ]


def _row(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Write the page."""
    PAGE.write_text(render(read_results()), encoding="utf-8")
    print(f"wrote {PAGE.name} from {len(read_results())} results")


if __name__ == "__main__":
    main()
