"""What is legal and still worth a word: arms, judgements, sizes, what nothing uses; and what is left in peace."""

from __future__ import annotations

import pytest
from tests.lang.check.tools import TOOLS

from sopwith.lang.check import check
from sopwith.lang.check.vague import vague
from sopwith.lang.yaml import read_yaml

HEAD = "schema: sopwith/procedure/1\nid: p\nstart: s\n"


def codes(text: str, known: bool = True) -> list[str]:
    return [d.code for d in check(read_yaml(HEAD + text, "p.yaml"), TOOLS if known else None)]


def arms(short: int, long: int, last: str = "end: complete", back: str = "") -> str:
    """A branch with two arms of so many steps that end by themselves."""
    text = "inputs: {new: {type: boolean}}\nsteps:\n  s:\n    next: [{to: a1, when: inputs.new}, {otherwise: b1}]\n"
    for arm, count in (("a", short), ("b", long)):
        for i in range(1, count):
            text += f"  {arm}{i}: {{next: {arm}{i + 1}}}\n"
        closing = back if arm == "a" and back else last
        text += f"  {arm}{count}: {{{closing}}}\n"
    return text


def test_two_long_arms_that_share_nothing_are_told() -> None:
    told = [d for d in check(read_yaml(HEAD + arms(5, 6), "p.yaml")) if d.code == "SW221"]
    assert [d.message.en for d in told] == [
        "the arm from 'a1' (5 steps) never rejoins the other (6 steps): they share no step"
    ]
    assert (told[0].place.line, told[0].step) == (7, "s")


@pytest.mark.parametrize(
    "text",
    [
        arms(4, 6),  # a short arm ends where it likes
        arms(5, 6, last="end: escalate"),  # giving a case to a person joins nothing, and is no line
        arms(5, 6, back="next: s"),  # it comes back to where it began
        arms(5, 6, back="next: b6"),
    ],
)
def test_an_arm_that_ends_soon_escalates_or_returns_is_left_in_peace(text: str) -> None:
    assert "SW221" not in codes(text)


@pytest.mark.parametrize(
    "words",
    [
        "if appropriate, ask a person", "hand over when necessary", "the model thinks fit", "As you see fit",
        "a refund seems reasonable", "use your judgement", "depending on the situation", "视情况转人工",
        "必要时通知主管",
        "酌情处理", "如有必要，升级", "模型认为合适",
    ],
)  # fmt: skip
def test_words_that_name_nothing_observable(words: str) -> None:
    assert vague(words) is not None


@pytest.mark.parametrize(
    "words",
    [
        "the customer asks for a refund", "除请假外还提出了别的诉求", "a date is named",
        "the contract requires a signature",
        "the customer thinks the price is too high", "客户说需要发票",
        "it is about a necessary document", "客户情况说明缺失",
    ],
)  # fmt: skip
def test_words_that_do(words: str) -> None:
    assert vague(words) is None


JUDGED = """\
inputs: {{request: {{type: string}}}}
steps:
  s:
    do: Read it.
    uses: [{uses}]
    returns: {returns}
    next:
      - {{to: z, judge: {judge}}}
      - otherwise: z
  z: {{end: escalate}}
"""
TOPIC = "{type: object, properties: {topic: {enum: [leave, pay]}, text: {type: string}}}"


@pytest.mark.parametrize(
    ("uses", "returns", "judge", "expected"),
    [
        ("", "{enum: [leave, pay]}", "it is about money", ["SW224"]),  # nothing else is shown
        ("", "{type: boolean}", "it was agreed to", ["SW224"]),
        ("inputs.request", "{enum: [leave, pay]}", "it is about money", ["SW324"]),
        ("inputs.request", TOPIC, "the topic is pay", ["SW224"]),
        ("inputs.request", TOPIC, "s.topic 是 leave", ["SW224"]),
        ("inputs.request", TOPIC, "the customer is in a hurry", []),
        ("inputs.request", TOPIC, "they pay for this topical drug", []),
        ("", "{type: string}", "it is about money", []),
    ],
)
def test_a_judgement_over_listed_values_is_a_condition(
    uses: str, returns: str, judge: str, expected: list[str]
) -> None:
    text = JUDGED.format(uses=uses, returns=returns, judge=judge)
    assert [c for c in codes(text) if c != "SW324"] == [c for c in expected if c != "SW324"]


UNUSED = """\
tools: [hr.balance]
inputs: {user_id: {type: string}}
steps:
  s: {tool: hr.balance, with: {user_id: "${inputs.user_id}"}, as: left, next: z}
  z: {answer: "Tell ${left.days}.", end: complete}
"""


def test_what_is_used_is_left_in_peace() -> None:
    assert codes(UNUSED) == []


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("${left.days}", "hello", "SW323"),
        ("as: left, ", "", "SW302"),
        ('"${inputs.user_id}"', "u1", "SW324"),
        ("[hr.balance]", "[hr.balance, hr.submit]", "SW410"),
    ],
)
def test_what_is_not_is_told(old: str, new: str, code: str) -> None:
    assert codes(UNUSED.replace(old, new)) == [code]


@pytest.mark.parametrize("grip", ["free", "guide"])
def test_a_model_that_sees_everything_may_use_everything(grip: str) -> None:
    text = f"grip: {grip}\n" + UNUSED.replace("${left.days}", "hello").replace(
        "hr.balance]", "hr.balance, hr.submit]"
    )
    assert [code for code in codes(text) if code != "SW502"] == []


def test_a_lookup_whose_failure_leads_somewhere_is_used() -> None:
    text = (
        UNUSED.replace("as: left, ", "on_error: y, ").replace("${left.days}", "hello")
        + "  y: {end: escalate}\n"
    )
    assert codes(text) == []
    assert codes(text.replace("on_error: y, ", "").replace("  y: {end: escalate}\n", "")) == ["SW323"]


def test_nothing_is_called_unused_where_something_else_is_wrong() -> None:
    assert codes(UNUSED.replace("left.days", "lfet.days")) == ["SW302"]


def test_a_dozen_steps_beside_the_ends_are_enough() -> None:
    def chain(count: int) -> str:
        steps = "".join(f"  {'s' if i == 0 else f's{i}'}: {{next: s{i + 1}}}\n" for i in range(count))
        return f"steps:\n{steps}  s{count}: {{end: escalate}}\n"

    assert codes(chain(12)) == []
    assert codes(chain(13)) == ["SW222"]
