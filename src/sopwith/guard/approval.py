"""Who may give leave for a call, and whether the leave that was given still holds. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Literal, NamedTuple

from sopwith.errors import Text, UserError
from sopwith.guard.likeness import likeness
from sopwith.guard.permit import Policy
from sopwith.ir.approval import Terms
from sopwith.ir.event import Principal

Void = Literal["expired", "changed"]


class Given(NamedTuple):
    """An approval as it was given: under which terms, for which keyed hash, and until when (µs since 1970)."""

    terms: Terms
    arguments: str | None
    expires_at: int | None


def person(policy: Policy, by: Principal | str, roles: Collection[str] = ()) -> Principal:
    """Who answers, with their roles: those of the policy where only a name is known. `roles` are those wanted.

    Raises `UserError` for a name that a policy with `people` does not have.
    """
    if isinstance(by, Principal):
        return by
    if policy.people and by not in policy.people:
        able = holders(policy, roles)
        raise UserError(
            Text(f"the policy does not know '{by}'", f"策略中没有“{by}”"),
            Text(
                f"say who answers with --by NAME; who may: {', '.join(able) or 'nobody'}",
                f"请用 --by 姓名 说明由谁回答；可回答者：{'、'.join(able) or '无'}",
            ),
        )
    return Principal(id=by, roles=policy.people.get(by, ()))


def hold_to(
    terms: Terms, who: Principal, authors: Iterable[str], earlier: Iterable[str], *, agrees: bool
) -> None:
    """Raise `UserError` where `who` may not give this answer. `authors` have asked for the call, or had a hand in it.

    `earlier` are those who have agreed before. To refuse takes the role alone.
    """
    if terms.roles and not set(terms.roles) & set(who.roles):
        wanted = ", ".join(terms.roles)
        raise UserError(
            Text(f"'{who.id}' has none of the roles: {wanted}", f"“{who.id}”不具备以下角色：{wanted}"),
            Text("let somebody answer who has one", "请由具备该角色的人回答"),
        )
    if not agrees:
        return
    if terms.four_eyes and any(same_person(who.id, name) for name in authors):
        raise UserError(
            Text(
                f"'{who.id}' has asked for this or changed it, and may not approve it",
                f"“{who.id}”是申请人或修改人，不能自己批准",
            ),
            Text("let somebody else answer: four eyes are wanted", "需要四眼原则，请由他人批准"),
        )
    if any(same_person(who.id, name) for name in earlier):
        raise UserError(
            Text(f"'{who.id}' has approved this already", f"“{who.id}”已经批准过"),
            Text(f"{terms.count} different people are wanted", f"需要 {terms.count} 位不同的人批准"),
        )


def joint(one: Terms, other: Terms) -> Terms | None:
    """The terms that meet both; None where each names roles and they have none in common."""
    roles = one.roles or other.roles
    if one.roles and other.roles:
        roles = tuple(role for role in one.roles if role in other.roles)
        if not roles:
            return None
    return Terms(
        roles=roles,
        count=max(one.count, other.count),
        four_eyes=one.four_eyes or other.four_eyes,
        expires=min((e for e in (one.expires, other.expires) if e is not None), default=None),
    )


def may_still(policy: Policy, terms: Terms, name: str) -> bool:
    """Whether leave that was given under `name` counts under the policy in force: it knows the name, with a role."""
    known = not policy.people or name in policy.people
    return known and (not terms.roles or bool(set(terms.roles) & set(policy.people.get(name, ()))))


def voided(given: Given, terms: Terms, arguments: str, at: int) -> Void | None:
    """Why an approval does not hold for a call that is to start at `at` under the `terms` in force; None if it does."""
    if given.arguments != arguments or given.terms != terms:
        return "changed"
    return "expired" if given.expires_at is not None and at > given.expires_at else None


def same_person(one: str, other: str) -> bool:
    """Whether two names are one person's: case, width, spaces and what is not seen make no other person."""
    return _plain(one) == _plain(other)


def holders(policy: Policy, roles: Collection[str]) -> tuple[str, ...]:
    """The people of a policy who have one of `roles`; all of them where there are none."""
    return tuple(name for name, has in policy.people.items() if not roles or set(roles) & set(has))


def _plain(name: str) -> str:
    return " ".join(likeness(likeness(name).casefold()).split())
