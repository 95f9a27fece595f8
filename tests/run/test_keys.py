"""The key of a call: one for all its tries, another for every other call."""

from __future__ import annotations

import json

from sopwith import Engine, Policy, Rule, ToolError, tool
from sopwith.models.scripted import ScriptedModel

FREE = """
schema: sopwith/procedure/1
id: book
start: work
steps:
  work: {do: Book both rooms, grip: free, tools: [rooms.book], returns: {type: string}, end: complete}
"""


def call(room: str) -> str:
    return json.dumps({"name": "rooms_book", "arguments": {"room": room}})


def done(result: str) -> str:
    return json.dumps({"name": "finish", "arguments": {"outcome": "complete", "result": result}})


async def test_each_call_of_a_free_step_has_its_own_key_also_after_an_approval() -> None:
    keys: dict[str, list[str]] = {}

    @tool(name="rooms.book", effect="write", idempotent=True)
    async def book(room: str, *, idempotency_key: str) -> bool:
        """Book a room."""
        keys.setdefault(room, []).append(idempotency_key)
        return True

    rules = [Rule(id="big", verdict="ask", tool=("rooms.book",), when="arguments.room == 'hall'")]
    model = ScriptedModel([call("small"), call("hall"), call("small"), done("all booked")])
    policy = Policy(rules, allow_writes=["rooms.*"])
    engine = Engine(FREE, tools=[book], model=model, policy=policy)
    asked = await engine.run("both rooms", run_id="r1")
    assert asked.status == "suspended"
    run = await engine.resume("r1", answer=True)
    assert run.status == "completed"
    assert len(keys["hall"]) == 1 and len(keys["small"]) == 2
    assert len({*keys["hall"], *keys["small"]}) == 3


async def test_a_call_that_is_tried_again_keeps_its_key() -> None:
    keys: list[str] = []

    @tool(name="rooms.book", effect="write", idempotent=True)
    async def book(room: str, *, idempotency_key: str) -> bool:
        """Book a room."""
        keys.append(idempotency_key)
        if len(keys) < 3:
            raise ToolError("busy", "try again")
        return True

    text = """
schema: sopwith/procedure/1
id: book
start: work
steps:
  work: {tool: rooms.book, with: {room: hall}, retry: {times: 3}, end: complete}
"""
    run = await Engine(text, tools=[book], policy=Policy(allow_writes=["rooms.*"])).run("go")
    assert run.status == "completed"
    assert len(keys) == 3 and len(set(keys)) == 1
    other = await Engine(text, tools=[book], policy=Policy(allow_writes=["rooms.*"])).run("go")
    assert other.status == "completed"
    assert keys[3] != keys[0]
