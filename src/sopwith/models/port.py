"""What a language model is to the engine: a prompt in parts goes in, one reply comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from sopwith.ir.usage import Usage
from sopwith.ir.value import Json


@dataclass(frozen=True, slots=True)
class Turn:
    """One exchange: what the model was shown and what it answered."""

    user: str
    assistant: str


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that a reply may do: a tool (or a synthetic one, such as `returns`), with the schema of its
    arguments. `name` is the wire alias, `[A-Za-z0-9_-]{1,64}`."""

    name: str
    description: str
    schema: dict[str, Json]


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt by its parts, stable ones first.

    `prefix` is the system text; `turns` are worked examples or the transcript so far; `tail` is the last
    user text. `block` is the tool block as text: an adapter without tool calling appends it to the prefix,
    one with tool calling sends `ModelRequest.actions` instead.
    """

    prefix: str
    turns: tuple[Turn, ...]
    tail: str
    block: str = ""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What is asked of a model. Exactly one of three forms:

    - `form="action"`: one action out of `actions`; the legal names are `legal`. With one legal action the
      reply text is the JSON object of its arguments (the schema is the constraint); with several it is
      `{"name": …, "arguments": {…}}`.
    - `form="choice"`: one of the labels A, B, C … for `labels` (at most 26); the reply text is the
      single letter. `by_word`: the prompt asks for the words of a label, and those are the reply text.
    - `form="text"`: prose.

    `actions` is the whole tool block, the same in every request of a procedure; what may be chosen now is
    `legal`. `constraint` is a narrower schema for the arguments of a single legal action, where the caller
    has one (bound arguments left out); constrained decoding uses it in the place of the action's own
    schema. `constraints` are the same by name, where several are legal.

    `max_tokens` bounds the reply; `temperature` is always 0 unless a caller sets it; `seconds` bounds the
    call.
    """

    prompt: Prompt
    form: Literal["action", "choice", "text"]
    actions: tuple[Action, ...] = ()
    legal: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    constraint: dict[str, Json] | None = None
    by_word: bool = False
    constraints: Mapping[str, dict[str, Json]] = field(default_factory=dict[str, dict[str, Json]])
    max_tokens: int = 512
    temperature: float = 0.0
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What came back, before it is read strictly.

    `text` is the reply as text: for `form="action"` the JSON text as described in `ModelRequest` (an
    adapter that uses a provider's tool calls puts the call's arguments string here and its name in `name`;
    a call that was not the first is listed in `extra` and never executed); for `choice` a letter.
    `confidence` is the probability of the chosen label, renormalised over all labels, where the model gives
    log-probabilities; `probabilities` are those of all labels in order.
    """

    text: str
    name: str | None = None
    extra: tuple[str, ...] = ()
    confidence: float | None = None
    probabilities: tuple[float, ...] = ()
    usage: Usage = field(default=Usage())
    model: str = ""
    finish: Literal["stop", "length", "tool_calls", "other"] = "stop"
    repairs: tuple[str, ...] = field(default=())


class Model(Protocol):
    """A model. `id` pins it: the model's name and, where known, its fingerprint."""

    @property
    def id(self) -> str:
        """The model's identity, as it is written to the log."""
        ...

    async def complete(self, request: ModelRequest) -> ModelReply:
        """One reply.

        Raises `ModelError` when the endpoint fails, `TimeoutError` past `seconds`; is cancellable.
        """
        ...

    async def close(self) -> None:
        """Give up what the model holds. May be called twice."""
        ...
