"""Ways in which systems of this kind break, each held by its smallest input."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from pydantic import StringConstraints
from tests.run.desk import REPLIES, Shop, desk
from tests.run.test_prompts import Watching

from sopwith import Engine, MemoryLog, Policy, Principal, Rule, ToolError, UserError, tool
from sopwith.guard.vault import MemoryVault
from sopwith.ir.event import BODIES
from sopwith.models.port import ModelReply, ModelRequest
from sopwith.models.scripted import ScriptedModel
from sopwith.run.fold import _FOLDS  # pyright: ignore


def one_step(step: str, *rest: str) -> str:
    """A procedure whose first step is `s`."""
    return "schema: sopwith/procedure/1\nid: p\nstart: s\nsteps:\n" + "".join(
        f"  {line}\n" for line in (step, *rest)
    )


class Acts:
    """A write that notes every time it acts."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.hold: asyncio.Event | None = None
        self.acting = asyncio.Event()
        self.result: Callable[[], Any] = lambda: {"ok": True}

    def tool(self, **options: Any) -> Any:
        """The write, as `a.pay`."""

        @tool(name="a.pay", effect="write", **options)
        async def pay(*, idempotency_key: str) -> dict[str, Any]:
            """Pay."""
            self.keys.append(idempotency_key)
            self.acting.set()
            if self.hold is not None:
                await self.hold.wait()
            return self.result()

        return pay


LOOP = one_step(
    "s: {tool: a.pay, visits: 2, timeout: 200ms, next: done, on_error: [{to: s, when: error.code == 'timeout'},"
    " {to: s, when: error.code == 'exception'}, {otherwise: lost}]}",
    "done: {end: complete}",
    "lost: {end: escalate}",
)


async def test_a_write_that_outlasts_its_step_is_unknown_and_never_goes_along_on_error() -> None:
    acts = Acts()
    acts.hold = asyncio.Event()
    run = await Engine(LOOP, tools=[acts.tool()], policy=Policy(allow_writes=["a.pay"])).run("go")
    assert len(acts.keys) == 1
    assert run.status == "escalated"
    assert run.outcome is not None and run.outcome.packet is not None
    assert run.outcome.packet.open == ("a.pay",)


async def test_a_write_that_came_back_late_in_its_step_is_kept() -> None:
    now = [1_700_000_000_000_000]
    acts = Acts()

    def slow() -> dict[str, Any]:
        now[0] += 400_000
        return {"ok": True}

    acts.result = slow
    engine = Engine(LOOP, tools=[acts.tool()], policy=Policy(allow_writes=["a.pay"]), clock=lambda: now[0])
    run = await engine.run("go")
    assert (run.status, run.path) == ("completed", ("s", "done"))
    assert run.state.values["s"] == {"ok": True}


async def test_time_when_nobody_drove_a_run_does_not_count() -> None:
    now = [1_700_000_000_000_000]
    reached, forever = asyncio.Event(), asyncio.Event()

    class Hanging(ScriptedModel):
        async def complete(self, request: ModelRequest) -> ModelReply:
            if not reached.is_set():
                reached.set()
                await forever.wait()
            return await super().complete(request)

    text = one_step("s: {do: Say, returns: {type: string}, end: complete}")
    engine = Engine(text, model=Hanging(['"x"']), clock=lambda: now[0])
    running = asyncio.create_task(engine.run("go", run_id="r"))
    await reached.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    now[0] += 24 * 3600 * 1_000_000
    run = await engine.resume("r")
    assert run.status == "completed"


async def test_the_model_is_asked_for_inputs_only_as_long_as_there_is_time() -> None:
    class Late(ScriptedModel):
        asked = 0

        async def complete(self, request: ModelRequest) -> ModelReply:
            Late.asked += 1
            raise TimeoutError

    text = "schema: sopwith/procedure/1\nid: p\ninputs: {n: {type: integer}}\nstart: s\nsteps:\n  s: {end: escalate}\n"
    run = await Engine(text, model=Late([])).run("go")
    assert (run.status, Late.asked) == ("escalated", 1)


async def test_a_changed_tool_is_not_called_under_the_old_permission() -> None:
    text = one_step(
        "s: {ask: Go on, next: pay}".replace("Go on", '"Go on?"'), "pay: {tool: a.pay, end: complete}"
    )
    log = MemoryLog()

    @tool(name="a.pay")
    async def reads() -> dict[str, bool]:
        """Pay."""
        return {"ok": True}

    acts = Acts()
    await Engine(text, tools=[reads], log=log).run("go", run_id="r")
    with pytest.raises(UserError, match=r"changed since the run began: a\.pay"):
        await Engine(text, tools=[acts.tool()], log=log).resume("r", answer="yes")
    assert acts.keys == []


async def test_the_rules_in_force_decide_also_after_an_approval() -> None:
    shop, log = Shop(), MemoryLog()
    vault = MemoryVault()
    rule = Rule(id="ask", verdict="ask", tool="shop.refund")
    asking = desk(shop, log=log, vault=vault, policy=Policy([rule]))
    await asking.run("A-7 came broken", run_id="r1")
    stricter = desk(shop, [*REPLIES[3:]], log=log, vault=vault, policy=Policy())
    run = await stricter.resume("r1", answer=True, by="boss")
    assert (run.status, shop.refunds) == ("denied", {})
    resumed = next(e.body for e in run.events if e.body.kind == "run.resumed")
    assert resumed.policy is not None


async def test_an_approval_shows_the_person_true_arguments() -> None:
    shop = Shop()
    policy = Policy([Rule(id="ask", verdict="ask", tool="shop.refund")])
    replies = [*REPLIES[:2], '{"note": "call 13912345678"}', *REPLIES[3:]]
    run = await desk(shop, replies, policy=policy).run("A-7 came broken")
    assert run.question is not None and "13912345678" in run.question
    assert "13912345678" not in repr(run.events)


async def test_an_empty_list_of_tools_means_none() -> None:
    text = one_step(
        "s: {grip: free, do: Do it, tools: [], returns: {type: string}, end: complete}", "x: {end: escalate}"
    )
    text = text.replace("  x: {end: escalate}\n", "").replace("id: p\n", "id: p\ntools: [a.pay]\n")
    acts = Acts()
    model = Watching(
        ['{"name": "a__pay", "arguments": {}}', '{"name": "finish", "arguments": {"outcome": "escalate"}}']
    )
    run = await Engine(text, tools=[acts.tool()], model=model, policy=Policy(allow_writes=["a.pay"])).run(
        "go"
    )
    assert acts.keys == []
    assert model.asked[0].legal == ("finish",)
    assert run.status == "escalated"


SECRETS = ["13800138000", "sk-live-abc123secret0000000000", "hunter2xyz"]
SPELLINGS = [
    '{"p": "1380013800\\u0030"}',
    '{"p": 13800138000}',
    '{"p": 1.3800138e10}',
    '{"password": "hunter2xyz"}',
    '{"p": "key sk-live-abc123secret0000000000"}',
    'I think {"p": "13800138000"}',
]


@pytest.mark.parametrize("reply", SPELLINGS)
async def test_no_spelling_of_a_secret_in_a_reply_reaches_the_log(reply: str) -> None:
    text = one_step("s: {do: Find, returns: {type: object}, as: found, end: complete}")
    run = await Engine(text, model=ScriptedModel([reply] * 3)).run("go")
    written = repr(run.events)
    assert not any(secret in written for secret in SECRETS)
    assert "1.3800138e10" not in written and "\\u0030" not in written


async def test_a_tools_error_and_the_principal_are_redacted() -> None:
    @tool(name="a.look")
    async def look() -> dict[str, bool]:
        """Look."""
        raise ToolError("sk-live-abc123secret0000000000", "call 13800138000")

    text = one_step("s: {tool: a.look, end: complete}")
    run = await Engine(text, tools=[look]).run("go", principal=Principal(id="13800138000"))
    assert not any(secret in repr(run.events) for secret in SECRETS)


async def test_the_only_possible_answer_of_a_model_is_accepted() -> None:
    got: list[Any] = []

    @tool(name="a.call")
    async def call(phone: int, mail: str, note: str) -> dict[str, bool]:
        """Call.

        Args:
            phone: The number.
            mail: The address.
            note: A text.
        """
        got.extend((phone, mail, note))
        return {"ok": True}

    schema = (
        "{type: object, required: [tel, mail], properties: {tel: {type: string, pattern: '^1[3-9][0-9]{9}$'},"
        " mail: {type: string, format: email}}}"
    )
    text = (
        "schema: sopwith/procedure/1\nid: p\ninputs:\n  request: {type: string, from: run.request}\nstart: s\nsteps:\n"
        f"  s: {{do: Copy, uses: [inputs.request], returns: {schema}, as: found, next: c}}\n"
        "  c: {do: Call, tool: a.call, uses: [found], end: complete}\n"
    )
    replies = [
        '{"tel": "<phone:1>", "mail": "<email:1>"}',
        '{"phone": 13912345678, "mail": "<email:1>", "note": "password=abc123\\nregards"}',
    ]
    run = await Engine(text, tools=[call], model=ScriptedModel(replies)).run("13912345678 a@example.org")
    assert run.status == "completed"
    assert got == [13912345678, "a@example.org", "password=abc123\nregards"]


async def test_who_watches_a_run_cannot_change_it() -> None:
    shop = Shop()
    engine = desk(shop)

    def broken(event: Any, state: Any) -> None:
        raise BrokenPipeError

    seen: list[str] = []
    engine.subscribe(broken)
    engine.subscribe(lambda event, state: seen.append(event.body.kind))
    run = await engine.run("A-7 came broken")
    assert run.status == "completed"
    assert seen.count("run.finished") == 1


async def test_cancelling_a_run_names_the_write_that_may_have_acted() -> None:
    acts, log = Acts(), MemoryLog()
    acts.hold = asyncio.Event()
    text = one_step("s: {tool: a.pay, end: complete}")
    engine = Engine(text, tools=[acts.tool()], policy=Policy(allow_writes=["a.pay"]), log=log)
    running = asyncio.create_task(engine.run("go", run_id="r"))
    await acts.acting.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    run = await engine.cancel("r")
    assert run.outcome is not None and run.outcome.packet is not None
    assert run.outcome.packet.open == ("a.pay",)


RUN_DATA = (
    "schema: sopwith/procedure/1\nid: p\ninputs:\n  items: {type: array, items: {type: string}}\nstart: s\nsteps:\n"
    '  s: {do: Choose, returns: {enum: "${inputs.items}"}, examples: [{given: {}, answer: a}], as: found,'
    " end: complete}\n"
)


async def test_more_values_than_letters_are_chosen_by_name() -> None:
    items = [f"item {i}" for i in range(30)]
    run = await Engine(RUN_DATA, model=ScriptedModel(['"item 29"'])).run("go", inputs={"items": items})
    assert run.state.values["found"] == "item 29"


async def test_values_that_read_alike_stay_apart() -> None:
    text = one_step("s: {do: Choose, returns: {enum: [1, '1']}, as: found, end: complete}")
    run = await Engine(text, model=ScriptedModel(["B"])).run("go")
    assert run.state.values["found"] == "1"


async def test_one_run_never_shows_in_the_prompts_of_another() -> None:
    model = Watching(["A", "A"])
    engine = Engine(RUN_DATA, model=model)
    await engine.run("go", inputs={"items": ["a", "ALICE-9000"]})
    await engine.run("go", inputs={"items": ["a", "b"]})
    alone = Watching(["A"])
    await Engine(RUN_DATA, model=alone).run("go", inputs={"items": ["a", "b"]})
    assert model.asked[1].prompt == alone.asked[0].prompt


async def test_a_condition_that_gives_no_truth_value_is_an_error_and_not_false() -> None:
    @tool(name="a.look")
    async def look() -> dict[str, Any]:
        """Look."""
        return {"paid": "yes"}

    text = one_step(
        "s: {tool: a.look, as: seen, next: [{to: x, when: seen.paid}, {otherwise: y}]}",
        "x: {end: escalate}",
        "y: {end: escalate}",
    )
    run = await Engine(text, tools=[look]).run("go")
    assert run.path == ("s",)
    assert run.outcome is not None and run.outcome.packet is not None and run.outcome.packet.error is not None
    assert run.outcome.packet.error.code == "expression"


async def test_a_grip_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UserError, match="there is no grip 'loose'"):
        await desk(Shop()).run("x", grip="loose")


def test_every_kind_of_event_folds() -> None:
    assert set(BODIES) == set(_FOLDS)


async def test_what_is_judged_is_what_the_function_gets() -> None:
    got: list[str] = []

    @tool(name="a.read")
    async def read(
        path: Annotated[str, StringConstraints(strip_whitespace=True)], mode: str = "all"
    ) -> dict[str, bool]:
        """Read.

        Args:
            path: Where.
            mode: How.
        """
        got.append(path)
        return {"ok": True}

    text = one_step("s: {do: Read it, tool: a.read, end: complete}")
    rule = Rule(id="etc", verdict="deny", tool="a.read", when="arguments.path.startsWith('/etc')")
    model = ScriptedModel(['{"path": " /etc/passwd"}'])
    run = await Engine(text, tools=[read], model=model, policy=Policy([rule])).run("go")
    assert (run.status, got) == ("denied", [])
    proposed = next(e.body for e in run.events if e.body.kind == "call.proposed")
    assert proposed.arguments == {"path": "/etc/passwd", "mode": "all"}


async def test_a_write_that_broke_may_have_acted() -> None:
    acts = Acts()

    def broken() -> Any:
        raise ConnectionError("gone")

    acts.result = broken
    run = await Engine(LOOP, tools=[acts.tool()], policy=Policy(allow_writes=["a.pay"])).run("go")
    assert (run.status, len(acts.keys)) == ("escalated", 1)
    assert run.outcome is not None and run.outcome.packet is not None
    assert run.outcome.packet.open == ("a.pay",)
    finished = next(e.body for e in run.events if e.body.kind == "call.finished")
    assert finished.unknown and finished.error is not None


async def test_whoever_takes_over_is_told_why() -> None:
    acts = Acts()

    def broken() -> Any:
        raise RuntimeError("line down")

    acts.result = broken
    run = await Engine(LOOP, tools=[acts.tool()], policy=Policy(allow_writes=["a.pay"])).run("go")
    assert run.outcome is not None and run.outcome.packet is not None
    assert "line down" in run.outcome.packet.reason
    shop = Shop()
    shop.failures = [ToolError("gone", "the order was archived")]
    handed = await desk(shop).run("A-7 came broken")
    assert handed.outcome is not None and handed.outcome.packet is not None
    assert handed.path[-1] == "person"
    assert "the order was archived" in handed.outcome.packet.reason
