"""References to stored values: what a call was passed by one, and what a model has looked at."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from sopwith.ir.body import Blob, Body


class PassedValue(BaseModel):
    """A long part of a call's arguments that is a stored value: its place (keys, and indices from 0) in the arguments,
    and the blob that it is, or the way to it there. Keys hold placeholders."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    at: tuple[str | int, ...]
    blob: Blob
    path: tuple[str | int, ...] = ()


class ValueRead(Body):
    """A model has looked at a part of a value: its members (items, keys, or characters) from `start` (counted from 0)
    to before `end` (None: as many as are shown at once). What it was shown stands in its next prompt."""

    kind: Literal["value.read"] = "value.read"
    value: str
    start: int = Field(default=0, ge=0)
    end: int | None = Field(default=None, ge=0)
