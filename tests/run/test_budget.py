"""Budgets of runs and steps: at a limit a run ends, a step fails, and what has no price starts nothing."""

from __future__ import annotations

from decimal import Decimal

import pytest
from tests.run.desk import HAPPY, REPLIES, Shop, desk, sure
from tests.run.letter import COST, DRAFT, PRICES, calls, letter, paid

from sopwith import Budget, Engine
from sopwith.errors import UserError
from sopwith.guard.budget import Budgets
from sopwith.guard.price import Prices
from sopwith.ir.event import ModelReplied, StepFailed
from sopwith.ir.usage import Usage
from sopwith.models.scripted import ScriptedModel
from sopwith.run.fold import fold_all


async def test_a_step_at_its_own_limit_fails_and_follows_its_on_error() -> None:
    model = paid('{"title": "far too long"}', '{"title": "also too long"}', '{"title": "short"}')
    run = await letter(model, Budgets(steps={"draft": Budget(model_calls=2)})).run("a letter")
    assert (run.status, run.output) == ("completed", {"how": "short"})
    failed = next(event.body for event in run.events if isinstance(event.body, StepFailed))
    assert (failed.error.code, failed.error.step, calls(run)) == ("budget", "draft", 2)
    assert failed.error.message.startswith("the step's limit of model_calls (2) is reached")


async def test_a_limit_for_every_step_counts_each_step_by_itself() -> None:
    shop = Shop()
    run = await desk(shop, budget=Budgets(step=Budget(model_calls=1, tool_calls=1))).run("A-7 came broken")
    assert run.status == "completed"
    assert run.state.usage.model_calls == 4


async def test_a_named_step_is_held_to_its_own_limit_in_the_place_of_the_general_one() -> None:
    budgets = Budgets(step=Budget(model_calls=0), steps={"draft": Budget(model_calls=1)})
    run = await letter(paid('{"title": "short"}'), budgets).run("a letter")
    assert run.output == {"how": "short"}
    assert calls(run) == 1


async def test_a_step_without_room_for_a_tool_escalates_where_it_has_no_way_on_an_error() -> None:
    shop = Shop()
    run = await desk(shop, budget=Budgets(steps={"pay": Budget(tool_calls=0)})).run("A-7 came broken")
    assert (run.status, shop.refunds) == ("escalated", {})
    assert run.outcome is not None and run.outcome.packet is not None
    assert run.outcome.packet.error is not None
    assert run.outcome.packet.error.code == "budget"


async def test_a_step_that_is_entered_again_has_its_limit_anew() -> None:
    ways = "{to: short, when: error.code == 'budget'}"
    again = DRAFT.replace(
        ways, "{to: draft, when: error.code == 'budget'}\n      - {to: short, when: error.code == 'visits'}"
    ).replace("name: Draft", "name: Draft\n    visits: 2")
    model = paid('{"title": "far too long"}', '{"title": "short"}')
    engine = Engine(again, model=model, budget=Budgets(step=Budget(model_calls=1)))
    run = await engine.run("a letter")
    assert (run.output, run.state.visits["draft"]) == ({"how": "short"}, 2)


async def test_a_limit_for_a_step_that_does_not_exist_starts_nothing() -> None:
    engine = letter(paid(), Budgets(steps={"drafts": Budget(tokens=1)}))
    with pytest.raises(UserError, match=r"budgets\.steps\.drafts: there is no such step") as caught:
        await engine.run("a letter")
    assert "draft" in caught.value.hint.en


async def test_the_cost_is_recorded_with_the_reply_and_summed_exactly() -> None:
    model = paid('{"title": "far too long"}', '{"title": "short"}')
    run = await letter(model, Budget()).run("a letter")
    assert [e.body.cost for e in run.events if isinstance(e.body, ModelReplied)] == [COST, COST]
    assert run.state.usage.money == Decimal("0.00025")


async def test_a_run_at_its_limit_of_money_ends_as_exhausted() -> None:
    model = paid('{"title": "far too long"}', '{"title": "short"}')
    run = await letter(model, Budget(money=0.000125)).run("a letter")
    assert (run.status, calls(run)) == ("exhausted", 1)
    assert run.outcome is not None and run.outcome.packet is not None
    assert run.outcome.packet.reason == "the run's limit of money (0.000125) is reached"


async def test_the_log_gives_back_what_was_paid_and_what_was_allowed() -> None:
    engine = letter(paid('{"title": "short"}'), Budgets(Budget(money=0.1), Budget(tokens=500)))
    run = await engine.run("a letter", run_id="r1")
    stored = fold_all(await engine.log.read("r1"))
    assert (stored.usage, stored.budget, stored.step_budget) == (
        run.state.usage,
        Budget(money=0.1),
        Budget(tokens=500),
    )
    assert stored.usage.money == COST


@pytest.mark.parametrize(
    "budgets",
    [
        Budgets(run=Budget(money=1)),
        Budgets(step=Budget(money=1)),
        Budgets(steps={"draft": Budget(money=1)}),
    ],
    ids=["run", "step", "steps"],
)
async def test_money_and_a_model_without_a_price_start_nothing(budgets: Budgets) -> None:
    engine = letter(paid('{"title": "short"}'), budgets, Prices())
    with pytest.raises(UserError, match="the price of paid is not known") as caught:
        await engine.run("a letter")
    assert "`paid: {input: 1.25, output: 10}`" in caught.value.hint.en
    assert list(await engine.log.runs()) == []


async def test_another_model_of_the_engine_needs_a_price_too() -> None:
    engine = Engine(
        DRAFT,
        model=paid(),
        models={"other": ScriptedModel([], id="x:y")},
        budget=Budget(money=1),
        prices=PRICES,
    )
    with pytest.raises(UserError, match="x:y"):
        await engine.run("a letter")


async def test_a_reply_that_does_not_say_what_it_used_is_the_last_one_where_money_is_limited() -> None:
    model = paid('{"title": "far too long"}', '{"title": "short"}', usage=Usage())
    run = await letter(model, Budget(money=100)).run("a letter")
    assert (run.status, calls(run), run.state.usage.money) == ("exhausted", 1, None)


async def test_without_a_limit_of_money_no_price_is_needed() -> None:
    run = await letter(paid('{"title": "short"}'), Budget(tokens=1000), Prices()).run("a letter")
    assert (run.status, run.state.usage.money) == ("completed", None)


async def test_a_limit_of_wall_time_is_held() -> None:
    now = [10**15]

    def clock() -> int:
        now[0] += 1_000_000
        return now[0]

    shop = Shop()
    run = await desk(
        shop, [HAPPY[0], sure("A", 0.9), *REPLIES[2:]], budget=Budget(seconds=5), clock=clock
    ).run("A-7 came broken")
    assert (run.status, shop.refunds) == ("exhausted", {})
