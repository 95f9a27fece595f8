"""`show --prompt` prints what a run sends: given what the run knew, the whole request is equal, part by part."""

from __future__ import annotations

from typing import Any

import pytest
from tests.run.desk import ALLOW, REFUND, REPLIES, Shop

from sopwith import Engine, tool
from sopwith.cli.prompt import INPUTS, as_json, as_text_blocks, prompts
from sopwith.ir.event import Principal, Purpose
from sopwith.lang.compile import compile_procedure
from sopwith.lang.read import read
from sopwith.models.port import ModelReply, ModelRequest
from sopwith.models.scripted import ScriptedModel
from sopwith.run.book import Book
from sopwith.tools.function import FunctionSource

FOUND = """
schema: sopwith/procedure/1
id: pick
description: Pick an article of a shelf
inputs:
  shelf: {type: string, description: the shelf}
  request: {type: string, from: run.request}
output: {type: object, properties: {article: {type: string}}}
start: search
steps:
  search: {tool: kb.search, with: {shelf: "${inputs.shelf}"}, as: hits, next: pick}
  pick:
    do: Pick the article for ${inputs.request}
    uses: [hits]
    returns: {enum: "${hits.map(h, h.id)}"}
    next: note
  note:
    do: Say why ${pick} fits
    uses: [pick]
    returns: {type: object, required: [ids], properties: {ids: {type: array, items: {enum: "${hits.map(h, h.id)}"}}}}
    next: free
  free:
    grip: free
    do: Look further for ${pick}
    returns: {type: object, properties: {ok: {type: boolean}}}
    next: done
  done: {end: complete, result: {article: "${pick}"}}
"""


class Watching(ScriptedModel):
    """A scripted model that keeps what it was asked."""

    def __init__(self, replies: list[str | ModelReply]) -> None:
        super().__init__(replies)
        self.asked: list[ModelRequest] = []

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.asked.append(request)
        return await super().complete(request)


def search_tool() -> Any:
    @tool(name="kb.search")
    def search(shelf: str) -> list[dict[str, str]]:
        """Look a shelf through."""
        return [{"id": f"{shelf}-1"}, {"id": f"{shelf}-2"}]

    return search


CASES: list[Any] = [
    pytest.param(
        REFUND,
        lambda: Shop().tools(),
        list(REPLIES),
        ["read", "worth", "pay", "tell"],
        ["returns", "judge", "arguments", "answer"],
        id="refund",
    ),
    pytest.param(
        FOUND,
        lambda: [search_tool()],
        [
            '{"shelf": "s"}',
            "B",
            '{"ids": ["s-1"]}',
            '{"name": "finish", "arguments": {"outcome": "complete", "result": {"ok": true}}}',
        ],
        [INPUTS, "pick", "note", "free"],
        ["inputs", "returns", "returns", "free"],
        id="pick",
    ),
]


@pytest.mark.parametrize(("text", "tools", "replies", "steps", "purposes"), CASES)
async def test_what_is_shown_is_what_is_sent(
    text: str, tools: Any, replies: list[str | ModelReply], steps: list[str], purposes: list[Purpose]
) -> None:
    model = Watching(replies)
    async with Engine(text, tools=tools(), model=model, policy=ALLOW) as engine:
        run = await engine.run("A-7 came broken", principal=Principal(id="u1"))
        assert run.outcome is not None and run.outcome.kind == "completed", run.outcome
        specs = {spec.name: spec for spec in await FunctionSource(tools()).specs()}
    book = Book(compile_procedure(read(text).procedure, specs))
    known = {"request": "A-7 came broken", "principal.id": "u1", "date": run.state.date}
    shown = [
        prompt
        for step in steps
        for prompt in prompts(
            book,
            step,
            known if step == INPUTS else {**known, **run.state.inputs, **run.state.values},  # type: ignore[dict-item]
        )
    ]
    assert [purpose for purpose, _ in shown] == purposes
    for (purpose, request), sent in zip(shown, model.asked, strict=True):
        assert request == sent, purpose
        printed = as_text_blocks(purpose, request)
        document = as_json(purpose, request)
        for part in (sent.prompt.prefix.rstrip("\n"), sent.prompt.block, sent.prompt.tail):
            assert part in printed
        assert document["system"] + document["tools"] == sent.prompt.prefix + sent.prompt.block
        assert [(turn["user"], turn["assistant"]) for turn in document["turns"]] == [
            (turn.user, turn.assistant) for turn in sent.prompt.turns
        ]
