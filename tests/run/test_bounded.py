"""Grip bounded: `when` filters, and one reply picks an open way and does the work of its step."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.run.desk import ALLOW, REFUND, Shop

from sopwith import Engine, MemoryLog, Policy, ToolError, tool
from sopwith.ir.event import EdgeTaken, Event, RunResumed
from sopwith.ir.procedure import Grip
from sopwith.lang.compile import compile_procedure
from sopwith.log.chain import verify
from sopwith.models.chat import legal_actions
from sopwith.models.constraint import reply_schema
from sopwith.models.port import ModelReply
from sopwith.models.scripted import ScriptedModel
from sopwith.run.book import Book
from sopwith.run.decide import decide
from sopwith.run.fold import begin, fold, fold_all
from sopwith.run.run import Run
from sopwith.run.values import Values

HAPPY = [
    '{"order": "A-7", "wish": "refund"}',
    '{"name": "shop__refund", "arguments": {"note": "broken"}}',
    "We paid 25 back. Receipt R-1.",
]
TO_PERSON = '{"name": "go_person", "arguments": {}}'


async def bounded(
    replies: list[Any], shop: Shop | None = None, text: str = REFUND, **options: Any
) -> tuple[Run, ScriptedModel]:
    """A bounded run of the desk, with its questions answered."""
    model = ScriptedModel(list(replies))
    given: dict[str, Any] = {"policy": ALLOW, "log": MemoryLog(), **options}
    engine = Engine(text, tools=(shop or Shop()).tools(), model=model, **given)  # type: ignore[arg-type]
    run = await engine.run("A-7 came broken", grip="bounded", principal="u1", run_id="r1")
    while run.outcome is None:
        run = await engine.resume("r1", answer="A-9")
    return run, model


async def test_one_reply_picks_the_way_and_fills_its_step() -> None:
    shop = Shop()
    run, model = await bounded(HAPPY, shop)
    assert (run.status, run.output) == ("completed", {"receipt": "R-1"})
    assert shop.calls == ["order A-7 u1", "refund A-7 25.0 broken"]
    taken = [e.body for e in run.events if isinstance(e.body, EdgeTaken)]
    assert [(e.to, e.by, e.fills) for e in taken] == [
        ("look", "when", False), ("worth", "always", False), ("pay", "choice", True), ("tell", "always", False),
    ]  # fmt: skip
    assert [request.legal for request in model.requests] == [
        ("returns_read",),
        ("shop__refund", "go_person"),
        (),
    ]


async def test_the_tail_says_what_may_be_done_with_which_arguments_and_when() -> None:
    _, model = await bounded(HAPPY)
    assert model.requests[1].prompt.tail == (
        "<variables>\nreason: arrived broken\namount: 25.0\n</variables>\n"
        "Step 3 Decide\nDo one of these next:\n"
        "- shop__refund: Step 4 Pay back: Pay the amount back, with a short note; if the goods were broken or late; "
        "arguments note (string; Why, in a few words.)\n"
        "- go_person: Step 6 To a person; if the customer changed their mind\n"
        'Reply with one JSON object {"name": …, "arguments": {…}}.'
    )


async def test_what_may_be_chosen_is_in_the_block_and_bound_arguments_are_not_asked_for() -> None:
    _, model = await bounded(HAPPY)
    choice = model.requests[1]
    assert [action.name for action in legal_actions(choice)] == ["shop__refund", "go_person"]
    branches: Any = reply_schema(choice)
    assert list(branches["$defs"]["0"]["properties"]) == ["note"]
    assert len({request.prompt.prefix + request.prompt.block for request in model.requests}) == 1


async def test_a_bound_argument_is_overruled_and_a_bad_reply_asked_for_again() -> None:
    shop = Shop()
    wrong = '{"name": "shop__refund", "arguments": {"note": 7, "amount": 9999}}'
    other = '{"name": "shop__refund", "arguments": {"note": "n", "amount": 9999.0}}'
    run, model = await bounded([HAPPY[0], wrong, other, HAPPY[2]], shop)
    assert run.status == "completed"
    assert shop.calls[-1] == "refund A-7 25.0 n"
    assert "Your last reply was refused" in model.requests[2].prompt.tail
    proposed = next(
        e.body for e in run.events if e.body.kind == "call.proposed" and e.body.tool == "shop.refund"
    )
    assert proposed.overruled == {"amount": 9999.0}


async def test_a_step_that_is_only_chosen_does_its_own_work() -> None:
    run, _ = await bounded([HAPPY[0], TO_PERSON])
    assert (run.status, run.path) == ("escalated", ("read", "look", "worth", "person"))


async def test_a_condition_that_holds_is_one_of_the_ways() -> None:
    shop = Shop()
    shop.amount = 900.0
    _, model = await bounded([HAPPY[0], TO_PERSON], shop)
    assert model.requests[1].legal == ("go_person", "shop__refund")
    assert "if the customer changed their mind" not in model.requests[1].prompt.tail


async def test_the_only_way_that_is_open_needs_no_model() -> None:
    text = REFUND.replace("judge: the goods were broken or late", "when: order.amount < 5.0")
    text = text.replace("      - {to: person, judge: the customer changed their mind}\n", "")
    run, model = await bounded([HAPPY[0]], Shop(), text)
    assert (run.path[-1], len(model.requests)) == ("person", 1)


CHOICE = """
schema: sopwith/procedure/1
id: sort
name: Sort a letter
grip: bounded
inputs: {request: {type: string, from: run.request}}
output: {type: object, properties: {topic: {type: string}}}
start: sort
steps:
  sort:
    do: Read the letter
    uses: [inputs.request]
    examples:
      - {given: {request: I want to talk to somebody}, answer: person}
      - {given: {request: Where is my parcel}, answer: topic}
    next:
      - {to: topic, judge: it asks something}
      - {to: find, judge: it names an article, guidance: Search once., pitfalls: [Never guess a number.]}
      - {to: again, judge: it is about an earlier article}
      - {otherwise: person}
  topic:
    do: Say what it is about
    uses: [inputs.request]
    returns: {enum: [parcel, invoice]}
    next: done
  find: {do: Find it, tool: kb.find, as: found, next: person}
  again: {do: Find it again, tool: kb.find, as: more, next: person}
  person: {end: escalate}
  done: {end: complete, result: {topic: "${topic}"}}
"""


def finder() -> Any:
    @tool(name="kb.find")
    def find(words: str) -> dict[str, str]:
        """Find an article."""
        return {"id": words}

    return find


async def sorted_by(*replies: str | ModelReply) -> tuple[Run, ScriptedModel]:
    model = ScriptedModel(list(replies))
    return await Engine(CHOICE, tools=[finder()], model=model).run("Where is my parcel?"), model


async def test_a_value_is_filled_by_the_reply_that_chose_it() -> None:
    run, model = await sorted_by('{"name": "returns_topic", "arguments": "parcel"}')
    assert (run.status, run.output, len(model.requests)) == ("completed", {"topic": "parcel"}, 1)


async def test_steps_that_share_a_tool_are_told_apart_by_names_of_their_own() -> None:
    run, model = await sorted_by('{"name": "go_again", "arguments": {"words": "A-1"}}')
    assert run.state.values["more"] == {"id": "A-1"}
    assert "found" not in run.state.values
    assert model.requests[0].legal == ("returns_topic", "go_find", "go_again", "go_person")


async def test_the_advice_of_an_edge_is_shown_with_its_option() -> None:
    _, model = await sorted_by('{"name": "go_person", "arguments": {}}')
    assert "\n  Search once.\n  ! Never guess a number.\n" in model.requests[0].prompt.tail


async def test_examples_of_a_choice_are_turns_where_the_choice_says_it_all() -> None:
    _, model = await sorted_by('{"name": "go_person", "arguments": {}}')
    (turn,) = model.requests[0].prompt.turns
    assert turn.assistant == '{"name": "go_person", "arguments": {}}'
    assert turn.user == model.requests[0].prompt.tail.replace(
        "Where is my parcel?", "I want to talk to somebody"
    )


async def test_a_provider_that_names_the_tool_apart_is_read_alike() -> None:
    run, _ = await sorted_by(ModelReply('{"words": "A-1"}', name="go_find"))
    assert run.state.values["found"] == {"id": "A-1"}


async def test_what_the_tool_refuses_is_asked_for_at_the_step() -> None:
    @tool(name="kb.find")
    def find(words: str) -> dict[str, str]:
        """Find an article."""
        raise ToolError("busy", "no")

    model = ScriptedModel(['{"name": "go_find", "arguments": {"words": "A"}}'])
    run = await Engine(CHOICE, tools=[find], model=model).run("x")
    assert run.path == ("sort", "find")
    assert run.status == "escalated"


REPLY = st.sampled_from(
    [*HAPPY, TO_PERSON, "prose", "A", "{}", '{"note": "x"}', '{"name": "shop__refund", "arguments": {}}']
)


async def prepared(replies: list[str], status: str) -> tuple[list[Event], Book, Values]:
    shop, log = Shop(), MemoryLog()
    shop.status = status
    run, _ = await bounded([*replies, *HAPPY, *HAPPY], shop, log=log)
    engine = Engine(REFUND, tools=shop.tools(), policy=Policy())  # type: ignore[arg-type]
    procedure = next(iter((await engine.procedures()).values()))
    book = Book(compile_procedure(procedure, engine._library.specs or {}, Grip.BOUNDED))  # pyright: ignore
    return list(await log.read(run.id)), book, Values(lambda name: b"null", lambda value: value)


@settings(max_examples=40, deadline=None)
@given(replies=st.lists(REPLY, max_size=6), status=st.sampled_from(["ok", "odd"]))
async def test_every_prefix_folds_and_decides_something_legal(replies: list[str], status: str) -> None:
    events, book, values = await prepared(replies, status)
    assert verify(events) is None
    state = begin(events[0])
    for event in events[1:]:
        decide(book, state, values)
        state = fold(state, event)
    assert fold_all(events) == state


@pytest.mark.parametrize("at", range(4))
async def test_a_reply_that_goes_along_an_edge_survives_a_restart(at: int) -> None:
    events, book, values = await prepared(HAPPY, "ok")
    chosen = next(i for i, e in enumerate(events) if isinstance(e.body, EdgeTaken) and e.body.by == "choice")
    state = fold_all(events[: chosen + at])
    again = Event(state.task, state.run, state.seq + 1, state.at, state.phase, None, None, RunResumed())
    decision = decide(book, fold(state, again), values)
    expected = ["TakeEdge", "EnterStep", "StartCall", "StartCall"][at]
    assert type(decision).__name__ == expected
    if expected == "StartCall":
        assert decision.arguments == {"number": "A-7", "amount": 25.0, "note": "broken"}  # type: ignore[union-attr]
