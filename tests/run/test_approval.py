"""Leave to call: who may give it, how many of them, for how long, and what it is bound to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.run.desk import HAPPY, REFUND, REPLIES, Shop, desk

from sopwith import Engine, MemoryLog, Policy, Principal, Rule, UserError
from sopwith.guard.redact_rules import RedactRules
from sopwith.guard.vault import MemoryVault, SqliteVault
from sopwith.models.scripted import ScriptedModel
from sopwith.run.fold import fold_all
from sopwith.run.run import Run

PEOPLE = {"han": ["manager"], "mei": ["manager", "cfo"], "bob": ["clerk"], "u1": ["manager"]}
HOUR = 3_600_000_000


def policy(**terms: Any) -> Policy:
    rule = Rule.model_validate({"id": "refunds", "verdict": "ask", "tool": "shop.refund", "approval": terms})
    return Policy([rule], people=PEOPLE)


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1_790_000_000_000_000

    def __call__(self) -> int:
        return self.now


def bodies(run: Run, kind: str) -> list[Any]:
    return [event.body for event in run.events if event.body.kind == kind]


async def waiting(shop: Shop, rules: Policy, **options: Any) -> Engine:
    engine = desk(shop, policy=rules, **options)
    run = await engine.run("A-7 came broken", run_id="r1", principal="u1")
    assert run.status == "suspended"
    return engine


async def stays(engine: Engine, match: str, **answer: Any) -> None:
    """The answer is refused, and the run is as it was."""
    before = await engine.log.read("r1")
    with pytest.raises(UserError, match=match):
        await (engine.deny if "why" in answer else engine.approve)("r1", **answer)
    assert await engine.log.read("r1") == before


async def test_whoever_has_the_role_gives_leave_and_the_run_goes_on() -> None:
    shop = Shop()
    engine = await waiting(shop, policy(roles="manager", four_eyes=True, expires="2h"), clock=Clock())
    await stays(engine, "'bob' has none of the roles: manager", by="bob")
    await stays(engine, "'u1' has asked for this", by="u1")
    await stays(engine, "'U1 ' has asked for this", by=Principal(id="U1 ", roles=("manager",)))
    for name in ("u1\u200b", "\u202eu1", "u\ufe0f1", "ｕ１\u2063", "u1\x00"):
        await stays(engine, "has asked for this", by=Principal(id=name, roles=("manager",)))
    await stays(engine, "does not know 'nobody'", by="nobody")
    done = await engine.approve("r1", by="han")
    assert (done.status, len(shop.refunds)) == ("completed", 1)
    (asked,) = bodies(done, "human.asked")
    assert (asked.rule, asked.roles, asked.count, asked.four_eyes) == ("refunds", ("manager",), 1, True)
    assert asked.expires_at == Clock().now + 2 * HOUR
    (told,) = bodies(done, "human.answered")
    assert (told.answer, told.by, told.roles) == (True, "han", ("manager",))
    assert bodies(done, "call.judged")[-1].terms == policy(
        roles="manager", four_eyes=True, expires=7200
    ).terms("refunds")


async def test_an_answer_to_an_approval_obeys_the_same_terms() -> None:
    shop = Shop()
    engine = await waiting(shop, policy(roles=["cfo"]))
    with pytest.raises(UserError, match="none of the roles: cfo"):
        await engine.resume("r1", answer=True, by="han")
    assert (await engine.resume("r1", answer=True, by="mei")).status == "completed"


async def test_the_roles_of_a_principal_are_believed_and_those_of_a_name_are_looked_up() -> None:
    engine = await waiting(Shop(), policy(roles=["cfo"]))
    done = await engine.approve("r1", by=Principal(id="new", roles=("cfo", "staff")))
    assert bodies(done, "human.answered")[0].roles == ("cfo", "staff")


async def test_two_different_people_have_to_agree() -> None:
    shop, log, vault = Shop(), MemoryLog(), MemoryVault()
    engine = await waiting(shop, policy(roles="manager", count=2), log=log, vault=vault)
    first = await engine.approve("r1", by="han")
    assert (first.status, shop.refunds) == ("suspended", {})
    assert (await log.runs())[0].status == "suspended"
    await stays(engine, "'han' has approved this already", by="han")
    await stays(engine, "'Han' has approved this", by=Principal(id="Han", roles=("manager",)))
    elsewhere = desk(shop, [*REPLIES[3:]], policy=policy(roles="manager", count=2), log=log, vault=vault)
    done = await elsewhere.approve("r1", by="mei")
    assert (done.status, len(shop.refunds)) == ("completed", 1)
    assert [told.by for told in bodies(done, "human.answered")] == ["han", "mei"]


async def test_one_of_two_may_still_refuse() -> None:
    shop = Shop()
    engine = await waiting(shop, policy(count=2))
    await engine.approve("r1", by="han")
    done = await engine.deny("r1", by="han", why="the wrong customer")
    assert (done.status, shop.refunds) == ("denied", {})
    assert done.outcome is not None and done.outcome.packet is not None
    assert done.outcome.packet.reason == (
        "“Pay back” failed: the call of shop.refund was not approved by han: the wrong customer"
    )
    assert done.outcome.packet.error is not None and done.outcome.packet.error.code == "denied"


async def test_to_refuse_takes_the_role_and_nothing_else() -> None:
    engine = await waiting(Shop(), policy(roles="manager", four_eyes=True))
    await stays(engine, "none of the roles", by="bob", why="I do not like it")
    assert (await engine.deny("r1", by="u1", why="a mistake of mine")).status == "denied"


async def test_only_an_approval_is_approved() -> None:
    shop = Shop()
    engine = await waiting(shop, policy())
    await engine.approve("r1", by="han")
    with pytest.raises(UserError, match="has ended"):
        await engine.approve("r1", by="han")
    text = 'schema: sopwith/procedure/1\nid: x\nstart: a\nsteps:\n  a: {ask: "Which?", next: b}\n  b: {end: escalate}\n'
    asking = Engine(text)
    await asking.run("go", run_id="r1")
    await stays(asking, "does not wait for an approval", by="han")
    await stays(asking, "does not wait for an approval", by="han", why="no")


@pytest.mark.parametrize("times", [1, 3])
async def test_an_approval_that_came_too_late_is_asked_for_again(times: int) -> None:
    shop, clock = Shop(), Clock()
    engine = await waiting(shop, policy(expires="2h"), clock=clock)
    for _ in range(times):
        clock.now += 2 * HOUR + 1
        again = await engine.approve("r1", by="han")
        assert (again.status, shop.refunds) == ("suspended", {})
        assert bodies(again, "call.judged")[-1].void == "expired"
        assert bodies(again, "human.asked")[-1].expires_at == clock.now + 2 * HOUR
    clock.now += 2 * HOUR
    done = await engine.approve("r1", by="han")
    assert (done.status, len(shop.refunds)) == ("completed", 1)
    assert len(bodies(done, "human.asked")) == times + 1


async def test_an_approval_expires_also_between_the_answer_and_the_call() -> None:
    """The process ends right after the answer is stored; the run is taken up the next day."""
    shop, log, vault, clock = Shop(), MemoryLog(), MemoryVault(), Clock()
    rules = policy(expires="2h")
    await waiting(shop, rules, log=log, vault=vault, clock=clock)
    done = await desk(shop, [*REPLIES[3:]], policy=rules, log=log, vault=vault, clock=clock).approve(
        "r1", by="han"
    )
    events = list(done.events)
    answered = next(i for i, event in enumerate(events) if event.body.kind == "human.answered")
    shop.refunds.clear()
    cut = MemoryLog()
    await cut.append("r1", events[: answered + 1], {b: await log.blob(b) for b in _blobs(events)})
    clock.now += 24 * HOUR
    later = desk(shop, [], policy=rules, log=cut, vault=vault, clock=clock)
    run = await later.resume("r1")
    assert (run.status, shop.refunds) == ("suspended", {})
    assert bodies(run, "call.judged")[-1].void == "expired"


def _blobs(events: list[Any]) -> set[str]:
    started = events[0].body
    return {started.procedure, started.tools, started.policy}


@pytest.mark.parametrize(
    ("later", "status"),
    [
        (policy(roles=["manager"], count=2), "suspended"),
        (policy(roles=["cfo", "manager"]), "suspended"),
        (policy(roles=["manager"]), "completed"),
        (Policy([Rule(id="refunds", verdict="allow")], people=PEOPLE), "completed"),
        (Policy([Rule(id="refunds", verdict="deny")], people=PEOPLE), "denied"),
        (Policy(people=PEOPLE), "denied"),
    ],
    ids=["more people", "other roles", "the same", "allowed now", "forbidden now", "rule removed"],
)
async def test_the_policy_in_force_at_the_call_decides_what_an_approval_is_worth(
    later: Policy, status: str
) -> None:
    shop, log, vault = Shop(), MemoryLog(), MemoryVault()
    await waiting(shop, policy(roles=["manager"]), log=log, vault=vault)
    run = await desk(shop, [HAPPY[3]], policy=later, log=log, vault=vault).approve("r1", by="han")
    assert (run.status, len(shop.refunds)) == (status, int(status == "completed"))
    void = bodies(run, "call.judged")[-1].void
    assert void == ("changed" if status == "suspended" else None)


async def test_an_approval_is_void_where_the_hash_is_not_that_of_the_call() -> None:
    """Another vault has another key: nobody can say that what was approved is what would run."""
    shop, log = Shop(), MemoryLog()
    await waiting(shop, policy(), log=log)
    run = await desk(shop, [HAPPY[3]], policy=policy(), log=log).approve("r1", by="han")
    assert (run.status, shop.refunds) == ("suspended", {})
    assert bodies(run, "call.judged")[-1].void == "changed"


async def test_a_refused_call_follows_on_error() -> None:
    shop = Shop()
    text = REFUND.replace(
        "    as: paid\n", "    as: paid\n    on_error: [{to: person, when: error.code == 'denied'}]\n"
    )
    engine = Engine(text, tools=shop.tools(), model=ScriptedModel(list(REPLIES)), policy=policy())
    await engine.run("A-7 came broken", run_id="r1")
    done = await engine.deny("r1", by="han", why="not today")
    assert (done.status, done.path[-2:]) == ("escalated", ("pay", "person"))
    assert done.outcome is not None and done.outcome.packet is not None
    assert "not approved by han: not today" in done.outcome.packet.reason


async def test_names_and_reasons_are_redacted_and_still_compared() -> None:
    shop = Shop()
    rules = Policy(
        [Rule(id="r", verdict="ask", tool="shop.refund", approval={"four_eyes": True, "count": 2})]
    )
    engine = desk(shop, policy=rules)
    await engine.run("A-7 came broken", run_id="r1", principal="li@example.org")
    await stays(engine, "has asked for this", by="LI@example.org")
    await engine.approve("r1", by="han@example.org")
    await stays(engine, "approved this already", by="Han@Example.org")
    done = await engine.deny("r1", by="mei@example.org", why="call 13912345678")
    assert done.status == "denied"
    for secret in ("example.org", "13912345678"):
        assert secret not in repr(done.events)


@pytest.mark.parametrize(
    ("people", "counts"),
    [
        ({"mei": ["manager"]}, False),
        ({"han": ["clerk"], "mei": ["manager"]}, False),
        ({"han": ["manager", "clerk"], "mei": ["manager"]}, True),
    ],
    ids=["gone", "another role", "still"],
)
@pytest.mark.parametrize("by_name", [True, False])
async def test_who_has_left_since_is_none_of_those_who_agreed(
    people: dict[str, list[str]], counts: bool, by_name: bool
) -> None:
    shop, log, vault = Shop(), MemoryLog(), MemoryVault()
    rules = policy(roles=["manager"], count=2)
    engine = await waiting(shop, rules, log=log, vault=vault)
    await engine.approve("r1", by="han" if by_name else Principal(id="han", roles=("manager",)))
    later = desk(shop, [HAPPY[3]], policy=Policy(rules.rules, people=people), log=log, vault=vault)
    run = await later.approve("r1", by="mei")
    counts = counts or not by_name  # who passes a Principal vouches for its roles
    assert (run.status, len(shop.refunds)) == ("completed" if counts else "suspended", int(counts))
    assert bodies(run, "call.judged")[-1].void == (None if counts else "changed")


async def erased(shop: Shop, path: Path, rules: Policy, *voters: str) -> Engine:
    """An engine on a run that waits for leave, after everything in its vault was erased."""
    vault = SqliteVault(path)
    engine = desk(shop, policy=rules, vault=vault, redact=RedactRules(principal=True))
    await engine.run("A-7 came broken", run_id="r1", principal="li@example.org")
    for name in voters:
        await engine.approve("r1", by=name)
    vault.erase(lambda run, secret: True)
    return engine


@pytest.mark.parametrize(
    ("terms", "voters"),
    [({"four_eyes": True}, ()), ({"count": 2}, ("han@example.org",)), ({"count": 2, "four_eyes": True}, ())],
)
async def test_where_somebody_was_erased_leave_can_still_be_refused(
    terms: dict[str, Any], voters: tuple[str, ...], tmp_path: Path
) -> None:
    shop = Shop()
    rules = Policy(
        [Rule.model_validate({"id": "r", "verdict": "ask", "tool": "shop.refund", "approval": terms})]
    )
    engine = await erased(shop, tmp_path / "vault.db", rules, *voters)
    await stays(engine, "was erased", by="mei")
    run = await engine.deny("r1", by="mei", why="nobody knows who asked")
    assert (run.status, shop.refunds) == ("denied", {})
    await engine.close()


async def test_leave_for_a_call_whose_values_were_erased_ends_at_a_person(tmp_path: Path) -> None:
    shop = Shop()
    rules = Policy([Rule.model_validate({"id": "r", "verdict": "ask", "tool": "shop.refund"})])
    engine = await erased(shop, tmp_path / "vault.db", rules)
    run = await engine.approve("r1", by="mei")
    assert (run.status, shop.refunds) == ("escalated", {})
    assert run.outcome is not None and run.outcome.packet is not None
    assert run.outcome.packet.error is not None and run.outcome.packet.error.code == "erased"
    await engine.close()


async def test_every_prefix_of_a_run_with_approvals_folds() -> None:
    shop, clock = Shop(), Clock()
    engine = await waiting(shop, policy(count=2, expires="2h"), clock=clock)
    await engine.approve("r1", by="han")
    clock.now += 3 * HOUR
    await engine.approve("r1", by="mei")
    await engine.approve("r1", by="mei")
    done = await engine.approve("r1", by="han")
    assert done.status == "completed"
    for end in range(1, len(done.events) + 1):
        assert fold_all(done.events[:end]).seq == end
