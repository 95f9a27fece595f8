"""Many tools: a model searches, has described and calls what it needs, and every call is held to what any other is."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.run.shelf import Shelf, Watching, sent

from sopwith import Engine, MemoryLog, Policy, Rule
from sopwith.ir.event import Event, RunResumed
from sopwith.ir.finding import EntryDescribed, SearchMade
from sopwith.ir.procedure import Grip
from sopwith.ir.schema import validator
from sopwith.ir.tool import Effect, ToolSpec
from sopwith.lang.compile import compile_procedure
from sopwith.lang.read import read
from sopwith.run.book import Book
from sopwith.run.disclosure import about_tokens
from sopwith.run.fold import fold_all
from sopwith.run.run import Run


def fields(**properties: Any) -> dict[str, Any]:
    """A schema that requires all of these."""
    return {"type": "object", "properties": properties, "required": list(properties)}


TEXT = {"type": "string"}
NODE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "id": TEXT}, "required": ["id"]}
BALANCE = ToolSpec(
    name="hr.leave_balance",
    description="查询员工年假余额。只读。",
    input_schema=fields(user={"type": "string"}),
)
ORDER = ToolSpec(
    name="shop.order",
    description="Look up an order of a customer. Gives its lines.",
    input_schema=fields(number=TEXT),
)
PAY = ToolSpec(
    name="shop.refund",
    description="Pay the amount of an order back.",
    input_schema=fields(number=TEXT, amount={"type": "number"}),
    effect=Effect.WRITE,
    idempotent=True,
)
TREE = ToolSpec(
    name="map.tree",
    description="Draw a tree of nodes.",
    input_schema={**fields(root={"$ref": "#/$defs/node"}), "$defs": {"node": NODE}},
)
SECRET = ToolSpec(name="admin.wipe", description="Wipe the balance of an order.")
OTHERS = [
    ToolSpec(
        name=f"store.move_{i}",
        description=f"Move the goods of shelf {i} to another warehouse.",
        input_schema=fields(shelf=TEXT),
    )
    for i in range(200)
]
ALL = [BALANCE, ORDER, PAY, TREE, SECRET, *OTHERS]
PERMITTED = "[hr.*, shop.*, map.tree, store.*]"

FREE = f"""
schema: sopwith/procedure/1
id: desk
name: Serve a customer
tools: {PERMITTED}
start: work
steps:
  work: {{grip: free, do: Do what the customer wants, returns: {{type: string}}, as: told, end: complete}}
"""
LEAVE = """
schema: sopwith/procedure/1
id: leave
name: 请假申请
description: 员工提交请假申请。不处理销假
start: done
steps:
  done: {name: 完成, end: complete}
"""


def act(name: str, /, **arguments: Any) -> str:
    """A reply that does one thing."""
    return json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)


def call(tool: str, /, **arguments: Any) -> str:
    """A reply that calls a tool which is not shown."""
    return act("call", tool=tool, arguments=arguments)


DONE = act("finish", outcome="complete", result="done")


async def served(replies: list[str], **options: Any) -> tuple[Run, Watching, Shelf]:
    """A run of the free procedure with these replies, then its end."""
    shelf, model = Shelf("all", ALL), Watching([*replies, DONE])
    given = {"log": MemoryLog(), **options}
    run = await Engine([FREE, LEAVE], [shelf], model, **given).run("please", procedure="desk", run_id="r1")
    return run, model, shelf


def tails(model: Watching) -> list[str]:
    """What each request added."""
    return [request.prompt.tail for request in model.heard]


def names(model: Watching) -> list[str]:
    """The actions of the block."""
    return [action.name for action in model.heard[0].actions]


async def test_what_is_needed_is_found_described_and_called() -> None:
    run, model, _ = await served(
        [
            act("search", context="年假还剩几天"),
            act("describe", name="hr.leave_balance"),
            call("hr.leave_balance", user="u1"),
        ]
    )
    assert (run.status, run.output) == ("completed", "done")
    assert names(model) == ["call", "describe", "finish", "read", "search"]
    assert [request.legal for request in model.heard] == [
        ("finish", "read", "search"),
        *[("call", "describe", "finish", "read", "search")] * 3,
    ]
    first, searched, told, called = tails(model)
    assert "Do what the customer wants" in first
    assert searched == "Result of search: hr.leave_balance: 查询员工年假余额。"
    shown = json.loads(told.removeprefix("Result of describe: "))
    assert shown == {
        "name": "hr.leave_balance",
        "description": "查询员工年假余额。只读。",
        "parameters": BALANCE.input_schema,
    }
    assert called == 'Result of hr.leave_balance: {"given": {"user": "u1"}}'
    assert run.state.usage.tool_calls == 1


async def test_one_search_may_look_for_several_things() -> None:
    run, model, _ = await served(
        [act("search", context="refund", tools=["look up an order", "pay back"], procedures=["请假"])]
    )
    found = next(event.body for event in run.events if isinstance(event.body, SearchMade)).found
    assert [(one.entry, one.name) for one in found if one.entry == "procedure"] == [("procedure", "leave")]
    assert {"shop.order", "shop.refund"} <= {one.name for one in found}
    assert "leave (procedure): 员工提交请假申请。" in tails(model)[1]
    assert all(0 < one.score <= 1 for one in found)


async def test_a_procedure_is_described_by_its_steps() -> None:
    run, model, _ = await served([act("search", context="提交请假申请"), act("describe", name="leave")])
    assert "(leave)" in tails(model)[2] and "完成" in tails(model)[2]
    described = next(event.body for event in run.events if isinstance(event.body, EntryDescribed))
    assert (described.entry, described.name) == ("procedure", "leave")


async def test_the_procedure_of_the_run_is_not_found_in_itself() -> None:
    run, _, _ = await served([act("search", context="x", procedures=["Serve a customer"])])
    assert next(event.body for event in run.events if isinstance(event.body, SearchMade)).found == ()


async def test_a_search_that_fits_nothing_finds_nothing() -> None:
    _, model, _ = await served([act("search", context="zeppelin")])
    assert tails(model)[1] == "Result of search: nothing was found; say it in other words"
    assert model.heard[1].legal == ("finish", "read", "search")


async def test_what_is_not_permitted_is_neither_found_nor_described_nor_called() -> None:
    run, model, _ = await served(
        [
            act("search", context="wipe the balance of an order"),
            act("describe", name="admin.wipe"),
            call("admin.wipe"),
        ]
    )
    assert "admin.wipe" not in tails(model)[1]
    assert "was not found before" in tails(model)[2]
    assert "no tool" in tails(model)[3]
    assert not [event for event in run.events if event.body.kind == "call.proposed"]


async def test_found_is_not_authorised() -> None:
    policy = Policy([Rule(id="no", verdict="deny", tool="shop.*")])
    run, model, _ = await served(
        [act("search", context="look up an order"), call("shop.order", number="A-7")], policy=policy
    )
    assert "denied" in tails(model)[2] or "permit" in tails(model)[2]
    judged = next(event.body for event in run.events if event.body.kind == "call.judged")
    assert (judged.verdict, judged.rule) == ("deny", "no")


async def test_a_found_write_waits_for_its_approval_and_is_made_once() -> None:
    policy = Policy([Rule(id="ask", verdict="ask", tool="shop.refund")])
    shelf, log = Shelf("all", ALL), MemoryLog()
    model = Watching([act("search", context="pay back"), call("shop.refund", number="A-7", amount=3), DONE])
    engine = Engine([FREE, LEAVE], [shelf], model, log=log, policy=policy)
    waiting = await engine.run("please", procedure="desk", run_id="r1")
    assert waiting.outcome is None
    run = await engine.approve("r1", by="boss")
    assert run.status == "completed"
    started = [event.body for event in run.events if event.body.kind == "call.started"]
    assert [(body.tool, body.effect) for body in started] == [("shop.refund", Effect.WRITE)]


async def test_arguments_are_held_to_the_schema_of_the_tool() -> None:
    _, model, _ = await served([call("shop.refund", number="A-7", amount="much"), call("shop.order", n=1)])
    assert "amount" in tails(model)[1] and "describe shows the parameters" in tails(model)[1]
    assert "number" in tails(model)[2]


async def test_arguments_are_repaired_as_those_of_any_tool() -> None:
    wire = '{"name": "call", "arguments": {"tool": "map__tree", "arguments": "{\\"root\\": {\\"id\\": \\"a\\"}}"}}'
    run, _, _ = await served([wire])
    proposed = next(event.body for event in run.events if event.body.kind == "call.proposed")
    assert (proposed.tool, proposed.arguments) == ("map.tree", {"root": {"id": "a"}})
    assert [event.body.kind for event in run.events].count("reply.repaired") == 1


async def test_a_result_is_passed_on_by_reference() -> None:
    run, _, _ = await served(
        [call("shop.order", number="A-7"), call("shop.order", number={"$value": "call_1.given.number"})]
    )
    proposed = [event.body for event in run.events if event.body.kind == "call.proposed"]
    assert [body.arguments for body in proposed] == [{"number": "A-7"}, {"number": "A-7"}]


async def test_a_decoder_is_held_to_what_was_found() -> None:
    _, model, _ = await served([act("search", context="x", tools=["draw a tree", "look up an order"])])
    constraint = validator(model.heard[1].constraints["call"])
    assert constraint.accepts({"tool": "shop.order", "arguments": {"number": "A"}})
    assert constraint.accepts({"tool": "map.tree", "arguments": {"root": {"id": "a", "next": {"id": "b"}}}})
    assert not constraint.accepts({"tool": "map.tree", "arguments": {"root": {"id": "a", "next": {"id": 1}}}})
    assert not constraint.accepts({"tool": "hr.leave_balance", "arguments": {"user": "u"}})
    described = validator(model.heard[1].constraints["describe"])
    assert described.accepts({"name": "map.tree"}) and not described.accepts({"name": "admin.wipe"})


def block_of(text: str, shown: int | None, grip: Grip | None = None, specs: list[ToolSpec] = ALL) -> Book:
    """The book of a procedure with a threshold."""
    by_name = {spec.name: spec for spec in specs}
    return Book(compile_procedure(read(text, "p.yaml").procedure, by_name, grip), tools_shown=shown)


def test_few_tools_are_all_shown() -> None:
    whole = block_of(FREE, None)
    lines = [line for line in whole.block.text.splitlines() if '"store__' in line or "__" in line[:20]]
    size = sum(map(about_tokens, lines))
    assert block_of(FREE, size).block.text == whole.block.text
    assert block_of(FREE, size).open_prefix == whole.open_prefix
    less = block_of(FREE, size - 1)
    assert [action.name for action in less.block.actions] == ["call", "describe", "finish", "read", "search"]
    assert less.open_prefix != whole.open_prefix


STEPS = """
schema: sopwith/procedure/1
id: desk
name: Serve a customer
tools: [hr.*, shop.*, map.tree, store.*]
inputs: {request: {type: string, from: run.request}}
start: look
steps:
  look: {do: Find the order, tool: shop.order, as: order, uses: [inputs.request], next: pay}
  pay: {do: Pay it back, tool: shop.refund, as: paid, uses: [order], verify: paid.given.amount > 0.0, next: done}
  done: {end: complete}
"""


@pytest.mark.parametrize("grip", [Grip.STRICT, Grip.BOUNDED])
def test_strict_and_bounded_show_the_tools_of_the_steps_and_nothing_else(grip: Grip) -> None:
    book = block_of(STEPS, 0, grip)
    assert [action.name for action in book.block.actions] == ["shop__order", "shop__refund"]


def test_guide_shows_the_tools_of_its_steps_and_finds_the_others() -> None:
    book = block_of(STEPS, 0, Grip.GUIDE)
    assert [action.name for action in book.block.actions] == [
        "call", "describe", "finish", "read", "search", "shop__order", "shop__refund",
    ]  # fmt: skip


async def test_in_guide_a_found_tool_is_called_and_noted() -> None:
    model = Watching(
        [
            act("search", context="年假余额"),
            call("hr.leave_balance", user="u1"),
            act("shop__order", number="A-7"),
            act("finish", outcome="escalate", reason="enough"),
        ]
    )
    engine = Engine(STEPS, [Shelf("all", ALL)], model, tools_shown=100)
    run = await engine.run("A-7", grip="guide")
    noted = [(e.body.action, e.body.why) for e in run.events if e.body.kind == "deviation.noted"]
    assert noted[0] == ("hr__leave_balance", "no_step")
    assert run.path[0] == "look"
    assert [e.body.tool for e in run.events if e.body.kind == "call.started"] == [
        "hr.leave_balance",
        "shop.order",
    ]
    told = [request.prompt.tail for request in model.heard]
    assert told[1].startswith("Result of search: hr.leave_balance")
    assert all("<advice>" in tail for tail in told)


REPLIES = st.sampled_from(
    [
        act("search", context="look up an order"),
        act("search", context="年假", procedures=["请假"]),
        act("search", context="zeppelin"),
        act("describe", name="shop.order"),
        act("describe", name="leave"),
        act("describe", name="nothing"),
        call("shop.order", number="A-7"),
        call("shop.order", wrong=1),
        call("admin.wipe"),
        act("read", value="call_1"),
        "prose",
    ]
)


@settings(max_examples=40, deadline=None)
@given(replies=st.lists(REPLIES, max_size=7), cut=st.integers(0, 40))
async def test_every_request_begins_with_the_one_before_also_after_a_crash(
    replies: list[str], cut: int
) -> None:
    log = MemoryLog()
    run, model, _ = await served(replies, log=log)
    events: list[Event] = list(await log.read("r1"))
    assert fold_all(events) == run.state
    heard = [sent(request) for request in model.heard]
    for one, next_ in itertools.pairwise(heard):
        assert next_[: len(one)] == one
    # A crash right after any event: what was sent before is sent again, byte for byte, and then goes on.
    before = [event for event in events if event.seq <= max(2, len(events) - 1 - cut)]
    if before[-1].body.kind in ("run.finished", "call.started", "call.judged", "call.proposed"):
        return
    copy = MemoryLog()
    await copy.append(
        "r1", before, {name: await log.blob(name) for name in run.state.blobs} | await blobs(log, events)
    )
    said = [event.body for event in before if event.body.kind == "model.replied"]
    again = Watching([*[*replies, DONE][len(said) :], DONE, DONE, DONE])
    shelves = [Shelf("all", [*reversed(ALL), ToolSpec(name="a.new", description="an order")])]
    engine = Engine([FREE, LEAVE], shelves, again, log=copy, tools_shown=10**9)
    resumed = await engine.resume("r1", by="again")
    assert any(isinstance(event.body, RunResumed) for event in resumed.events)
    if again.heard:
        assert sent(again.heard[0]) in heard


async def blobs(log: MemoryLog, events: list[Event]) -> dict[str, bytes]:
    """All blobs that events name."""
    found: dict[str, bytes] = {}
    for event in events:
        for value in event.body.model_dump(mode="json").values():
            if isinstance(value, str) and len(value) == 64:
                try:
                    found[value] = await log.blob(value)
                except Exception:  # a hash that is no blob
                    continue
    return found


async def test_a_query_is_written_down_without_what_is_secret() -> None:
    run, _, _ = await served([act("search", context="order of 13812345678", tools=["mail a@b.example"])])
    body = next(event.body for event in run.events if isinstance(event.body, SearchMade))
    assert "13812345678" not in body.context and "a@b.example" not in body.tools[0]


async def test_a_run_of_an_earlier_version_shows_what_it_showed() -> None:
    """`run.started` without `tools_shown`: all tools, however many."""
    run, _, _ = await served([])
    started = run.events[0].body
    assert started.tools_shown == 4_000
    assert type(started).model_validate(started.model_dump(exclude={"tools_shown"})).tools_shown is None
    assert block_of(FREE, None).block.found_later == frozenset()


def test_tokens_are_counted_alike_everywhere() -> None:
    assert about_tokens("") == 0
    assert about_tokens("abcd") == 1 and about_tokens("abcde") == 2
    assert about_tokens("年假ab") == 3
