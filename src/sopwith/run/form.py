"""The form of a reply: what a model may say at a point of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from sopwith.ir.event import Purpose
from sopwith.ir.tool import ToolSpec
from sopwith.ir.value import Json
from sopwith.lang.machine import CompiledEdge
from sopwith.models.port import Action, ModelReply, ModelRequest, Prompt
from sopwith.models.reply import Reading, Resolve, read_reply
from sopwith.run.labels import Labels
from sopwith.run.values import Values

MAX_TOKENS = 512
"""Tokens of one reply, at most."""


@dataclass(frozen=True)
class Form:
    """The form of a reply: one action with its schema, or one of the labels, or prose.

    `reading` holds the actions that the reply is read against: bound arguments may be repeated, they are overruled.
    """

    purpose: Purpose
    legal: tuple[str, ...] = ()
    constraint: dict[str, Json] | None = None
    reading: tuple[Action, ...] = ()
    labels: Labels | None = None
    group: tuple[CompiledEdge, ...] = ()
    by_word: bool = False
    """Whether a label is named by its words, and not by its letter."""
    callable: Mapping[str, ToolSpec] = field(default_factory=dict[str, ToolSpec])
    """The tools that may be called by `call`, by name, where the model finds them when it needs them."""

    @cached_property
    def to_read(self) -> ModelRequest:
        """A request without a prompt, for reading the reply strictly."""
        empty = Prompt("", (), "")
        if self.labels is not None:
            return ModelRequest(empty, "choice", labels=self.labels.words, by_word=self.by_word)
        if self.purpose == "answer":
            return ModelRequest(empty, "text")
        return ModelRequest(empty, "action", actions=self.reading, legal=self.legal)

    def read(
        self, reply: ModelReply, values: Values, language: str, resolve: Resolve | None = None
    ) -> Reading:
        """What `reply` says, with true values, and with what `resolve` puts in the place of references; the words of a
        label are held against it as the model saw it."""
        true = reply if self.labels is not None else values.reply(reply)
        return read_reply(self.to_read, true, language, resolve)

    def index(self, reading: Reading) -> int:
        """Which label a reading chose."""
        words = self.labels.words if self.labels else ()
        return words.index(reading.action or "")
