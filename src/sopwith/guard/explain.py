"""Why a policy judges a call as it does: what became of each rule, in their order. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sopwith.errors import ExpressionError, Text
from sopwith.guard.permit import CallFacts, Judgement, Policy, Rule, fits_any, scope_of
from sopwith.ir.value import Json


class Tried(NamedTuple):
    """One rule and a call: whether it decided, and why it did or did not."""

    rule: str
    decided: bool
    why: Text


class Explanation(NamedTuple):
    """A judgement, and the rules that were tried on the way to it; those behind the one that decided are not."""

    judgement: Judgement
    tried: tuple[Tried, ...]


def explain(policy: Policy, facts: CallFacts) -> Explanation:
    """The judgement of a call with the reasons for it."""
    return Explanation(policy.judge(facts), tuple(_tried(policy, facts)))


def _tried(policy: Policy, facts: CallFacts) -> Iterator[Tried]:
    for rule in policy.rules:
        missed = _missed(rule, facts)
        if missed is not None:
            yield Tried(rule.id, False, missed)
            continue
        decided, why = _condition(policy, rule, scope_of(facts))
        yield Tried(rule.id, decided, why)
        if decided:
            return


def _missed(rule: Rule, facts: CallFacts) -> Text | None:
    """The part of a rule that the call does not meet; None where it meets all but the condition."""
    tool, roles = facts.tool, facts.principal.roles
    if rule.tool and not fits_any(tool.name, rule.tool):
        listed = ", ".join(rule.tool)
        return Text(f"the tool is not {listed}", f"工具不是 {listed}")
    if rule.effect and tool.effect not in rule.effect:
        listed = ", ".join(rule.effect)
        return Text(f"the effect is {tool.effect}, not {listed}", f"副作用是 {tool.effect}，不是 {listed}")
    if rule.role and not set(rule.role) & set(roles):
        listed = ", ".join(rule.role)
        return Text(f"the principal has none of the roles {listed}", f"主体不具备角色 {listed}")
    return None


def _condition(policy: Policy, rule: Rule, scope: dict[str, Json]) -> tuple[bool, Text]:
    condition = policy.conditions.get(rule.id)
    if condition is None:
        return True, Text("it matches", "匹配")
    when = condition.source
    try:
        holds = condition.evaluate(scope)
    except ExpressionError as error:
        return True, Text(
            f"`{when}` fails, which denies: {error.message.en}",
            f"`{when}` 无法求值，按拒绝处理：{error.message.zh}",
        )
    if holds is True:
        return True, Text(f"`{when}` is true", f"`{when}` 成立")
    if holds is False:
        return False, Text(f"`{when}` is false", f"`{when}` 不成立")
    return True, Text(
        f"`{when}` is neither true nor false, which denies", f"`{when}` 既非真也非假，按拒绝处理"
    )
