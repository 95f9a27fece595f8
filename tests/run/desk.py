"""A small procedure with every kind of step that this version executes, and tools that count what they do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from sopwith import Engine, MemoryLog, Policy, Rule, ToolError, tool
from sopwith.models.port import ModelReply
from sopwith.models.scripted import ScriptedModel

REFUND = """
schema: sopwith/procedure/1
id: refund
name: Refund an order
description: Look an order up and pay it back where that is right
inputs:
  customer: {type: string, from: run.principal.id}
  request: {type: string, from: run.request}
output:
  type: object
  required: [receipt]
  properties:
    receipt: {type: string}
start: read
steps:
  read:
    name: Read the request
    do: Copy the order number and say what is wanted
    uses: [inputs.request]
    returns:
      type: object
      required: [order, wish]
      properties:
        order: {type: string, maxLength: 20}
        wish: {enum: [refund, exchange, none_of_these]}
    examples:
      - given: {request: Money back for A-100 please}
        answer: {order: A-100, wish: refund}
    as: wanted
    next:
      - {to: look, when: wanted.wish == 'refund'}
      - {otherwise: person}
  look:
    name: Look the order up
    tool: shop.order
    with: {number: "${wanted.order}", customer: "${inputs.customer}"}
    as: order
    retry: {times: 1, errors: [busy]}
    on_error:
      - {to: ask_number, when: error.code == 'not_found'}
      - {otherwise: person}
    next: worth
  ask_number:
    name: Ask for the number
    ask: Which order do you mean? ${wanted.order} is not known.
    returns: {type: string, minLength: 3}
    as: told
    next: look_again
  look_again:
    name: Look the told order up
    tool: shop.order
    with: {number: "${told}", customer: "${inputs.customer}"}
    as: order
    next: worth
  worth:
    name: Decide
    uses: [order.reason, order.amount]
    min_confidence: 0.6
    next:
      - {to: person, when: order.amount > 500.0}
      - {to: pay, judge: the goods were broken or late}
      - {to: person, judge: the customer changed their mind}
      - {otherwise: person}
  pay:
    name: Pay back
    do: Pay the amount back, with a short note
    tool: shop.refund
    with: {number: "${order.number}", amount: "${order.amount}"}
    uses: [order.reason]
    as: paid
    verify: paid.status == 'ok'
    next: tell
  tell:
    name: Tell the customer
    answer: Say that ${order.amount} were paid back, receipt ${paid.receipt}
    verify: tell.contains(paid.receipt)
    end: complete
    result: {receipt: "${paid.receipt}"}
  person:
    name: To a person
    end: escalate
"""

HAPPY = [
    '{"order": "A-7", "wish": "refund"}',
    "A",
    '{"note": "broken on arrival"}',
    "We paid 25 back. Receipt R-1.",
]


class Shop:
    """Orders in memory; `refunds` is what was really paid, by idempotency key."""

    def __init__(self) -> None:
        self.refunds: dict[str, float] = {}
        self.calls: list[str] = []
        self.failures: list[ToolError] = []
        self.amount = 25.0
        self.status = "ok"
        self.watch: Callable[[str], Awaitable[None]] | None = None

    def tools(self) -> list[object]:
        """The shop's tools."""

        @tool(name="shop.order")
        async def order(number: str, customer: str) -> dict[str, object]:
            """Look one order up.

            Args:
                number: The order's number.
                customer: Who asks.
            """
            self.calls.append(f"order {number} {customer}")
            if self.failures:
                raise self.failures.pop(0)
            return {
                "number": number,
                "amount": self.amount,
                "reason": "arrived broken",
                "phone": "13800138000",
            }

        @tool(name="shop.refund", effect="write")
        async def refund(number: str, amount: float, note: str, *, idempotency_key: str) -> dict[str, object]:
            """Pay an order back.

            Args:
                number: The order's number.
                amount: How much.
                note: Why, in a few words.
            """
            self.calls.append(f"refund {number} {amount} {note}")
            if self.watch is not None:
                await self.watch(idempotency_key)
            self.refunds[idempotency_key] = amount
            return {"status": self.status, "receipt": f"R-{len(self.refunds)}"}

        return [order, refund]


def sure(letter: str, confidence: float) -> ModelReply:
    """A choice with a confidence."""
    return ModelReply(letter, confidence=confidence)


REPLIES: list[str | ModelReply] = [HAPPY[0], sure("A", 0.9), *HAPPY[2:]]
ALLOW = Policy([Rule(id="pay", verdict="allow", tool="shop.refund")])


def desk(shop: Shop, replies: list[str | ModelReply] | None = None, **options: object) -> Engine:
    """An engine for the refund procedure with scripted replies."""
    model = ScriptedModel(list(REPLIES if replies is None else replies))
    given: dict[str, object] = {"policy": ALLOW, "log": MemoryLog(), **options}
    return Engine(REFUND, tools=shop.tools(), model=model, **given)  # type: ignore[arg-type]
