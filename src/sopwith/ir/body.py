"""The base of all event bodies."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict

BLOB = "blob"
Blob = Annotated[str, BLOB]
"""The digest of bytes that are stored next to the events."""


class Body(BaseModel):
    """The base of all event bodies."""

    # A class is built when it is first used: most runs meet half of them, and all would double an import.
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants", defer_build=True)
