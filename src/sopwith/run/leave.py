"""Leave for what a step does: by a rule of the policy, by the step's own `approval`, or by both."""

from __future__ import annotations

from sopwith.guard.approval import Given, Void, joint, may_still, voided
from sopwith.ir.approval import NO_TERMS, Terms
from sopwith.ir.event import Verdict
from sopwith.run.actor import Actor
from sopwith.run.state import Cursor


def with_approval(
    actor: Actor, cursor: Cursor, verdict: Verdict, rule: str, terms: Terms
) -> tuple[Verdict, str, Terms]:
    """A verdict of the policy, and what the step itself wants: it asks also where the policy allows, and never allows.

    Where both name roles and nobody can have one of both lists, nothing may be done.
    """
    own = actor.book.machine.nodes[cursor.step].step.approval
    if own is None or verdict == "deny":
        return verdict, rule, terms
    place = f"steps.{cursor.step}.approval"
    if verdict == "allow":
        return "ask", place, own
    both = joint(own, terms)
    return ("deny", place, NO_TERMS) if both is None else ("ask", rule, both)


def void_of(actor: Actor, cursor: Cursor, terms: Terms, judged: str) -> Void | None:
    """Why leave that was given does not hold for what was `judged` just now under `terms`; None where it does."""
    given = Given(cursor.terms, cursor.judged, cursor.expires_at)
    void = voided(given, terms, judged, max(actor.around.clock(), actor.journal.state.at))
    return "changed" if void is None and not _may_all_still(actor, cursor) else void


def _may_all_still(actor: Actor, cursor: Cursor) -> bool:
    """Whether everybody who gave leave may give it under the policy in force. The roles that a caller vouched for stay
    as they are."""
    policy = actor.around.policy
    return all(
        may_still(policy, cursor.terms, str(actor.values.true(vote.by)))
        for vote in cursor.votes
        if vote.named
    )
