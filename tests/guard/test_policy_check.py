"""Warnings about a policy: rules that never decide, patterns that fit nothing, approvals that nobody can give."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.guard.test_explain import calls
from tests.guard.test_permit import rules

from sopwith.guard.permit import CallFacts, Policy, Rule
from sopwith.guard.policy_check import CODES, check_policy
from sopwith.guard.policy_file import PolicyFile, open_policy
from sopwith.ir.tool import Effect, ToolSpec

DOCS = Path(__file__).parents[2] / "docs"
TOOLS = {
    name: ToolSpec(name=name, effect=effect)
    for name, effect in [
        ("hr.get", Effect.READ),
        ("hr.submit", Effect.WRITE),
        ("pay.send", Effect.IRREVERSIBLE),
    ]
}


def found(text: str, tools: dict[str, ToolSpec] | None = TOOLS) -> list[str]:
    file = open_policy(text)
    return [
        f"{d.code} {d.place.line}:{d.place.column} {d.message.en}"
        for d in check_policy(Policy.of(file), file, tools)
    ]


def test_a_rule_behind_a_wider_one_never_decides() -> None:
    text = (
        "rules:\n  - {id: all, verdict: deny, tool: hr.*}\n  - {id: one, verdict: allow, tool: hr.submit}\n"
    )
    said = ["SW601 3:5 'one' never decides: all before it takes every call that it could"]
    assert found(text) == said
    assert found(text, None) == said


@pytest.mark.parametrize(
    ("first", "second", "dead"),
    [
        ("tool: '*'", "tool: hr.*", True),
        ("verdict: deny", "tool: hr.submit", True),
        ("tool: hr.*", "tool: '*'", False),
        ("tool: hr.*", "tool: [hr.submit, pay.send]", False),
        ("tool: hr.s*", "tool: hr.*", False),
        ("role: manager", "tool: hr.submit", False),
        ("role: [manager, hr]", "{tool: hr.submit, role: hr}", True),
        ("role: manager", "{tool: hr.submit, role: [manager, hr]}", False),
        ("effect: [write, irreversible]", "{tool: hr.submit, effect: write}", True),
        ("effect: irreversible", "{tool: hr.submit, effect: write}", False),
        ("when: arguments.days > 5", "tool: hr.submit", False),
        ("when: arguments.days > 5", "{tool: hr.submit, when: arguments.days > 5}", True),
        ("when: arguments.days > 5", "{tool: hr.submit, when: arguments.days > 6}", False),
    ],
)
@pytest.mark.parametrize("tools", [TOOLS, None], ids=["with tools", "without"])
def test_only_a_rule_that_cannot_decide_is_warned_of(
    first: str, second: str, dead: bool, tools: dict[str, ToolSpec] | None
) -> None:
    parts = (first, second)
    lines = [
        f"  - {{id: {name}, verdict: deny, {re.sub(r'^{|}$|verdict: deny', '', part)}}}"
        for name, part in zip("ab", parts, strict=True)
    ]
    text = "rules:\n" + "\n".join(lines) + "\n"
    assert any("SW601" in line for line in found(text, tools)) is dead


def test_several_rules_together_may_cover_one() -> None:
    text = (
        "rules:\n  - {id: a, verdict: allow, tool: hr.get}\n  - {id: b, verdict: ask, tool: hr.submit}\n"
        "  - {id: c, verdict: deny, tool: hr.*}\n"
    )
    assert found(text) == ["SW601 4:5 'c' never decides: a, b before it takes every call that it could"]
    assert found(text, None) == []


def test_a_pattern_that_fits_no_tool_is_named_with_its_place() -> None:
    text = (
        "allow_writes:\n  - hr.submit\n  - hr.sumbit\n"
        "rules:\n  - id: a\n    verdict: deny\n    tool: [pay.send, pay.snd]\n"
        "  - id: b\n    verdict: deny\n    tool: HR.*\n"
        "  - {id: c, verdict: allow, tool: hr.get, effect: write}\n"
    )
    assert found(text) == [
        "SW602 7:22 'pay.snd' fits no tool",
        "SW602 10:5 'HR.*' fits no tool",
        "SW602 11:43 no tool that it is for has the effect write",
        "SW602 3:5 'hr.sumbit' fits no tool",
    ]
    assert found(text, None) == []


def test_an_approval_that_nobody_can_give_is_named() -> None:
    text = (
        "rules:\n  - id: a\n    verdict: ask\n    approval: {roles: cfo, count: 2}\n"
        "people: {mei: [cfo], han: [manager]}\n"
    )
    assert found(text) == ["SW603 4:5 'a' wants 2 people with the role cfo, and there are 1"]
    assert found(text.replace("count: 2", "count: 1")) == []
    assert found(text.partition("people")[0]) == []


@given(st.lists(rules, min_size=1, max_size=6), calls)
def test_a_rule_that_is_said_never_to_decide_never_does(given_rules: list[Rule], call: CallFacts) -> None:
    policy = Policy(given_rules)
    file = PolicyFile("<text>", {"rules": []})
    for tools in (None, {call.tool.name: call.tool}):
        dead = {d.message.en.split("'")[1] for d in check_policy(policy, file, tools) if d.code == "SW601"}
        assert policy.judge(call).rule not in dead


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_code_has_a_section_in_the_documentation(language: str) -> None:
    page = (DOCS / f"diagnostics{'.zh' if language == 'zh' else ''}.md").read_text(encoding="utf-8")
    titles = dict(re.findall(r"^## (SW6\d\d) (.+)$", page, re.MULTILINE))
    assert titles == {code: text.in_(language) for code, text in CODES.items()}
