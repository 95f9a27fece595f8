"""The base of all event bodies."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Body(BaseModel):
    """The base of all event bodies."""

    # A class is built when it is first used: most runs meet half of them, and all would double an import.
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants", defer_build=True)
