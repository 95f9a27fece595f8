"""Leave for what a step does: by a rule of the policy, by the `approval` of steps, or by both."""

from __future__ import annotations

from sopwith.guard.approval import Given, Void, joint, may_still, voided
from sopwith.ir.approval import NO_TERMS, Terms
from sopwith.ir.event import Verdict
from sopwith.run.actor import Actor
from sopwith.run.book import Book
from sopwith.run.state import Cursor


def with_approval(
    actor: Actor, cursor: Cursor, what: str, verdict: Verdict, rule: str, terms: Terms
) -> tuple[Verdict, str, Terms]:
    """A verdict of the policy, and what the steps want of a call of `what` (a tool or a procedure): they ask also where
    the policy allows, and never allow.

    Where several name roles and nobody can have one of each list, nothing may be done.
    """
    if verdict == "deny":
        return verdict, rule, terms
    for step in wanting(actor.book, cursor.step, what):
        place = f"steps.{step}.approval"
        own = actor.book.procedure.steps[step].approval or NO_TERMS
        if verdict == "allow":
            verdict, rule, terms = "ask", place, own
            continue
        both = joint(own, terms)
        if both is None:
            return "deny", place, NO_TERMS
        terms = both
    return verdict, rule, terms


def wanting(book: Book, at: str, what: str) -> tuple[str, ...]:
    """The steps whose `approval` holds for a call of `what` at the step `at`.

    A step's own `approval` holds for its own call, and that of a free step for every call in it. Where a model chooses
    among tools, a tool that steps want leave for needs that of all of them, wherever the model calls it.
    """
    node, steps = book.machine.nodes[at].working, book.procedure.steps
    own = () if node.step.approval is None else (at,)
    if not node.open:
        return own
    if node.tool is not None and node.tool.name == what and own:
        return own
    asks = own if node.kind == "free" else ()
    return (*asks, *(name for name, one in steps.items() if one.approval and one.tool == what))


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
