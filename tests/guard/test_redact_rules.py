"""What else counts as secret, by the policy: its form, its mistakes, and the names that a run brings."""

from __future__ import annotations

from pathlib import Path

import pytest

from sopwith.errors import PolicyError
from sopwith.guard.redact_rules import RedactRule, RedactRules
from sopwith.ir.procedure import Input

TEXT = """\
redact:
  names: [张三, Li Lei]
  inputs: customer
  principal: true
  rules:
    - kind: employee_no
      pattern: 'E\\d{6}'
"""


def test_the_section_is_read() -> None:
    rules = RedactRules.read(TEXT)
    assert (rules.names, rules.inputs, rules.principal) == (("张三", "Li Lei"), ("customer",), True)
    assert rules.rules == (RedactRule(kind="employee_no", pattern="E\\d{6}"),)
    assert [rule.kind for rule in rules.secret_rules()] == ["name", "employee_no"]
    assert RedactRules.read("rules: []\n") == RedactRules()
    assert RedactRules().secret_rules() == ()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "redact:\n  rules:\n    - {kind: a, pattern: '('}\n",
            "policy.yaml:3:17 redact.rules[0].pattern: '('",
        ),
        (
            "redact:\n  rules:\n    - kind: a\n      pattern: [x, 'y*']\n",
            "policy.yaml:4:20 redact.rules[0].pattern[1]: 'y*' matches a text of no characters",
        ),
        ("redact:\n  rules:\n    - {kind: Name, pattern: x}\n", "policy.yaml:3:8 redact.rules[0].kind"),
        ("redact:\n  rules:\n    - {kind: a}\n", "policy.yaml:3:7 redact.rules[0]: 'pattern' is missing"),
        ("redact:\n  names: [李]\n", "policy.yaml:2:11 redact.names[0]"),
        ("redact:\n  name: [李雷]\n", "policy.yaml:2:3 redact.name: unknown field"),
        ("redact:\n  principal: 1\n", "policy.yaml:2:3 redact.principal"),
        ("redact: [张三]\n", "policy.yaml:1:1 redact"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(PolicyError) as caught:
        RedactRules.read(file)
    assert says in caught.value.message.en
    assert caught.value.message.zh != caught.value.message.en


def test_a_run_brings_the_names_of_its_principal_and_its_inputs() -> None:
    inputs = {
        "user": Input(from_="run.principal.id"),
        "customer": Input(),
        "days": Input(),
    }
    given = {"customer": {"first": "Li", "ids": [7, 12.0, None, True]}, "days": 3}
    assert RedactRules(inputs=("customer",)).names_in(inputs, "u1", given) == ["Li", "7", "12"]
    assert RedactRules(inputs=("user", "unknown")).names_in(inputs, "u1", given) == ["u1"]
    assert RedactRules(principal=True).names_in({}, "u1", {}) == ["u1"]
    assert RedactRules().names_in(inputs, "u1", given) == []
