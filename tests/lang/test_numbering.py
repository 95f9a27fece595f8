"""Steps have the numbers of the paper: the main line, `X-n i` on branches, joins on the main line again."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.lang.strategies import SETTINGS, procedures

from sopwith.ir.procedure import Procedure
from sopwith.lang.graph import graph
from sopwith.lang.numbering import label, numbers
from sopwith.lang.routine_text import sayable


def procedure(**ways: str) -> Procedure:
    """Steps with the ways on from each: `a="b c"`; `!x` is a way after an error."""
    steps = {
        step: {
            "id": step,
            "next": [{"to": to} for to in targets.split() if to[0] != "!"],
            "on_error": [{"to": to[1:]} for to in targets.split() if to[0] == "!"],
        }
        for step, targets in ways.items()
    }
    return Procedure.from_data({"id": "p", "start": next(iter(steps)), "steps": steps})


SHAPES = [
    ("a line", {"a": "b", "b": "c", "c": ""}, {"a": "1", "b": "2", "c": "3"}),
    ("two arms that join", {"a": "b c", "b": "d", "c": "d", "d": ""}, {"a": "1", "b": "1-1 1", "c": "1-2 1", "d": "2"}),
    ("arms of several steps", {"a": "b c", "b": "x", "x": "d", "c": "d", "d": ""},
     {"a": "1", "b": "1-1 1", "x": "1-1 2", "c": "1-2 1", "d": "2"}),
    ("arms that end", {"a": "b c", "b": "", "c": ""}, {"a": "1", "b": "1-1 1", "c": "1-2 1"}),
    ("a guard that leaves to a join", {"a": "h b", "b": "h c", "c": "h", "h": ""},
     {"a": "1", "b": "2", "c": "3", "h": "4"}),
    ("a branch in a branch", {"a": "b z", "b": "c d", "c": "e", "d": "e", "e": "z", "z": ""},
     {"a": "1", "b": "2", "c": "2-1 1", "d": "2-2 1", "e": "3", "z": "4"}),
    ("arms that end in a branch", {"a": "b c", "b": "d e", "d": "", "e": "", "c": ""},
     {"a": "1", "b": "1-1 1", "d": "1-1 1-1 1", "e": "1-1 1-2 1", "c": "1-2 1"}),
    ("what is listed after the arms is on the line again", {"a": "b c", "b": "d", "c": "", "d": ""},
     {"a": "1", "b": "1-1 1", "c": "1-2 1", "d": "2"}),
    ("a cycle", {"a": "b", "b": "c a", "c": ""}, {"a": "1", "b": "2", "c": "3"}),
    ("a cycle of one", {"a": "a b", "b": ""}, {"a": "1", "b": "2"}),
    ("two ways to one step", {"a": "b b c", "b": "", "c": ""}, {"a": "1", "b": "1-1 1", "c": "1-3 1"}),
    ("a handler of errors", {"a": "b !h", "b": "", "h": ""}, {"a": "1", "b": "2", "h": "3"}),
    ("what is never reached", {"a": "", "b": "c", "c": ""}, {"a": "1", "b": "2", "c": "3"}),
    ("an edge to nowhere", {"a": "b nowhere", "b": ""}, {"a": "1", "b": "2"}),
]  # fmt: skip


@pytest.mark.parametrize(("ways", "expected"), [s[1:] for s in SHAPES], ids=[s[0] for s in SHAPES])
def test_a_shape_has_its_numbers(ways: dict[str, str], expected: dict[str, str]) -> None:
    assert numbers(procedure(**ways)) == expected


def test_labels_say_step_and_branch_in_both_languages() -> None:
    assert [label("3"), label("4-2 1"), label("4-2 1-1 2")] == [
        "Step 3",
        "Branch 4-2 Step 1",
        "Branch 4-2 1-1 Step 2",
    ]
    assert [label("3", "zh"), label("4-2 1", "zh")] == ["步骤 3", "分支 4-2 步骤 1"]


@SETTINGS
@given(procedures())
def test_every_step_has_its_own_number_and_lines_have_no_gaps(procedure: Procedure) -> None:
    found = numbers(procedure)
    assert set(found) == set(procedure.steps)
    assert len(set(found.values())) == len(found)
    assert found[procedure.start] == "1"
    lines: dict[str, list[int]] = {}
    for number in found.values():
        assert re.fullmatch(r"([1-9][0-9]*-[1-9][0-9]* )*[1-9][0-9]*", number)
        line, _, i = number.rpartition(" ")
        lines.setdefault(line, []).append(int(i))
    assert all(sorted(used) == list(range(1, len(used) + 1)) for used in lines.values())
    for line in lines.keys() - {""}:
        step, _, n = line.rpartition("-")
        opened = {number: s for s, number in found.items()}
        assert found[procedure.steps[opened[step]].next[int(n) - 1].to] == f"{line} 1"


@SETTINGS
@given(procedures())
def test_numbers_do_not_need_the_order_of_the_file_to_be_sound(procedure: Procedure) -> None:
    turned = procedure.model_copy(update={"steps": dict(reversed(procedure.steps.items()))})
    assert set(numbers(turned)) == set(procedure.steps)


def test_numbering_takes_linear_time_and_no_recursion() -> None:
    count = 20_000
    ways = {f"s{i}": f"s{i + 1} s{(i * 7) % count}" for i in range(count - 1)} | {f"s{count - 1}": ""}
    large = procedure(**ways)
    started = time.perf_counter()
    assert len(numbers(large)) == count
    assert len(graph(large).cyclic) > 0
    assert time.perf_counter() - started < 10


def test_the_graph_knows_cycles_and_order() -> None:
    found = graph(procedure(a="b", b="c d", c="b", d="e", e="e f", f=""))
    assert found.cyclic == {"b", "c", "e"}
    assert found.back == {("c", "b"), ("e", "e")}
    assert found.successors["b"] == ("c", "d")
    order = found.order
    assert order.index("a") < order.index("b") < min(order.index("c"), order.index("d"))
    assert order.index("d") < order.index("e") < order.index("f")


def in_order(procedure: Procedure, order: Iterable[str]) -> Procedure:
    return procedure.model_copy(update={"steps": {name: procedure.steps[name] for name in order}})


@given(procedures().flatmap(lambda p: st.builds(in_order, st.just(p), st.permutations(list(p.steps)))))
def test_a_procedure_and_its_routine_text_have_the_same_numbers(procedure: Procedure) -> None:
    assert numbers(procedure) == numbers(sayable(procedure))


def test_a_step_listed_after_the_arms_around_its_branch_is_outside_of_all_of_them() -> None:
    nested = procedure(a="b c", b="d e", d="", e="f", c="", f="")
    assert numbers(nested) == {
        "a": "1",
        "b": "1-1 1",
        "d": "1-1 1-1 1",
        "e": "1-1 1-2 1",
        "c": "1-2 1",
        "f": "2",
    }
