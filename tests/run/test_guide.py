"""Grip guide: any permitted tool, advice from the position, and what is none of the ways on is noted."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.run.desk import ALLOW, REFUND, Shop, desk

from sopwith import Engine, MemoryLog, Policy, ToolError
from sopwith.ir.event import Event, RunResumed
from sopwith.ir.guidance import DeviationNoted, GuidanceGiven
from sopwith.ir.procedure import Grip
from sopwith.lang.compile import compile_procedure
from sopwith.log.chain import verify
from sopwith.models.port import ModelRequest
from sopwith.models.scripted import ScriptedModel
from sopwith.run.book import Book
from sopwith.run.decide import decide
from sopwith.run.decision import Decision, PerformCall, StartCall
from sopwith.run.fold import begin, fold, fold_all
from sopwith.run.run import Run
from sopwith.run.state import State
from sopwith.run.values import Values


def call(name: str, arguments: object = None) -> str:
    return json.dumps({"name": name, "arguments": {} if arguments is None else arguments})


READ = call("returns_read", {"order": "A-7", "wish": "refund"})
LOOK = call("shop__order", {"number": "A-7", "customer": "u1"})
PAY = call("shop__refund", {"number": "A-7", "amount": 25.0, "note": "broken"})
TELL = call("answer_tell", "We paid 25 back, receipt R-1.")
DONE = call("finish", {"outcome": "complete", "result": {"receipt": "R-1"}})
GIVE_UP = call("finish", {"outcome": "escalate", "reason": "no way"})


def whole(request: ModelRequest) -> str:
    """A request as one text, in the order in which it is sent."""
    prompt = request.prompt
    turns = "".join(f"\nU:{turn.user}\nA:{turn.assistant}" for turn in prompt.turns)
    return f"{prompt.prefix}{prompt.block}{turns}\nU:{prompt.tail}"


async def guided(replies: list[Any], shop: Shop | None = None, **options: Any) -> tuple[Run, ScriptedModel]:
    """A guided run of the desk, with its questions answered."""
    model = ScriptedModel(list(replies))
    given: dict[str, Any] = {"policy": ALLOW, "log": MemoryLog(), **options}
    engine = Engine(REFUND, tools=(shop or Shop()).tools(), model=model, **given)  # type: ignore[arg-type]
    run = await engine.run("A-7 came broken", grip="guide", principal="u1", run_id="r1")
    while run.outcome is None:
        run = await engine.resume("r1", answer="A-9")
    return run, model


def noted(run: Run) -> list[tuple[str, str]]:
    return [(e.body.action, e.body.why) for e in run.events if isinstance(e.body, DeviationNoted)]


async def test_the_way_of_the_procedure_is_walked_as_events_and_ends_in_its_output() -> None:
    shop = Shop()
    run, _ = await guided([READ, LOOK, PAY, TELL, DONE], shop)
    assert (run.status, run.output) == ("completed", {"receipt": "R-1"})
    assert run.path == ("read", "look", "worth", "pay", "tell")
    assert noted(run) == []
    assert shop.calls == ["order A-7 u1", "refund A-7 25.0 broken"]
    assert run.outcome is not None and run.outcome.answer == "We paid 25 back, receipt R-1."


async def test_results_get_the_names_of_their_steps() -> None:
    run, _ = await guided([READ, LOOK, GIVE_UP])
    assert run.state.values["wanted"] == {"order": "A-7", "wish": "refund"}
    assert run.state.values["order"]["amount"] == 25.0


async def test_the_advice_says_what_comes_next_and_which_way_is_open() -> None:
    _, model = await guided([READ, GIVE_UP])
    first, second = (request.prompt.tail for request in model.requests)
    assert "Next: Step 1 Read the request (returns_read)" in first
    advice = second.partition("<advice>")[2].splitlines()
    assert advice[2] == (
        "- if wanted.wish == 'refund' [open]: Step 2 Look the order up (shop__order): "
        'arguments {"number": "A-7", "customer": "u1"}'
    )
    assert advice[4] == "- otherwise [closed]: Step 6 To a person (finish escalate)"
    assert advice[5] == "Latest: wanted"


async def test_the_prompt_shows_the_task_and_none_of_the_steps() -> None:
    _, model = await guided([GIVE_UP])
    assert "Refund an order" in model.requests[0].prompt.prefix
    assert "Pay the amount back" not in model.requests[0].prompt.prefix


@pytest.mark.parametrize(
    ("replies", "expected"),
    [
        ([READ, PAY, GIVE_UP], [("shop__refund", "no_edge")]),
        ([LOOK, GIVE_UP], [("shop__order", "skipped")]),
        ([READ, LOOK, LOOK, GIVE_UP], [("shop__order", "no_edge")]),
        (
            [call("returns_read", {"order": "A", "wish": "exchange"}), LOOK, GIVE_UP],
            [("shop__order", "closed")],
        ),
        ([READ, LOOK, PAY, PAY, GIVE_UP], [("shop__refund", "no_edge")]),
        ([DONE], [("finish", "skipped")]),
    ],
)
async def test_what_is_none_of_the_ways_on_is_allowed_noted_and_told(
    replies: list[str], expected: list[tuple[str, str]]
) -> None:
    run, model = await guided(replies)
    assert noted(run) == expected
    if len(model.requests) > 1:
        assert "this is noted" in model.requests[-1].prompt.tail


async def test_a_tool_that_no_step_names_is_met_with_the_whole_graph() -> None:
    text = REFUND.replace("start: read", "tools: [shop.order, shop.refund, shop.note]\nstart: read")

    from sopwith import tool

    @tool(name="shop.note")
    async def note(text: str) -> dict[str, str]:
        """Write a note."""
        return {"text": text}

    model = ScriptedModel([READ, call("shop__note", {"text": "x"}), LOOK, GIVE_UP])
    engine = Engine(text, tools=[*Shop().tools(), note], model=model, policy=ALLOW)  # type: ignore[list-item]
    run = await engine.run("A-7", grip="guide", principal="u1")
    advice = [e.body for e in run.events if isinstance(e.body, GuidanceGiven)]
    assert [(one.fallback, one.match, one.hops) for one in advice] == [
        (False, "start", 2), (False, "exact", 2), (True, "none", 0), (False, "exact", 2),
    ]  # fmt: skip
    assert noted(run) == [("shop__note", "no_step")]
    assert run.state.values["call_1"] == {"text": "x"}
    assert "That is no step of the procedure. All its steps:" in model.requests[2].prompt.tail
    assert run.path == ("read", "look")


async def test_an_error_is_data_and_leads_along_on_error() -> None:
    shop = Shop()
    shop.failures = [ToolError("not_found", "no such order")]
    again = call("shop__order", {"number": "A-9", "customer": "u1"})
    run, model = await guided([READ, LOOK, call("ask_ask_number"), again, GIVE_UP], shop)
    assert run.path == ("read", "look", "ask_number", "look_again")
    assert noted(run) == []
    assert "Failed: Step 2 Look the order up. Then:" in model.requests[2].prompt.tail
    assert run.state.values["told"] == "A-9"
    assert model.requests[3].prompt.tail.startswith("Result of ask_ask_number: A-9")


async def test_a_denied_call_is_data() -> None:
    shop = Shop()
    run, model = await guided([READ, LOOK, PAY, GIVE_UP], shop, policy=Policy())
    assert (run.status, shop.refunds) == ("escalated", {})
    assert "does not permit shop.refund" in model.requests[3].prompt.tail
    assert run.outcome is not None and run.outcome.packet is not None
    assert "no way" in run.outcome.packet.reason


async def test_a_check_that_fails_is_told_and_ends_nothing() -> None:
    shop = Shop()
    shop.status = "odd"
    run, model = await guided([READ, LOOK, PAY, TELL, DONE], shop)
    assert run.status == "completed"
    assert "This should hold now, and does not: paid.status == 'ok'" in model.requests[3].prompt.tail


async def test_an_output_that_does_not_fit_is_refused_as_data() -> None:
    run, model = await guided([call("finish", {"outcome": "complete", "result": {}}), GIVE_UP])
    assert run.status == "escalated"
    assert "receipt" in model.requests[1].prompt.tail


async def test_a_guided_run_without_an_end_is_bounded() -> None:
    looks = [call("shop__order", {"number": f"A-{i}", "customer": "u1"}) for i in range(60)]
    run, _ = await guided(looks)
    assert run.status == "escalated"
    assert run.state.usage.tool_calls == 40


async def test_a_model_that_does_the_same_over_and_over_is_taken_to_be_stuck() -> None:
    run, model = await guided([READ, *[LOOK] * 20])
    assert (run.status, len(model.requests), run.state.usage.tool_calls) == ("escalated", 5, 3)
    assert run.outcome is not None and run.outcome.packet is not None and run.outcome.packet.error is not None
    assert run.outcome.packet.error.code == "repeated"


async def test_a_large_graph_is_cut_at_a_whole_step() -> None:
    steps = "\n".join(
        f"  s{i}: {{name: '{'long ' * 20}', tool: shop.order, as: o{i}, do: look, next: s{i + 1}}}"
        for i in range(60)
    )
    text = (
        "schema: sopwith/procedure/1\nid: long\ntools: [shop.order, shop.refund]\ngrip: guide\nstart: s0\nsteps:\n"
        f"{steps}\n  s60: {{end: complete}}\n"
    )
    model = ScriptedModel([PAY, GIVE_UP])
    run = await Engine(text, tools=Shop().tools(), model=model, policy=ALLOW).run("go")  # type: ignore[arg-type]
    given = [e.body for e in run.events if isinstance(e.body, GuidanceGiven)][-1]
    assert given.fallback
    assert 3000 < given.bytes < 4200
    assert f"({60 + 1 - len(given.steps)} more)" in model.requests[1].prompt.tail


REPLY = st.sampled_from(
    [
        READ, LOOK, PAY, TELL, DONE, GIVE_UP, "prose", call("nothing"), call("ask_ask_number"), call("shop__order"),
        call("returns_read", {"order": "A-1", "wish": "exchange"}), call("shop__order", {"number": "A-8"}),
        call("finish", {"outcome": "complete"}),
    ]
)  # fmt: skip
VERDICTS = st.sampled_from([ALLOW, Policy()])
FAILURES = st.lists(st.sampled_from(["busy", "not_found"]), max_size=3)


def failing(codes: list[str]) -> Shop:
    shop = Shop()
    shop.failures = [ToolError(code, "x") for code in codes]
    return shop


@settings(max_examples=60, deadline=None)
@given(replies=st.lists(REPLY, max_size=10), codes=FAILURES, policy=VERDICTS)
async def test_every_request_is_a_byte_prefix_of_the_next(
    replies: list[str], codes: list[str], policy: Policy
) -> None:
    _, model = await guided([*replies, GIVE_UP], failing(codes), policy=policy)
    for before, after in itertools.pairwise([whole(request) for request in model.requests]):
        assert after.startswith(before)
    assert len({request.prompt.block for request in model.requests}) == 1


async def prepared(replies: list[str], codes: list[str]) -> tuple[list[Event], Book, Values]:
    """The events of a guided run, and what decides about them."""
    log = MemoryLog()
    run, _ = await guided([*replies, GIVE_UP], failing(codes), log=log)
    engine = desk(failing([]))
    procedure = next(iter((await engine.procedures()).values()))
    book = Book(compile_procedure(procedure, engine._library.specs or {}, Grip.GUIDE))  # pyright: ignore
    return list(await log.read(run.id)), book, Values(lambda name: b"null", lambda value: value)


@settings(max_examples=40, deadline=None)
@given(replies=st.lists(REPLY, max_size=10), codes=FAILURES)
async def test_every_prefix_of_a_log_folds_and_decides_something_legal(
    replies: list[str], codes: list[str]
) -> None:
    events, book, values = await prepared(replies, codes)
    assert verify(events) is None
    state = begin(events[0])
    for event in events[1:]:
        decision: Decision = decide(book, state, values)
        if isinstance(decision, StartCall | PerformCall):
            assert decision.tool.name in book.procedure.permitted_tools()
        state = fold(state, event)
    assert fold_all(events) == state


@settings(max_examples=40, deadline=None)
@given(replies=st.lists(REPLY, max_size=8), codes=FAILURES, cut=st.floats(0, 1))
async def test_a_transcript_goes_on_where_it_was_cut(
    replies: list[str], codes: list[str], cut: float
) -> None:
    """After a crash at any event the next request continues the last one, byte for byte."""
    events, book, values = await prepared(replies, codes)
    kept = events[: max(1, int(cut * len(events)))]
    state: State = fold_all(kept)
    if state.outcome is not None:
        return
    resumed = Event(state.task, state.run, state.seq + 1, state.at, state.phase, None, None, RunResumed())
    state = fold(state, resumed)
    asked = [e.body.tail for e in kept if e.body.kind == "model.requested"]
    sent = [exchange.tail for exchange in state.transcript] + ([] if state.tail is None else [state.tail])
    assert sent == asked[: len(sent)]
    decide(book, state, values)
