"""Calls that ask a person, paused: what they want to know is written down."""

from __future__ import annotations

from sopwith.errors import Text
from sopwith.ir.event import CallFinished
from sopwith.ir.input_request import CallPaused, Form, InputWanted
from sopwith.ir.tool import Effect, ErrorData, ToolSpec
from sopwith.run.actor import Actor
from sopwith.run.decide_input import ROUNDS
from sopwith.run.state import Cursor


def pause_call(actor: Actor, tool: ToolSpec, wanted: InputWanted, ms: int) -> None:
    """Write down what the tool at hand wants to know; a tool that asks without end has failed."""
    cursor = actor.state.cursor
    if cursor is None:
        return
    if cursor.rounds >= ROUNDS:
        message = TOO_OFTEN.in_(actor.book.language).format(tool.name, ROUNDS)
        give_up(actor, tool, cursor, ErrorData(code="input_rounds", message=message), ms)
        return
    forms: dict[str, Form] = {
        key: Form.model_validate(actor.redact(form.model_dump(mode="json")))
        for key, form in wanted.forms.items()
    }
    state = None if wanted.state is None else str(actor.redact(wanted.state))
    actor.emit(CallPaused(tool=tool.name, forms=forms, state=state, held=wanted.held), cursor.started)


def give_up(actor: Actor, tool: ToolSpec, cursor: Cursor, error: ErrorData, ms: int = 0) -> None:
    """The call is not gone on with: what it has done until here, nobody knows, where it writes."""
    unknown = tool.effect is not Effect.READ
    told = error.model_copy(update={"step": cursor.step})
    actor.emit(CallFinished(error=told, unknown=unknown, ms=ms), cursor.started)


TOO_OFTEN = Text("{} has asked more than {} times", "{} 询问超过了 {} 次")
