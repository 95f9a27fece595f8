"""`sopwith policy test`, and what `check` says about a policy."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cli.command import Command

from sopwith.cli.exit_code import ExitCode

POLICY = """\
rules:
  - id: large
    verdict: ask
    tool: bank.transfer
    when: arguments.amount > 1000
    approval: {roles: [manager], count: 2, expires: 2h}
  - {id: clerks, verdict: allow, tool: bank.transfer, role: clerk}
"""
TEST = ("policy", "test", "policy.yaml")
TRANSFER = (*TEST, "--tool", "bank.transfer", "--effect", "write")


@pytest.fixture
def bank(sopwith: Command) -> Command:
    """The command beside a policy, without any tools."""
    sopwith.write("policy.yaml", POLICY)
    return sopwith


@pytest.mark.parametrize(
    ("arguments", "roles", "code", "said"),
    [
        ('{"amount": 5}', ["clerk"], ExitCode.OK, "allow: clerks"),
        ('{"amount": 5000}', ["clerk"], ExitCode.SUSPENDED, "ask: large"),
        ('{"amount": 5}', [], ExitCode.DENIED, "deny: default.write"),
        ("{}", ["clerk"], ExitCode.DENIED, "deny: large"),
    ],
)
def test_the_verdict_is_printed_and_is_the_exit_code(
    bank: Command, arguments: str, roles: list[str], code: ExitCode, said: str
) -> None:
    given = [part for role in roles for part in ("--role", role)]
    ran = bank(*TRANSFER, "--arguments", arguments, "--principal", "bob", *given)
    assert (ran.code, ran.out.splitlines()[0]) == (code, said)


def test_the_reasons_are_printed_for_each_rule_that_was_tried(bank: Command) -> None:
    ran = bank(*TRANSFER, "--arguments", '{"amount": 5}')
    assert [line.split(maxsplit=2) for line in ran.out.splitlines()[1:]] == [
        ["large", "no", "`arguments.amount > 1000` is false"],
        ["clerks", "no", "the principal has none of the roles clerk"],
        ["default.write", "decides", "no rule matches"],
    ]
    assert "不成立" in bank(*TRANSFER, "--arguments", '{"amount": 5}', "--lang", "zh").out


def test_json_has_the_reasons_and_the_terms(bank: Command) -> None:
    document = bank(*TRANSFER, "--arguments", '{"amount": 5000}', "--json").document
    assert (document["verdict"], document["rule"]) == ("ask", "large")
    assert document["approval"] == {"roles": ["manager"], "count": 2, "four_eyes": False, "expires": 7200.0}
    assert document["tried"] == [
        {"rule": "large", "decided": True, "why": "`arguments.amount > 1000` is true"}
    ]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((*TEST, "--tool", "bank.transfer"), "the effect of 'bank.transfer' is not known"),
        ((*TRANSFER, "--arguments", "{"), "--arguments is not JSON"),
        ((*TRANSFER, "--arguments", "[1]"), "--arguments is not a JSON object"),
        ((*TRANSFER, "--cases", "cases.yaml"), "not both"),
        (("policy", "test", "nothing.yaml", "--tool", "x"), "there is no file nothing.yaml"),
        ((*TEST, "--cases", "nothing.yaml"), "nothing.yaml"),
    ],
)
def test_what_is_given_wrongly_is_said(bank: Command, arguments: tuple[str, ...], says: str) -> None:
    ran = bank(*arguments)
    assert ran.code == ExitCode.USAGE
    assert says in ran.err


CASES = """\
- {tool: bank.transfer, effect: write, arguments: {amount: 5}, roles: clerk, expect: allow, rule: clerks}
- {tool: bank.transfer, effect: write, arguments: {amount: 5000}, principal: bob, roles: [clerk], expect: ask}
"""


def test_cases_that_hold_and_cases_that_do_not(bank: Command) -> None:
    bank.write("cases.yaml", CASES)
    assert bank(*TEST, "--cases", "cases.yaml").code == ExitCode.OK
    bank.write("cases.yaml", CASES + "- {tool: bank.transfer, effect: write, expect: allow}\n")
    ran = bank(*TEST, "--cases", "cases.yaml")
    assert ran.code == ExitCode.INVALID
    assert [line[0] for line in ran.out.splitlines()[1:]] == ["✓", "✓", "✗"]
    assert "deny: large" in ran.out.splitlines()[3]
    assert "cases: 3, mismatches: 1, warnings: 0" in ran.err
    document = bank(*TEST, "--cases", "cases.yaml", "--json").document
    assert [case["ok"] for case in document["cases"]] == [True, True, False]
    assert not document["ok"]


def test_a_case_with_the_right_verdict_by_another_rule_does_not_hold(bank: Command) -> None:
    bank.write("cases.yaml", CASES.replace("rule: clerks", "rule: large"))
    assert bank(*TEST, "--cases", "cases.yaml").code == ExitCode.INVALID


@pytest.mark.parametrize(
    ("cases", "says"),
    [
        ("tool: x\n", "cases.yaml:1:1 policy: this is not a list"),
        ("- {tool: x, expect: maybe}\n", "cases.yaml:1:13 [0].expect: must be 'allow', 'deny' or 'ask'"),
        ("- {tool: x, expects: deny}\n", "cases.yaml:1:3 [0]: 'expect' is missing"),
        ("- {tool: x, expect: deny, roll: y}\n", "cases.yaml:1:27 [0].roll: unknown field"),
        ("- {tool: x, expect: deny}\n", "cases.yaml:1:4 [0].tool: the effect of 'x' is not known"),
    ],
)
def test_what_is_wrong_in_a_file_of_cases_is_named_with_its_place(
    bank: Command, cases: str, says: str
) -> None:
    bank.write("cases.yaml", cases)
    ran = bank(*TEST, "--cases", "cases.yaml")
    assert ran.code == ExitCode.USAGE
    assert says in ran.err


def test_tools_beside_the_policy_give_effects_and_the_form_of_arguments(project: Command) -> None:
    call = (*TEST, "--tool", "orders.remind", "--arguments")
    assert project(*call, '{"order_id": "A-1002"}').out.startswith("ask: ask_before_reminding")
    wrong = project(*call, '{"order": 1}')
    assert wrong.code == ExitCode.USAGE
    assert "orders.remind" in wrong.err


ODD = """\
allow_writes: [orders.remimd]
rules:
  - {id: all, verdict: deny, tool: orders.*}
  - {id: one, verdict: allow, tool: orders.remind}
"""


@pytest.mark.parametrize("command", [TEST, ("check", "procedure.yaml")], ids=["policy test", "check"])
def test_what_is_odd_about_a_policy_is_a_warning(project: Command, command: tuple[str, ...]) -> None:
    project.write("policy.yaml", ODD)
    ran = project(*command)
    assert ran.code == ExitCode.OK
    shown = ran.out + ran.err
    assert "policy.yaml:4:5 'one' never decides" in shown
    assert "policy.yaml:1:16 'orders.remimd' fits no tool" in shown
    document: dict[str, Any] = project(*command, "--json").document
    found = document.get("warnings", document.get("diagnostics"))
    assert found is not None
    assert [each["code"] for each in found] == ["SW601", "SW602"]


def test_check_looks_at_a_policy_once_and_refuses_a_broken_one(project: Command) -> None:
    project.write("other.yaml", ODD)
    project.write("again.yaml", (project.folder / "procedure.yaml").read_text(encoding="utf-8"))
    ran = project("check", "procedure.yaml", "again.yaml", "--policy", "other.yaml")
    assert ran.out.count("never decides") == 1
    project.write("policy.yaml", "rules:\n  - {id: a, verdict: ask, approval: {expires: soon}}\n")
    broken = project("check", "procedure.yaml")
    assert broken.code == ExitCode.USAGE
    assert "policy.yaml:2:38 rules[0].approval.expires: must be a duration\n" in broken.err
    assert "help: write a number and a unit, as in 30s, 15m, 2h or 1d" in broken.err
