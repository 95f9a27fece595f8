"""Events that came before a run waits for them: those that fit are taken, and none of the others holds it up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.run.family import Clock

from sopwith import Engine, MemoryLog
from sopwith.guard.vault import MemoryVault, SqliteVault
from sopwith.ir.event import Event
from sopwith.ir.pause import WaitEnded
from sopwith.ir.value import Json
from sopwith.log.port import Log
from sopwith.run.due import due

PHONE = """
schema: sopwith/procedure/1
id: p
output: {type: object, required: [a], properties: {a: {}}}
start: n
steps:
  n: {ask: "ready?", returns: {type: string}, next: w}
  w:
    wait: {event: mail}
    returns: {type: object, required: [phone], properties: {phone: {type: string, pattern: "^[0-9]+$"}}}
    timeout: 1h
    on_error: o
    next: d
  d: {end: complete, result: {a: "${w.phone}"}}
  o: {end: complete, result: {a: "${error.code}"}}
"""
TWO = """
schema: sopwith/procedure/1
id: p
output: {type: object, required: [a], properties: {a: {}}}
start: w
steps:
  w: {wait: {event: mail}, returns: {type: string}, timeout: 1h, on_error: x, next: x}
  x: {wait: {event: mail}, returns: {type: integer}, timeout: 1h, on_error: o, next: d}
  o: {end: complete, result: {a: timeout}}
  d: {end: complete, result: {a: "${x}"}}
"""


class Office:
    """A run that was sent an early event with a number in it, which was erased from the vault since."""

    def __init__(self, folder: Path) -> None:
        self.clock = Clock()
        self.vault = SqliteVault(folder / "v.vault")
        self.log = MemoryLog()

    def engine(self) -> Engine:
        return Engine([PHONE], log=self.log, vault=self.vault, clock=self.clock)

    async def begin(self) -> None:
        assert (await self.engine().run("x", run_id="r")).status == "suspended"
        assert (await self.signal("13800138000")).status == "suspended"
        assert self.vault.erase(lambda run, secret: True) == {"r": 1}
        assert (await self.engine().resume("r", answer="yes")).status == "suspended"

    async def signal(self, phone: str) -> Any:
        return await self.engine().signal("r", "mail", payload={"phone": phone})

    async def ended(self) -> WaitEnded:
        events = await self.log.read("r")
        return next(event.body for event in events if isinstance(event.body, WaitEnded))


async def test_an_erased_event_is_passed_over_for_a_later_one(tmp_path: Path) -> None:
    office = Office(tmp_path)
    await office.begin()
    run = await office.signal("13900139000")
    assert (run.status, run.output) == ("completed", {"a": "13900139000"})
    assert ((await office.ended()).signal, (await office.ended()).passed_over) == (2, (1,))
    assert run.state.taken == {1, 2}


async def test_an_erased_event_does_not_keep_the_time_from_passing(tmp_path: Path) -> None:
    office = Office(tmp_path)
    await office.begin()
    office.clock.pass_(3601)
    (run,) = await office.engine().wake()
    assert run.output == {"a": "timeout"}
    assert (await office.ended()).passed_over == (1,)


async def test_only_an_event_that_fits_makes_a_run_due() -> None:
    clock, log, vault = Clock(), MemoryLog(), MemoryVault()

    async def told(value: Json) -> None:
        await Engine([TWO], log=log, vault=vault, clock=clock).signal("r", "mail", payload=value)

    await Engine([TWO], log=log, vault=vault, clock=clock).run("x", run_id="r")
    await told(5)
    assert await due(log, clock()) == []
    assert await Engine([TWO], log=log, vault=vault, clock=clock).wake() == []
    copy = await _with_message(log, "hello")
    assert await due(copy, clock()) == ["r"]
    (run,) = await Engine([TWO], log=copy, vault=vault, clock=clock).wake()
    assert run.output == {"a": 5}


async def _with_message(log: Log, payload: Json) -> Log:
    """The same log, where another event came and nobody has looked."""
    inbox = await log.read("inbox:r")
    last = inbox[-1]
    message = Event(
        last.task, last.run, last.seq + 1, last.at, last.phase, None, None,
        last.body.model_copy(update={"payload": payload}),
    )  # fmt: skip
    await log.append("inbox:r", [message])
    return log
