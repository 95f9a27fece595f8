"""Items that may have acted, runs that stop in the middle of a list, and the people who take them over."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.run.office import PEOPLE, Office, notify, of_items

from sopwith import MemoryLog, UserError
from sopwith.ir.event import CallReconciled, CallStarted
from sopwith.run.run import Run


def opened(run: Run) -> tuple[str, ...]:
    """The writes that nobody knows of, as the packet names them."""
    assert run.outcome is not None and run.outcome.packet is not None
    return run.outcome.packet.open


async def stopped(office: Office, log: MemoryLog, count: int, name: str = "mail.send") -> None:
    """A run `r1` whose driver goes away while `count` letters are at the door, two of which are sent."""
    office.gate = asyncio.Event()
    office.lost = set()
    running = asyncio.create_task(office.run(notify(f", at_once: {count}", tool=name), log=log))
    async with asyncio.timeout(30):
        await office.arrive(count)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    office.gate = None
    office.arrived = asyncio.Queue()


async def test_an_item_of_which_nobody_hears_again_escalates_when_the_others_are_back() -> None:
    office = Office()
    office.lost = {"bo"}
    office.gate = asyncio.Event()
    running = asyncio.create_task(office.run(notify(", at_once: 3")))
    async with asyncio.timeout(30):
        await office.arrive(3)
    office.gate.set()
    run = await running
    assert run.status == "escalated"
    assert opened(run) == ("mail.send notify[1]",)
    assert run.outcome is not None and run.outcome.packet is not None
    assert "mail.send notify[1]" in run.outcome.packet.reason
    assert set(office.sent.values()) == {1} and {"ann", "bo", "cy"} <= set(office.sent)
    finished = of_items(run.events, "call.finished")
    assert sorted(finished) == sorted(of_items(run.events, "call.started"))


async def test_collecting_errors_collects_no_doubts() -> None:
    office = Office()
    office.lost = {"bo"}
    run = await office.run(notify(", on_item_error: collect"))
    assert run.status == "escalated"
    assert opened(run) == ("mail.send notify[1]",)


async def test_a_failed_item_does_not_hide_one_that_may_have_acted() -> None:
    office = Office()
    office.lost, office.fails = {"bo"}, {"ann": "not_found"}
    office.gate = asyncio.Event()
    more = "next: tell\n    on_error: tell"
    running = asyncio.create_task(office.run(notify(", at_once: 2", more, ends="{n: 1}")))
    async with asyncio.timeout(30):
        await office.arrive(2)
    office.gate.set()
    run = await running
    assert run.status == "escalated"
    assert opened(run) == ("mail.send notify[1]",)


async def test_a_tool_that_can_be_asked_makes_each_item_known() -> None:
    office = Office(asked=True)
    office.lost = {"bo", "di"}
    run = await office.run(notify(", at_once: 2"))
    assert run.output == {"n": [{"id": f"M-{name}"} for name in PEOPLE]}
    assert set(office.sent.values()) == {1}
    known = [e.body for e in run.events if isinstance(e.body, CallReconciled)]
    began = {e.seq: e.step for e in run.events if isinstance(e.body, CallStarted)}
    assert [began[body.started or 0] for body in known] == ["notify[1]", "notify[3]"]


async def test_an_interrupted_list_goes_on_where_it_was() -> None:
    office, log = Office(), MemoryLog()
    await stopped(office, log, 3, "mail.post")
    run = await office.engine(notify(), log).resume("r1")
    assert run.output == {"n": [{"id": f"M-{name}"} for name in PEOPLE]}
    assert dict(office.sent) == dict.fromkeys(PEOPLE, 1)
    again = [e for e in run.events if isinstance(e.body, CallStarted) and e.body.attempt == 2]
    assert sorted(e.step or "" for e in again) == ["notify[0]", "notify[1]", "notify[2]"]
    keys: dict[str, set[str]] = {}
    for event in await log.read("r1"):
        if isinstance(event.body, CallStarted):
            keys.setdefault(event.step or "", set()).add(event.body.key)
    assert all(len(each) == 1 for each in keys.values()) and len(keys) == len(PEOPLE)


async def test_each_write_that_was_interrupted_is_unknown_on_its_own() -> None:
    office, log = Office(), MemoryLog()
    await stopped(office, log, 2)
    run = await office.engine(notify(), log).resume("r1")
    assert opened(run) == ("mail.send notify[0]", "mail.send notify[1]")
    assert not office.sent
    with pytest.raises(UserError, match="2 writes"):
        await office.engine(notify(), log).take_over("r1", by="alice", happened=True)
    with pytest.raises(UserError, match=r"notify\[4\]"):
        await office.engine(notify(), log).take_over("r1", by="alice", happened={"notify[4]": True})


async def test_a_person_says_it_for_each_item_and_the_list_goes_on() -> None:
    office, log = Office(), MemoryLog()
    await stopped(office, log, 2)
    engine = office.engine(notify(), log)
    await engine.resume("r1")
    known = {"notify[0]": True, "notify[1]": False}
    with pytest.raises(UserError, match=r"not known whether these have acted: mail.send notify\[1\]"):
        await engine.take_over("r1", by="alice", happened={"notify[0]": True}, to="notify")
    with pytest.raises(UserError, match=r"notify\[0\]") as refused:
        await engine.take_over("r1", by="alice", happened=known, to="notify")
    assert "--set notify[0]=VALUE" in refused.value.hint.en
    values: dict[str, Any] = {"notify[0]": {"id": "by hand"}}
    run = await engine.take_over("r1", by="alice", happened=known, values=values, to="notify")
    assert run.output == {"n": [{"id": "by hand"}, *({"id": f"M-{name}"} for name in PEOPLE[1:])]}
    assert dict(office.sent) == dict.fromkeys(PEOPLE[1:], 1)


async def test_what_is_done_stays_done_when_a_person_sends_a_run_there_again() -> None:
    office, log = Office(), MemoryLog()
    office.fails["cy"] = "not_found"
    run = await office.run(notify(), log=log)
    assert run.status == "escalated" and list(office.sent) == ["ann", "bo"]
    office.fails.clear()
    run = await office.engine(notify(), log).take_over("r1", by="alice", to="notify")
    assert run.output == {"n": [{"id": f"M-{name}"} for name in PEOPLE]}
    assert dict(office.sent) == dict.fromkeys(PEOPLE, 1)
    assert of_items(run.events, "call.started")[-3:] == ["notify#2[2]", "notify#2[3]", "notify#2[4]"]


async def test_with_again_everything_is_made_anew() -> None:
    office, log = Office(), MemoryLog()
    office.fails["cy"] = "not_found"
    await office.run(notify(), log=log)
    office.fails.clear()
    run = await office.engine(notify(), log).take_over("r1", by="alice", to="notify", again=True)
    assert run.status == "completed"
    assert dict(office.sent) == {"ann": 2, "bo": 2, "cy": 1, "di": 1, "ed": 1}
    assert all(len(set(keys)) == len(keys) for keys in office.keys.values())


async def test_a_cancelled_list_names_what_was_at_work() -> None:
    office, log = Office(), MemoryLog()
    office.gate = asyncio.Event()
    engine = office.engine(notify(", at_once: 2"), log)
    running = asyncio.create_task(engine.run("go", inputs={"people": PEOPLE}, run_id="r1"))
    async with asyncio.timeout(30):
        await office.arrive(2)
        run = await engine.cancel("r1", by="bob")
    assert (await running).status == run.status == "cancelled"
    assert opened(run) == ("mail.send notify[0]", "mail.send notify[1]")
    assert not office.sent


async def test_an_item_that_takes_too_long_times_out_by_itself() -> None:
    office = Office()
    now = 1_790_000_000_000_000

    def clock() -> int:
        return now

    office.gate = asyncio.Event()
    more = "timeout: 100ms\n    next: tell"
    run = await office.run(
        notify(", at_once: 5, on_item_error: collect", more, tool="mail.look"), clock=clock
    )
    value: Any = run.output
    assert [item["error"]["code"] for item in value["n"]] == ["timeout"] * 5
