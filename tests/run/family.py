"""A parent that calls a child, and a clock that tests move: what calls and waits are tested with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from typing_extensions import TypedDict

from sopwith import Engine, MemoryLog, Policy, Rule, tool
from sopwith.guard.vault import MemoryVault
from sopwith.log.port import Log
from sopwith.run.run import Run

START = 1_790_000_000_000_000

PARENT = """
schema: sopwith/procedure/1
id: parent
inputs:
  amount: {type: number}
output:
  type: object
  required: [receipt]
  properties:
    receipt: {type: string}
start: begin
steps:
  begin:
    tool: bank.note
    with: {text: begin}
    next: pay
  pay:
    call:
      procedure: payment
      with: {amount: "${inputs.amount}"}
    as: paid
%s
    next: done
  done:
    tool: bank.note
    with: {text: "${paid.receipt}"}
    end: complete
    result: {receipt: "${paid.receipt}"}
"""

OTHER = """
  other:
    end: complete
    result: {receipt: "${error.code}"}
"""
PERSON = """
  person:
    end: escalate
"""

PAYMENT = """
schema: sopwith/procedure/1
id: payment
inputs:
  amount: {type: number}
output:
  type: object
  required: [receipt]
  properties:
    receipt: {type: string}
start: pay
steps:
%s
  pay:
    tool: bank.pay
    with: {amount: "${inputs.amount}"}
    verify: pay.receipt != ''
    end: complete
    result: {receipt: "${pay.receipt}"}
"""

WRITES = Policy([Rule(id="writes", verdict="allow", effect="write")])


class Clock:
    """Microseconds that a test moves on."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> int:
        self.now += 1000
        return self.now

    def pass_(self, seconds: float) -> None:
        """Let time pass."""
        self.now += int(seconds * 1e6)


class Paid(TypedDict):
    """What a payment gives."""

    receipt: str


class Till:
    """Counts what was paid and noted. `fails` are errors of the next payments."""

    def __init__(self) -> None:
        self.paid: list[float] = []
        self.notes: list[str] = []
        self.fails: list[Exception] = []
        self.before: Callable[[], None] = lambda: None

    def tools(self) -> list[Any]:
        """The tools of the bank."""

        @tool(name="bank.pay", effect="write")
        def pay(amount: float) -> Paid:
            """Pay."""
            self.before()
            if self.fails:
                raise self.fails.pop(0)
            self.paid.append(amount)
            return Paid(receipt=f"R-{len(self.paid)}")

        @tool(name="bank.note", effect="read")
        def note(text: str) -> str:
            """Note."""
            self.before()
            self.notes.append(text)
            return text

        return [pay, note]


class Family:
    """An engine over one log, made anew as often as a process would be."""

    def __init__(self, *, pay: str = "", steps: str = "", start: str = "pay", **options: Any) -> None:
        self.till = Till()
        self.clock = Clock()
        self.log: Log = options.pop("log", None) or MemoryLog()
        parent = (PARENT % pay).strip() + (OTHER if "other" in pay else "")
        child = (PAYMENT % steps).replace("start: pay\n", f"start: {start}\n").strip()
        self.procedures = [parent, child + (PERSON if "person" in steps else "")]
        self.options = {"policy": WRITES, "vault": MemoryVault(), **options}

    def engine(self, **more: Any) -> Engine:
        """A new engine on the same log."""
        options = {**self.options, **more}
        return Engine(self.procedures, self.till.tools(), log=self.log, clock=self.clock, **options)

    async def run(self, amount: float = 5.0, **options: Any) -> Run:
        """The parent, as `root`."""
        return await self.engine().run(
            "go", procedure="parent", inputs={"amount": amount}, run_id="root", **options
        )

    async def kinds(self, run: str) -> list[str]:
        """The kinds of the events of a run."""
        return [event.body.kind for event in await self.log.read(run)]

    async def children(self) -> list[str]:
        """The child runs, the first one first."""
        return [row.run for row in reversed(await self.log.runs(100)) if row.run != "root"]


def kinds(run: Run) -> Sequence[str]:
    """The kinds of the events of a run."""
    return [event.body.kind for event in run.events]
