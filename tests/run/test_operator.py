"""What people and other processes do to a run: cancel it, take it over, hand it back, ask whether a call acted."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from subprocess import PIPE
from typing import Any

import pytest
from tests.run.bank import Bank, cut_in_payment, escalated, happened, kinds
from tests.run.family import Family
from tests.run.hooked_log import HookedLog

from sopwith import MemoryLog, UserError
from sopwith.errors import LogConflict, RunBusy
from sopwith.ir.event import Event, LeaseTaken
from sopwith.log.sqlite import SqliteLog
from sopwith.run.fold import fold_all
from sopwith.run.lease import LEASE_SECONDS, holder
from sopwith.run.run import Run
from sopwith.run.state import Lease, State
from sopwith.tools.reconcile import NotDone, Unsure


async def test_a_killed_payment_that_happened_is_found_and_not_made_again() -> None:
    bank, log = Bank(happened), MemoryLog()
    await bank.engine(log).run("go", run_id="r1")
    run = await bank.engine(await cut_in_payment(log)).resume("r1")
    assert run.output == {"receipt": "R-1"}
    assert len(bank.paid) == 1
    assert kinds(run).count("call.reconciled") == 1


async def test_a_killed_payment_that_did_not_happen_is_made_once() -> None:
    bank, log = Bank(happened), MemoryLog()
    await bank.engine(log).run("go", run_id="r1")
    bank.paid.clear()
    run = await bank.engine(await cut_in_payment(log)).resume("r1")
    assert run.output == {"receipt": "R-1"}
    assert len(bank.paid) == 1
    assert bank.looks == 1


@pytest.mark.parametrize("answer", [lambda bank, key: Unsure("busy"), None])
async def test_a_killed_payment_that_nobody_can_say_anything_about_escalates(answer: Any) -> None:
    bank, log = Bank(answer), MemoryLog()
    await bank.engine(log).run("go", run_id="r1")
    run = await bank.engine(await cut_in_payment(log)).resume("r1")
    assert run.status == "escalated"
    assert run.outcome is not None and run.outcome.packet is not None
    assert run.outcome.packet.open == ("bank.pay",)
    assert len(bank.paid) == 1


async def test_a_payment_whose_answer_was_lost_is_reconciled_in_the_same_run() -> None:
    bank, log = Bank(happened), MemoryLog()
    bank.lost = True
    run = await bank.engine(log).run("go")
    assert run.output == {"receipt": "R-1"}
    assert len(bank.paid) == 1


async def test_what_failed_and_did_not_happen_is_an_error_and_not_made_again() -> None:
    bank = Bank(lambda bank, key: NotDone())
    bank.lost = True
    run = await bank.engine(MemoryLog()).run("go")
    assert run.status == "escalated"
    assert run.outcome is not None and run.outcome.packet is not None
    assert run.outcome.packet.open == ()
    assert len(bank.paid) == 1


async def test_a_person_who_has_looked_hands_the_run_back_behind_the_payment() -> None:
    bank, log = Bank(), MemoryLog()
    await escalated(bank, log)
    engine = bank.engine(log)
    run = await engine.take_over(
        "r1", by="alice", happened=True, values={"paid": {"receipt": "R-1"}}, to="tell", why="I looked"
    )
    assert run.output == {"receipt": "R-1"}
    assert len(bank.paid) == 1
    stored = next(e for e in run.events if e.body.kind == "value.stored")
    assert (stored.body.by, stored.body.who) == ("human", "alice")
    assert next(e for e in run.events if e.body.kind == "call.reconciled").body.by == "alice"
    assert [v.step for v in run.visited] == ["look", "pay", "tell"]
    assert fold_all(await log.read("r1")) == run.state


@pytest.mark.parametrize("to", ["tell", "Say it", "3"])
async def test_a_step_is_called_by_its_id_its_name_or_its_number(to: str) -> None:
    bank, log = Bank(), MemoryLog()
    await escalated(bank, log)
    engine = bank.engine(log)
    paid = {"paid": {"receipt": "R-1"}}
    run = await engine.take_over("r1", by="alice", happened=True, values=paid, to=to)
    assert run.visited[-1].step == "tell"
    with pytest.raises(UserError, match="no step 'Sing it'") as caught:
        await escalated(bank, other := MemoryLog())
        await bank.engine(other).take_over("r1", by="alice", happened=True, values=paid, to="Sing it")
    assert "tell (Say it)" in caught.value.hint.en


async def test_what_did_not_happen_is_done_again_when_the_person_sends_the_run_back_to_it() -> None:
    bank, log = Bank(), MemoryLog()
    await escalated(bank, log)
    bank.paid.clear()
    bank.lost = False
    run = await bank.engine(log).take_over("r1", by="alice", happened=False, to="pay")
    assert run.status == "completed"
    assert len(bank.paid) == 1


async def test_a_run_is_taken_over_first_and_handed_back_later() -> None:
    bank, log = Bank(), MemoryLog()
    await escalated(bank, log)
    engine = bank.engine(log)
    run = await engine.take_over("r1", by="alice")
    assert run.status == "suspended"
    with pytest.raises(UserError, match="alice has taken"):
        await engine.resume("r1")
    with pytest.raises(UserError, match="alice has taken"):
        await engine.take_over("r1", by="bob", to="tell")
    with pytest.raises(UserError, match="not known whether"):
        await engine.take_over("r1", by="alice", to="tell")
    with pytest.raises(UserError, match="no value: paid"):
        await engine.take_over("r1", by="alice", happened=True, to="tell")
    done = await engine.take_over(
        "r1", by="alice", happened=True, values={"paid": {"receipt": "R-1"}}, to="tell"
    )
    assert done.status == "completed"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"values": {"nothing": 1}}, "no step gives 'nothing'"),
        ({"values": {"paid": 5}}, "does not fit"),
        ({"to": "nowhere", "happened": True}, "no step 'nowhere'"),
    ],
)
async def test_a_take_over_that_does_not_fit_changes_nothing(options: Any, said: str) -> None:
    bank, log = Bank(), MemoryLog()
    await escalated(bank, log)
    before = await log.read("r1")
    with pytest.raises(UserError, match=said):
        await bank.engine(log).take_over("r1", by="alice", **options)
    assert await log.read("r1") == before


async def test_a_completed_run_cannot_be_taken_over() -> None:
    bank, log = Bank(), MemoryLog()
    engine = bank.engine(log)
    await engine.run("go", run_id="r1")
    with pytest.raises(UserError, match="has ended"):
        await engine.take_over("r1", by="alice")


async def test_a_run_that_is_driven_is_busy_for_everybody_else() -> None:
    bank, log = Bank(), MemoryLog()
    bank.hold = asyncio.Event()
    running = asyncio.create_task(bank.engine(log).run("go", run_id="r1"))
    await bank.reached.wait()
    with pytest.raises(RunBusy, match="is being driven"):
        await bank.engine(log).resume("r1")
    bank.hold.set()
    assert (await running).status == "completed"
    assert len(bank.paid) == 1


async def test_of_two_that_take_a_run_at_once_one_gets_it() -> None:
    bank, log = Bank(happened), MemoryLog()
    await bank.engine(log).run("go", run_id="r1")
    bank.paid.clear()
    cut = await cut_in_payment(log)
    tries = await asyncio.gather(*(bank.engine(cut).resume("r1") for _ in range(5)), return_exceptions=True)
    assert sum(isinstance(t, Run) for t in tries) == 1
    assert all(isinstance(t, Run | RunBusy | UserError) for t in tries)
    assert len(bank.paid) == 1


async def test_the_driver_of_another_machine_is_believed_until_its_lease_has_run_out() -> None:
    bank, log = Bank(happened), MemoryLog()
    await bank.engine(log).run("go", run_id="r1")
    cut = await cut_in_payment(log)
    events = list(await cut.read("r1"))
    elsewhere = LeaseTaken(driver="elsewhere/1/1/x", seconds=LEASE_SECONDS)
    await cut.append(
        "r1", [Event("r1", "r1", len(events) + 1, events[-1].at, events[-1].phase, None, None, elsewhere)]
    )
    state = fold_all(await cut.read("r1"))
    soon, late = state.at + 1_000_000, state.at + int(LEASE_SECONDS * 1e6) + 1
    assert holder(state, soon) == "elsewhere/1/1/x"
    assert holder(state, late) is None
    with pytest.raises(RunBusy):
        await bank.engine(cut, clock=lambda: soon).resume("r1")
    assert (await bank.engine(cut, clock=lambda: late).resume("r1")).status == "completed"


def test_a_dead_process_of_this_machine_holds_nothing() -> None:
    code = "from sopwith.run.lease import new_driver; print(new_driver(), flush=True); input()"
    state = asyncio.run(begun())
    with subprocess.Popen([sys.executable, "-c", code], stdin=PIPE, stdout=PIPE, text=True) as child:
        assert child.stdout is not None
        driver = child.stdout.readline().strip()
        taken = state.changed(lease=Lease(driver, LEASE_SECONDS))
        assert holder(taken, taken.at) == driver
        child.kill()
    assert holder(taken, taken.at) is None


async def begun() -> State:
    log = MemoryLog()
    await Bank().engine(log).run("go", run_id="r1")
    return fold_all((await log.read("r1"))[:3])


class Taken(HookedLog):
    """Somebody else takes the run right before its driver stores the intent to pay."""

    async def before(self, run: str, events: Sequence[Event], *, durable: bool) -> None:
        for at, event in enumerate(events):
            if event.body.kind == "call.started" and event.step == "pay":
                taken = LeaseTaken(driver="elsewhere/1/1/x", seconds=LEASE_SECONDS)
                await self.rival(run, [*events[:at], event._replace(body=taken)])


async def test_a_driver_that_has_lost_its_run_never_acts() -> None:
    bank, log = Bank(happened), Taken()
    with pytest.raises(LogConflict):
        await bank.engine(log).run("go", run_id="r1")
    assert bank.looks == 1
    assert bank.paid == {}
    assert holder(fold_all(await log.read("r1")), 0) == "elsewhere/1/1/x"


async def test_a_run_is_cancelled_where_it_is_driven() -> None:
    bank, log = Bank(), MemoryLog()
    bank.hold = asyncio.Event()
    engine = bank.engine(log)
    running = asyncio.create_task(engine.run("go", run_id="r1"))
    await bank.reached.wait()
    cancelled = await engine.cancel("r1", by="alice", why="a mistake")
    run = await running
    assert run.status == cancelled.status == "cancelled"
    assert run.outcome is not None and run.outcome.packet is not None
    assert run.outcome.packet.open == ("bank.pay",)
    assert run.outcome.packet.reason == "cancelled by alice: a mistake"
    assert bank.paid == {}


async def test_a_run_is_cancelled_through_its_inbox_by_another_engine() -> None:
    bank, log = Bank(), MemoryLog()
    bank.hold = asyncio.Event()
    running = asyncio.create_task(bank.engine(log).run("go", run_id="r1"))
    await bank.reached.wait()
    cancelled = await bank.engine(log).cancel("r1", by="bob")
    assert (await running).status == cancelled.status == "cancelled"
    assert [e.body.kind for e in await log.read("inbox:r1")] == ["cancel.asked"]
    assert [row.run for row in await log.runs()] == ["r1"]


async def test_a_cancellation_from_outside_leaves_the_run_free() -> None:
    bank, log = Bank(happened), MemoryLog()
    bank.hold = asyncio.Event()
    running = asyncio.create_task(bank.engine(log).run("go", run_id="r1"))
    await bank.reached.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    bank.hold = None
    assert (await bank.engine(log).resume("r1")).status == "completed"
    assert len(bank.paid) == 1


async def test_a_run_whose_tools_have_changed_can_still_be_cancelled(tmp_path: Any) -> None:
    bank = Bank(happened)
    log = MemoryLog()
    await bank.engine(log).run("go", run_id="r1")
    cut = await cut_in_payment(log)
    changed = Bank(happened, effect="write").engine(cut)
    with pytest.raises(UserError, match="have changed"):
        await changed.resume("r1")
    assert (await changed.cancel("r1", by="alice")).status == "cancelled"


async def test_the_state_of_a_parked_run_does_not_depend_on_the_store(tmp_path: Any) -> None:
    bank = Bank()
    log = SqliteLog(tmp_path / "runs.db")
    await escalated(bank, log)  # type: ignore[arg-type]
    run = await bank.engine(log).take_over("r1", by="alice")
    again = fold_all(await log.read("r1"))
    assert again == run.state
    assert [row.status for row in await log.runs()] == ["suspended"]
    await log.close()


async def test_a_run_that_a_person_has_can_be_cancelled() -> None:
    bank, log = Bank(), MemoryLog()
    await escalated(bank, log)
    engine = bank.engine(log)
    await engine.take_over("r1", by="alice")
    run = await engine.cancel("r1", by="bob")
    assert run.status == "cancelled"
    assert run.outcome is not None and run.outcome.packet is not None
    assert run.outcome.packet.open == ("bank.pay",)


async def test_what_a_cancelled_run_left_open_can_still_be_recorded() -> None:
    bank, log = Bank(), MemoryLog()
    await bank.engine(log).run("go", run_id="r1")
    cut = await cut_in_payment(log)
    ended = await bank.engine(cut).cancel("r1", by="bob")
    assert ended.outcome is not None and ended.outcome.packet is not None
    assert (ended.status, ended.outcome.packet.open) == ("cancelled", ("bank.pay",))
    told = await bank.engine(cut).take_over("r1", by="alice", happened=True)
    assert (told.status, told.state.open) == ("cancelled", ())
    assert told.events[-1].body.by == "alice"
    with pytest.raises(UserError, match="has ended"):
        await bank.engine(cut).take_over("r1", by="alice", to="tell")


async def test_a_run_whose_process_has_ended_is_resumed_and_not_taken_over() -> None:
    bank, log = Bank(), MemoryLog()
    await bank.engine(log).run("go", run_id="r1")
    with pytest.raises(UserError) as refused:
        await bank.engine(await cut_in_payment(log)).take_over("r1", by="alice")
    assert "sopwith resume r1" in refused.value.hint.en


async def test_a_run_that_waits_says_what_it_needs_instead_of_being_taken_over() -> None:
    family = Family(steps="  sure: {ask: Sure?, returns: {type: boolean}, next: pay}\n", start="sure")
    run = await family.run()
    assert run.waits_for is not None
    child = run.waits_for.id
    for name, needed in (("root", "sopwith resume root"), (child, f"sopwith resume {child} --answer")):
        with pytest.raises(UserError) as refused:
            await family.engine().take_over(name, by="alice")
        assert refused.value.hint is not None and needed in refused.value.hint.en
