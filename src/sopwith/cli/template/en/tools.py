"""The tools of this project: any function with `@tool`. Its schema comes from the annotations and the docstring."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from sopwith.tools import ToolError, tool

REMINDERS = Path(__file__).with_name("reminders.jsonl")


@dataclass(frozen=True)
class Order:
    """An order as the shop knows it."""

    order_id: str
    status: str
    expected: str


@dataclass(frozen=True)
class Reminder:
    """What became of a reminder."""

    ok: bool


ORDERS = {
    "A-1001": Order("A-1001", "shipped", "2026-12-03"),
    "A-1002": Order("A-1002", "late", "2026-11-20"),
}


@tool(name="orders.find")
def find(text: str) -> Order:
    """Find the order whose number is in a text.

    Args:
        text: The customer's words.
    """
    number = re.search(r"A-\d{4}", text)
    if number is None or number[0] not in ORDERS:
        raise ToolError("not_found", "no number of an order is in the text")
    return ORDERS[number[0]]


# A write: it is denied unless the policy allows it, and it is on record before it acts.
@tool(name="orders.remind", effect="write", idempotent=True)
def remind(order_id: str, *, idempotency_key: str) -> Reminder:
    """Remind the warehouse of an order.

    Args:
        order_id: The number of the order.
    """
    line = json.dumps({"order_id": order_id, "key": idempotency_key})
    known = REMINDERS.read_text(encoding="utf-8").splitlines() if REMINDERS.exists() else []
    if line not in known:
        REMINDERS.write_text("\n".join([*known, line, ""]), encoding="utf-8")
    return Reminder(ok=True)
