"""Waits: for a time, for a duration, for an event from outside; and what wakes a run."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.run.family import START, Clock, Till

from sopwith import Engine, MemoryLog, ProcedureError, UserError
from sopwith.errors import RunBusy
from sopwith.guard.vault import MemoryVault
from sopwith.ir.event import Phase
from sopwith.lang.check import check
from sopwith.lang.moment import read_time, write_time
from sopwith.lang.read import read
from sopwith.run.run import Run
from sopwith.run.watchdog import Watchdog

TEXT = """
schema: sopwith/procedure/1
id: patient
inputs:
  when: {type: string}
output:
  type: object
  properties:
    came: {type: string}
start: hold
steps:
  hold:
    wait: %s
    next: done
  done:
    tool: bank.note
    with: {text: done}
    end: complete
    result: {came: done}
  late:
    end: complete
    result: {came: "${error.code}"}
"""

ANSWERED = """
schema: sopwith/procedure/1
id: patient
output:
  type: object
  properties:
    came: {type: string}
start: before
steps:
  before:
    tool: bank.note
    with: {text: before}
    next: hold
  hold:
    wait: {event: paid}
    returns: {type: object, required: [by], properties: {by: {type: string}}}
    timeout: 2h
    on_error: late
    next: done
  done:
    end: complete
    result: {came: "${hold.by}"}
  late:
    end: complete
    result: {came: "${error.code}"}
"""


class Waits:
    """A log, a clock and a vault that outlive their engines."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.till, self.clock, self.log, self.vault = Till(), Clock(), MemoryLog(), MemoryVault()

    def engine(self) -> Engine:
        """A new engine on the same log."""
        return Engine(self.text, self.till.tools(), log=self.log, clock=self.clock, vault=self.vault)

    async def run(self, **inputs: Any) -> Run:
        """The run `r1`."""
        return await self.engine().run("go", inputs=inputs, run_id="r1")


def text(wait: str) -> str:
    """The procedure with one wait, without what nothing leads to."""
    return (TEXT % wait).partition("  late:")[0]


def bodies(run: Run, kind: str) -> list[Any]:
    """The bodies of one kind."""
    return [event.body for event in run.events if event.body.kind == kind]


async def test_a_duration_ends_when_it_has_passed_also_in_another_process() -> None:
    waits = Waits(text("{for: 2d}"))
    run = await waits.run(when="x")
    assert (run.status, run.state.waiting_for, run.state.lease) == ("suspended", "time", None)
    (began,) = bodies(run, "wait.began")
    assert began.until == pytest.approx(run.state.at + 2 * 86_400_000_000, abs=1e6)
    assert (await waits.engine().resume("r1")).status == "suspended"
    assert await waits.engine().wake() == []
    waits.clock.pass_(2 * 86_400 + 1)
    (woken,) = await waits.engine().wake()
    assert woken.output == {"came": "done"}
    assert woken.state.waited > 1.7e11
    assert bodies(woken, "wait.ended")[0].by == "time"


async def test_a_time_comes_from_the_data_of_the_run() -> None:
    waits = Waits(text('{until: "${inputs.when}"}'))
    until = write_time(START + 3_600_000_000)
    run = await waits.run(when=until)
    assert bodies(run, "wait.began")[0].until == read_time(until)
    waits.clock.pass_(3_601)
    assert (await waits.engine().resume("r1")).status == "completed"


async def test_a_time_that_has_passed_is_not_waited_for_and_said_so() -> None:
    waits = Waits(text('{until: "${inputs.when}"}'))
    run = await waits.run(when="2020-01-01T00:00:00Z")
    assert run.status == "completed"
    assert bodies(run, "wait.began")[0].past
    assert bodies(run, "run.suspended") == []


@pytest.mark.parametrize("when", ["2026-13-01T00:00:00Z", "2026-12-01", "2026-12-01T09:00:00", "soon {}"])
async def test_what_is_no_time_follows_on_error(when: str) -> None:
    waits = Waits(
        (TEXT % '{until: "${inputs.when}"}').replace(
            "    next: done", "    on_error: late\n    next: done", 1
        )
    )
    run = await waits.run(when=when)
    assert run.output == {"came": "no_time"}


async def test_an_event_is_taken_with_its_payload() -> None:
    waits = Waits(ANSWERED)
    run = await waits.run()
    assert run.state.waiting_for == "event"
    went = await waits.engine().signal("r1", "paid", payload={"by": "alice"}, by="bank")
    assert went.output == {"came": "alice"}
    (ended,) = bodies(went, "wait.ended")
    assert (ended.by, ended.who, ended.value) == ("event", "bank", {"by": "alice"})


async def test_an_event_that_comes_early_is_kept_and_taken_once() -> None:
    waits = Waits(
        ANSWERED.replace(
            "tool: bank.note\n    with: {text: before}", "ask: Ready?\n    returns: {type: boolean}"
        )
    )
    await waits.run()
    early = await waits.engine().signal("r1", "paid", payload={"by": "early"})
    assert early.question == "Ready?"
    await waits.engine().signal("r1", "paid", payload={"by": "second"})
    went = await waits.engine().resume("r1", answer=True)
    assert went.output == {"came": "early"}
    assert [body.signal for body in bodies(went, "wait.ended")] == [1]


async def test_an_event_that_does_not_come_in_time_is_a_time_out() -> None:
    waits = Waits(ANSWERED)
    await waits.run()
    waits.clock.pass_(7_201)
    (woken,) = await waits.engine().wake()
    assert woken.output == {"came": "timeout"}
    assert bodies(woken, "wait.ended")[0].by == "timeout"


async def test_an_event_that_nobody_waits_for_or_does_not_fit_is_refused_and_not_kept() -> None:
    waits = Waits(ANSWERED)
    await waits.run()
    with pytest.raises(UserError, match="waits nowhere for 'payed'"):
        await waits.engine().signal("r1", "payed")
    with pytest.raises(UserError, match="does not fit"):
        await waits.engine().signal("r1", "paid", payload={"by": 1})
    assert await waits.log.read("inbox:r1") == []
    await waits.engine().signal("r1", "paid", payload={"by": "a"})
    with pytest.raises(UserError, match="has ended"):
        await waits.engine().signal("r1", "paid", payload={"by": "b"})


async def test_personal_data_in_an_event_is_not_in_any_log() -> None:
    waits = Waits(ANSWERED)
    await waits.run()
    went = await waits.engine().signal("r1", "paid", payload={"by": "13800138000"})
    assert went.output == {"came": "13800138000"}
    assert "13800138000" not in str(await waits.log.read("r1")) + str(await waits.log.read("inbox:r1"))


async def test_two_that_wake_a_run_drive_it_once() -> None:
    waits = Waits(text("{for: 1h}"))
    await waits.run(when="x")
    waits.clock.pass_(3_601)
    done = await asyncio.gather(*(waits.engine().resume("r1") for _ in range(3)), return_exceptions=True)
    assert all(isinstance(one, Run | RunBusy | UserError) for one in done)
    assert waits.till.notes == ["done"]


async def test_the_watchdog_says_who_is_overdue() -> None:
    waits = Waits(text("{for: 1h}"))
    await waits.run(when="x")
    dog = Watchdog(waits.log, [], waits.clock, waiting=10.0)
    waits.clock.pass_(3_500)
    assert await dog.look() == []
    waits.clock.pass_(300)
    assert [alert.code for alert in await dog.look()] == ["run.overdue"]
    assert await dog.look() == []


async def test_a_dry_run_waits_for_nothing() -> None:
    waits = Waits(ANSWERED)
    run = await waits.engine().run("go", run_id="r1", dry_run=True)
    assert run.status == "completed"
    assert bodies(run, "wait.ended")[0].by == "dry"


@pytest.mark.parametrize(
    ("wait", "code"),
    [
        ("{for: 0s}", "SW806"),
        ("{for: soon}", "SW806"),
        ('{until: "2026-12-01"}', "SW806"),
        ('{until: "2026-12-01T09:00:00"}', "SW806"),
        ('{until: "2020-12-01T09:00:00Z"}', "SW807"),
        ('{until: "${run.principal.roles}"}', "SW806"),
        ('{until: "${inputs.wen}"}', "SW305"),
        ('{until: "2030-12-01T09:00:00+08:00"}', None),
        ("{for: 2h}", None),
    ],
)
def test_what_cannot_be_waited_for_is_found_before(wait: str, code: str | None) -> None:
    found = check(read(text(wait), "p.yaml"), None, None, START)
    assert [d.code for d in found if d.code.startswith(("SW305", "SW8"))] == ([] if code is None else [code])


def test_a_wait_has_one_kind() -> None:
    with pytest.raises(ProcedureError) as error:
        read(text("{for: 2d, event: paid}"), "p.yaml")
    assert error.value.diagnostics[0].code == "SW113"


async def test_an_answer_that_does_not_come_in_time_follows_on_error() -> None:
    waits = Waits(ANSWERED.replace("    wait: {event: paid}\n", "    ask: Who?\n"))
    await waits.run()
    with pytest.raises(UserError, match="waits for an answer"):
        await waits.engine().resume("r1")
    waits.clock.pass_(7_201)
    with pytest.raises(UserError, match="time for an answer is over"):
        await waits.engine().resume("r1", answer={"by": "late"})
    (woken,) = await waits.engine().wake()
    assert woken.output == {"came": "timeout"}
    assert woken.state.phase is not Phase.ESCALATE
