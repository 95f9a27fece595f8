"""What was used: the four token counters, calls and money; and the limits on them."""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationInfo,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError


def exact(value: Any) -> Any:
    """A number as the decimal that it is written as (0.1 is a tenth); anything else as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return Decimal(repr(float(value))) if isinstance(value, float) else Decimal(int(value))


def plain(amount: Decimal) -> str:
    """A decimal in plain digits, without an exponent or zeros at its end."""
    return f"{amount.normalize():f}"


def _stored(value: Any, info: ValidationInfo) -> Any:
    """JSON holds an amount as text; written by hand, an amount is a number."""
    found = exact(value)
    if isinstance(value, str) and info.mode == "json":
        with suppress(InvalidOperation):
            found = Decimal(value)
    if not isinstance(found, Decimal):
        raise PydanticCustomError("money_type", "must be a number of US dollars")
    return found


Money = Annotated[
    Decimal,
    BeforeValidator(_stored),
    Field(ge=0, allow_inf_nan=False, strict=True),
    PlainSerializer(plain, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "pattern": r"^\d+(\.\d+)?$", "description": "US dollars."}),
]
"""US dollars, exact. Zero or more."""

NO_MONEY = Decimal(0)


SHOWN_TOKENS = 4_000
"""About so many tokens of definitions of tools a transcript begins with at most, where nobody says another number."""

VALUE_QUOTA = 1_000_000_000
"""Characters of all long values that one run may store, where nobody says another number."""


class Usage(BaseModel):
    """Counters that only grow. Tokens are disjoint: `input` was newly read, `cached` came from a cache,
    `cache_write` was written to one, `output` was generated. `money` is None where some of it has no known price.
    `uncounted` are the model calls that cost tokens and did not say how many; `estimated` are those that did not say so
    either, and whose tokens were counted here."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: int = 0
    cached: int = 0
    cache_write: int = 0
    output: int = 0
    model_calls: int = 0
    tool_calls: int = 0
    money: Money | None = NO_MONEY
    uncounted: int = 0
    estimated: int = 0

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
            money=None if self.money is None or other.money is None else self.money + other.money,
            uncounted=self.uncounted + other.uncounted,
            estimated=self.estimated + other.estimated,
        )

    def since(self, earlier: Usage) -> Usage:
        """What was added to `earlier`, of which this is a later reading."""
        return Usage(
            input=self.input - earlier.input,
            cached=self.cached - earlier.cached,
            cache_write=self.cache_write - earlier.cache_write,
            output=self.output - earlier.output,
            model_calls=self.model_calls - earlier.model_calls,
            tool_calls=self.tool_calls - earlier.tool_calls,
            money=None if self.money is None or earlier.money is None else self.money - earlier.money,
            uncounted=self.uncounted - earlier.uncounted,
            estimated=self.estimated - earlier.estimated,
        )


class Budget(BaseModel):
    """Limits. Zero means none at all; an absent limit is None. Anything else refuses to start.

    `money` is in US dollars; `seconds` is wall time without the time a run waits for a person.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    tokens: int | None = Field(default=None, ge=0)
    money: Money | None = None
    model_calls: int | None = Field(default=None, ge=0)
    tool_calls: int | None = Field(default=None, ge=0)
    seconds: float | None = Field(default=None, ge=0, allow_inf_nan=False)


UNLIMITED = Budget()
"""No limit at all."""
