"""The results page says what the result files say."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.goals import GOALS, Goal
from benchmarks.measure import Measure, Options, Result, load, machine, options, publish, result
from benchmarks.report import NOTES, PAGE, about, read_results, render

EXAMPLE = Result(
    name="overhead",
    command="python -m benchmarks.overhead",
    date="2026-11-30",
    machine={"cores": "2"},
    measures=(
        Measure("wall_us", 120.0, "us", 1_000, peer="a loop", peer_value=30.0),
        Measure("wall_us", 120.0, "us", 1_000, peer="a graph", peer_value=90.0),
        Measure("import_ms", 301.0, "ms", 7),
        Measure("wall_times", 4.0, "times", 1_000, peer="a loop"),
        Measure("category_accuracy_strict", 0.9, "share", 60, low=0.8, high=0.95),
    ),
)


def test_the_results_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(read_results()), "run python -m benchmarks.report"


def rows(page: str) -> list[str]:
    return [line for line in page.splitlines() if line.startswith("| `")]


def test_a_row_has_value_interval_goal_runs_and_peer() -> None:
    assert rows(render([EXAMPLE])) == [
        "| `import_ms` | 301 ms |  | ≤ 300 | **no** | 7 |",
        "| `category_accuracy_strict` | 0.9 | 0.8 to 0.95 | ≥ 0.85 | yes | 60 |",
        "| `wall_times` | 4 × | 1,000 | a loop |",
        "| `wall_us` | 120 us | 1,000 | 30 us: a loop<br>90 us: a graph |",
    ]


def test_the_command_and_the_machine_stand_above_the_numbers() -> None:
    assert "`python -m benchmarks.overhead` on 2026-11-30: cores 2." in render([EXAMPLE])


def test_a_benchmark_says_what_it_compares_in_the_words_of_its_module() -> None:
    for name in ("overhead", "support_desk"):
        assert about(name).count("\n\n") >= 1
    assert about("overhead") in render([EXAMPLE])
    assert about("gone") == ""


def test_a_note_stands_between_the_targets_and_the_rest(tmp_path: Path) -> None:
    (tmp_path / "overhead.md").write_text("Missed, because of the import.\n", encoding="utf-8")
    page = render([EXAMPLE], tmp_path)
    places = [page.index(part) for part in ("`import_ms`", "Missed, because", "Also measured:", "`wall_us`")]
    assert places == sorted(places)
    assert "Missed" not in render([EXAMPLE], tmp_path / "nothing")


def test_every_note_belongs_to_a_benchmark() -> None:
    assert all(about(note.stem) for note in NOTES.glob("*.md"))


@pytest.mark.parametrize(
    ("goal", "inside", "outside"),
    [(Goal(at_least=8), 8.0, 7.9), (Goal(at_most=1.2), 1.2, 1.3), (Goal(at_least=1, at_most=1), 1.0, 0.99)],
)
def test_a_goal_holds_at_its_bound(goal: Goal, inside: float, outside: float) -> None:
    assert goal.met(inside)
    assert not goal.met(outside)


def test_every_measured_goal_is_reported_as_met_or_missed() -> None:
    page = rows(render(read_results()))
    for measure in (m for r in read_results() for m in r.measures if m.name in GOALS):
        goal = GOALS[measure.name]
        [row] = [row for row in page if row.startswith(f"| `{measure.name}` |")]
        assert f"| {goal} | {'yes' if goal.met(measure.value) else '**no**'} |" in row


def test_a_result_is_written_and_read_back(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    publish(EXAMPLE, Options(quick=False, json=False), tmp_path)
    assert load(tmp_path / "overhead.json") == EXAMPLE
    assert "wall_us                   120 us  n=1000   a loop: 30" in capsys.readouterr().out


def test_a_quick_result_is_printed_but_not_kept(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    publish(EXAMPLE, options("", ["--quick", "--json"]), tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr().out.startswith('{\n  "name": "overhead"')


def test_a_result_names_its_command_and_not_its_machine() -> None:
    made = result("overhead", [])
    assert made.command == "python -m benchmarks.overhead"
    assert set(machine()) >= {"processor", "cores", "python", "sqlite"}
    assert "node" not in machine()
