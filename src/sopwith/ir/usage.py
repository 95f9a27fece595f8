"""What was used: the four token counters, calls and money; and the limits on them."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class Usage(BaseModel):
    """Counters that only grow. Tokens are disjoint: `input` was newly read, `cached` came from a cache,
    `cache_write` was written to one, `output` was generated."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: int = 0
    cached: int = 0
    cache_write: int = 0
    output: int = 0
    model_calls: int = 0
    tool_calls: int = 0

    @property
    def tokens(self) -> int:
        """All tokens, each counted once."""
        return self.input + self.cached + self.cache_write + self.output

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input=self.input + other.input,
            cached=self.cached + other.cached,
            cache_write=self.cache_write + other.cache_write,
            output=self.output + other.output,
            model_calls=self.model_calls + other.model_calls,
            tool_calls=self.tool_calls + other.tool_calls,
        )


class Budget(BaseModel):
    """Limits of one run. Zero means none at all; an absent limit is None. Anything else refuses to start.

    `seconds` is wall time without the time a run waits for a person.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    tokens: int | None = Field(default=None, ge=0)
    model_calls: int | None = Field(default=None, ge=0)
    tool_calls: int | None = Field(default=None, ge=0)
    seconds: float | None = Field(default=None, ge=0, allow_inf_nan=False)
