"""What a tool is: its name, schemas and effect. And the error that a tool's call may end in."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from sopwith.ir.value import Json, canonical, digest


class Effect(StrEnum):
    """What a call does to the world: nothing, something that can be undone, something that cannot."""

    READ = "read"
    WRITE = "write"
    IRREVERSIBLE = "irreversible"


LONGEST_ABOUT = 500
"""Characters of what a source says of itself."""


class ToolSpec(BaseModel):
    """A tool as everything but its source sees it.

    `name` is `source.tool`; `input_schema` is a JSON Schema of any draft with `type: object`; `output_schema`
    is None where the source does not declare one. `idempotent` tools may be called again with the same key; of
    a `reconcilable` one the source can be asked whether a call happened. `scopes` and `sensitivity` are for
    policies; `timeout` is in seconds. A field of a result that is longer than `value_threshold` characters (None:
    1,000) is stored apart, and a model is shown a preview of it. `about` is what the source says of itself: a tool is
    found by it too, and no model is shown it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    name: str
    description: str = ""
    input_schema: dict[str, Json] = Field(default_factory=lambda: {"type": "object", "properties": {}})
    output_schema: dict[str, Json] | None = None
    effect: Effect = Effect.READ
    idempotent: bool = False
    reconcilable: bool = False
    scopes: tuple[str, ...] = ()
    sensitivity: str = "normal"
    timeout: float | None = None
    value_threshold: int | None = Field(default=None, ge=1, exclude_if=lambda value: value is None)
    about: str = Field(default="", exclude_if=lambda value: not value)

    def digest(self) -> str:
        """The content hash that a run pins."""
        return digest(canonical(self.model_dump(mode="json")))


class ErrorData(BaseModel):
    """A typed error as data: a model can read it, `on_error` can branch on it (`error.code`).

    `item` is the place in its list (from 0) of the item that failed, in a step over a list.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    code: str
    message: str
    step: str | None = None
    item: int | None = None
