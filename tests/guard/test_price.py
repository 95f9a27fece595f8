"""Prices: four counters priced apart and summed once; a price that is not known is never zero."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal

import genai_prices
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopwith.errors import PolicyError
from sopwith.guard.price import Price, Prices
from sopwith.ir.usage import Usage

USAGE = Usage(input=700, cached=200, cache_write=100, output=50)
OWN = """
openai:gpt-5-mini: {input: 1, cached: 0.1, cache_write: 1.25, output: 8}
qwen3: {input: 0.3, output: 0.6}
"free-*": {input: 0, output: 0}
"""


def test_four_counters_are_priced_apart_and_summed_once() -> None:
    price = Price(input=3, cached=0.3, cache_write=3.75, output=15)  # type: ignore[arg-type]
    assert price.of(USAGE) == Decimal("0.0021") + Decimal("0.00006") + Decimal("0.000375") + Decimal(
        "0.00075"
    )


@given(st.lists(st.integers(0, 10**6), min_size=8, max_size=8))
def test_the_price_of_a_sum_is_the_sum_of_the_prices(counts: list[int]) -> None:
    price = Price(input=0.1, cached=0.01, cache_write=0.125, output=0.7)  # type: ignore[arg-type]
    one, other = (
        Usage(input=a, cached=b, cache_write=c, output=d) for a, b, c, d in (counts[:4], counts[4:])
    )
    assert price.of(one) + price.of(other) == price.of(one + other)


def test_a_file_of_ones_own_wins_over_the_list() -> None:
    prices = Prices.read(OWN)
    assert prices.cost("openai:gpt-5-mini", USAGE) == Decimal("0.001245")
    assert Prices().cost("openai:gpt-5-mini", USAGE) not in (None, Decimal("0.001245"))


def test_own_prices_are_by_id_name_or_pattern() -> None:
    prices = Prices.read(OWN)
    # What is read from a cache or written to one costs as much as other input where nothing is said.
    assert prices.cost("openai:qwen3@127.0.0.1:8000", USAGE) == Decimal("0.00033")
    assert prices.cost("openai:free-1@127.0.0.1:8000", Usage()) == 0
    assert prices.cost("openai:other@127.0.0.1:8000", USAGE) is None


@pytest.mark.parametrize(
    ("model", "name", "provider"),
    [
        ("openai:gpt-5-mini", "gpt-5-mini", "openai"),
        ("anthropic:claude-sonnet-4-5", "claude-sonnet-4-5", "anthropic"),
        ("openai:anthropic/claude-sonnet-4@openrouter.ai", "anthropic/claude-sonnet-4", "openrouter"),
        ("openai:deepseek-chat@api.deepseek.com", "deepseek-chat", "deepseek"),
    ],
)
def test_listed_models_have_the_price_of_the_list(model: str, name: str, provider: str) -> None:
    at = datetime(2026, 11, 1, 12, tzinfo=UTC)
    expected = genai_prices.calc_price(
        genai_prices.Usage(
            input_tokens=1000, cache_read_tokens=200, cache_write_tokens=100, output_tokens=50
        ),
        name,
        provider_id=provider,
        genai_request_timestamp=at,
    ).total_price
    assert Prices().cost(model, USAGE, int(at.timestamp() * 1e6)) == expected
    assert expected > 0


@pytest.mark.parametrize("model", ["local:qwen@1a2b", "scripted", "scripted:replies.jsonl"])
def test_what_runs_here_costs_nothing(model: str) -> None:
    assert Prices().cost(model, USAGE) == 0
    assert Prices().known(model)


@pytest.mark.parametrize(
    "model", ["openai:gpt-5-mini@127.0.0.1:8000", "openai:no-such", "own", "", "a:b:c@d@e"]
)
def test_a_model_in_no_list_has_no_price(model: str) -> None:
    assert Prices().cost(model, USAGE) is None
    assert not Prices().known(model)


def test_a_reply_that_does_not_say_what_it_used_has_no_price() -> None:
    prices = Prices.read(OWN)
    assert prices.cost("openai:gpt-5-mini", Usage(model_calls=1)) is None
    assert Prices().cost("openai:gpt-5-mini", Usage()) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("m: 5", "1:1 m: this is not a mapping"),
        ("m: {output: 1}", "1:1 m: 'input' is missing"),
        ("m: {input: 1, output: -1}", "1:15 m.output: "),
        ("m: {input: cheap, output: 1}", "1:5 m.input: "),
        ("m: {input: .nan, output: 1}", "1:5 m.input: "),
        ("m: {input: 1, output: 1, cache: 1}", "1:26 m.cache: unknown field"),
        ("[]", "1:1"),
    ],
)
def test_a_price_file_with_a_mistake_starts_nothing(text: str, said: str) -> None:
    with pytest.raises(PolicyError) as caught:
        Prices.read(text + "\n")
    assert caught.value.message.en.startswith(f"<text>:{said}")


def test_the_list_is_imported_only_when_a_price_is_asked_for() -> None:
    code = (
        "import sys, sopwith.run.engine; from sopwith.guard.price import Prices; Prices().known('local:x');"
        "assert 'genai_prices' not in sys.modules; Prices().known('openai:gpt-5-mini');"
        "assert 'genai_prices' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
