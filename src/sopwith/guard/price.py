"""What a model's reply costs: by a file of one's own, else by a price list that is kept by others and ships with its
package, so that nothing is looked up on a network.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from sopwith.errors import Text
from sopwith.guard.policy_file import open_mapping
from sopwith.ir.usage import NO_MONEY, Money, Usage

FREE = frozenset({"local", "scripted"})
"""The kinds of models that cost nothing: they run here."""


def counted(model: str, usage: Usage) -> Usage:
    """The usage of one reply of the model with the id `model`: one that runs elsewhere and reports no tokens has used
    some that are not counted."""
    if usage.tokens or model.partition(":")[0] in FREE:
        return usage
    return usage.model_copy(update={"uncounted": 1})


_MILLION = Decimal(1_000_000)
_HINT = Text(
    "a price file says for each model: `input`, `output`, and where they differ `cached` and `cache_write`, "
    "in US dollars per million tokens",
    "价格文件为每个模型写明 input、output，以及不同时的 cached 和 cache_write，单位为每百万 token 的美元数",
)


class Price(BaseModel):
    """US dollars per million tokens of each counter. Tokens read from a cache or written to one cost as much as
    `input` where nothing is said."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    input: Money
    output: Money
    cached: Money | None = None
    cache_write: Money | None = None

    @property
    def is_free(self) -> bool:
        """Whether nothing costs anything."""
        return not any((self.input, self.output, self.cached, self.cache_write))

    def of(self, usage: Usage) -> Decimal:
        """The price of the four counters, each by its own, summed once."""
        cached = self.input if self.cached is None else self.cached
        written = self.input if self.cache_write is None else self.cache_write
        total = (
            usage.input * self.input
            + usage.cached * cached
            + usage.cache_write * written
            + usage.output * self.output
        )
        return total / _MILLION


class Prices:
    """What models cost. `own` are prices by the model's id (`openai:gpt-5-mini`), by its name (`gpt-5-mini`), or by a
    pattern of either (`qwen*`); the first that fits wins over the list that ships with `genai-prices`."""

    def __init__(self, own: Mapping[str, Price] | None = None) -> None:
        self._own = dict(own or {})
        self._found: dict[str, Price | None] = {}

    @classmethod
    def read(cls, source: str | Path) -> Self:
        """The prices in a file (a path, or text that ends in .yaml or .yml) or in the text itself.

        Raises `PolicyError` with file, line and column.
        """
        file = open_mapping(source, _HINT)
        for name, value in file.sections.items():
            if not isinstance(value, dict):
                file.refuse((name,), Text("this is not a mapping", "这不是映射"), _HINT)
        return cls({name: file.read(Price, value, (name,)) for name, value in file.sections.items()})

    def known(self, model: str) -> bool:
        """Whether replies of a model have a price."""
        return self.cost(model, Usage(input=1, output=1)) is not None

    def cost(self, model: str, usage: Usage, at: int | None = None) -> Decimal | None:
        """US dollars for one reply of the model with the id `model`, at `at` (microseconds since 1970, or now).

        None where there is no price, or where a model that costs something does not say what it used.
        """
        own = self._price(model)
        if own is not None:
            return own.of(usage) if usage.tokens or own.is_free else None
        if model.partition(":")[0] in FREE:
            return NO_MONEY
        return _listed(model, usage, at) if usage.tokens else None

    def _price(self, model: str) -> Price | None:
        if model not in self._found:
            names = (model, model.partition(":")[2].rpartition("@")[0] or model.partition(":")[2])
            fits = (p for n, p in self._own.items() if any(n == m or fnmatchcase(m, n) for m in names))
            self._found[model] = next(fits, None)
        return self._found[model]


def _listed(model: str, usage: Usage, at: int | None) -> Decimal | None:
    """By the list in the package. An endpoint of one's own is in no list, whatever its model is called."""
    try:
        import genai_prices
    except ImportError:
        return None
    kind, _, name = model.partition(":")
    name, _, host = name.rpartition("@") if "@" in name else (name, "", "")
    where: dict[str, Any] = {"provider_api_url": f"https://{host}"} if host else {"provider_id": kind}
    counted = genai_prices.Usage(
        input_tokens=usage.input + usage.cached + usage.cache_write,
        cache_read_tokens=usage.cached,
        cache_write_tokens=usage.cache_write,
        output_tokens=usage.output,
    )
    when = None if at is None else datetime.fromtimestamp(at / 1e6, UTC)
    try:
        found = genai_prices.calc_price(counted, name, genai_request_timestamp=when, **where)
    except (LookupError, ValueError):
        return None
    prices: Any = found.model_price
    return found.total_price if prices.input_mtok is not None and prices.output_mtok is not None else None
