"""The events of people: what they are asked and say, and what they do to a run."""

from __future__ import annotations

from typing import Literal

from sopwith.ir.body import Body
from sopwith.ir.value import Json


class HumanAsked(Body):
    """A person is asked: for an answer (`ask`), for leave to call (`approval`), or for what a tool wants to know in the
    middle of its call (`input`; of one item of a list, where `items` names it).

    For leave: the keyed hash of the arguments, the rule that asks, and its terms; `expires_at` is in µs since 1970.
    One question may be for many calls of a step over a list: then `items` are their places in it and `hashes` their
    keyed hashes, in the same order.
    """

    kind: Literal["human.asked"] = "human.asked"
    question: str
    what: Literal["ask", "approval", "input"] = "ask"
    answer_schema: dict[str, Json] | None = None
    arguments: str | None = None
    rule: str | None = None
    roles: tuple[str, ...] = ()
    count: int = 1
    four_eyes: bool = False
    expires_at: int | None = None
    items: tuple[int, ...] = ()
    hashes: tuple[str, ...] = ()


class HumanAnswered(Body):
    """A person's answer, who gave it, with which roles, and why (where they said so).

    `named`: only the name was given, and the roles are those that the policy had for it.
    """

    kind: Literal["human.answered"] = "human.answered"
    answer: Json
    by: str
    roles: tuple[str, ...] = ()
    named: bool = False
    why: str | None = None


class CancelAsked(Body):
    """Somebody wants the run to end. Whoever drives it ends it as cancelled before it does anything else."""

    kind: Literal["cancel.asked"] = "cancel.asked"
    by: str
    why: str | None = None


class RunTakenOver(Body):
    """A person has taken over a run that had escalated or failed: it has no outcome any more, and waits for them."""

    kind: Literal["run.taken_over"] = "run.taken_over"
    by: str
    why: str | None = None


class RunHandedBack(Body):
    """The person who had taken the run over gives it back: it goes on at the step `to`.

    `done`: that step's own work has been done, and its name has a value; only its check and the way on are left.
    `items`: what is done of the items of that step stays so, and the others are done now.
    """

    kind: Literal["run.handed_back"] = "run.handed_back"
    by: str
    to: str
    done: bool = False
    items: bool = False


class FeedbackGiven(Body):
    """Somebody's verdict on a run; may follow its end."""

    kind: Literal["feedback.given"] = "feedback.given"
    good: bool
    why: str | None = None
    by: str
