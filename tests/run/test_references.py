"""Long results in prompts and in calls: shown by a preview, passed on by reference, and never changed on the way."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import BaseModel, Field
from tests.run.test_prompts import Watching, whole

from sopwith import Engine, MemoryLog, Policy, Rule, SqliteLog, ToolSpec, UserError, tool
from sopwith.ir.event import CallFinished, CallProposed, CallStarted, ReplyRejected, ReplyRepaired
from sopwith.ir.reference import ValueRead
from sopwith.ir.schema import validator
from sopwith.models.constraint import reply_schema
from sopwith.run.run import Run

HEAD = """
schema: sopwith/procedure/1
id: orders
name: Check orders
description: List all orders, then have them checked
output: {type: object, required: [sum], properties: {sum: {type: string}}}
"""
STRICT = (
    HEAD
    + """
start: list
steps:
  list: {tool: shop.orders, with: {city: 上海}, as: orders, next: check}
  check:
    do: Have the orders checked
    tool: shop.check
    uses: [orders]
    as: checked
    next: done
  done: {end: complete, result: {sum: "${checked.sum}"}}
"""
)
BOUND = STRICT.replace("    uses: [orders]\n", '    with: {records: "${orders}", note: n}\n')
BOUNDED = STRICT.replace(
    "next: check}", "grip: bounded, next: [{to: check, judge: there are some}, {otherwise: no}]}"
) + ("  no: {end: escalate}\n")
FREE = (
    HEAD
    + """
grip: free
tools: [shop.orders, shop.check, shop.pack]
start: work
steps:
  work:
    do: See to it
    returns: {type: object, required: [sum], properties: {sum: {type: string}}}
    as: told
    next: done
  done: {end: complete, result: {sum: "${told.sum}"}}
"""
)
GUIDE = STRICT.replace("start: list", "grip: guide\nstart: list")

ORDERS = [
    {"id": i, "客户": f"客户{i}号", "note": "please ring the bell 请按门铃", "to": {"city": "上海"}}
    for i in range(400)
]


class Row(BaseModel):
    """What a tool makes of a record."""

    n: int
    unit: str = "kg"


class Own(BaseModel):
    """What another system calls a value."""

    value: str = Field(alias="$value")


def sum_of(value: object) -> str:
    return hashlib.sha256(json.dumps(value, ensure_ascii=False).encode()).hexdigest()


class Shop:
    """A shop that remembers what it was given."""

    def __init__(self, orders: Any = ORDERS, threshold: int | None = None) -> None:
        self.given: list[Any] = []
        self.notes: list[str] = []

        @tool(name="shop.orders", value_threshold=threshold)
        def list_orders(city: str) -> list[Any]:
            """List orders."""
            return cast("list[Any]", orders)

        @tool(name="shop.check")
        def check(records: list[Any], note: str) -> dict[str, str]:
            """Check records."""
            self.given.append(records)
            self.notes.append(note)
            return {"sum": sum_of(records)}

        @tool(name="shop.pack", effect="write")
        def pack(box: dict[str, Any]) -> dict[str, bool]:
            """Pack a box."""
            self.given.append(box)
            return {"ok": True}

        self.tools = [list_orders, check, pack]


def call(name: str, **arguments: Any) -> str:
    return json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)


LIST = call("shop__orders", city="上海")


async def run(procedure: str, shop: Shop, *replies: str, **options: Any) -> tuple[Run, Watching]:
    model = Watching(list(replies))
    async with Engine(procedure, shop.tools, model, **options) as engine:
        return await engine.run("check all orders"), model


async def test_strict_passes_a_long_result_on_by_its_name() -> None:
    shop = Shop()
    found, model = await run(STRICT, shop, json.dumps({"records": {"$value": "orders"}, "note": "all"}))
    assert found.output == {"sum": sum_of(ORDERS)}
    assert shop.given == [ORDERS]
    tail = model.asked[0].prompt.tail
    line = next(line for line in tail.splitlines() if line.startswith("orders: "))
    shown = json.loads(line.removeprefix("orders: "))
    assert shown["$value"] == "orders"
    assert shown["bytes"] == len(json.dumps(ORDERS, ensure_ascii=False, separators=(",", ":")).encode())
    assert shown["preview"] == ORDERS[: shown["shown"]] and shown["total"] == 400 and shown["shown"] > 1
    assert shown["shape"] == "[400 × {id: integer, 客户: string, note: string, to: {city: string}}]"
    assert len(line) < 1200


async def test_the_log_grows_by_no_second_copy_of_what_is_passed_on() -> None:
    for procedure, replies in (
        (STRICT, [json.dumps({"records": {"$value": "orders"}, "note": "n"})]),
        (BOUND, []),
    ):
        shop = Shop()
        found, _ = await run(procedure, shop, *replies)
        assert shop.given == [ORDERS]
        proposed = [e.body for e in found.events if isinstance(e.body, CallProposed)][1]
        assert proposed.arguments == {"records": {"$value": "orders"}, "note": "n"}
        finished = next(e.body for e in found.events if isinstance(e.body, CallFinished))
        assert [(each.at, each.blob, each.path) for each in proposed.passed] == [
            (("records",), finished.blob, ())
        ]


async def test_the_constraint_allows_the_references_that_exist_and_no_other() -> None:
    shop = Shop()
    _, model = await run(STRICT, shop, json.dumps({"records": {"$value": "orders"}, "note": "n"}))
    schema = validator(reply_schema(model.asked[0]))
    assert schema.accepts({"records": {"$value": "orders"}, "note": {"$value": "orders[399].note"}})
    assert schema.accepts({"records": [], "note": {"$value": "orders[3].to.city"}})
    for wrong in ("order", "orders.note", "orders[1234]", "orders[3].nothing", "other.orders"):
        assert not schema.accepts({"records": [], "note": {"$value": wrong}}), wrong
    assert not schema.accepts({"records": {"$value": "orders[3].note"}, "note": "n"})
    assert not schema.accepts({"records": [], "note": {"$value": "orders"}})


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("nothing", "orders"),
        ("run-1.orders", "no path"),
        ("orders[400].id", "[400]"),
        ("orders[0].address", "address"),
        ("orders[0", "no path"),
    ],
)
async def test_a_reference_that_leads_nowhere_is_refused_with_what_there_is(path: str, said: str) -> None:
    shop = Shop()
    found, model = await run(
        STRICT,
        shop,
        json.dumps({"records": {"$value": path}, "note": "n"}),
        json.dumps({"records": {"$value": "orders"}, "note": "n"}),
    )
    refused = [e.body.error for e in found.events if isinstance(e.body, ReplyRejected)]
    assert [error.code for error in refused] == ["unknown_value"]
    assert said in refused[0].message and said in model.asked[1].prompt.tail
    assert shop.given == [ORDERS]


async def test_a_text_that_looks_like_a_reference_stays_a_text() -> None:
    shop = Shop()
    for note in ("orders", '{"$value": "orders"}', "$value", "orders[0].id"):
        await run(STRICT, shop, json.dumps({"records": {"$value": "orders"}, "note": note}))
    assert shop.notes == ["orders", '{"$value": "orders"}', "$value", "orders[0].id"]


async def test_free_reads_a_part_and_passes_parts_inside_of_arguments() -> None:
    shop = Shop()
    found, model = await run(
        FREE,
        shop,
        LIST,
        call("read", value="call_1", start=100, end=102),
        call("read", value="call_1[7].to"),
        call("read", value="call_9"),
        call("shop__pack", box={"first": [{"$value": "call_1[5]"}], "city": {"$value": "call_1[5].to.city"}}),
        call("finish", outcome="complete", result={"sum": {"$value": "call_1[3].note"}}),
        policy=Policy(allow_writes=["shop.*"]),
    )
    assert found.output == {"sum": ORDERS[3]["note"]}
    assert shop.given == [{"first": [ORDERS[5]], "city": "上海"}]
    looked = [json.loads(request.prompt.tail.partition(": ")[2]) for request in model.asked[2:5]]
    assert looked[0]["part"] == ORDERS[100:102] and looked[0]["from"] == 100 and looked[0]["total"] == 400
    assert looked[1]["part"] == {"city": "上海"}
    assert looked[2]["error"]["code"] == "unknown_value" and "call_1" in looked[2]["error"]["message"]
    assert [e.body.value for e in found.events if isinstance(e.body, ValueRead)] == [
        "call_1",
        "call_1[7].to",
        "call_9",
    ]
    assert_prefixes(model)


async def test_guide_reads_and_passes_on() -> None:
    shop = Shop()
    found, model = await run(
        GUIDE,
        shop,
        LIST,
        call("read", value="orders", start=1),
        call("shop__check", records={"$value": "orders"}, note="x"),
        call("finish", outcome="complete", result={"sum": "s"}),
    )
    assert shop.given == [ORDERS] and found.status == "completed"
    assert (
        json.loads(model.asked[2].prompt.tail.partition(": ")[2].partition("\n")[0])["part"][0] == ORDERS[1]
    )
    assert_prefixes(model)


async def test_bounded_fills_the_way_with_a_reference() -> None:
    shop = Shop()
    found, model = await run(BOUNDED, shop, call("shop__check", records={"$value": "orders"}, note="x"))
    assert found.output == {"sum": sum_of(ORDERS)}
    schema = validator(reply_schema(model.asked[0]))
    assert schema.accepts(json.loads(call("shop__check", records={"$value": "orders"}, note="x")))
    assert not schema.accepts(json.loads(call("shop__check", records={"$value": "order"}, note="x")))


async def test_a_path_through_a_secret_key_is_written_down_with_its_placeholder() -> None:
    phone = "13812345678"
    shop = Shop([{phone: [{"n": i} for i in range(900)]}])
    found, model = await run(
        STRICT, shop, json.dumps({"records": {"$value": "orders[0]['<phone:1>']"}, "note": "n"})
    )
    assert shop.given == [[{"n": i} for i in range(900)]]
    assert phone not in model.asked[0].prompt.tail
    proposed = [e.body for e in found.events if isinstance(e.body, CallProposed)][1]
    assert proposed.arguments["records"] == {"$value": "orders[0]['<phone:1>']"}
    assert proposed.passed[0].path == (0, "<phone:1>")


async def test_what_a_model_wants_in_the_place_of_a_bound_value_is_told_by_its_reference() -> None:
    shop = Shop()
    text = STRICT.replace("    uses: [orders]\n", '    uses: [orders]\n    with: {records: "${orders}"}\n')
    found, _ = await run(
        text, shop, json.dumps({"records": [{"$value": "orders[1]"}], "note": {"$value": "orders[0].note"}})
    )
    assert shop.given == [ORDERS]
    proposed = [e.body for e in found.events if isinstance(e.body, CallProposed)][1]
    assert proposed.overruled == {"records": [{"$value": "orders[1]"}]}
    assert proposed.arguments == {"records": {"$value": "orders"}, "note": ORDERS[0]["note"]}


async def test_a_run_that_was_left_goes_on_with_what_its_call_was_passed(tmp_path: Path) -> None:
    shop = Shop()
    log = SqliteLog(tmp_path / "runs.db")
    policy = Policy([Rule(id="ask", verdict="ask", tool="shop.check")])
    model = Watching([json.dumps({"records": {"$value": "orders"}, "note": "n"})])
    async with Engine(STRICT, shop.tools, model, log=log, policy=policy) as engine:
        waits = await engine.run("check all orders")
    later = SqliteLog(tmp_path / "runs.db")
    async with Engine(STRICT, shop.tools, Watching([]), log=later, policy=policy) as engine:
        found = await engine.resume(waits.id, answer=True, by="lee")
    assert found.output == {"sum": sum_of(ORDERS)} and shop.given == [ORDERS]


async def test_what_a_tool_reads_otherwise_is_written_down_as_it_is() -> None:
    """Defaults that a tool puts into a long list are part of what is judged, and of what runs."""

    got: list[Any] = []

    @tool(name="shop.orders")
    def list_orders(city: str) -> list[Any]:
        """List."""
        return [{"n": i} for i in range(900)]

    @tool(name="shop.check")
    def check(records: list[Row], note: str) -> dict[str, str]:
        """Check."""
        got.extend(records)
        return {"sum": "s"}

    model = Watching([json.dumps({"records": {"$value": "orders"}, "note": "n"})])
    async with Engine(STRICT, [list_orders, check], model) as engine:
        found = await engine.run("go")
    assert got[899] == Row(n=899, unit="kg")
    proposed = [e.body for e in found.events if isinstance(e.body, CallProposed)][1]
    assert proposed.passed == () and proposed.arguments["records"][1] == {"n": 1, "unit": "kg"}


async def test_a_tool_that_has_such_a_key_of_its_own_takes_no_references() -> None:
    got: list[Any] = []

    @tool(name="shop.orders")
    def list_orders(city: str) -> list[Any]:
        """List."""
        return ORDERS

    @tool(name="shop.check")
    def check(records: list[Own], note: str) -> dict[str, str]:
        """Check."""
        got.extend(records)
        return {"sum": "s"}

    model = Watching([json.dumps({"records": [{"$value": "orders"}], "note": "n"})])
    async with Engine(STRICT, [list_orders, check], model) as engine:
        await engine.run("go")
    assert [own.value for own in got] == ["orders"]


async def test_a_description_that_is_repeated_is_the_reference_that_it_holds() -> None:
    shop = Shop()
    first = Watching([])
    async with Engine(STRICT, shop.tools, first) as engine:
        await engine.run("go")
    told = json.loads(first.asked[0].prompt.tail.splitlines()[1].removeprefix("orders: "))
    found, _ = await run(STRICT, shop, json.dumps({"records": told, "note": "n"}))
    assert shop.given == [ORDERS]
    assert [e.body.repairs for e in found.events if isinstance(e.body, ReplyRepaired)] == [
        ("preview orders",)
    ]


@pytest.mark.parametrize("text", ['{"\\u0024value": "orders"}', '{"$v\\u0061lue": "orders"}'])
async def test_a_reference_is_one_however_its_key_is_escaped(text: str) -> None:
    shop = Shop()
    await run(STRICT, shop, f'{{"records": {text}, "note": "n"}}')
    assert shop.given == [ORDERS]


async def test_a_measure_that_has_the_key_of_a_reference_stays_what_it_is() -> None:
    shop, weight = Shop(), {"$value": "5", "unit": "kg"}
    found, _ = await run(
        FREE,
        shop,
        call("shop__pack", box={"weight": weight, "left": {"$value": "3", "total": 4}}),
        call("finish", outcome="complete", result={"sum": "1"}),
        policy=Policy(allow_writes=["shop.*"]),
    )
    assert found.status == "completed"
    assert shop.given == [{"weight": weight, "left": {"$value": "3", "total": 4}}]


async def test_a_part_of_a_preview_never_passes_for_the_value() -> None:
    shop = Shop()
    cut = {"preview": "please", "shown": 6, "total": 900, "unit": "characters"}
    found, _ = await run(
        FREE,
        shop,
        LIST,
        call("shop__pack", box={"text": cut}),
        call("finish", outcome="escalate"),
        policy=Policy(allow_writes=["shop.*"]),
    )
    assert shop.given == []
    errors = [e.body.error for e in found.events if isinstance(e.body, ReplyRejected)]
    assert "call_1" in errors[0].message and "preview" in errors[0].message


async def test_the_policy_judges_what_runs() -> None:
    shop = Shop()
    rules = Policy(
        [Rule(id="bell", verdict="deny", when="has(arguments.note) && arguments.note.contains('门铃')")]
    )
    found, _ = await run(
        STRICT, shop, json.dumps({"records": [], "note": {"$value": "orders[0].note"}}), policy=rules
    )
    assert found.status == "denied" and shop.given == []


async def test_an_approval_is_for_the_value_and_shows_it() -> None:
    shop = Shop()
    model = Watching([json.dumps({"records": {"$value": "orders"}, "note": "n"})])
    log = MemoryLog()
    async with Engine(
        STRICT, shop.tools, model, log=log, policy=Policy([Rule(id="ask", verdict="ask", tool="shop.check")])
    ) as engine:
        waits = await engine.run("check all orders")
        assert waits.status == "suspended" and '"total": 400' in (waits.question or "")
        found = await engine.resume(waits.id, answer=True, by="lee")
    assert found.output == {"sum": sum_of(ORDERS)} and shop.given == [ORDERS]


def checked_for_each(notes: list[str]) -> str:
    """The procedure with a check for each note."""
    check = (
        f'    each: {{in: "${{{notes}}}", as: note}}\n    tool: shop.check\n'
        '    with: {records: "${orders}", note: "${note}"}\n'
    )
    text = STRICT.replace("    tool: shop.check\n    uses: [orders]\n", check)
    return text.replace("    do: Have the orders checked\n", "").replace(
        "${checked.sum}", "${checked[0].sum}"
    )


async def test_an_approval_of_calls_over_a_list_shows_each_value_and_all_that_stands_beside_it() -> None:
    shop = Shop()
    text = checked_for_each(["anna", "bo"])
    rules = Policy([Rule(id="ask", verdict="ask", tool="shop.check")])
    found, _ = await run(text, shop, policy=rules)
    told = found.question or ""
    assert told.count('"total": 400') == 2 and '"note": "anna"' in told and '"note": "bo"' in told


async def test_each_of_many_calls_shows_what_stands_behind_a_long_value() -> None:
    shop = Shop()
    text = checked_for_each(list("abcdefgh"))
    found, _ = await run(text, shop, policy=Policy([Rule(id="ask", verdict="ask", tool="shop.check")]))
    lines = (found.question or "").splitlines()[1:]
    assert [line[-6:-1] for line in lines] == [f': "{letter}"' for letter in "abcdefgh"]


async def test_a_threshold_of_a_tool_is_its_own() -> None:
    text = "x" * 1500
    asked: list[str] = []
    for threshold in (None, 2000, 100):
        shop = Shop([{"id": 1, "text": text}], threshold)
        _, model = await run(STRICT, shop, json.dumps({"records": {"$value": "orders"}, "note": "n"}))
        asked.append(model.asked[0].prompt.tail)
        assert shop.given == [[{"id": 1, "text": text}]]
    assert [text in tail for tail in asked] == [False, True, False]
    assert ['"$value": "orders"' in tail for tail in asked] == [True, False, True]
    assert len(asked[2]) < len(asked[0])


async def test_a_run_that_stores_too_much_says_which_limit_it_met() -> None:
    shop = Shop()
    found, _ = await run(STRICT, shop, value_quota=1000)
    assert found.status == "escalated" and found.outcome is not None and found.outcome.packet is not None
    assert "value_quota" in found.outcome.packet.reason
    assert [e.body.error.code for e in found.events if isinstance(e.body, CallFinished) and e.body.error] == [
        "value_quota"
    ]
    assert sum(isinstance(e.body, CallStarted) for e in found.events) == 1


def assert_prefixes(model: Watching) -> None:
    """Each request is what was sent before, and more; the block of actions is always the same."""
    texts = [whole(request) for request in model.asked]
    for before, after in itertools.pairwise(texts):
        assert after.startswith(before)
    assert len({request.prompt.block for request in model.asked}) == 1
    assert all(re.search(r'"name":"read"', request.prompt.block) for request in model.asked)


async def test_a_placeholder_deep_inside_of_arguments_is_the_true_value_for_the_tool() -> None:
    shop = Shop([{"id": 1, "phone": "13812345678"}])
    found, _ = await run(
        FREE,
        shop,
        LIST,
        call("shop__pack", box={"to": {"phones": ["<phone:1>"]}}),
        call("finish", outcome="complete", result={"sum": "s"}),
        policy=Policy(allow_writes=["shop.*"]),
    )
    assert found.status == "completed"
    assert shop.given == [{"to": {"phones": ["13812345678"]}}]


@pytest.mark.parametrize("threshold", [0, -1])
def test_a_threshold_that_is_none_is_refused(threshold: int) -> None:
    with pytest.raises(UserError, match="value_threshold"):
        tool(name="a.b", value_threshold=threshold)


def test_a_tool_without_a_threshold_has_the_digest_it_always_had() -> None:
    plain = ToolSpec(name="a.b")
    assert "value_threshold" not in plain.model_dump(mode="json")
    assert plain.digest() != plain.model_copy(update={"value_threshold": 5}).digest()
