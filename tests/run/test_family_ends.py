"""A run never ends while a run that it has called could still act: what is called is stopped first, or waits."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.run.family import Family
from tests.run.hooked_log import HookedLog

from sopwith import Policy, Rule, SopwithError
from sopwith.errors import LogError, RunBusy, Text
from sopwith.guard.vault import SqliteVault
from sopwith.ir.event import Event, LeaseTaken
from sopwith.run import stopping
from sopwith.run.fold import fold_all
from sopwith.run.state import State

ASK = Policy([Rule(id="ask", verdict="ask", effect="write")])

MANY = """
schema: sopwith/procedure/1
id: parent
inputs: {amounts: {type: array, items: {type: object}}}
output: {type: object, required: [n], properties: {n: {type: array, items: {type: object}}}}
%s
start: begin
steps:
  begin: {tool: bank.note, with: {text: begin}, next: pay}
  pay:
    each: {in: "${inputs.amounts}", as: a, at_once: 2}
    call: {procedure: payment, with: {amount: "${a.phone.size() > 0 ? a.amount : 0.0}"}}
    end: complete
    result: {n: "${pay}"}
"""

HANDS_OVER = """
  sure:
    ask: Sure?
    returns: {type: boolean}
    next: [{to: pay, when: sure}, {otherwise: person}]
"""

TWO = "  a: {ask: 'one?', returns: {type: string}, next: b}\n  b: {ask: 'two?', returns: {type: string}, next: pay}\n"


def many(top: str = "", log: HookedLog | None = None) -> Family:
    """A parent that pays two items at once, each payment with the leave of a person."""
    family = Family(policy=ASK, log=log)
    family.procedures[0] = (MANY % top).strip()
    return family


@contextmanager
def erasable(family: Family) -> Generator[SqliteVault]:
    """A vault that can forget somebody."""
    with TemporaryDirectory() as folder:
        vault = SqliteVault(Path(folder) / "secrets.vault")
        family.options["vault"] = vault
        try:
            yield vault
        finally:
            vault.close()


def forget(vault: SqliteVault) -> None:
    """Forget the third person."""
    vault.erase(lambda run, secret: "13800138003" in secret.value)


async def begun(family: Family) -> list[str]:
    """The first two children of a run over three items, which wait for leave."""
    amounts = [{"amount": float(i), "phone": f"1380013800{i}"} for i in (1, 2, 3)]
    await family.engine().run("go", procedure="parent", inputs={"amounts": amounts}, run_id="root")
    return await family.children()


async def states(family: Family) -> dict[str, State]:
    """Every run of the log."""
    return {row.run: fold_all(await family.log.read(row.run)) for row in await family.log.runs(100)}


async def nobody_acts_alone(family: Family) -> None:
    """No run below one that has ended can act any more, whoever tries."""
    found = await states(family)
    for state in found.values():
        if state.outcome is not None:
            assert not state.children, (state.run, state.status)
    paid = list(family.till.paid)
    for state in found.values():
        parent = None if state.parent is None else found[state.parent]
        if parent is None or parent.outcome is None:
            continue
        assert state.outcome is not None, (state.run, state.status)
        for way in ("approve", "resume"):
            with suppress(SopwithError):
                await getattr(family.engine(), way)(state.run, by="li")
    assert family.till.paid == paid


class Between(HookedLog):
    """Lets somebody in once, before a certain event of a run is appended."""

    kind = ""
    child = True

    async def act(self) -> None:
        """What is done then."""

    async def before(self, run: str, events: Sequence[Event], *, durable: bool) -> None:
        kinds = [event.body.kind for event in events]
        if self.kind in kinds and (run != "root") == self.child:
            self.kind = ""
            await self.act()


async def late_parent(top: str = "") -> Family:
    """A parent that has run out of time when the first of its two children has come back."""
    log = Between()
    family = many(top, log)
    log.kind, log.child = "run.resumed", False

    async def pass_time() -> None:
        family.clock.pass_(4000)

    log.act = pass_time
    children = await begun(family)
    await family.engine().approve(children[0], by="li")
    return family


async def test_a_parent_that_is_out_of_time_stops_its_children_and_pays_once_after_a_takeover() -> None:
    family = await late_parent()
    assert sorted(state.status for state in (await states(family)).values()) == [
        "cancelled",
        "completed",
        "escalated",
    ]
    await family.engine().take_over("root", by="op", to="pay")
    for _ in range(3):
        for child in await family.children():
            with suppress(SopwithError):
                await family.engine().approve(child, by="li")
    assert sorted(family.till.paid) == [1.0, 2.0, 3.0]
    await nobody_acts_alone(family)


async def test_a_parent_whose_own_limit_passes_stops_its_children() -> None:
    family = await late_parent("timeout: 10s")
    assert (await states(family))["root"].status == "exhausted"
    await nobody_acts_alone(family)
    assert len(family.till.paid) == 1


async def test_a_parent_that_needs_what_was_erased_stops_its_children() -> None:
    family = many()
    with erasable(family) as vault:
        children = await begun(family)
        forget(vault)
        await family.engine().approve(children[0], by="li")
        assert (await states(family))["root"].status == "escalated"
        await nobody_acts_alone(family)
        assert len(family.till.paid) == 1


async def test_a_child_that_begins_after_its_parent_was_cancelled_is_cancelled() -> None:
    log = Between()
    family = Family(log=log)
    log.kind = "run.started"

    async def cancel() -> None:
        assert (await family.engine().cancel("root", by="boss")).status == "cancelled"

    log.act = cancel
    await family.run()
    found = await states(family)
    assert [state.status for state in found.values()] == ["cancelled", "cancelled"]
    assert family.till.paid == []
    await nobody_acts_alone(family)


@pytest.mark.parametrize("kind", ["cancel.asked", "run.finished"])
async def test_who_is_killed_while_cancelling_leaves_nothing_that_pays(kind: str) -> None:
    log = Between()
    family = Family(policy=ASK, log=log)
    await family.run()
    (child,) = await family.children()
    log.kind = kind

    async def die() -> None:
        raise LogError(Text("killed", "killed"))

    log.act = die
    with pytest.raises(LogError):
        await family.engine().cancel("root", by="boss")
    assert (await states(family))[child].outcome is None
    family.clock.pass_(100)
    if kind == "cancel.asked":
        with suppress(SopwithError):
            await family.engine().approve(child, by="li")
    await family.engine().wake()
    assert family.till.paid == []
    assert [state.status for state in (await states(family)).values()] == ["cancelled", "cancelled"]
    await nobody_acts_alone(family)


@pytest.mark.parametrize("steps", ["", TWO])
async def test_a_child_that_goes_on_while_its_parent_is_cancelled_is_cancelled(steps: str) -> None:
    log = Between()
    family = Family(policy=ASK, log=log, steps=steps, start="a" if steps else "pay")
    await family.run()
    (child,) = await family.children()
    log.kind = "cancel.asked"

    async def go_on() -> None:
        engine = family.engine()
        await (engine.resume(child, answer="y") if steps else engine.approve(child, by="li"))

    log.act = go_on
    assert (await family.engine().cancel("root", by="boss")).status == "cancelled"
    assert family.till.paid == []
    await nobody_acts_alone(family)


async def test_a_child_that_does_not_stop_leaves_its_parent_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopping, "STOP_SECONDS", 0.0)
    family = Family(policy=ASK)
    await family.run()
    (child,) = await family.children()
    last = (await family.log.read(child))[-1]
    lease = LeaseTaken(driver="elsewhere/1/1/x", seconds=300.0)
    held = Event(last.task, child, last.seq + 1, family.clock(), last.phase, None, None, lease)
    await family.log.append(child, [held])
    with pytest.raises(RunBusy, match=child):
        await family.engine().cancel("root", by="boss")
    assert (await states(family))["root"].stopping
    family.clock.pass_(1000)
    assert [run.status for run in await family.engine().wake()] == ["cancelled"]
    assert family.till.paid == []
    await nobody_acts_alone(family)


async def test_a_child_that_has_escalated_cannot_be_taken_over_after_its_parent_has_ended() -> None:
    family = Family(steps=HANDS_OVER, start="sure")
    await family.run()
    (child,) = await family.children()
    assert (await family.engine().resume(child, answer=False)).status == "escalated"
    await family.engine().cancel("root", by="boss")
    with pytest.raises(SopwithError):
        await family.engine().take_over(child, by="op", to="pay")
    assert family.till.paid == []
    await nobody_acts_alone(family)


async def test_a_child_that_is_taken_over_after_its_error_came_back_is_cancelled() -> None:
    pay = "    on_error: other\n"
    family = Family(pay=pay, steps=HANDS_OVER, start="sure")
    await family.run()
    (child,) = await family.children()
    assert (await family.engine().resume(child, answer=False)).status == "escalated"
    assert (await states(family))["root"].status == "completed"
    run = await family.engine().take_over(child, by="op", to="pay")
    assert (run.status, family.till.paid) == ("cancelled", [])


async def test_the_timeout_of_a_call_comes_also_where_its_run_waits_for_a_takeover() -> None:
    pay = "    timeout: 1h\n    on_error:\n      - {to: other, when: \"error.code == 'timeout'\"}\n"
    family = Family(pay=pay, steps=HANDS_OVER, start="sure")
    assert (await family.run()).status == "suspended"
    (child,) = await family.children()
    assert (await family.engine().resume(child, answer=False)).status == "escalated"
    family.clock.pass_(7200)
    (run,) = await family.engine().wake()
    assert run.output == {"receipt": "timeout"}
    assert (await states(family))[child].status == "cancelled"


STEP = st.one_of(
    st.tuples(st.sampled_from(["approve", "deny", "cancel", "resume"]), st.integers(0, 4)),
    st.tuples(st.sampled_from(["cancel root", "wake", "resume root", "take over", "erase"]), st.just(0)),
    st.tuples(st.just("pass"), st.sampled_from([5, 3590, 4000])),
    st.tuples(st.just("late parent"), st.just(0)),
    st.tuples(st.just("kill"), st.integers(1, 5)),
)


class Dies(Between):
    """Takes no more appends after `left`: who writes then is dead."""

    left = 10**9
    child = False

    async def before(self, run: str, events: Sequence[Event], *, durable: bool) -> None:
        self.left -= 1
        if self.left < 0:
            raise LogError(Text("killed", "killed"))
        await super().before(run, events, durable=durable)


async def do(family: Family, what: str, number: int) -> None:
    """One thing that happens to the family."""
    engine, children = family.engine(), await family.children()
    child = children[number % len(children)] if children else "none"
    match what:
        case "approve" | "deny":
            await getattr(engine, what)(child, by="li")
        case "cancel" | "resume":
            await getattr(engine, what)(child, by="li")
        case "cancel root" | "resume root":
            await getattr(engine, what.partition(" ")[0])("root", by="li")
        case "take over":
            await engine.take_over("root", by="op", to="pay")
        case "erase":
            forget(family.options["vault"])
        case "wake":
            await engine.wake()
        case "pass":
            family.clock.pass_(number)
        case _:
            assert isinstance(family.log, Dies)
            family.log.kind = "run.resumed"


@settings(max_examples=40, deadline=None)
@given(steps=st.lists(STEP, max_size=8), top=st.sampled_from(["", "timeout: 10s"]))
async def test_whatever_happens_no_run_ends_before_what_it_has_called(
    steps: list[tuple[str, int]], top: str
) -> None:
    log = Dies()
    family = many(top, log)

    async def pass_time() -> None:
        family.clock.pass_(4000)

    log.act = pass_time
    with erasable(family):
        await begun(family)
        for what, number in steps:
            if what == "kill":
                log.left = number
                continue
            with suppress(SopwithError):
                await do(family, what, number)
            log.left = 10**9
            await nobody_acts_alone(family)
        assert len(family.till.paid) == len(set(family.till.paid))
