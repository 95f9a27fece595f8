"""Why a call is judged so: the reasons are those of the judgement, always."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.guard.test_permit import facts, rules

from sopwith.guard.explain import explain
from sopwith.guard.permit import CallFacts, Policy, Rule
from sopwith.ir.event import Principal
from sopwith.ir.tool import Effect, ToolSpec

calls = st.builds(
    lambda name, effect, roles, days: CallFacts(
        Principal(id="u1", roles=roles), ToolSpec(name=name, effect=effect), days, "submit", "r1"
    ),
    st.sampled_from(["hr.submit_leave", "pay.send", "time.now"]),
    st.sampled_from(list(Effect)),
    st.sampled_from([(), ("employee",), ("manager", "employee")]),
    st.sampled_from([{}, {"days": 2}, {"days": 9}, {"days": "x"}]),
)


@given(st.lists(rules, max_size=6), calls)
def test_the_reasons_lead_to_the_judgement(given_rules: list[Rule], call: CallFacts) -> None:
    policy = Policy(given_rules)
    found = explain(policy, call)
    assert found.judgement == policy.judge(call)
    decided = [tried.rule for tried in found.tried if tried.decided]
    assert decided == ([] if found.judgement.rule.startswith("default.") else [found.judgement.rule])
    assert [tried.rule for tried in found.tried] == [rule.id for rule in given_rules][: len(found.tried)]
    assert all(tried.why.en and tried.why.zh for tried in found.tried)


@given(st.lists(rules, max_size=6), calls)
def test_the_first_rule_that_matches_decides_whatever_follows(
    given_rules: list[Rule], call: CallFacts
) -> None:
    """The judgement is that of the first rule which, alone, would have decided."""
    alone = [Policy([rule]).judge(call) for rule in given_rules]
    first = next((one for one in alone if not one.rule.startswith("default.")), Policy().judge(call))
    assert Policy(given_rules).judge(call) == first


@given(st.lists(rules, max_size=6), calls)
def test_a_write_that_no_rule_can_judge_is_never_let_through(
    given_rules: list[Rule], call: CallFacts
) -> None:
    """Without arguments every condition fails, and without a rule a write is denied."""
    blind = CallFacts(call.principal, call.tool, {}, call.step, call.run)
    judgement = Policy(given_rules).judge(blind)
    deciding = next((rule for rule in given_rules if rule.id == judgement.rule), None)
    if deciding is None:
        assert judgement.verdict == ("allow" if call.tool.effect is Effect.READ else "deny")
    elif deciding.when is not None:
        assert judgement.verdict == "deny"
    else:
        assert judgement.verdict == deciding.verdict


def test_each_reason_names_what_did_not_match() -> None:
    policy = Policy(
        [
            Rule(id="tool", verdict="allow", tool=("pay.*", "desk.reply")),
            Rule(id="effect", verdict="allow", effect="irreversible"),
            Rule(id="role", verdict="allow", role="manager"),
            Rule(id="false", verdict="allow", when="arguments.days > 5"),
            Rule(id="fails", verdict="allow", when="arguments.missing"),
            Rule(id="behind", verdict="deny"),
        ]
    )
    found = explain(policy, facts())
    assert [(tried.rule, tried.why.en) for tried in found.tried][:4] == [
        ("tool", "the tool is not pay.*, desk.reply"),
        ("effect", "the effect is write, not irreversible"),
        ("role", "the principal has none of the roles manager"),
        ("false", "`arguments.days > 5` is false"),
    ]
    assert found.tried[-1].rule == "fails"
    assert found.tried[-1].why.en.startswith("`arguments.missing` fails, which denies")
    assert found.judgement == ("deny", "fails")
