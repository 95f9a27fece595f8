"""A person's answer to what a run asks: checked against the question and, for leave to call, against its terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from sopwith.errors import Text, UserError, ValueErased
from sopwith.guard.approval import hold_to, person
from sopwith.ir.event import HumanAnswered, HumanAsked, Principal
from sopwith.ir.schema import together, validator
from sopwith.ir.value import Json, storable
from sopwith.run.actor import Actor

_ERASED = Text("what could be answered was erased", "可供选择的回答已被清除")
_TAKE_OVER = Text("cancel the run, and start a new one", "请取消该运行，并开始新的运行")
ANSWER_HINT = Text("answer with `sopwith resume RUN --answer …`", "用 sopwith resume RUN --answer … 回答")


def answered(
    driver: Actor,
    asked: HumanAsked,
    answer: Json,
    by: Principal | str,
    why: str | None = None,
    makers: Sequence[str] = (),
) -> HumanAnswered:
    """The answer as it may be written; `makers` are the people who have changed the other runs of its task.

    Raises `UserError` for one that does not fit the question, and for one that `by` may not give; then nothing has
    happened.
    """
    try:
        schema = cast("dict[str, Json]", driver.values.true(asked.answer_schema or {}))
    except ValueErased as error:
        raise UserError(_ERASED, _TAKE_OVER) from error
    problems = validator(schema).problems(answer)
    if problems:
        said = together(problems)
        raise UserError(Text(f"the answer does not fit: {said.en}", f"回答不合要求：{said.zh}"), ANSWER_HINT)
    who = by if isinstance(by, Principal) else Principal(id=by)
    if asked.what == "approval":
        who = voter(driver, by, makers, agrees=answer is True)
    return HumanAnswered(
        answer=driver.redact(storable(answer)),
        by=str(driver.redact(storable(who.id))),
        roles=who.roles,
        named=isinstance(by, str),
        why=None if why is None else str(driver.redact(storable(why))),
    )


def voter(driver: Actor, by: Principal | str, others: Sequence[str], *, agrees: bool) -> Principal:
    """Whoever gives or refuses leave, with their roles. The people of the policy in force count.

    Raises `UserError` for somebody who may not.
    """
    state = driver.journal.state
    cursor = state.cursor
    who = person(driver.around.policy, by, () if cursor is None else cursor.terms.roles)
    if cursor is None:
        return who
    terms = cursor.terms
    try:
        makers = (state.principal.id, *state.operators) if agrees and terms.four_eyes else ()
        authors = [*(str(driver.values.true(name)) for name in makers), *others]
        earlier = [str(driver.values.true(vote.by)) for vote in cursor.votes] if agrees else []
    except ValueErased as error:
        raise UserError(FORGOTTEN, refuse_it(state.run)) from error
    hold_to(terms, who, authors, earlier, agrees=agrees)
    return who


FORGOTTEN = Text(
    "who asked for this, or who approved it before, was erased: nobody can tell whether this is somebody else",
    "申请人或先前批准人的信息已被清除，无法判断批准人是否为另一人",
)


def refuse_it(run: str) -> Text:
    return Text(
        f"refuse it: sopwith deny {run}, and start a new run", f"请拒绝：sopwith deny {run}，并开始新的运行"
    )
