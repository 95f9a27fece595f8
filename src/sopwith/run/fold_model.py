"""The state after events of what models say and write."""

from __future__ import annotations

from sopwith.ir.event import Body, Event, ModelReplied, ModelRequested, ReplyRejected, ValueStored
from sopwith.ir.tool import ErrorData
from sopwith.models.port import ModelReply
from sopwith.run.state import Cursor, State
from sopwith.run.state_change import NOT_APPROVED, Fold, bind, change, change_cursor, close_exchange


def _asked(state: State, event: Event, body: ModelRequested) -> None:
    cursor = state.cursor or Cursor("", 1, event.at)
    change(state, cursor=cursor.changed(asked=body.purpose), tail=body.tail)


def _replied(state: State, event: Event, body: ModelReplied) -> None:
    reply = ModelReply(body.text, body.name, body.extra, body.confidence, finish=body.finish)
    used = state.used + body.usage if body.usage.tokens or body.usage.uncounted else state.used
    money = None if state.money is None or body.cost is None else state.money + body.cost
    change(state, used=used, replies=state.replies + 1, money=money, noted=None)
    change_cursor(state, asked=None, reply=reply, confidence=body.confidence)


def _rejected(state: State, event: Event, body: ReplyRejected) -> None:
    cursor = state.cursor
    if cursor is None:
        return
    close_exchange(state)
    change_cursor(
        state,
        reply=None,
        carried=None,
        rejections=(*cursor.rejections, body.error),
        rejected_text=cursor.reply.text if cursor.reply else None,
        tool=None,
        arguments=None,
        verdict=None,
        **NOT_APPROVED,
        failed=_of_step(body.error, cursor) if body.final else cursor.failed,
    )


def _of_step(error: ErrorData, cursor: Cursor) -> ErrorData:
    """The error of a reply as that of the step that it fails."""
    return (
        error if error.step is not None or not cursor.step else error.model_copy(update={"step": cursor.step})
    )


def _value_stored(state: State, event: Event, body: ValueStored) -> None:
    close_exchange(state, body.name)
    bind(state, event, body)
    if body.who is not None:
        change(state, operators=(*state.operators, body.who))
    sure = state.cursor.confidence if state.cursor else None
    change_cursor(
        state,
        value_confidence=sure,
        reply=None,
        carried=None,
        rejections=(),
        answer=None,
        done=True,
        stubbed=False,
    )


FOLDS: dict[type[Body], Fold] = {
    ModelRequested: _asked,
    ModelReplied: _replied,
    ReplyRejected: _rejected,
    ValueStored: _value_stored,
}
