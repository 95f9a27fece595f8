"""The independent judge of paths: silent on real runs, loud on every kind of breach."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.compliance import judge, violations
from benchmarks.expressions import Broken, Names, Unknown, same
from tests.run.desk import HAPPY, REFUND, REPLIES, Shop, desk, sure

from sopwith import Policy, ToolError
from sopwith.ir.event import event_json


@pytest.fixture
def procedure(tmp_path: Path) -> Path:
    path = tmp_path / "refund.yaml"
    path.write_text(REFUND, encoding="utf-8")
    return path


async def events(
    shop: Shop | None = None, replies: list[Any] | None = None, **options: Any
) -> list[dict[str, Any]]:
    run = await desk(shop or Shop(), replies, **options).run("A-7 came broken")
    return [json.loads(json.dumps(event_json(event))) for event in run.events]


async def test_what_the_engine_does_is_compliant(procedure: Path) -> None:
    lost = Shop()
    lost.failures = [ToolError("busy", "x")] * 2
    odd = Shop()
    odd.status = "odd"
    assert violations(procedure, await events()) == []
    assert violations(procedure, await events(lost)) == []
    assert violations(procedure, await events(odd)) == []
    assert violations(procedure, await events(replies=[HAPPY[0], sure("C", 0.9)])) == []
    assert violations(procedure, await events(policy=Policy())) == []


def find(log: list[dict[str, Any]], kind: str, at: int = 0) -> dict[str, Any]:
    return [event for event in log if event["kind"] == kind][at]


def another_tool(log: list[dict[str, Any]]) -> None:
    find(log, "call.proposed")["data"]["tool"] = "shop.refund"


def another_edge(log: list[dict[str, Any]]) -> None:
    find(log, "edge.taken")["data"]["to"] = "pay"


def another_step(log: list[dict[str, Any]]) -> None:
    find(log, "step.entered", 1)["step"] = "pay"


def no_leave(log: list[dict[str, Any]]) -> None:
    find(log, "call.judged")["data"]["verdict"] = "deny"


def twice(log: list[dict[str, Any]]) -> None:
    at = log.index(find(log, "call.started", 1))
    log.insert(at, copy.deepcopy(log[at]))
    for number, event in enumerate(log, 1):
        event["seq"] = number


def a_gap(log: list[dict[str, Any]]) -> None:
    del log[5]


def an_early_end(log: list[dict[str, Any]]) -> None:
    last = log[-1]
    del log[-8:]
    log.append({**last, "seq": len(log) + 1})


def unchecked(log: list[dict[str, Any]]) -> None:
    find(log, "check.ran")["data"]["ok"] = False


def no_end(log: list[dict[str, Any]]) -> None:
    del log[-1]


def cut_off(log: list[dict[str, Any]], at: int, kind: str) -> None:
    """End the log before its event `at`, with another outcome."""
    last = log[-1]
    del log[at:]
    log.append({**last, "seq": at + 1, "data": {"outcome": {"kind": kind}}})


def a_false_argument(log: list[dict[str, Any]]) -> None:
    find(log, "call.proposed")["data"]["arguments"]["number"] = "A-8"


def a_false_fact(log: list[dict[str, Any]]) -> None:
    find(log, "call.proposed")["data"]["arguments"]["customer"] = "u-9"


def all_arguments_false(log: list[dict[str, Any]]) -> None:
    for event in log:
        if event["kind"] == "call.proposed":
            arguments = event["data"]["arguments"]
            arguments.update(dict.fromkeys(arguments, "x"))


def an_argument_more(log: list[dict[str, Any]]) -> None:
    find(log, "call.proposed")["data"]["arguments"]["note"] = "by the way"


def a_missing_argument(log: list[dict[str, Any]]) -> None:
    del find(log, "call.proposed", 1)["data"]["arguments"]["amount"]


def a_condition_that_is_not_true(log: list[dict[str, Any]]) -> None:
    find(log, "value.stored")["data"]["value"]["wish"] = "exchange"


def an_earlier_condition_that_is_true(log: list[dict[str, Any]]) -> None:
    # More than 500 goes to a person before anybody judges.
    find(log, "call.finished")["data"]["value"]["amount"] = 501.0


def a_check_that_is_not_true(log: list[dict[str, Any]]) -> None:
    find(log, "call.finished", 1)["data"]["value"]["status"] = "odd"


def another_output(log: list[dict[str, Any]]) -> None:
    log[-1]["data"]["outcome"]["output"] = {"receipt": "R-2"}


def another_name(log: list[dict[str, Any]]) -> None:
    find(log, "value.stored")["data"]["name"] = "order"


def a_doubtful_judgement(log: list[dict[str, Any]]) -> None:
    [judged] = [e for e in log if e["kind"] == "edge.taken" and e["data"].get("by") == "judge"]
    judged["data"]["confidence"] = 0.5


def an_error_that_was_none(log: list[dict[str, Any]]) -> None:
    find(log, "edge.taken")["data"]["by"] = "error"


@pytest.mark.parametrize(
    "breach",
    [
        another_tool, another_edge, another_step, no_leave, twice, a_gap, an_early_end, unchecked, no_end,
        a_false_argument, a_false_fact, all_arguments_false, an_argument_more, a_missing_argument,
        a_condition_that_is_not_true, an_earlier_condition_that_is_true, a_check_that_is_not_true,
        another_output, another_name, a_doubtful_judgement, an_error_that_was_none,
    ],
)  # fmt: skip
async def test_every_breach_is_seen(procedure: Path, breach: Any) -> None:
    log = await events(replies=list(REPLIES))
    breach(log)
    assert violations(procedure, log) != []


@pytest.mark.parametrize("kind", ["failed", "exhausted", "denied", "cancelled", "escalated", "completed"])
async def test_a_run_that_is_cut_off_anywhere_is_a_breach(procedure: Path, kind: str) -> None:
    whole = await events(replies=list(REPLIES))
    entered = whole.index(find(whole, "step.entered"))
    assert whole[-1]["data"]["outcome"]["kind"] == "completed"
    for at in range(entered + 1, len(whole) - 1):
        log = copy.deepcopy(whole)
        cut_off(log, at, kind)
        if kind == "completed" and not any(e["kind"] in ("check.ran", "phase.entered") for e in whole[at:-1]):
            continue
        assert violations(procedure, log) != [], f"{kind} before {whole[at]['kind']} {at + 1}"


async def test_a_run_that_went_elsewhere_although_a_condition_was_true_is_a_breach(procedure: Path) -> None:
    reply = '{"order": "A-7", "wish": "none_of_these"}'
    log = await events(replies=[reply])
    assert log[-1]["data"]["outcome"]["kind"] == "escalated"
    assert violations(procedure, log) == []
    find(log, "value.stored")["data"]["value"]["wish"] = "refund"
    [broken] = violations(procedure, log)
    assert broken.endswith("went to person, but `wanted.wish == 'refund'` leads to look")


async def test_a_way_for_an_error_is_taken_in_its_order(procedure: Path) -> None:
    lost = Shop()
    lost.failures = [ToolError("busy", "x")] * 2
    log = await events(lost)
    find(log, "step.failed")["data"]["error"]["code"] = "not_found"
    [broken] = violations(procedure, log)
    assert broken.endswith("went to person, but `error.code == 'not_found'` leads to ask_number")


async def test_an_escalation_past_the_way_for_an_error_is_a_breach(procedure: Path) -> None:
    lost = Shop()
    lost.failures = [ToolError("busy", "x")] * 2
    log = await events(lost)
    cut_off(log, log.index(find(log, "step.failed")) + 1, "escalated")
    [broken] = violations(procedure, log)
    assert broken.endswith("escalated, although the step has a way on for its error")


async def test_what_was_entered_and_computed_again_is_counted(procedure: Path) -> None:
    log = await events(replies=list(REPLIES))
    found = judge(procedure, log)
    # Two arguments of `look`, two of `pay`; `when` of `read` and of `worth`; two checks; the output.
    assert (found.steps, found.recomputed, found.unknown) == (5, 9, 0)


async def test_a_long_value_is_not_computed_again(procedure: Path) -> None:
    log = await events(replies=list(REPLIES))
    find(log, "call.finished")["data"]["blob"] = "0" * 64
    found = judge(procedure, log)
    assert found.violations == ()
    # What reads `order`: two arguments of `pay`, and the `when` of `worth`.
    assert (found.recomputed, found.unknown) == (6, 3)


def names(**values: Any) -> Names:
    found = Names({"who": {"from": "run.principal.id"}, "days": {}})
    found.start("r-1", {"principal": {"id": "u-1"}, "date": "2026-03-01", "request": "two days please"})
    found.pass_inputs({"days": 2})
    for name, value in values.items():
        found.bind("step", {"name": name, "value": value})
    return found


def test_expressions_are_computed_over_what_the_log_has() -> None:
    known = names(left={"days": 2.5, "kinds": ["a", "b"]}, ok=True)
    assert known.value("left.days > 2.0 && ok") is True
    assert known.render({"a": ["${left.kinds.map(k, k + '}')}", 3]}) == {"a": [["a}", "b}"], 3]}
    assert known.render("${inputs.who} wants ${inputs.days} on ${run.date}") == "u-1 wants 2 on 2026-03-01"
    with pytest.raises(Broken):
        known.value("gone == 1")


def test_what_the_log_hides_is_unknown_except_along_a_plain_path() -> None:
    known = names(person={"phone": "<phone:1>"})
    assert known.value("person.phone") == "<phone:1>"
    with pytest.raises(Unknown):
        known.value("person.phone.size() == 11")


def test_what_a_step_wrote_is_forgotten_with_it() -> None:
    known = names(left=1)
    known.forget("step")
    with pytest.raises(Broken):
        known.value("left")


def test_truth_is_not_a_number() -> None:
    assert same({"a": [1, 2.0]}, {"a": [1.0, 2]})
    assert not same(True, 1)
    assert not same([0], [False])
    assert not same({"a": 1}, {"a": 1, "b": None})
