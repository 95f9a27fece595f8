"""What a tool asks a person in the middle of a call, and what it is told."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from sopwith.ir.body import Body
from sopwith.ir.value import Json

REFUSALS = ("decline", "cancel")
"""What a person may say instead of filling a form in."""


class Form(BaseModel):
    """One question: a `message`, and the JSON Schema of a flat object to fill in; or a `url` to visit."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    message: str
    fields: dict[str, Json] = Field(default_factory=dict)
    url: str | None = None

    def answer_schema(self) -> dict[str, Json]:
        """What may be answered: the filled-in form, or `accept` for a `url`; `decline` or `cancel` in either case."""
        if self.url is not None:
            return {"enum": ["accept", *REFUSALS]}
        return {"anyOf": [{"additionalProperties": False, **self.fields}, {"enum": [*REFUSALS]}]}


class InputWanted(BaseModel):
    """The questions of a call, by the tool's own keys.

    `state` goes back to the tool as it is, and with it any process can go on. A call that is `held` has none: it waits
    in the process that made it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    forms: dict[str, Form] = Field(default_factory=dict)
    state: str | None = None
    held: bool = False


class InputGiven(BaseModel):
    """The answers to `InputWanted`, by its keys: a filled-in form, `accept`, `decline` or `cancel`."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    answers: dict[str, dict[str, Json] | Literal["accept", "decline", "cancel"]] = Field(default_factory=dict)
    state: str | None = None
    held: bool = False


class CallPaused(Body):
    """The call that was started needs an answer before it goes on; a person is asked. Fields as in `InputWanted`."""

    kind: Literal["call.paused"] = "call.paused"
    tool: str
    forms: dict[str, Form]
    state: str | None = None
    held: bool = False


class CallContinued(Body):
    """The call goes on with what was answered; `declined` are the questions that nobody was asked, as they want a
    secret. The key is that of `call.started`: it is the same call."""

    kind: Literal["call.continued"] = "call.continued"
    tool: str
    declined: tuple[str, ...] = ()
