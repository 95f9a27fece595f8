"""A difference between two procedures is found, named, and put where a signer looks first; and nothing else is."""

from __future__ import annotations

import copy
from itertools import pairwise
from typing import Any

from hypothesis import assume, given
from tests.lang.strategies import FEW, procedures

from sopwith.ir.procedure import Procedure
from sopwith.lang.change_words import place, said
from sopwith.lang.diff import TOPICS, Change, diff

REFUND: dict[str, Any] = {
    "id": "refund", "start": "find", "tools": ["shop.find", "bank.pay"],
    "inputs": {"order": {"schema": {"type": "string"}}},
    "steps": {
        "find": {
            "id": "find", "name": "Find the order", "tool": "shop.find", "with": {"order": "${inputs.order}"},
            "next": [{"to": "pay", "when": "find.total < 100"}, {"to": "person", "otherwise": True}],
        },
        "pay": {
            "id": "pay", "name": "Pay it back", "tool": "bank.pay", "with": {"amount": "${find.total}"},
            "verify": "pay.ok", "next": [{"to": "tell"}],
        },
        "tell": {"id": "tell", "name": "Tell them", "answer": "say it", "end": "complete"},
        "person": {"id": "person", "end": "escalate"},
    },
}  # fmt: skip


def changed(**steps: Any) -> Procedure:
    data = copy.deepcopy(REFUND)
    for name, keys in steps.items():
        data["steps"][name] |= keys
    return Procedure.from_data(data)


def changes(after: Procedure) -> list[Change]:
    return list(diff(Procedure.from_data(REFUND), after, {"bank.pay"}))


def told(after: Procedure, language: str = "en") -> list[str]:
    return [
        ": ".join(part for part in (place(c, language), said(c, language)) if part) for c in changes(after)
    ]


def test_what_is_the_same_has_no_changes() -> None:
    assert changes(changed()) == []


def test_a_write_that_gets_other_arguments_comes_before_everything_else() -> None:
    after = changed(pay={"with": {"amount": "${find.total * 2}"}}, find={"name": "Look it up"})
    assert [c.topic for c in changes(after)] == ["write", "words"]
    assert told(after) == [
        '1-1 1 pay "Pay it back" (writes): argument amount: ${find.total} → ${find.total * 2}',
        '1 find "Look it up": name: Find the order → Look it up',
    ]
    first = changes(after)[0]
    assert place(first, "zh") == "1-1 1 pay“Pay it back”（写操作）"
    assert said(first, "zh") == "参数 amount：${find.total} → ${find.total * 2}"


def test_the_allow_list_comes_first_of_all() -> None:
    data = copy.deepcopy(REFUND)
    data["tools"] = ["shop.find", "bank.pay", "bank.close"]
    data["steps"]["pay"]["verify"] = "true"
    found = told(Procedure.from_data(data))
    assert found[0] == "may now call bank.close"
    data["tools"] = ["shop.find"]
    assert told(Procedure.from_data(data))[0] == "may no longer call bank.pay (writes)"


def test_a_new_step_and_one_that_is_gone() -> None:
    data = copy.deepcopy(REFUND)
    del data["steps"]["tell"]
    data["steps"]["pay"]["next"] = [{"to": "check"}]
    data["steps"]["check"] = {"id": "check", "ask": "Was it right?", "next": [{"to": "person"}]}
    assert told(Procedure.from_data(data)) == [
        "new step 3 check: question to a person Was it right?",
        'step 1-1 2 tell "Tell them" is gone: answer say it, end complete',
        '2 pay "Pay it back" (writes): the way to tell now goes to check',
    ]


def test_a_step_with_a_new_id_is_recognised_and_what_follows_from_it_is_no_change() -> None:
    data = copy.deepcopy(REFUND)
    steps = data["steps"]
    steps["pay_back"] = steps.pop("pay") | {"id": "pay_back", "verify": "pay_back.ok"}
    steps["find"]["next"][0]["to"] = "pay_back"
    (only,) = changes(Procedure.from_data(data))
    assert (only.act, only.before, only.after) == ("renamed", "pay", "pay_back")
    assert only.alike is not None and only.alike > 0.9
    assert "taken for the same step" in said(only)


def test_a_step_of_another_kind_is_not_taken_for_a_renamed_one() -> None:
    data = copy.deepcopy(REFUND)
    del data["steps"]["pay"]
    data["steps"]["ask"] = {"id": "ask", "name": "Pay it back", "ask": "Pay?", "next": [{"to": "tell"}]}
    data["steps"]["find"]["next"][0]["to"] = "ask"
    assert [c.act for c in changes(Procedure.from_data(data)) if c.part == "step"] == ["removed", "added"]


def test_ways_are_matched_by_condition_and_then_by_where_they_lead() -> None:
    ways = [{"to": "tell", "when": "find.total < 100"}, {"to": "person", "when": "find.total > 500"}]
    after = changed(find={"next": ways, "on_error": [{"to": "person"}]})
    assert [said(c) for c in changes(after) if c.part == "way"] == [
        "the way to pay if find.total < 100 now goes to tell if find.total < 100",
        "the way to person otherwise now goes to person if find.total > 500",
        "after an error new way to person",
    ]
    swapped = changed(find={"next": list(reversed(REFUND["steps"]["find"]["next"]))})
    assert [c.act for c in changes(swapped) if c.part == "way"] == ["reordered"]


def test_a_step_above_moves_nothing_and_a_moved_one_is_named_alone() -> None:
    chain = {f"s{i}": {"id": f"s{i}", "tool": f"t{i}", "next": [{"to": f"s{i + 1}"}]} for i in range(5)}
    chain["s5"] = {"id": "s5", "end": "complete"}
    before = Procedure.from_data({"id": "p", "start": "s0", "steps": chain})
    longer = {"new": {"id": "new", "ask": "?", "next": [{"to": "s0"}]}, **chain}
    above = diff(before, Procedure.from_data({"id": "p", "start": "new", "steps": longer}))
    assert not [c for c in above if c.act == "moved"]
    order = ["s0", "s3", "s1", "s2", "s4", "s5"]
    steps = {a: {**chain[a], "next": [{"to": b}]} for a, b in pairwise(order)}
    moved = diff(
        before, Procedure.from_data({"id": "p", "start": "s0", "steps": steps | {"s5": chain["s5"]}})
    )
    assert [(c.now.step, c.before, c.after) for c in moved if c.act == "moved" and c.now] == [
        ("s3", "4", "2")
    ]


def test_inputs_output_and_limits() -> None:
    data = copy.deepcopy(REFUND) | {"output": {"type": "object"}, "timeout": 60, "grip": "free"}
    data["inputs"]["why"] = {"schema": {"type": "string"}, "from": "run.request"}
    assert [(c.topic, c.act, c.name) for c in changes(Procedure.from_data(data))] == [
        ("permission", "added", "grip"),
        ("data", "added", "why"),
        ("data", "added", "output"),
        ("limit", "added", "timeout"),
    ]


@FEW
@given(procedures(), procedures())
def test_no_change_means_the_same_content_and_the_other_way_round(one: Procedure, other: Procedure) -> None:
    assert diff(one, one) == ()
    found = diff(one, other)
    assert bool(found) == (one.digest() != other.digest())
    assert [TOPICS.index(c.topic) for c in found] == sorted(TOPICS.index(c.topic) for c in found)
    for change in found:
        for language in ("en", "zh"):
            assert said(change, language).strip()


@FEW
@given(procedures())
def test_the_order_of_the_file_is_a_change_too(procedure: Procedure) -> None:
    steps = dict(reversed(procedure.steps.items()))
    other = procedure.model_copy(update={"steps": steps})
    assume(list(steps) != list(procedure.steps))
    assert diff(procedure, other)


def test_a_thousand_steps_with_new_ids_are_recognised() -> None:
    def long(prefix: str) -> Procedure:
        steps = {
            f"{prefix}{i}": {
                "id": f"{prefix}{i}", "tool": f"tool.t{i % 40}", "name": f"Step {i} of many",
                "next": [{"to": f"{prefix}{i + 1}"}],
            }
            for i in range(1000)
        }  # fmt: skip
        steps[f"{prefix}1000"] = {"id": f"{prefix}1000", "end": "complete"}
        return Procedure.from_data({"id": "p", "start": f"{prefix}0", "steps": steps})

    found = diff(long("a"), long("b"))
    assert [c.act for c in found if c.part == "step"] == ["renamed"] * 1001


def test_values_are_told_as_somebody_writes_them() -> None:
    before = changed(
        pay={"with": {"n": 5, "list": [1, "a"]}, "retry": {"times": 2, "errors": ["busy"]}, "timeout": 20},
        find={"uses": ["inputs.order"], "approval": {"roles": ["boss"], "count": 2}},
    )
    after = changed(
        pay={
            "with": {"n": "5", "list": [1, "a, b"]},
            "retry": {"times": 3, "errors": ["busy"]},
            "timeout": 120,
        },
        find={"uses": ["inputs.order", "find"], "approval": {"roles": ["boss"], "count": 3}},
    )
    assert {said(c) for c in diff(before, after)} == {
        'argument n: 5 → "5"',
        'argument list: 1, a → 1, "a, b"',
        "retries: {times: 2, errors: [busy]} → {times: 3, errors: [busy]}",
        "time limit: 20s → 2m",
        "values it sees: inputs.order → inputs.order, find",
        "approval: {roles: [boss], count: 2} → {roles: [boss], count: 3}",
    }
