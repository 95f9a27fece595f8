"""Which calls are allowed: order, defaults, conditions, and policies that must not start."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopwith.errors import PolicyError
from sopwith.guard.permit import CallFacts, Judgement, Policy, Rule
from sopwith.ir.event import Principal
from sopwith.ir.tool import Effect, ToolSpec


def facts(
    tool: str = "hr.submit_leave",
    effect: Effect = Effect.WRITE,
    *,
    roles: tuple[str, ...] = ("employee",),
    arguments: dict[str, Any] | None = None,
) -> CallFacts:
    spec = ToolSpec(name=tool, effect=effect, scopes=("hr",))
    return CallFacts(
        Principal(id="u1", roles=roles), spec, arguments or {"user_id": "u1", "days": 2}, "submit", "r1"
    )


READ = facts("hr.get_employee", Effect.READ)


def test_without_rules_reads_are_allowed_and_writes_are_not() -> None:
    policy = Policy()
    assert policy.judge(READ) == Judgement("allow", "default.read")
    assert policy.judge(facts()) == Judgement("deny", "default.write")
    assert policy.judge(facts(effect=Effect.IRREVERSIBLE)) == Judgement("deny", "default.write")


def test_the_first_rule_that_matches_decides() -> None:
    policy = Policy(
        [
            Rule(id="other_tool", verdict="deny", tool="pay.*"),
            Rule(id="small", verdict="allow", tool="hr.*", when="arguments.days <= 2"),
            Rule(id="large", verdict="ask", tool="hr.submit_leave"),
            Rule(id="never", verdict="allow"),
        ]
    )
    assert policy.judge(facts()) == Judgement("allow", "small")
    assert policy.judge(facts(arguments={"days": 9})) == Judgement("ask", "large")
    assert policy.judge(facts("pay.send")) == Judgement("deny", "other_tool")
    assert policy.judge(facts("time.now")) == Judgement("allow", "never")


@pytest.mark.parametrize(
    ("rule", "matches"),
    [
        ({"tool": "hr.submit_leave"}, True),
        ({"tool": ["hr.cancel", "hr.submit_*"]}, True),
        ({"tool": "hr.submit"}, False),
        ({"tool": "HR.*"}, False),
        ({"tool": "*"}, True),
        ({"effect": "write"}, True),
        ({"effect": ["read", "irreversible"]}, False),
        ({"role": "employee"}, True),
        ({"role": ["manager", "employee"]}, True),
        ({"role": "manager"}, False),
        ({"when": "principal.id == arguments.user_id"}, True),
        ({"when": "'manager' in principal.roles"}, False),
        ({"when": "tool.effect == 'write' && tool.name.startsWith('hr.') && 'hr' in tool.scopes"}, True),
        (
            {"when": "step == 'submit' && run == 'r1' && tool.sensitivity == 'normal' && !tool.idempotent"},
            True,
        ),
        ({"tool": "hr.*", "effect": "write", "role": "employee", "when": "arguments.days > 5"}, False),
    ],
    ids=str,
)
def test_a_rule_matches_when_all_its_parts_do(rule: dict[str, Any], matches: bool) -> None:
    policy = Policy([Rule.model_validate({"id": "it", "verdict": "ask", **rule})])
    assert (policy.judge(facts()) == Judgement("ask", "it")) is matches


@pytest.mark.parametrize(
    "when",
    [
        "arguments.amount < 100",
        "arguments.days",
        "arguments.days / 0 == 1",
        "arguments.days == 2 && arguments.x",
    ],
)
@pytest.mark.parametrize("verdict", ["allow", "ask", "deny"])
def test_a_condition_that_fails_denies(when: str, verdict: Any) -> None:
    policy = Policy([Rule(id="it", verdict=verdict, when=when), Rule(id="next", verdict="allow")])
    assert policy.judge(facts()) == Judgement("deny", "it")


def test_allowed_writes_come_after_the_rules() -> None:
    policy = Policy(
        [Rule(id="limit", verdict="deny", when="has(arguments.days) && arguments.days > 5")],
        allow_writes=("hr.submit_*",),
    )
    assert policy.judge(facts()) == Judgement("allow", "allow_writes")
    assert policy.judge(facts(arguments={"days": 6})) == Judgement("deny", "limit")
    assert policy.judge(facts("pay.send")) == Judgement("deny", "default.write")
    assert policy.judge(READ) == Judgement("allow", "default.read")
    assert Policy(allow_writes="hr.submit_leave").judge(facts()).verdict == "allow"


def test_the_effect_that_counts_is_that_of_the_call() -> None:
    policy = Policy([Rule(id="it", verdict="allow", effect="read")])
    assert policy.judge(facts("x.y", Effect.READ)).rule == "it"
    assert policy.judge(facts("x.y", Effect.WRITE)) == Judgement("deny", "default.write")


rules = st.builds(
    Rule,
    id=st.uuids().map(str),
    verdict=st.sampled_from(["allow", "deny", "ask"]),
    tool=st.sampled_from([(), ("hr.*",), ("pay.*",), ("*.submit_leave",)]),
    effect=st.sampled_from([(), (Effect.READ,), (Effect.WRITE,)]),
    role=st.sampled_from([(), ("employee",), ("manager",)]),
    when=st.sampled_from([None, "arguments.days > 1", "arguments.days > 5", "arguments.missing"]),
)


@given(st.lists(rules, max_size=5))
def test_a_write_runs_only_where_a_rule_says_so(given_rules: list[Rule]) -> None:
    judgement = Policy(given_rules).judge(facts())
    by_id = {rule.id: rule for rule in given_rules}
    if judgement.verdict == "allow":
        assert by_id[judgement.rule].verdict == "allow"
    assert Policy(given_rules).judge(facts()) == judgement


@given(st.lists(rules, max_size=5), rules)
def test_a_rule_behind_the_one_that_decides_changes_nothing(given_rules: list[Rule], last: Rule) -> None:
    judgement = Policy(given_rules).judge(facts())
    if not judgement.rule.startswith("default."):
        assert Policy([*given_rules, last]).judge(facts()) == judgement


# The file

FILE = """\
# who may do what
allow_writes: [desk.reply]
rules:
  - id: own_leave
    verdict: allow
    tool: hr.submit_leave
    when: principal.id == arguments.user_id
  - {id: managers, verdict: ask, effect: [write, irreversible], role: manager}
screen:
  max_length: 500
"""


def test_a_file_says_what_the_objects_say(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(FILE, encoding="utf-8")
    policy = Policy(
        [
            Rule(
                id="own_leave",
                verdict="allow",
                tool="hr.submit_leave",
                when="principal.id == arguments.user_id",
            ),
            Rule(id="managers", verdict="ask", effect=["write", "irreversible"], role="manager"),
        ],
        allow_writes=["desk.reply"],
    )
    for read in (Policy.read(path), Policy.read(str(path)), Policy.read(FILE)):
        assert read.to_data() == policy.to_data()
        assert read.digest() == policy.digest()


def test_the_digest_depends_on_all_that_decides() -> None:
    rule = Rule(id="a", verdict="allow")
    policies = [
        Policy(),
        Policy([rule]),
        Policy([rule], allow_writes=["x"]),
        Policy([Rule(id="a", verdict="ask")]),
    ]
    assert len({policy.digest() for policy in policies}) == len(policies)


@pytest.mark.parametrize("text", ["", "# nothing\n", "rules: []\n", "allow_writes: hr.submit_leave\n"])
def test_a_file_may_say_little(text: str) -> None:
    assert Policy.read(text).judge(READ).verdict == "allow"


BROKEN = [
    (
        "rules:\n  - id: a\n    verdict: maybe\n",
        "<text>:3:5 rules[0].verdict: must be 'allow', 'deny' or 'ask'",
    ),
    ("rules:\n  - id: a\n    verdict: deny\n    tools: x\n", "<text>:4:5 rules[0].tools: unknown field"),
    ("rules:\n  - verdict: deny\n", "<text>:2:5 rules[0]: 'id' is missing"),
    ("rules:\n  - id: ''\n    verdict: deny\n", "<text>:2:5 rules[0].id"),
    (
        "rules:\n  - id: a\n    verdict: deny\n    effect: [write, wirte]\n",
        "<text>:4:21 rules[0].effect[1]: must be",
    ),
    ("rules:\n  - id: a\n    verdict: deny\n    tool: {x: 1}\n", "<text>:4:5 rules[0].tool"),
    (
        "rules:\n  - {id: a, verdict: deny}\n  - {id: a, verdict: deny}\n",
        "<text>:3:5 rules[1]: the id 'a' is taken",
    ),
    ("rules:\n  - {id: default.read, verdict: deny}\n", "the id 'default.read' is taken"),
    ("rules:\n  - {id: a, verdict: deny, when: 'arguments. >'}\n", "<text>:2:5 rules[0]: when:"),
    (
        "rules:\n  - {id: a, verdict: deny, when: 'argument.x > 1'}\n",
        "<text>:2:5 rules[0]: when: there is no 'argument'",
    ),
    ("rules:\n  - {id: a, verdict: deny, when: true}\n", "<text>:2:"),
    ("rules:\n  - {id: a, verdict: ask, approval: manager}\n", "<text>:2:27 rules[0].approval"),
    ("rules:\n  - {id: a, verdict: ask, approval: }\n", "<text>:2:27 rules[0].approval: has no value"),
    (
        "rules:\n  - {id: a, verdict: allow, approval: {count: 2}}\n",
        "<text>:2:5 rules[0]: approval: the rule does not",
    ),
    ("rules:\n  - {id: a, verdict: allow, role: []}\n", "<text>:2:29 rules[0].role: has no value"),
    ("rules:\n  - id: a\n    verdict: allow\n    when:\n", "<text>:4:5 rules[0].when: has no value"),
    ("rules:\n  - id: a\n    verdict: allow\n    tool:\n", "<text>:4:5 rules[0].tool: has no value"),
    ("people: [mei]\n", "<text>:1:1 people"),
    ("people:\n  mei: 3\n", "<text>:2:3 people.mei"),
    ("people:\n  1001: cfo\n", "<text>:"),
    ("rules: deny\n", "<text>:1:1 rules: must be a list"),
    ("- id: a\n", "<text>:1:1 policy: this is not a mapping"),
    ("rule: []\n", "<text>:1:1 rule: unknown section"),
    ("rules: [\n", "<text>:2:1 is not YAML"),
    ("allow_writes: [1]\n", "allow_writes"),
    ("rules: []\nrules: []\n", "is not YAML"),
    ("rules:\n  - !secret {id: a, verdict: deny}\n  - x\n", "rules[1]"),
]


BROKEN_TERMS = [
    ("roles: []", "roles: has no value"),
    ("roles: ", "roles: has no value"),
    ("role: manager", "role: unknown field"),
    ("expires: 2 hours", "expires: must be a duration"),
    ("expires: 0", "expires: must be a duration"),
    ("expires: -1h", "expires: must be a duration"),
    ("expires: .inf", "expires: must be a duration"),
    ("four_eyes: 1", "four_eyes"),
    ("four_eyes: 'yes'", "four_eyes"),
    ("count: 0", "count"),
    ("count: '2'", "count"),
    ("count: true", "count"),
]


@pytest.mark.parametrize(("terms", "says"), BROKEN_TERMS, ids=[terms for terms, _ in BROKEN_TERMS])
def test_what_is_wrong_in_the_terms_of_an_approval_is_named_with_its_place(terms: str, says: str) -> None:
    with pytest.raises(PolicyError) as caught:
        Policy.read(f"rules:\n  - {{id: a, verdict: ask, approval: {{{terms}}}}}\n")
    assert f"<text>:2:38 rules[0].approval.{says}" in caught.value.message.en


@pytest.mark.parametrize(("text", "says"), BROKEN, ids=[text for text, _ in BROKEN])
def test_what_is_wrong_in_a_file_is_named_with_its_place(text: str, says: str) -> None:
    with pytest.raises(PolicyError) as caught:
        Policy.read(text)
    assert says in caught.value.message.en
    assert caught.value.message.zh != caught.value.message.en


@pytest.mark.parametrize(
    ("part", "en", "zh"),
    [
        ("verdict: maybe", "write one of these: allow, deny, ask", "请写其中之一：allow、deny、ask"),
        ("verdict: ask, approval: {expires: 2 hours}", "as in 30s, 15m, 2h or 1d", "例如 30s、15m、2h 或 1d"),
        ("verdict: ask, approval: {count: 0}", "a number that is 1 or more", "请写不小于 1 的数"),
        ("verdict: ask, approval: {rolez: a}", "roles, count, four_eyes, expires", "可用字段：roles"),
        ("verdict: deny, tool: {a: b}", "write a list", "请写列表"),
    ],
)
def test_the_remedy_is_about_the_value(part: str, en: str, zh: str) -> None:
    with pytest.raises(PolicyError) as caught:
        Policy.read(f"rules:\n  - {{id: a, {part}}}\n")
    assert en in caught.value.hint.en and zh in caught.value.hint.zh
    assert not re.search("Input|String|取值不正确", f"{caught.value.message}")


@pytest.mark.parametrize("name", ["missing.yaml", "folder.yaml", "latin.yaml"])
def test_a_file_that_cannot_be_read_refuses_to_start(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "latin.yaml").write_bytes("rules: [é]".encode("latin-1"))
    with pytest.raises(PolicyError, match=name) as caught:
        Policy.read(str(tmp_path / name))
    assert caught.value.hint.zh


@pytest.mark.parametrize(
    "made",
    [[Rule(id="a", verdict="deny"), Rule(id="a", verdict="ask")], [Rule(id="a", verdict="deny", when="(")]],
)
def test_broken_rules_refuse_to_start_as_objects_too(made: list[Rule]) -> None:
    with pytest.raises(PolicyError, match=r"rules\[[01]\]"):
        Policy(made)
