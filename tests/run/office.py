"""An office that writes to people: a step over a list of them, and tools that count, wait and fail as they are told."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from typing import Any

from sopwith import Engine, MemoryLog, Policy, ToolError, tool
from sopwith.guard.vault import MemoryVault
from sopwith.ir.event import Event
from sopwith.run.run import Run
from sopwith.tools.reconcile import Done, NotDone

PEOPLE = ["ann", "bo", "cy", "di", "ed"]
ALLOW = Policy(allow_writes=["mail.*"])


def notify(each: str = "", more: str = "", *, tool: str = "mail.send", ends: str = "{n: '${sent}'}") -> str:
    """A procedure that does something for every person of its input; `each` and `more` are further YAML."""
    return f"""
schema: sopwith/procedure/1
id: notify_all
inputs:
  people: {{type: array, items: {{type: string}}}}
output: {{type: object, properties: {{n: {{}}}}}}
start: notify
steps:
  notify:
    each: {{in: "${{inputs.people}}", as: person{each}}}
    tool: {tool}
    with: {{to: "${{person}}"}}
    as: sent
    {more or "next: tell"}
  tell: {{end: complete, result: {ends}}}
"""


class Office:
    """`gate` holds every letter at its door, `fails` maps people to codes of errors, of `lost` nobody hears again."""

    def __init__(self, *, asked: bool = False) -> None:
        self.sent: Counter[str] = Counter()
        self.keys: dict[str, list[str]] = {}
        self.at_work = 0
        self.most = 0
        self.gate: asyncio.Event | None = None
        self.arrived: asyncio.Queue[str] = asyncio.Queue()
        self.fails: dict[str, str] = {}
        self.lost: set[str] = set()
        self.vault = MemoryVault(bytes(32))
        self._asked = asked

    def tools(self) -> list[Any]:
        async def happened(to: str, *, idempotency_key: str) -> object:
            return Done({"id": f"M-{to}"}) if idempotency_key in self.keys.get(to, ()) else NotDone()

        @tool(name="mail.send", effect="write", reconcile=happened if self._asked else None)
        async def send(to: str, *, idempotency_key: str) -> dict[str, str]:
            """Send a letter."""
            return await self._act(to, idempotency_key)

        @tool(name="mail.post", effect="write", idempotent=True)
        async def post(to: str, *, idempotency_key: str) -> dict[str, str]:
            """Send a letter, once for each key."""
            return await self._act(to, idempotency_key)

        @tool(name="mail.look")
        async def look(to: str) -> dict[str, str]:
            """Look somebody up."""
            return await self._act(to, "")

        return [send, post, look]

    async def _act(self, to: str, key: str) -> dict[str, str]:
        self.at_work += 1
        self.most = max(self.most, self.at_work)
        self.arrived.put_nowait(to)
        try:
            await asyncio.sleep(0)  # others may come
            if self.gate is not None:
                await self.gate.wait()
            if to in self.fails:
                raise ToolError(self.fails[to], f"no such person: {to}")
            self.sent[to] += 1
            self.keys.setdefault(to, []).append(key)
            if to in self.lost:
                raise ConnectionError("the line is dead")
            return {"id": f"M-{to}"}
        finally:
            self.at_work -= 1

    def engine(self, procedure: str, log: MemoryLog | None = None, **options: Any) -> Engine:
        given: dict[str, Any] = {"policy": ALLOW, "vault": self.vault, **options}
        return Engine(procedure, self.tools(), log=MemoryLog() if log is None else log, **given)

    async def run(self, procedure: str, people: list[str] | None = None, **options: Any) -> Run:
        engine = self.engine(procedure, **options)
        return await engine.run(
            "go", inputs={"people": PEOPLE if people is None else list(people)}, run_id="r1"
        )

    async def arrive(self, count: int) -> list[str]:
        """Who has come to the door, as soon as there are `count`."""
        return [await self.arrived.get() for _ in range(count)]


def of_items(events: Any, kind: str) -> list[str]:
    """Where the events of a kind stand."""
    return [event.step or "" for event in events if event.body.kind == kind]


def errors(run: Run) -> Mapping[str, str]:
    """The errors of the items of a run."""
    return {
        event.step or "": event.body.error.code
        for event in run.events
        if event.body.kind == "step.failed" and isinstance(event, Event)
    }
