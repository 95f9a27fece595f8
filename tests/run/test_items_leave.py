"""Leave for the calls of a list: asked for once, for all of them, and void for all when one changes."""

from __future__ import annotations

from typing import Any

import pytest
from tests.run.office import PEOPLE, Office, errors, notify, of_items

from sopwith import MemoryLog, Policy, Rule, UserError
from sopwith.ir.event import HumanAsked
from sopwith.run.decide_items import is_covered
from sopwith.run.run import Run
from sopwith.run.state import Cursor
from sopwith.run.waiting import waiting

HEAD = {"roles": ["head"]}


def asking(when: str = "true", approval: Any = HEAD) -> Policy:
    """A policy in which a head has to agree where `when` holds."""
    rule = Rule(id="letters", verdict="ask", tool="mail.send", when=when, approval=approval)
    return Policy([rule], allow_writes=["mail.*"], people={"hana": ("head",), "bob": ()})


def asked(run: Run) -> list[HumanAsked]:
    """What people were asked."""
    return [event.body for event in run.events if isinstance(event.body, HumanAsked)]


async def test_one_question_is_for_all_items_and_lists_them() -> None:
    office, log = Office(), MemoryLog()
    run = await office.run(notify(), log=log, policy=asking())
    assert run.status == "suspended" and not office.sent
    (question,) = asked(run)
    assert question.items == (0, 1, 2, 3, 4) and len(set(question.hashes)) == 5
    assert question.roles == ("head",)
    assert "5 calls of mail.send" in question.question and 'notify[4]: {"to": "ed"}' in question.question
    (found,), _ = await waiting(log)
    assert found.calls == 5 and found.tool == "mail.send"
    assert found.arguments["notify[1]"] == {"to": "bo"}
    engine = office.engine(notify(), log, policy=asking())
    with pytest.raises(UserError, match="none of the roles"):
        await engine.approve("r1", by="bob")
    run = await engine.approve("r1", by="hana")
    assert run.output == {"n": [{"id": f"M-{name}"} for name in PEOPLE]}
    assert dict(office.sent) == dict.fromkeys(PEOPLE, 1)


async def test_a_long_list_is_shortened_in_the_question() -> None:
    office = Office()
    run = await office.run(notify(), ["x" * 500] * 30, policy=asking())
    (question,) = asked(run)
    assert "30 calls" in question.question and "… and 10 more" in question.question
    assert len(question.question) < 6000 and len(question.items) == 30


async def test_items_that_need_no_leave_do_not_wait() -> None:
    office, log = Office(), MemoryLog()
    policy = asking("arguments.to in ['bo', 'di']")
    run = await office.run(notify(), log=log, policy=policy)
    assert asked(run)[0].items == (1, 3)
    assert dict(office.sent) == {"ann": 1, "cy": 1, "ed": 1}
    run = await office.engine(notify(), log, policy=policy).approve("r1", by="hana")
    assert run.output == {"n": [{"id": f"M-{name}"} for name in PEOPLE]}
    assert dict(office.sent) == dict.fromkeys(PEOPLE, 1)


async def test_what_is_refused_is_refused_for_all_that_were_asked_for() -> None:
    office, log = Office(), MemoryLog()
    procedure = notify(", on_item_error: collect")
    policy = asking("arguments.to != 'ann'")
    await office.run(procedure, log=log, policy=policy)
    run = await office.engine(procedure, log, policy=policy).deny("r1", by="hana", why="not today")
    assert errors(run) == {f"notify[{i}]": "denied" for i in range(1, 5)}
    assert dict(office.sent) == {"ann": 1}


async def test_two_rules_are_two_questions() -> None:
    office, log = Office(), MemoryLog()
    rules = [
        Rule(id="a", verdict="ask", when="arguments.to == 'ann'", approval={"roles": ["head"]}),
        Rule(id="b", verdict="ask", tool="mail.send", approval={"roles": ["head"], "count": 2}),
    ]
    policy = Policy(rules, people={"hana": ("head",), "ian": ("head",)})
    run = await office.run(notify(), log=log, policy=policy)
    assert [q.items for q in asked(run)] == [(0,)]
    engine = office.engine(notify(), log, policy=policy)
    run = await engine.approve("r1", by="hana")
    assert dict(office.sent) == {"ann": 1}
    assert asked(run)[-1].items == (1, 2, 3, 4) and asked(run)[-1].count == 2
    run = await engine.approve("r1", by="hana")
    assert run.status == "suspended"
    run = await engine.approve("r1", by="ian")
    assert run.status == "completed"
    assert dict(office.sent) == dict.fromkeys(PEOPLE, 1)


async def test_a_change_to_one_voids_the_approval_of_all() -> None:
    office, log = Office(), MemoryLog()
    await office.run(notify(), log=log, policy=asking())
    stricter = Policy(
        [
            Rule(
                id="di", verdict="ask", when="arguments.to == 'di'", approval={"roles": ["head"], "count": 2}
            ),
            *asking().rules,
        ],
        people={"hana": ("head",), "ian": ("head",)},
    )
    engine = office.engine(notify(), log, policy=stricter)
    run = await engine.approve("r1", by="hana")
    assert run.status == "suspended" and not office.sent
    judged = [e for e in run.events if e.body.kind == "call.judged" and e.body.void is not None]
    assert [(e.step, e.body.void) for e in judged] == [("notify[3]", "changed")]
    assert asked(run)[-1].items == (0, 1, 2, 4)
    await engine.approve("r1", by="hana")
    await engine.approve("r1", by="hana")
    run = await engine.approve("r1", by="ian")
    assert run.status == "completed"
    assert dict(office.sent) == dict.fromkeys(PEOPLE, 1)


async def test_an_approval_of_a_list_expires() -> None:
    office, log = Office(), MemoryLog()
    now = 1_790_000_000_000_000

    def clock() -> int:
        return now

    policy = asking(approval={"roles": ["head"], "expires": "1h"})
    await office.run(notify(), log=log, policy=policy, clock=clock)
    now += 2 * 3600 * 1_000_000
    engine = office.engine(notify(), log, policy=policy, clock=clock)
    run = await engine.approve("r1", by="hana")
    assert run.status == "suspended" and not office.sent
    assert asked(run)[-1].items == (0, 1, 2, 3, 4)
    run = await engine.approve("r1", by="hana")
    assert run.status == "completed" and of_items(run.events, "items.ended") == ["notify"]


@pytest.mark.parametrize("approved", [True, False])
def test_leave_is_for_the_very_call_that_was_asked_about(approved: bool) -> None:
    whole = Cursor("notify", 1, 0, approved=approved, covers={0: "one", 2: "three"})
    item = Cursor("notify", 1, 0, item=0, judged="one")
    assert is_covered(whole, item)
    assert not is_covered(whole, item.changed(judged="two"))
    assert not is_covered(whole, item.changed(judged=None))
    assert not is_covered(whole, item.changed(item=1, judged=None))
    assert not is_covered(whole, item.changed(item=2))
    assert not is_covered(whole.changed(approved=None), item)
