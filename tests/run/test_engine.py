"""The engine on the refund procedure: every kind of step, with scripted replies and tools that count."""

from __future__ import annotations

import pytest
from tests.run.desk import HAPPY, REPLIES, Shop, desk, sure

from sopwith import Budget, Engine, MemoryLog, Policy, Rule, ToolError, UserError
from sopwith.models.port import ModelReply


def kinds(run: object) -> list[str]:
    return [event.body.kind for event in run.events]  # type: ignore[attr-defined]


async def test_a_run_that_completes_gives_the_typed_output_and_the_answer() -> None:
    shop = Shop()
    run = await desk(shop).run("My order A-7 came broken", principal="u1")
    assert run.status == "completed"
    assert run.path == ("read", "look", "worth", "pay", "tell")
    assert run.outcome is not None
    assert run.outcome.output == {"receipt": "R-1"}
    assert run.outcome.answer == "We paid 25 back. Receipt R-1."
    assert shop.calls == ["order A-7 u1", "refund A-7 25.0 broken on arrival"]
    assert [v.by for v in run.visited] == ["start", "when", "always", "judge", "always"]


async def test_an_input_from_the_principal_never_comes_from_a_model() -> None:
    shop = Shop()
    await desk(shop).run("I am u9. Order A-7 came broken", principal="u1")
    assert shop.calls[0] == "order A-7 u1"


async def test_a_bound_argument_that_the_model_rewrites_is_overruled_and_recorded() -> None:
    shop = Shop()
    replies = [*REPLIES[:2], '{"note": "n", "amount": 9999.0, "number": "A-7"}', HAPPY[3]]
    run = await desk(shop, replies).run("A-7 came broken")
    assert shop.calls[1] == "refund A-7 25.0 n"
    proposed = [e.body for e in run.events if e.body.kind == "call.proposed"][1]
    assert proposed.overruled == {"amount": 9999.0}
    assert proposed.by == "model"


async def test_the_intent_of_a_write_is_in_the_log_before_the_tool_acts() -> None:
    shop = Shop()
    log = MemoryLog()
    intents: list[tuple[str, bool]] = []

    async def watch(key: str) -> None:
        last = (await log.read("r1"))[-1].body
        intents.append((last.kind, last.key == key))

    shop.watch = watch
    await desk(shop, log=log).run("A-7 came broken", run_id="r1")
    assert intents == [("call.started", True)]


async def test_a_doubtful_judgement_goes_to_otherwise() -> None:
    shop = Shop()
    run = await desk(shop, [HAPPY[0], sure("A", 0.41)]).run("A-7")
    assert run.status == "escalated"
    assert run.visited[-1].by == "otherwise"
    assert run.visited[-1].confidence == pytest.approx(0.41)
    assert shop.refunds == {}


async def test_a_judgement_without_a_confidence_is_doubtful_where_one_is_demanded() -> None:
    run = await desk(Shop(), [HAPPY[0], "A"]).run("A-7")
    assert run.path[-1] == "person"


async def test_a_when_before_the_judgements_wins_without_asking_a_model() -> None:
    shop = Shop()
    shop.amount = 900.0
    run = await desk(shop, [HAPPY[0]]).run("A-7")
    assert run.path == ("read", "look", "worth", "person")
    assert kinds(run).count("model.requested") == 1


async def test_none_of_these_is_otherwise() -> None:
    run = await desk(Shop(), [HAPPY[0], sure("C", 0.99)]).run("A-7")
    assert (run.path[-1], run.visited[-1].by) == ("person", "otherwise")


async def test_a_retry_takes_the_same_arguments_and_key() -> None:
    shop = Shop()
    shop.failures = [ToolError("busy", "try later")]
    run = await desk(shop).run("A-7 came broken")
    assert run.status == "completed"
    started = [e.body for e in run.events if e.body.kind == "call.started"][:2]
    assert [s.attempt for s in started] == [1, 2]
    assert started[0].key == started[1].key


async def test_retries_end_and_the_error_follows_on_error() -> None:
    shop = Shop()
    shop.failures = [ToolError("busy", "try later")] * 3
    run = await desk(shop).run("A-7 came broken")
    assert (run.status, run.path) == ("escalated", ("read", "look", "person"))
    assert shop.calls == ["order A-7 anonymous"] * 2


async def test_a_question_suspends_and_an_answer_goes_on() -> None:
    shop = Shop()
    shop.failures = [ToolError("not_found", "no such order")]
    engine = desk(shop)
    run = await engine.run("A-7 came broken", run_id="r1")
    assert (run.status, run.outcome) == ("suspended", None)
    assert run.question == "Which order do you mean? A-7 is not known."
    with pytest.raises(UserError, match="does not fit"):
        await engine.resume("r1", answer=7)
    with pytest.raises(UserError, match="waits for an answer"):
        await engine.resume("r1")
    done = await engine.resume("r1", answer="A-9", by="lee")
    assert done.status == "completed"
    assert shop.calls[1] == "order A-9 anonymous"
    answered = next(e.body for e in done.events if e.body.kind == "human.answered")
    assert (answered.answer, answered.by) == ("A-9", "lee")
    with pytest.raises(UserError, match="has ended"):
        await engine.resume("r1")


async def test_a_write_is_denied_by_default_and_the_run_ends_as_denied() -> None:
    shop = Shop()
    run = await desk(shop, policy=Policy()).run("A-7 came broken")
    assert run.status == "denied"
    assert shop.refunds == {}
    judged = [e.body for e in run.events if e.body.kind == "call.judged"][-1]
    assert judged.verdict == "deny"


async def test_a_call_that_needs_leave_waits_for_a_person() -> None:
    shop = Shop()
    policy = Policy([Rule(id="four-eyes", verdict="ask", tool="shop.refund")])
    engine = desk(shop, policy=policy)
    run = await engine.run("A-7 came broken", run_id="r1")
    assert (run.status, shop.refunds) == ("suspended", {})
    done = await engine.resume("r1", answer=True, by="boss")
    assert done.status == "completed"
    assert len(shop.refunds) == 1


async def test_a_refused_approval_denies() -> None:
    shop = Shop()
    engine = desk(shop, policy=Policy([Rule(id="four-eyes", verdict="ask", tool="shop.refund")]))
    await engine.run("A-7 came broken", run_id="r1")
    done = await engine.resume("r1", answer=False)
    assert (done.status, shop.refunds) == ("denied", {})


async def test_a_failed_verify_never_repeats_the_write() -> None:
    shop = Shop()
    shop.status = "odd"
    run = await desk(shop).run("A-7 came broken")
    assert run.status == "escalated"
    assert len(shop.refunds) == 1
    assert run.outcome is not None and run.outcome.packet is not None
    assert run.outcome.packet.error is not None
    assert run.outcome.packet.error.code == "verify"


async def test_a_reply_that_cannot_be_read_is_told_and_asked_again() -> None:
    run = await desk(Shop(), ["I would say refund", *REPLIES]).run("A-7 came broken")
    assert run.status == "completed"
    rejected = [e.body for e in run.events if e.body.kind == "reply.rejected"]
    assert len(rejected) == 1
    tails = [e.body.tail for e in run.events if e.body.kind == "model.requested"]
    assert tails[1].startswith(tails[0])
    assert rejected[0].error.message in tails[1]


async def test_a_model_that_repeats_itself_is_not_asked_a_third_time() -> None:
    run = await desk(Shop(), ["no"] * 5).run("A-7")
    assert run.status == "escalated"
    assert kinds(run).count("model.requested") == 2


async def test_a_value_outside_the_schema_is_refused() -> None:
    bad = '{"order": "A-7", "wish": "everything"}'
    run = await desk(Shop(), [bad, *REPLIES]).run("A-7 came broken")
    assert run.status == "completed"
    assert "reply.rejected" in kinds(run)


async def test_a_budget_of_zero_means_none_at_all() -> None:
    shop = Shop()
    run = await desk(shop, budget=Budget(tool_calls=0)).run("A-7 came broken")
    assert (run.status, shop.calls) == ("exhausted", [])
    run = await desk(shop, budget=Budget(model_calls=0)).run("A-7 came broken")
    assert run.status == "exhausted"
    assert kinds(run).count("model.requested") == 0


async def test_tokens_are_counted_and_limited() -> None:
    from sopwith.ir.usage import Usage

    reply = ModelReply(HAPPY[0], usage=Usage(input=90, cached=400, output=12))
    run = await desk(Shop(), [reply, *REPLIES[1:]], budget=Budget(tokens=500)).run("A-7 came broken")
    assert run.status == "exhausted"
    assert run.state.usage.tokens == 502


async def test_an_answer_that_fails_its_check_escalates() -> None:
    run = await desk(Shop(), [*REPLIES[:3], "All done!"]).run("A-7 came broken")
    assert run.status == "escalated"


async def test_secrets_never_reach_the_log_and_tools_still_get_them() -> None:
    shop = Shop()
    secret = "13912345678"
    replies = [f'{{"order": "{secret}", "wish": "refund"}}', *REPLIES[1:]]
    log = MemoryLog()
    run = await desk(shop, replies, log=log).run(f"call me at {secret}")
    assert shop.calls[0] == f"order {secret} anonymous"
    assert secret not in repr(run.events)
    assert "13800138000" not in repr(run.events)


async def test_the_context_view_names_the_owner_of_every_value() -> None:
    run = await desk(Shop()).run("A-7 came broken", principal="u1")
    context = run.context
    assert set(context) == {"task_id", "state", "input", "context", "intermediate", "output"}
    assert context["intermediate"]["order"]["owner"] == "look"
    assert context["intermediate"]["paid"]["owner"] == "pay"
    assert context["output"] == {"receipt": "R-1"}


async def test_what_is_given_wrongly_is_said_before_anything_runs() -> None:
    engine = desk(Shop())
    with pytest.raises(UserError, match="no procedure 'refnd'"):
        await engine.run("x", procedure="refnd")
    with pytest.raises(UserError, match="'customer' is not an input"):
        await engine.run("x", inputs={"customer": "u2"})


def test_run_sync_is_the_same_run() -> None:
    run = desk(Shop()).run_sync("A-7 came broken")
    assert run.status == "completed"


async def test_a_model_that_is_down_escalates_with_an_alert() -> None:
    run = await desk(Shop(), []).run("A-7")
    assert run.status == "escalated"
    assert "alert.raised" in kinds(run)


def test_no_procedure_runs_with_errors_in_it() -> None:
    from sopwith import ProcedureError

    broken = Engine("schema: sopwith/procedure/1\nid: x\nstart: a\nsteps:\n  a: {name: A, next: nowhere}\n")
    with pytest.raises(ProcedureError) as caught:
        broken.run_sync("x")
    assert caught.value.diagnostics
