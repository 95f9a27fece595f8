"""Calls of procedures on the side of the caller: leave, the message, and what comes back."""

from __future__ import annotations

import json
from typing import Any

from sopwith.errors import Text, ValueErased
from sopwith.guard.budget import reserve
from sopwith.ir.approval import NO_TERMS
from sopwith.ir.event import CallJudged, CallProposed
from sopwith.ir.message import DEPTH, MessageReceived, MessageSent
from sopwith.ir.outcome import Outcome
from sopwith.ir.place import step_id
from sopwith.ir.procedure import Procedure
from sopwith.ir.schema import together, validator
from sopwith.ir.spoken import spoken
from sopwith.ir.tool import ErrorData
from sopwith.ir.usage import Budget
from sopwith.ir.value import Json, canonical, digest
from sopwith.run.actor import Actor
from sopwith.run.decision import FailStep, SendMessage
from sopwith.run.journal import Journal
from sopwith.run.leave import void_of, with_approval
from sopwith.run.state import Child, Cursor, State
from sopwith.run.step_error import step_error

DEADLINE = "deadline"
"""Who has cancelled a run that was not done in time."""

CALLER = "caller"
"""Who has cancelled a run that its caller does not wait for any more."""

UNKNOWN = Text("there is no procedure “{}” in this run", "本次运行中没有流程“{}”")
TOO_DEEP = Text("calls are more than {} deep", "调用超过 {} 层")
LATE = Text("the procedure {} was not done in time", "流程 {} 未能按时完成")
ERASED = Text("what the procedure {} gave was erased", "流程 {} 的结果已被清除")
ENDED = Text("the procedure {} ended as {}", "流程 {} 已结束：{}")


async def send_message(actor: Actor, decision: SendMessage) -> None:
    """Call a procedure, where that can be done and is allowed. The message is on disk before a run is made of it."""
    state = actor.state
    cursor = state.cursor or Cursor("", 1, state.at)
    version = state.procedures.get(decision.procedure)
    error = await _refused(actor, cursor, decision, version)
    if error is not None or version is None:
        actor.fail_step(FailStep(error or ErrorData(code="unknown_procedure", message=decision.procedure)))
        return
    if not _may_send(actor, cursor, decision):
        return
    name = digest(f"{state.run}\n{cursor.instance}\n{decision.attempt}".encode())
    actor.emit(
        MessageSent(
            message_id=name[:32],
            sender=state.run,
            receiver=name[:16],
            task_id=state.task,
            payload=actor.redact(decision.inputs),
            procedure_id=decision.procedure,
            procedure=version,
            budget=_share_of(actor, cursor, decision),
            deadline=_deadline(actor, cursor),
            attempt=decision.attempt,
        )
    )
    await actor.journal.flush(durable=True)


def _share_of(actor: Actor, cursor: Cursor, decision: SendMessage) -> Budget:
    """What the child may use of what is left; without a share, items that are at work at once have equal ones."""
    state, each = actor.state, actor.book.machine.nodes[cursor.step].each
    share = decision.share
    least = 1 if share is None else 0
    if share is None:
        share = 1.0 if each is None else 1.0 / each.at_once
    held = [child.sent.budget for child in state.children.values()]
    return reserve(state.budget, state.usage, share, seconds=state.seconds, held=held, least=least)


def _deadline(actor: Actor, cursor: Cursor) -> int | None:
    """Until when the call is waited for: no longer than the run itself."""
    state, seconds = actor.state, actor.book.machine.nodes[cursor.step].step.timeout
    own = None if seconds is None else max(actor.around.clock(), state.at) + round(seconds * 1e6)
    return min((at for at in (own, state.deadline) if at is not None), default=None)


async def _refused(
    actor: Actor, cursor: Cursor, decision: SendMessage, version: str | None
) -> ErrorData | None:
    """Why the procedure cannot be called so."""
    node = actor.book.machine.nodes[cursor.step]
    if version is None:
        return step_error(actor.book, node, "unknown_procedure", UNKNOWN, decision.procedure)
    if actor.state.depth >= DEPTH:
        return step_error(actor.book, node, "depth", TOO_DEEP, DEPTH)
    callee = await procedure_of(actor.journal, version)
    problems = _misfits(callee, decision.inputs)
    if problems:
        message = together(problems).in_(actor.book.language)
        return ErrorData(code="invalid_arguments", message=message, step=node.step.id)
    return None


async def procedure_of(journal: Journal, version: str) -> Procedure:
    """A pinned version of a procedure."""
    await journal.load([version])
    return Procedure.from_data(json.loads(journal.blob(version)))


def _misfits(callee: Procedure, inputs: dict[str, Json]) -> list[Text]:
    passed = {name: one.schema_ for name, one in callee.inputs.items() if one.from_ is None}
    found = [
        Text(f"{name}: not an input of {callee.id}", f"{name}：不是 {callee.id} 的输入")
        for name in inputs
        if name not in passed
    ]
    found += [Text(f"{name}: missing", f"{name}：缺少") for name in passed if name not in inputs]
    for name, schema in passed.items():
        if name in inputs:
            wrong = validator(schema).problems(inputs[name])
            found += [Text(f"{name}: {said.en}", f"{name}：{said.zh}") for said in wrong]
    return found


def _may_send(actor: Actor, cursor: Cursor, decision: SendMessage) -> bool:
    """Whether nobody has to give leave first, or leave that was given holds: for this version and these inputs."""
    if actor.book.machine.nodes[cursor.step].step.approval is None:
        return True
    cause = None
    if not decision.proposed:
        cause = actor.emit(CallProposed(tool=decision.procedure, arguments=actor.redact(decision.inputs)))
    body = judge_message(
        actor, decision.procedure, decision.inputs, actor.state.cursor or cursor, proposed=decision.proposed
    )
    actor.emit(body, cause)
    return actor.state.dry_run or (decision.proposed and cursor.approved is True and body.void is None)


def judge_message(
    actor: Actor, procedure: str, inputs: dict[str, Json], cursor: Cursor, *, proposed: bool
) -> CallJudged:
    """What a step wants of a call of `procedure`, and whether the approval of one that was `proposed` before holds."""
    verdict, rule, terms = with_approval(actor, cursor, procedure, "allow", "", NO_TERMS)
    version = actor.state.procedures.get(procedure, "")
    what = f"{cursor.instance}\n{procedure}\n{version}\n".encode() + canonical(inputs)
    judged = actor.around.redactor.keyed_hash(what)
    void = void_of(actor, cursor, terms, judged) if proposed and cursor.approved is True else None
    return CallJudged(verdict=verdict, rule=rule, arguments=judged, terms=terms, void=void)


def never_began(caller: Actor, run: str, call: Child) -> MessageReceived:
    """What comes back from a call that is given up before a run was made of it. One that is made later sees that."""
    return MessageReceived(
        message_id=call.sent.message_id,
        sender=run,
        receiver=caller.journal.run,
        task_id=caller.journal.task,
        outcome="cancelled",
        error=_error(
            caller,
            call,
            "cancelled",
            ENDED.in_(caller.book.language).format(
                call.sent.procedure_id, spoken("cancelled").in_(caller.book.language)
            ),
        ),
    )


def received(caller: Actor, child: Actor, call: Child) -> MessageReceived:
    """What comes back from a run that has ended, as its caller may write it."""
    ended = child.journal.state
    outcome: Outcome | None = ended.outcome
    if outcome is None:
        raise ValueError(f"the run {ended.run} has not ended")
    name: str | None = None
    stored: dict[str, Any] = {}
    error: ErrorData | None = None
    if outcome.kind == "completed":
        try:
            true = child.values.true(outcome.output)
            _learn(caller, child, child.values.whole(outcome.output))
            name = caller.book.machine.nodes[step_id(call.step)].writes
            stored = caller.journal.stored(caller.redact(true))
        except ValueErased:
            error = _error(
                caller, call, "erased", ERASED.in_(caller.book.language).format(call.sent.procedure_id)
            )
    else:
        error = error_of(caller, child, call)
    return MessageReceived(
        message_id=call.sent.message_id,
        sender=ended.run,
        receiver=caller.journal.run,
        task_id=ended.task,
        outcome=outcome.kind,
        name=name,
        error=error,
        usage=ended.usage,
        seconds=round(ended.seconds, 3),
        wrote=wrote(ended),
        **stored,
    )


def wrote(ended: State) -> bool:
    """Whether a write of a run has acted, or may have."""
    return bool(ended.written or ended.open or ended.acting)


def error_of(caller: Actor, child: Actor, call: Child) -> ErrorData:
    """The error of a call whose run has ended in another way than completed."""
    ended, language = child.journal.state, caller.book.language
    outcome = ended.outcome
    kind = "failed" if outcome is None else outcome.kind
    late = call.sent.deadline is not None and ended.at >= call.sent.deadline
    if kind == "cancelled" and late and ended.cancelled_by is not None and ended.cancelled_by[0] == DEADLINE:
        return _error(caller, call, "timeout", LATE.in_(language).format(call.sent.procedure_id))
    said = ENDED.in_(language).format(call.sent.procedure_id, spoken(kind).in_(language))
    reason = "" if outcome is None or outcome.packet is None else outcome.packet.reason
    _learn(caller, child, reason)
    try:
        true = str(child.values.true(reason))
    except ValueErased:
        true = ""
    return _error(caller, call, kind, f"{said}: {true}" if true else said)


def _learn(caller: Actor, child: Actor, told: Json) -> None:
    """What a run hides in what it gives to its caller is secret there too."""
    caller.around.redactor.learn_secrets(child.around.redactor.hidden(told))


def _error(caller: Actor, call: Child, code: str, message: str) -> ErrorData:
    return ErrorData(code=code, message=str(caller.redact(message)), step=step_id(call.step))
