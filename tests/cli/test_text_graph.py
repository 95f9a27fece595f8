"""The graph in a terminal: branches, joins and loops can be followed, and no line is wider than the terminal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.lang.strategies import SETTINGS, procedures
from tests.lang.test_drawing import EVERY_LOOK

from sopwith.cli.columns import width
from sopwith.cli.text_graph import draw_text
from sopwith.ir.procedure import Procedure
from sopwith.lang.drawing import Walk, drawing


def test_branches_joins_loops_and_errors() -> None:
    walk = Walk({"look": (1, 3), "judge": (2,)}, {("look", False, 0): (1, 3)})
    assert draw_text(drawing(EVERY_LOOK, {"bank.pay"}), 100, walk) == [
        "□ 1 · look · shop.order  ✓ 1, 3",
        "├─ look.total > 5  ✓ 1, 3",
        "│  ◆ 1-1 1 · judge · the model gives a value  ✓ 2",
        "│  │",
        "│  ? 1-1 2 · ask · asks a person",
        "│  ├─ !ask ↺ 1 · look",
        "│  │",
        "│  ■ 1-1 3 · Pay (pay) · bank.pay · writes · needs approval",
        "│  │",
        "│  ≡ 1-1 4 · all · for each item in ${look.items} · bank.pay · writes",
        "│  ╰─ → 2 · other",
        "├─ they are angry → 5 · person",
        "├─ otherwise",
        "│  ◷ 1-3 1 · wait · waits 2h",
        "│  ╰─ → 2 · other",
        "╰┄ on error → 5 · person",
        "",
        "▷ 2 · other · runs notify",
        "│",
        "◇ 3 · fork",
        "├─ ok ↓",
        "├─ otherwise → 5 · person",
        "│",
        "◆ 4 · done · answer · completes",
        "",
        "! 5 · person · hands over to a person",
        "",
        "◇ decides  □ tool  ■ writes  ◆ model  ? person  ◷ waits  ▷ procedure  ≡ for each  ! hands over",
    ]


@SETTINGS
@given(procedures(), st.integers(40, 120))
def test_every_step_has_its_line_and_no_line_is_too_wide(procedure: Procedure, cells: int) -> None:
    found = drawing(procedure)
    lines = draw_text(found, cells)
    heads = [line for line in lines if any(f" {b.number} · " in line for b in found.boxes)]
    assert len(heads) >= len(found.boxes)
    assert all(width(line) <= cells for line in lines[:-1] if len(line) - len(line.lstrip(" │")) < cells - 24)


def test_two_ways_to_one_arm_draw_it_once() -> None:
    steps = {
        "first": {
            "id": "first",
            "next": [
                {"to": "arm", "when": "a"},
                {"to": "end", "when": "b"},
                {"to": "arm", "otherwise": True},
            ],
        },
        "arm": {"id": "arm", "answer": "done", "end": "complete"},
        "end": {"id": "end", "end": "complete"},
    }
    lines = draw_text(drawing(Procedure.from_data({"id": "twice", "start": "first", "steps": steps})), 80)
    heads = [line.strip("│ ").partition(" ")[0] for line in lines[:-2] if " · " in line and "→" not in line]
    assert heads == ["◇", "◆", "●"], lines


def test_branches_inside_branches_without_end_are_drawn() -> None:
    count = 600
    steps = {
        f"s{i}": {
            "id": f"s{i}",
            "next": [{"to": f"s{i + 1}", "when": "ok"}, {"to": f"e{i}", "otherwise": True}],
        }
        for i in range(count)
    }
    steps |= {f"e{i}": {"id": f"e{i}", "end": "complete"} for i in range(count)}
    steps[f"s{count}"] = {"id": f"s{count}", "end": "complete"}
    found = drawing(Procedure.from_data({"id": "deep", "start": "s0", "steps": steps}))
    lines = draw_text(found, 80)
    assert sum(line.lstrip(" │").startswith("● ") for line in lines[:-1]) == count + 1
