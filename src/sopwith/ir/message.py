"""The events of calls between procedures: a message goes to a run of its own, and its outcome comes back."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from sopwith.ir.body import Blob, Body
from sopwith.ir.outcome import OutcomeKind
from sopwith.ir.tool import ErrorData
from sopwith.ir.usage import UNLIMITED, Budget, Usage
from sopwith.ir.value import Json

DEPTH = 8
"""So many calls below the first run of a task, at most."""


class MessageSent(Body):
    """A run calls another procedure: the child run `receiver` is to be made of this message, once.

    `sender` is the run that calls, `task_id` what both belong to, `payload` the inputs with the placeholders of the
    sender. `procedure` is the digest of the version that is called, `budget` what is reserved for it, `deadline` (µs
    since 1970) until when it is waited for, `attempt` counts from 1.
    """

    kind: Literal["message.sent"] = "message.sent"
    message_id: str
    sender: str
    receiver: str
    task_id: str
    payload: dict[str, Json] = Field(default_factory=dict)
    procedure_id: str
    procedure: Blob
    budget: Budget = UNLIMITED
    deadline: int | None = None
    attempt: int = 1


class MessageReceived(Body):
    """A child run has ended: its output under `name`, or an error whose code is its outcome.

    `sender` is the child. `usage` and `seconds` are what it has used in all; `wrote` says that a write of it has acted,
    or may have. A value longer than the threshold is a blob of `size` characters; `value` is then its preview.
    """

    kind: Literal["message.received"] = "message.received"
    message_id: str
    sender: str
    receiver: str
    task_id: str
    outcome: OutcomeKind
    name: str | None = None
    value: Json = None
    blob: Blob | None = None
    size: int | None = None
    error: ErrorData | None = None
    usage: Usage = Usage()
    seconds: float = 0.0
    wrote: bool = False
