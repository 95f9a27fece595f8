"""A person's answer to what a run asks: checked against the question and, for leave to call, against its terms."""

from __future__ import annotations

from sopwith.errors import Text, UserError
from sopwith.guard.approval import hold_to, person
from sopwith.ir.event import HumanAnswered, HumanAsked, Principal
from sopwith.ir.schema import together, validator
from sopwith.ir.value import Json, storable
from sopwith.run.actor import Actor

ANSWER_HINT = Text("answer with `sopwith resume RUN --answer …`", "用 sopwith resume RUN --answer … 回答")


def answered(
    driver: Actor, asked: HumanAsked, answer: Json, by: Principal | str, why: str | None = None
) -> HumanAnswered:
    """The answer as it may be written.

    Raises `UserError` for one that does not fit the question, and for one that `by` may not give; then nothing has
    happened.
    """
    problems = validator(asked.answer_schema or {}).problem_texts(answer)
    if problems:
        said = together(problems)
        raise UserError(Text(f"the answer does not fit: {said.en}", f"回答不合要求：{said.zh}"), ANSWER_HINT)
    who = by if isinstance(by, Principal) else Principal(id=by)
    if asked.what == "approval":
        who = _voter(driver, by, agrees=answer is True)
    return HumanAnswered(
        answer=driver.redact(storable(answer)),
        by=str(driver.redact(storable(who.id))),
        roles=who.roles,
        why=None if why is None else str(driver.redact(storable(why))),
    )


def _voter(driver: Actor, by: Principal | str, *, agrees: bool) -> Principal:
    """Whoever gives or refuses leave, with their roles. The people of the policy in force count."""
    state = driver.journal.state
    cursor = state.cursor
    who = person(driver.around.policy, by, () if cursor is None else cursor.terms.roles)
    if cursor is not None:
        earlier = [str(driver.values.true(vote.by)) for vote in cursor.votes]
        hold_to(cursor.terms, who, driver.principal(state).id, earlier, agrees=agrees)
    return who
