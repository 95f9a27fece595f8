"""Money as people read it."""

from __future__ import annotations

from decimal import Decimal

from sopwith.ir.usage import plain

_LEAST = Decimal("0.000001")


def dollars(amount: Decimal) -> str:
    """US dollars, to the millionth."""
    return f"${plain(amount.quantize(_LEAST))}"
