"""The step over a list: order, bounds, errors, what comes back when something goes wrong."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.run.office import PEOPLE, Office, errors, notify, of_items

from sopwith import Engine, Policy, Rule, tool
from sopwith.guard.budget import Budgets
from sopwith.ir.event import ItemsBegan, ItemsEnded, ModelRequested
from sopwith.ir.usage import Budget
from sopwith.models.port import ModelReply, ModelRequest
from sopwith.models.scripted import ScriptedModel
from sopwith.run.decide import decide
from sopwith.run.fold import begin, fold, fold_all
from sopwith.run.values import IDENTITY


async def test_items_overlap_and_the_result_is_in_their_order() -> None:
    office = Office()
    office.gate = asyncio.Event()
    running = asyncio.create_task(office.run(notify(", at_once: 3", tool="mail.look")))
    async with asyncio.timeout(30):
        assert await office.arrive(3) == PEOPLE[:3]
    assert office.arrived.empty()
    office.gate.set()
    run = await running
    assert office.most == 3
    assert run.output == {"n": [{"id": f"M-{name}"} for name in PEOPLE]}
    assert run.state == fold_all(run.events)


@pytest.mark.parametrize(("name", "at_once"), [("mail.look", 4), ("mail.send", 1)])
async def test_reads_overlap_and_writes_do_not_where_nothing_is_said(name: str, at_once: int) -> None:
    office = Office()
    await office.run(notify(tool=name))
    assert office.most == at_once


async def test_an_item_is_a_step_instance_of_its_own() -> None:
    office = Office()
    run = await office.run(notify(), ["ann", "ann"])
    assert of_items(run.events, "call.started") == ["notify[0]", "notify[1]"]
    assert office.sent == {"ann": 2}
    assert len(set(office.keys["ann"])) == 2


async def test_the_second_visit_has_its_own_items_and_keys() -> None:
    office = Office()
    again = (
        "visits: 2\n    next: [{to: notify, when: 'run.id == \"r1\" && sent.size() == 1'}, {otherwise: tell}]"
    )
    run = await office.run(notify(more=again + "\n    on_error: tell", ends="{n: '${run.id}'}"), ["ann"])
    assert of_items(run.events, "call.started") == ["notify[0]", "notify#2[0]"]
    assert len(set(office.keys["ann"])) == 2


async def test_an_empty_list_gives_an_empty_list_and_calls_nothing() -> None:
    office = Office()
    run = await office.run(notify(), [])
    assert run.output == {"n": []}
    assert not office.sent
    assert next(e.body for e in run.events if isinstance(e.body, ItemsBegan)).count == 0


async def test_too_many_items_are_refused_before_the_first() -> None:
    office = Office()
    run = await office.run(notify(), ["x"] * 1_000_000)
    assert run.status == "escalated" and run.outcome is not None and run.outcome.packet is not None
    error = run.outcome.packet.error
    assert error is not None and (error.code, error.step) == ("too_many_items", "notify")
    assert "1,000,000" in error.message and "1,000 " in error.message and "limit" in error.message
    assert not office.sent and of_items(run.events, "items.began") == []


async def test_what_is_no_list_is_a_typed_error() -> None:
    office = Office()
    procedure = notify().replace("{type: array, items: {type: string}}", "{}")
    run = await office.engine(procedure).run("go", inputs={"people": {"a": 1}})
    assert errors(run) == {"notify": "no_list"}


async def test_the_first_item_that_fails_ends_the_step_when_the_others_are_back() -> None:
    office = Office()
    office.fails["bo"] = "not_found"
    office.gate = asyncio.Event()
    running = asyncio.create_task(office.run(notify(", at_once: 3")))
    async with asyncio.timeout(30):
        await office.arrive(3)
    office.gate.set()
    run = await running
    assert errors(run) == {"notify[1]": "not_found", "notify": "not_found"}
    assert set(office.sent) <= {"ann", "cy", "di"} and {"ann", "cy"} <= set(office.sent)
    assert len(of_items(run.events, "call.started")) == len(of_items(run.events, "call.finished"))
    assert run.outcome is not None and run.outcome.packet is not None
    error = run.outcome.packet.error
    assert error is not None and error.item == 1 and error.step == "notify"


async def test_of_several_items_that_fail_the_first_of_the_list_is_the_error_of_the_step() -> None:
    office = Office()
    office.fails |= {"bo": "not_found", "cy": "gone"}
    office.gate = asyncio.Event()
    running = asyncio.create_task(office.run(notify(", at_once: 3")))
    async with asyncio.timeout(30):
        await office.arrive(3)
    office.gate.set()
    run = await running
    assert errors(run) == {"notify[1]": "not_found", "notify[2]": "gone", "notify": "not_found"}
    assert run.outcome is not None and run.outcome.packet is not None
    assert run.outcome.packet.error is not None and run.outcome.packet.error.item == 1


async def test_the_error_of_an_item_can_be_branched_on() -> None:
    office = Office()
    office.fails["cy"] = "busy"
    more = "next: tell\n    on_error: [{to: other, when: error.item == 2 && error.code == 'busy'}, {otherwise: bad}]"
    procedure = notify(more=more, ends="{n: 1}") + (
        "  other: {end: complete, result: {n: '${error.item}'}}\n  bad: {end: escalate}\n"
    )
    run = await office.run(procedure)
    assert run.output == {"n": 2}
    assert dict(office.sent) == {"ann": 1, "bo": 1}


async def test_errors_can_be_collected() -> None:
    office = Office()
    office.fails["bo"] = "not_found"
    run = await office.run(notify(", on_item_error: collect"))
    assert run.output == {
        "n": [
            {"ok": True, "value": {"id": "M-ann"}},
            {"ok": False, "error": {"code": "not_found", "message": "no such person: bo"}},
            *({"ok": True, "value": {"id": f"M-{name}"}} for name in PEOPLE[2:]),
        ]
    }
    assert next(e.body for e in run.events if isinstance(e.body, ItemsEnded)).failed == 1


async def test_verify_and_retry_are_the_items_own() -> None:
    office = Office()
    office.fails["bo"] = "busy"
    more = "verify: sent.id == 'M-' + person && person != 'cy'\n    retry: {times: 2, errors: [busy]}\n    next: tell"
    run = await office.run(notify(", on_item_error: collect", more))
    assert errors(run) == {"notify[1]": "busy", "notify[2]": "verify"}
    assert of_items(run.events, "call.started").count("notify[1]") == 3
    assert of_items(run.events, "check.ran").count("notify[0]") == 1


async def test_long_results_are_stored_apart() -> None:
    @tool(name="mail.look")
    async def look(to: str) -> str:
        """Look somebody up."""
        return to * 2000

    engine = Engine(notify(tool="mail.look", ends="{n: '${sent.map(s, s.size())}'}"), [look])
    run = await engine.run("go", inputs={"people": ["ab", "c"]})
    assert run.output == {"n": [4000, 2000]}
    ended = next(e.body for e in run.events if isinstance(e.body, ItemsEnded))
    assert ended.blob is not None and ended.size is not None and ended.size > 6000


MODEL = """
schema: sopwith/procedure/1
id: sort_all
inputs: {mails: {type: array, items: {type: object, required: [text], properties: {text: {type: string}}}}}
output: {type: object, properties: {kinds: {}}}
start: sort
steps:
  sort:
    name: Sort
    each: {in: "${inputs.mails}", as: mail}
    do: What is wanted in this mail?
    uses: [mail.text]
    returns: {enum: [refund, other]}
    as: kind
    next: tell
  tell: {end: complete, result: {kinds: "${kind}"}}
"""


async def test_a_model_fills_each_item_with_one_prefix_and_its_own_values() -> None:
    def reply(request: ModelRequest) -> str:
        return "A" if "money" in request.prompt.tail else "B"

    engine = Engine(MODEL, model=ScriptedModel(reply))
    run = await engine.run(
        "go", inputs={"mails": [{"text": "money back"}, {"text": "hello"}, {"text": "money"}]}
    )
    assert run.output == {"kinds": ["refund", "other", "refund"]}
    asked = [e for e in run.events if isinstance(e.body, ModelRequested)]
    assert len({e.body.prefix for e in asked}) == 1
    assert ["hello" in e.body.tail for e in sorted(asked, key=lambda e: e.step or "")] == [False, True, False]
    assert not run.state.transcript


async def test_an_item_that_a_model_cannot_fill_fails_by_itself() -> None:
    def reply(request: ModelRequest) -> str:
        return "?" if "hello" in request.prompt.tail else "A"

    procedure = MODEL.replace("as: mail}", "as: mail, on_item_error: collect}")
    engine = Engine(procedure, model=ScriptedModel(reply))
    run = await engine.run("go", inputs={"mails": [{"text": "money"}, {"text": "hello"}]})
    kinds: Any = run.output
    assert [kind["ok"] for kind in kinds["kinds"]] == [True, False]


async def test_the_budget_is_held_item_by_item() -> None:
    office = Office()
    run = await office.run(notify(", at_once: 4", tool="mail.look"), budget=Budgets(run=Budget(tool_calls=3)))
    assert run.status == "exhausted"
    assert sum(office.sent.values()) == 3
    run = await office.run(
        notify(", on_item_error: collect", tool="mail.look"), budget=Budgets(step=Budget(tool_calls=2))
    )
    assert list(errors(run).values()) == ["budget"] * 3


async def test_the_budget_of_model_calls_holds_also_where_they_overlap() -> None:
    class Slow(ScriptedModel):
        async def complete(self, request: ModelRequest) -> ModelReply:
            await asyncio.sleep(0)  # others may ask
            return await super().complete(request)

    model = Slow(lambda request: "A")
    engine = Engine(MODEL, model=model, budget=Budgets(run=Budget(model_calls=3)))
    run = await engine.run("go", inputs={"mails": [{"text": str(i)} for i in range(8)]})
    assert run.status == "exhausted"
    assert len(model.requests) == 3


async def test_a_denied_item_is_an_error_of_the_item() -> None:
    office = Office()
    rules = Policy([Rule(id="no_cy", verdict="deny", when="arguments.to == 'cy'")], allow_writes=["mail.*"])
    run = await office.run(notify(", on_item_error: collect"), policy=rules)
    assert errors(run) == {"notify[2]": "denied"}
    run = await office.run(notify(), policy=rules)
    assert run.status == "denied"


async def test_a_dry_run_writes_to_nobody() -> None:
    office = Office()
    engine = office.engine(notify())
    run = await engine.run("go", inputs={"people": PEOPLE}, dry_run=True)
    assert run.status == "completed" and not office.sent
    assert len(of_items(run.events, "call.finished")) == len(PEOPLE)


async def test_every_prefix_of_the_log_folds_and_decides() -> None:
    office = Office()
    office.fails["bo"] = "not_found"
    engine = office.engine(notify(", at_once: 3"))
    run = await engine.run("go", inputs={"people": PEOPLE})
    book = engine._library._books["notify_all", None]  # pyright: ignore[reportPrivateUsage]
    state = begin(run.events[0])
    for event in run.events[1:]:
        decide(book, state, IDENTITY)
        state = fold(state, event)
    assert state == run.state
