"""Calls: a child run by message, its outcome, its budget, its approvals, and what a crash leaves of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime

import pytest
from tests.run.family import WRITES, Family, kinds
from tests.run.hooked_log import HookedLog

from sopwith import Budget, Engine, MemoryLog, Policy, Rule, ToolError, UserError
from sopwith.errors import LogError, ProcedureError, Text
from sopwith.guard.redact_rules import RedactRules
from sopwith.ir.event import Event, Principal
from sopwith.run.run import Run
from sopwith.run.waiting import waiting

TO_OTHER = "    on_error: other"
ASKS = """
  sure:
    ask: Sure?
    returns: {type: boolean}
    next:
      - {to: pay, when: sure}
      - {otherwise: person}
"""


async def test_what_the_child_gives_is_the_value_of_the_step() -> None:
    family = Family()
    run = await family.run()
    assert run.output == {"receipt": "R-1"}
    assert family.till.notes == ["begin", "R-1"]
    (child,) = await family.children()
    events = await family.log.read(child)
    assert (events[0].task, events[0].body.parent, events[0].body.parent_step) == ("root", "root", "pay")
    sent = next(e.body for e in run.events if e.body.kind == "message.sent")
    assert (sent.sender, sent.receiver, sent.task_id, sent.payload) == (
        "root",
        child,
        "root",
        {"amount": 5.0},
    )


async def test_a_parent_that_waits_is_nobodys_and_its_clock_stands_still() -> None:
    family = Family()
    family.till.before = lambda: family.clock.pass_(1000.0) if len(family.till.notes) == 1 else None
    run = await family.run()
    assert run.status == "completed"
    suspended = kinds(run).index("run.suspended")
    assert run.events[suspended].body.waiting_for == "child"
    assert kinds(run)[suspended + 1 : suspended + 4] == ["message.received", "run.resumed", "lease.taken"]
    assert run.state.waited > 999e6


async def test_a_child_that_begins_after_midnight_has_the_day_of_its_parent() -> None:
    family = Family()
    day = datetime.fromtimestamp(family.clock() / 1e6).replace(hour=23, minute=59, second=50)
    family.clock.pass_(day.timestamp() - family.clock() / 1e6)
    family.till.before = lambda: family.clock.pass_(20.0)
    run = await family.run()
    (child,) = await family.children()
    begun = (await family.log.read(child))[0]
    assert datetime.fromtimestamp(begun.at / 1e6).date() > day.date()
    assert begun.body.date == run.events[0].body.date == day.date().isoformat()


async def test_a_child_that_asks_leaves_both_waiting_and_its_answer_drives_both() -> None:
    family = Family(steps=ASKS, start="sure")
    run = await family.run()
    assert (run.status, run.state.waiting_for) == ("suspended", "child")
    assert run.waits_for is not None and run.waits_for.question == "Sure?"
    went = await family.engine().resume(run.waits_for.id, answer=True)
    assert went.status == "completed"
    assert went.called_by is not None
    assert went.called_by.output == {"receipt": "R-1"}
    assert family.till.paid == [5.0]


async def test_resuming_a_parent_looks_after_its_child_and_says_that_it_waits() -> None:
    family = Family(steps=ASKS, start="sure")
    await family.run()
    again = await family.engine().resume("root")
    assert again.waits_for is not None and again.waits_for.question == "Sure?"
    assert len(await family.children()) == 1


@pytest.mark.parametrize("way", ["denied", "failed"])
async def test_how_the_child_ended_is_the_code_of_the_error(way: str) -> None:
    family = Family(pay=TO_OTHER)
    if way == "denied":
        family.options["policy"] = Policy([Rule(id="no", effect="write", verdict="deny")])
        run = await family.run()
        assert run.output == {"receipt": "denied"}
    else:
        family.till.fails = [ToolError("broke", "no money")]
        run = await family.run()
        assert run.output == {"receipt": "escalated"}
        assert "no money" in str(run.events[-1].body) + str(run.state.error)


async def test_without_a_way_on_the_parent_waits_for_who_takes_the_child_over() -> None:
    family = Family()
    family.till.fails = [ToolError("broke", "no money")]
    run = await family.run()
    assert run.status == "suspended"
    assert run.waits_for is not None and run.waits_for.status == "escalated"
    went = await family.engine().take_over(run.waits_for.id, by="alice", to="pay")
    assert went.called_by is not None and went.called_by.output == {"receipt": "R-1"}


async def test_a_child_is_called_again_as_long_as_it_has_not_written() -> None:
    family = Family(pay="    retry: {times: 1}\n    on_error: other")
    family.till.fails = [ToolError("broke", "no money")]
    run = await family.run()
    assert run.output == {"receipt": "R-1"}
    assert len(await family.children()) == 2


async def test_a_child_that_has_written_is_not_called_again() -> None:
    steps = "  first:\n    tool: bank.pay\n    with: {amount: 1.0}\n    verify: first.receipt != ''\n    next: pay"
    family = Family(pay="    retry: {times: 3}\n    on_error: other", steps=steps, start="first")
    paid = family.till.paid
    family.till.before = lambda: family.till.fails.append(ToolError("broke", "no")) if paid else None
    run = await family.run()
    assert run.output == {"receipt": "escalated"}
    assert (paid, len(await family.children())) == ([1.0], 1)
    assert run.state.written == {"pay"}


async def test_a_call_that_is_late_ends_its_child() -> None:
    steps = "  slow:\n    tool: bank.note\n    with: {text: slow}\n    next: pay"
    family = Family(pay="    timeout: 30s\n    on_error: other", steps=steps, start="slow")
    family.till.before = lambda: family.clock.pass_(100.0) if len(family.till.notes) == 1 else None
    run = await family.run()
    assert run.output == {"receipt": "timeout"}
    (child,) = await family.children()
    assert (await family.log.read(child))[-1].body.outcome.kind == "cancelled"
    assert family.till.paid == []


async def test_a_child_that_waits_too_long_is_ended_by_waking() -> None:
    family = Family(pay="    timeout: 1h\n    on_error: other", steps=ASKS, start="sure")
    run = await family.run()
    assert await family.engine().wake() == []
    family.clock.pass_(3700)
    woken = await family.engine().wake()
    assert {one.id for one in woken} >= {"root"}
    assert (await family.log.read("root"))[-1].body.outcome.output == {"receipt": "timeout"}
    assert run.waits_for is not None
    assert (await family.log.read(run.waits_for.id))[-1].body.outcome.kind == "cancelled"


async def test_cancelling_a_parent_ends_its_children() -> None:
    family = Family(steps=ASKS, start="sure")
    run = await family.run()
    assert run.waits_for is not None
    ended = await family.engine().cancel("root", by="bob")
    assert ended.status == "cancelled"
    assert (await family.log.read(run.waits_for.id))[-1].body.outcome.kind == "cancelled"
    assert kinds(ended).count("message.received") == 1


async def test_a_cancelled_child_is_an_error_of_its_parent() -> None:
    family = Family(pay=TO_OTHER, steps=ASKS, start="sure")
    run = await family.run()
    assert run.waits_for is not None
    ended = await family.engine().cancel(run.waits_for.id, by="bob")
    assert ended.status == "cancelled" and ended.called_by is not None
    assert ended.called_by.output == {"receipt": "cancelled"}


async def test_a_child_that_is_cancelled_alone_leaves_its_parent_to_who_wakes_it() -> None:
    family = Family(steps=ASKS, start="sure")
    run = await family.run()
    assert run.waits_for is not None
    await family.engine().cancel(run.waits_for.id, by="bob", alone=True)
    assert (await family.kinds("root"))[-1] == "run.suspended"
    assert [(one.id, one.status) for one in await family.engine().wake()] == [("root", "escalated")]


async def test_what_children_use_counts_once_in_the_budget_of_their_parent() -> None:
    family = Family()
    run = await family.engine(budget=Budget(tool_calls=3)).run(
        "go", procedure="parent", inputs={"amount": 5.0}, run_id="root"
    )
    assert run.status == "completed"
    assert run.state.usage.tool_calls == 3
    again = Family()
    short = await again.engine(budget=Budget(tool_calls=2)).run(
        "go", procedure="parent", inputs={"amount": 5.0}, run_id="root"
    )
    assert short.status == "exhausted"
    assert again.till.paid == [5.0]


async def test_a_share_of_zero_means_none() -> None:
    family = Family(pay=TO_OTHER)
    family.procedures[0] = family.procedures[0].replace(
        "      procedure: payment", "      procedure: payment\n      share: 0"
    )
    run = await family.run()
    assert run.output == {"receipt": "exhausted"}
    assert family.till.paid == []


async def test_a_share_is_a_part_of_what_is_left() -> None:
    family = Family()
    family.procedures[0] = family.procedures[0].replace(
        "      procedure: payment", "      procedure: payment\n      share: 0.5"
    )
    await family.engine(budget=Budget(tool_calls=11)).run(
        "go", procedure="parent", inputs={"amount": 5.0}, run_id="root"
    )
    (child,) = await family.children()
    assert (await family.log.read(child))[0].body.budget.tool_calls == 5


async def test_a_running_parent_keeps_to_the_versions_that_it_was_started_with() -> None:
    family = Family(steps=ASKS, start="sure")
    run = await family.run()
    assert run.waits_for is not None
    family.procedures[1] = family.procedures[1].replace("Sure?", "Really?")
    again = await family.engine().resume("root")
    assert again.waits_for is not None and again.waits_for.question == "Sure?"


class Dies(HookedLog):
    """A log that can be written no more from its `after`-th append on, as when the process is killed there."""

    def __init__(self) -> None:
        super().__init__()
        self.after = 10**9
        self.appends = 0

    async def before(self, run: str, events: Sequence[Event], *, durable: bool) -> None:
        self.appends += 1
        if self.appends > self.after:
            raise LogError(Text("killed", "killed"))


async def test_wherever_it_is_cut_off_a_child_is_made_once_and_comes_back_once() -> None:
    whole = Dies()
    await Family(log=whole).run()
    for after in range(whole.appends):
        family = Family(log=Dies())
        assert isinstance(family.log, Dies)
        family.log.after = after
        with suppress(LogError):
            await family.run()
        family.log.after = 10**9
        if not await family.log.read("root"):
            continue
        run = await family.engine().resume("root")
        assert run.status in ("completed", "suspended"), after
        if run.status == "completed":
            assert run.output == {"receipt": "R-1"}
            assert kinds(run).count("message.sent") == kinds(run).count("message.received") == 1
        assert len(family.till.paid) == 1
        assert len(await family.children()) == 1


async def test_two_that_resume_a_parent_make_one_child() -> None:
    family = Family(log=Dies())
    assert isinstance(family.log, Dies)
    family.log.after = 3
    with pytest.raises(LogError):
        await family.run()
    family.log.after = 10**9
    await asyncio.gather(*(family.engine().resume("root") for _ in range(3)), return_exceptions=True)
    run = (await family.log.read("root"))[-1].body
    assert run.outcome.output == {"receipt": "R-1"}
    assert family.till.paid == [5.0]
    assert len(await family.children()) == 1


ASK = Policy([Rule(id="big", effect="write", verdict="ask")])


async def test_the_approval_of_a_child_is_listed_under_the_first_run_and_drives_both() -> None:
    family = Family(policy=ASK)
    run = await family.run()
    found, _ = await waiting(family.log)
    assert [(one.task, one.run, one.tool) for one in found] == [("root", found[0].run, "bank.pay")]
    assert run.waits_for is not None and run.waits_for.id == found[0].run
    went = await family.engine().approve(found[0].run, by="alice")
    assert went.called_by is not None and went.called_by.output == {"receipt": "R-1"}


async def test_a_call_with_an_approval_asks_before_a_run_is_made() -> None:
    family = Family(pay="    approval: manager")
    family.options["policy"] = Policy(
        [Rule(id="w", effect="write", verdict="allow")], people={"m": ("manager",), "x": ()}
    )
    run = await family.run()
    assert run.question is not None and "payment" in run.question
    assert await family.children() == []
    with pytest.raises(UserError):
        await family.engine().approve("root", by="x")
    done = await family.engine().approve("root", by="m")
    assert done.output == {"receipt": "R-1"}
    assert len(await family.children()) == 1


async def test_a_refused_call_is_denied() -> None:
    family = Family(pay="    approval: manager\n    on_error: other")
    await family.run()
    done = await family.engine().deny("root", by=Principal(id="m", roles=("manager",)), why="no")
    assert done.output == {"receipt": "denied"}
    assert family.till.paid == []


async def test_secrets_are_carried_into_the_scope_of_the_child_and_back() -> None:
    family = Family(redact=RedactRules(inputs=["who"]))
    family.procedures = [
        """
schema: sopwith/procedure/1
id: parent
inputs: {who: {type: string}, phone: {type: string}}
output: {type: object, required: [said], properties: {said: {type: string}}}
start: call
steps:
  call:
    call: {procedure: tell, with: {name: "${inputs.who}", number: "${inputs.phone}"}}
    end: complete
    result: {said: "${call.said}"}
""",
        """
schema: sopwith/procedure/1
id: tell
inputs: {name: {type: string}, number: {type: string}}
output: {type: object, required: [said], properties: {said: {type: string}}}
start: note
steps:
  note:
    tool: bank.note
    with: {text: "${inputs.name} ${inputs.number}"}
    end: complete
    result: {said: "${note}"}
""",
    ]
    run = await family.engine().run(
        "go", procedure="parent", inputs={"who": "Zebulon", "phone": "13800138000"}, run_id="root"
    )
    assert run.output == {"said": "Zebulon 13800138000"}
    assert family.till.notes == ["Zebulon 13800138000"]
    for name in ("root", *(await family.children())):
        told = str(await family.log.read(name))
        assert "Zebulon" not in told and "13800138000" not in told


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("procedure: payment", "procedure: paiment", "SW801"),
        ("with: {amount:", "with: {total: 1, amount:", "SW802"),
        ('with: {amount: "${inputs.amount}"}\n    as', "with: {}\n    as", "SW803"),
        ('with: {amount: "${inputs.amount}"}\n    as', "with: {amount: much}\n    as", "SW804"),
        ("procedure: payment", "procedure: parent", "SW805"),
        ("${paid.receipt}", "${paid.receit}", "SW305"),
    ],
)
async def test_a_call_is_checked_against_what_it_calls(old: str, new: str, code: str) -> None:
    family = Family()
    family.procedures[0] = family.procedures[0].replace(old, new)
    with pytest.raises(ProcedureError) as found:
        await family.run()
    assert code in {diagnostic.code for diagnostic in found.value.diagnostics}


async def test_a_circle_is_named() -> None:
    family = Family()
    family.procedures[1] = family.procedures[1].replace(
        "    tool: bank.pay\n    with: {amount: \"${inputs.amount}\"}\n    verify: pay.receipt != ''",
        '    call: {procedure: parent, with: {amount: "${inputs.amount}"}}',
    )
    with pytest.raises(ProcedureError) as found:
        await family.run()
    assert any("parent → payment → parent" in d.message.en for d in found.value.diagnostics)


async def test_a_dry_run_calls_dry_runs() -> None:
    family = Family(policy=WRITES)
    run = await family.run(dry_run=True)
    assert run.status == "completed"
    assert family.till.paid == []
    (child,) = await family.children()
    assert (await family.log.read(child))[0].body.dry_run


MANY = """
schema: sopwith/procedure/1
id: parent
inputs:
  amounts: {type: array, items: {type: number}}
output:
  type: object
  required: [receipts]
  properties:
    receipts: {type: array, items: {type: string}}
start: pay
steps:
  pay:
    each: {in: "${inputs.amounts}", as: amount, at_once: %d}
    call: {procedure: payment, with: {amount: "${amount}"}}
%s
    as: paid
    end: complete
    result: {receipts: "${paid.map(one, one.receipt)}"}
"""


async def many(family: Family, at_once: int, more: str = "", budget: Budget | None = None) -> Run:
    family.procedures[0] = (MANY % (at_once, more)).strip()
    return await family.engine(budget=budget).run(
        "go", procedure="parent", inputs={"amounts": [1.0, 2.0, 3.0]}, run_id="root"
    )


@pytest.mark.parametrize("at_once", [1, 2, 3])
async def test_each_item_has_a_child_of_its_own_and_the_results_are_in_order(at_once: int) -> None:
    family = Family()
    run = await many(family, at_once)
    assert run.status == "completed"
    began = [(await family.log.read(child))[0] for child in await family.children()]
    by_item = {event.body.parent_step: event.run for event in began}
    assert sorted(by_item) == ["pay[0]", "pay[1]", "pay[2]"]
    receipts = [
        (await family.log.read(by_item[f"pay[{i}]"]))[-1].body.outcome.output["receipt"] for i in range(3)
    ]
    assert run.output == {"receipts": receipts}
    assert sorted(family.till.paid) == [1.0, 2.0, 3.0]


async def test_children_side_by_side_never_get_more_than_is_left() -> None:
    family = Family(steps=ASKS, start="sure")
    await many(family, 3, budget=Budget(tool_calls=7))
    given = [(await family.log.read(child))[0].body.budget.tool_calls for child in await family.children()]
    assert (len(given), sum(given) <= 7, max(given) <= 3) == (3, True, True)


async def test_items_whose_children_ask_leave_the_run_waiting_until_all_are_answered() -> None:
    family = Family(steps=ASKS, start="sure")
    run = await many(family, 3)
    assert run.state.waiting_for == "child"
    children = await family.children()
    for child in children[:-1]:
        went = await family.engine().resume(child, answer=True)
        assert went.called_by is None or went.called_by.outcome is None
    last = await family.engine().resume(children[-1], answer=True)
    assert last.called_by is not None and last.called_by.status == "completed"
    assert sorted(family.till.paid) == [1.0, 2.0, 3.0]


async def test_items_whose_children_wait_take_places_of_those_that_may_be_called_at_once() -> None:
    family = Family(steps=ASKS, start="sure")
    await many(family, 2)
    first = await family.children()
    assert len(first) == 2
    await family.engine().resume(first[0], answer=True)
    assert len(await family.children()) == 3  # one came back, so that one more may be called


async def test_one_approval_covers_the_calls_of_all_items() -> None:
    family = Family()
    run = await many(family, 3, "    approval: manager")
    assert run.question is not None and "pay[2]" in run.question
    done = await family.engine().approve("root", by=Principal(id="m", roles=("manager",)))
    assert done.status == "completed"
    assert sorted(family.till.paid) == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(("items", "calls", "done"), [(3, 3, 3), (4, 4, 4), (8, 7, 7), (2, 1, 1)])
async def test_items_wait_for_the_calls_that_others_give_back(items: int, calls: int, done: int) -> None:
    family = Family()
    family.procedures[0] = (
        (MANY % (4, ""))
        .replace("at_once: 4", "at_once: 4, on_item_error: collect")
        .replace('receipts: "${paid.map(one, one.receipt)}"', 'receipts: "${paid.map(one, string(one.ok))}"')
    )
    run = await family.engine(budget=Budget(tool_calls=calls)).run(
        "go", procedure="parent", inputs={"amounts": [1.0] * items}, run_id="root"
    )
    assert len(family.till.paid) == done, run.status


async def test_a_chain_of_calls_that_is_too_deep_is_named() -> None:
    head = "schema: sopwith/procedure/1\nid: q{0}\nstart: w\nsteps:\n  w: {{{1}end: complete}}\n"
    chain = [head.format(i, f"call: {{procedure: q{i + 1}}}, " if i < 9 else "") for i in range(10)]
    with pytest.raises(ProcedureError) as refused:
        await Engine(chain, [], log=MemoryLog()).procedures()
    (found,) = refused.value.diagnostics
    assert found.code == "SW808" and "q0 → q1" in found.message.en and found.message.en.endswith("q9")
    await Engine([*chain[:8], chain[9].replace("q9", "q8")], [], log=MemoryLog()).procedures()
