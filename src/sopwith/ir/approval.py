"""The terms of an approval: who may give leave for a call, how many of them, and how long it holds."""

from __future__ import annotations

import math
from typing import Annotated, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from sopwith.ir.duration import read_duration


def _seconds(value: object) -> float:
    found = read_duration(value)
    if found is None or not math.isfinite(found):
        raise PydanticCustomError("duration", "must be a duration such as 30m, 2h or 1d")
    return found


def listed(value: object) -> object:
    """A text alone as a list of one; anything else as it is."""
    return [value] if isinstance(value, str) else value


def terms_of(value: object) -> object:
    """The terms that a procedure writes as a role, or a list of them; anything else as it is."""
    if isinstance(value, str):
        return {"roles": [value]}
    return {"roles": cast("object", value)} if isinstance(value, list | tuple) else value


class Terms(BaseModel):
    """What an approval must meet.

    Each of `count` different people has one of `roles` (none: anybody may). With `four_eyes` the run's own principal
    is not among them. It holds for `expires` seconds from when it was asked for; None: until the call is started.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    roles: Annotated[tuple[str, ...], BeforeValidator(listed)] = ()
    count: int = Field(default=1, ge=1, strict=True)
    four_eyes: bool = Field(default=False, strict=True)
    expires: Annotated[float, BeforeValidator(_seconds)] | None = None


NO_TERMS = Terms()
"""Those of a rule that names none: one person, whoever it is."""
