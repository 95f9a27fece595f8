"""A bank whose payments can be lost, held up and looked up; and logs as a killed driver leaves them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from sopwith import Engine, MemoryLog, Policy, tool
from sopwith.run.run import Run
from sopwith.tools.reconcile import Done, NotDone, Unsure

PAY = """
schema: sopwith/procedure/1
id: pay
output: {type: object, required: [receipt], properties: {receipt: {type: string}}}
start: look
steps:
  look: {tool: bank.look, as: found, next: pay}
  pay: {tool: bank.pay, with: {amount: "${found.amount}"}, as: paid, next: tell}
  tell: {name: Say it, end: complete, result: {receipt: "${paid.receipt}"}}
"""


class Bank:
    """A ledger in memory. `hold` stops a payment before it acts, `lost` makes its outcome unknown after it has."""

    def __init__(
        self, answer: Callable[[Bank, str], Any] | None = None, *, effect: Any = "irreversible"
    ) -> None:
        self.paid: dict[str, float] = {}
        self.looks = 0
        self.asked: list[str] = []
        self.hold: asyncio.Event | None = None
        self.reached = asyncio.Event()
        self.lost = False
        self._answer = answer
        self._effect = effect

    def tools(self) -> list[Any]:
        async def happened(amount: float, *, idempotency_key: str) -> object:
            self.asked.append(idempotency_key)
            return self._answer(self, idempotency_key) if self._answer else Unsure("?")

        @tool(name="bank.look")
        async def look() -> dict[str, float]:
            self.looks += 1
            return {"amount": 5.0}

        @tool(name="bank.pay", effect=self._effect, reconcile=happened if self._answer else None)
        async def pay(amount: float, *, idempotency_key: str) -> dict[str, str]:
            self.reached.set()
            if self.hold is not None:
                await self.hold.wait()
            assert idempotency_key not in self.paid, "paid twice"
            self.paid[idempotency_key] = amount
            if self.lost:
                raise ConnectionError("the line is dead")
            return {"receipt": f"R-{len(self.paid)}"}

        return [look, pay]

    def engine(self, log: Any, **options: Any) -> Engine:
        return Engine(PAY, tools=self.tools(), log=log, policy=Policy(allow_writes=["bank.*"]), **options)


def kinds(run: Run) -> list[str]:
    return [event.body.kind for event in run.events]


async def cut_in_payment(log: MemoryLog) -> MemoryLog:
    """The log of `r1` up to the intent of the payment."""
    events = list(await log.read("r1"))
    intent = next(e.seq for e in events if e.body.kind == "call.started" and e.body.tool == "bank.pay")
    started, cut = events[0].body, MemoryLog()
    blobs = {name: await log.blob(name) for name in (started.procedure, started.tools, started.policy)}
    await cut.append("r1", events[:intent], blobs)
    return cut


def happened(bank: Bank, key: str) -> object:
    return Done({"receipt": "R-1"}) if key in bank.paid else NotDone()


async def escalated(bank: Bank, log: MemoryLog) -> Run:
    """A run whose payment acted, and whose outcome nobody knows."""
    bank.lost = True
    run = await bank.engine(log).run("go", run_id="r1")
    assert run.status == "escalated"
    return run
