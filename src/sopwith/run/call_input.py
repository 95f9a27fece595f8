"""Calls that have asked a person, continued with the answer."""

from __future__ import annotations

from sopwith.errors import Text
from sopwith.ir.event import AlertRaised
from sopwith.ir.input_request import CallContinued, InputWanted
from sopwith.ir.tool import Effect, ErrorData
from sopwith.ir.value import Json
from sopwith.run.actor import Actor
from sopwith.run.call_pause import give_up
from sopwith.run.decide_input import reply_of, secret_fields
from sopwith.run.decision import ContinueCall
from sopwith.run.effects import came_back, judge_call, keep_lease, made


async def continue_call(actor: Actor, decision: ContinueCall) -> None:
    """Go on with a call that was paused. That it goes on is on disk before the tool hears of it."""
    state, journal, tool = actor.state, actor.journal, decision.tool
    cursor = state.cursor
    if cursor is None or cursor.wanted is None:
        raise ValueError("no call is paused")
    judged = judge_call(actor, tool, decision.arguments, cursor, proposed=False)
    if judged.verdict == "deny" or (judged.verdict == "ask" and cursor.approved is not True):
        message = FORBIDDEN.in_(actor.book.language).format(tool.name, judged.rule)
        give_up(actor, tool, cursor, ErrorData(code="denied", message=message))
        await journal.flush(durable=True)
        return
    answer: Json = None if cursor.answer is None else actor.values.true(cursor.answer[0])
    wanted = InputWanted.model_validate(actor.values.true(cursor.wanted.model_dump(mode="json")))
    reply = reply_of(wanted, answer)
    actor.emit(CallContinued(tool=tool.name, declined=reply.declined), cursor.started)
    for key in reply.declined:
        fields = ", ".join(secret_fields(wanted.forms[key]))
        said = actor.redact_mixed(SECRET.in_(actor.book.language).format(tool.name, fields))
        actor.emit(AlertRaised(code="input.secret", message=said), cursor.started)
    writes = tool.effect is not Effect.READ
    if writes:
        await journal.flush(durable=True)
        await keep_lease(actor)
    result, ms = await made(
        actor,
        decision.seconds,
        lambda seconds: actor.around.catalogue.go_on(
            tool.name, decision.arguments, reply.given, key=decision.key, seconds=seconds
        ),
        writes=writes,
    )
    await came_back(actor, tool, decision.name, result, ms)


FORBIDDEN = Text("{} may not go on under the rules in force ({})", "现行规则不允许 {} 继续（{}）")
SECRET = Text(
    "{} wants a secret in a form ({}): nobody was asked, and it was told no",
    "{} 想通过表单索取密钥（{}）：未询问任何人，已代为拒绝",
)
