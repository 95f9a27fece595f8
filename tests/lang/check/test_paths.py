"""Names over all paths: definite assignment, names of exclusive arms, failures, cycles."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.lang.check.tools import TOOLS

from sopwith.ir.procedure import Procedure, Step
from sopwith.lang.check import check
from sopwith.lang.document import Document


def write(name: str, *ways: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A step that writes a number under its own name."""
    return {"id": name, "tool": "hr.balance", "with": {"user_id": "u"}, "next": list(ways), **more}


def route(name: str, *ways: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": name, "next": list(ways), **more}


def to(step: str, when: str | None = None) -> dict[str, Any]:
    return {"to": step} if when is None else {"to": step, "when": when}


def otherwise(step: str) -> dict[str, Any]:
    return {"to": step, "otherwise": True}


def tell(words: str, name: str = "tell") -> dict[str, Any]:
    return {"id": name, "answer": words, "end": "complete"}


FORK = (to("a", "inputs.yes"), otherwise("b"))


def codes(*steps: dict[str, Any]) -> list[str]:
    data: dict[str, Any] = {
        "id": "p",
        "start": steps[0]["id"],
        "inputs": {"yes": {"schema": {"type": "boolean"}}} if "inputs.yes" in str(steps) else {},
        "steps": {step["id"]: step for step in steps},
    }
    return [d.code for d in check(Document(Procedure.from_data(data), {}, "p", ""), TOOLS)]


def test_a_name_set_on_both_arms_is_there_behind_them() -> None:
    arms = (write("a", to("tell"), **{"as": "left"}), write("b", to("tell"), **{"as": "left"}))
    assert codes(route("s", *FORK), *arms, tell("${left.days}")) == []


def test_a_name_set_on_one_arm_is_not() -> None:
    assert codes(route("s", *FORK), write("a", to("tell")), route("b", to("tell")), tell("${a.days}")) == [
        "SW303"
    ]


def test_the_types_of_exclusive_arms_are_joined() -> None:
    arms = (
        write("a", to("tell"), **{"as": "x"}),
        {"id": "b", "do": "Pick.", "returns": {"type": "string"}, "as": "x", "next": [to("tell")]},
    )
    assert codes(route("s", *FORK), *arms, tell("${x.days}")) == ["SW309"]
    assert codes(route("s", *FORK), *arms, tell("${size(x) > 0 ? 1 : 2}")) == []


def test_a_failing_step_leaves_no_value() -> None:
    failing = write("a", to("ok"), on_error=[to("bad")])
    assert codes(failing, tell("${a.days}", "ok"), tell("${error.message}", "bad")) == []
    assert codes(failing, tell("${a.days}", "ok"), tell("${a.days}", "bad")) == ["SW303"]
    condition = [to("bad", "a.days > 1.0"), otherwise("bad")]
    assert codes(write("a", to("ok"), on_error=condition), tell("x", "ok"), tell("x", "bad")) == ["SW303"]


def test_an_error_is_there_only_where_every_path_failed() -> None:
    condition = [to("bad", "error.code == 'timeout'"), otherwise("ok")]
    assert (
        codes(write("a", to("ok"), on_error=condition), tell("x", "ok"), tell("${error.code}", "bad")) == []
    )
    assert codes(write("a", to("ok"), on_error=[to("ok")]), tell("${error.code}", "ok")) == ["SW304"]


def test_a_second_try_may_write_the_name_again() -> None:
    first = write("a", to("tell"), **{"as": "left", "on_error": [to("b")]})
    assert codes(first, write("b", to("tell"), **{"as": "left"}), tell("${left.days}")) == []


def test_two_steps_on_one_path_may_not_share_a_name() -> None:
    found = codes(
        write("a", to("b"), **{"as": "x"}), write("b", to("tell"), **{"as": "x"}), tell("${x.days}")
    )
    assert found == ["SW322"]


def test_a_step_may_write_its_own_name_again() -> None:
    again = write("a", to("a", "a.days < 1.0"), otherwise("tell"))
    assert codes(again, tell("${a.days}")) == []


def test_a_name_of_a_later_step_in_a_cycle_is_not_there_the_first_time() -> None:
    first = {"id": "s", "do": "Mind ${b.days}.", "returns": {"type": "string"}, "next": [to("b")]}
    assert codes(first, write("b", to("s", "b.days < 1.0"), otherwise("tell")), tell("x")) == ["SW303"]


def test_the_procedures_own_verify_sees_what_every_completing_end_has() -> None:
    def found(verify: str) -> list[str]:
        steps = [route("s", *FORK), write("a", to("x")), write("b", end="complete"), tell("${a.days}", "x")]
        data = {
            "id": "p",
            "start": "s",
            "verify": verify,
            "inputs": {"yes": {"schema": {"type": "boolean"}}},
            "steps": {step["id"]: step for step in steps},
        }
        return [d.code for d in check(Document(Procedure.from_data(data), {}, "p", ""), TOOLS)]

    assert found("inputs.yes") == []
    assert found("a.days > 1.0") == ["SW303"]
    assert found("run.date") == ["SW310"]


def test_what_only_programs_can_write() -> None:
    several = Procedure.from_data(
        {"id": "p", "start": "s", "steps": {"s": write("s", answer="Say it.", end="complete")}}
    )
    assert [d.code for d in check(Document(several, {}, "p", ""), TOOLS)] == ["SW404"]
    edge = {"to": "b", "when": "inputs.yes", "judge": "it is urgent"}
    assert codes(route("a", edge, otherwise("b")), tell("x", "b")) == ["SW213"]
    assert codes(write("第一步", end="complete")) == ["SW321"]
    assert codes(write("a", end="complete", **{"as": "余额"})) == ["SW321"]


# Soundness: what passes never meets a name without a value, whichever way a run goes.

NAMES = ("a", "b", "c", "d")


@st.composite
def procedures(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Small graphs of steps that write, read each other's names, fail and go round."""
    steps: list[dict[str, Any]] = []
    for name in NAMES:
        targets = st.sampled_from((*NAMES, "end"))
        read = draw(st.none() | st.sampled_from((*NAMES, "error")))
        field = "code" if read == "error" else "days"
        ways = [to(draw(targets), "inputs.yes"), otherwise(draw(targets))]
        more: dict[str, Any] = {} if read is None else {"do": f"Mind ${{{read}.{field}}}."}
        if draw(st.booleans()):
            more["on_error"] = [to(draw(targets))]
        make = write if draw(st.integers(0, 3)) else route
        steps.append(make(name, *ways, **more))
    return [*steps, tell("x", "end")]


@given(procedures(), st.lists(st.integers(0, 2), max_size=14))
def test_what_passes_never_reads_a_name_without_a_value(
    steps: list[dict[str, Any]], turns: list[int]
) -> None:
    if {"SW303", "SW304", "SW302"} & set(codes(*steps)):
        return
    by_id = {step["id"]: Step.model_validate(step) for step in steps}
    have: set[str] = set()
    step = by_id[steps[0]["id"]]
    for turn in turns:
        if step.do is not None:
            assert step.do.partition("{")[2].partition(".")[0] in have
        if step.end is not None:
            return
        if turn == 2 and step.on_error:
            have = (have - {step.writes or ""}) | {"error"}
            step = by_id[step.on_error[0].to]
        else:
            have |= {step.writes} if step.writes else set()
            step = by_id[step.next[turn % 2].to]


@given(procedures())
def test_reachability_agrees_with_walking(steps: list[dict[str, Any]]) -> None:
    by_id = {step["id"]: Step.model_validate(step) for step in steps}

    def walk(start: str) -> set[str]:
        found, todo = set[str](), [start]
        while todo:
            if (at := todo.pop()) not in found:
                found.add(at)
                todo += [edge.to for edge in (*by_id[at].next, *by_id[at].on_error)]
        return found

    found = codes(*steps)
    reached = walk(steps[0]["id"])
    assert found.count("SW203") == len(by_id) - len(reached)
    assert ("SW204" in found) == any("end" not in walk(name) for name in reached)
