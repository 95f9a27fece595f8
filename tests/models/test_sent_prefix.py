"""What a provider's cache begins with, the tools and the system text, is the same bytes in every form of request."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.models.endpoint_server import Answer, calls, refuses, says, serve

from sopwith.models.anthropic_request import Ways
from sopwith.models.endpoint import Endpoint
from sopwith.models.openai_compatible import OpenAIModel
from sopwith.models.port import Action, ModelRequest, Prompt, Turn

ACTIONS = (
    Action("finish", "结束", {"type": "object", "properties": {"b": {}, "a": {}}}),
    Action("agree", "", {"type": "boolean"}),
)
PROMPT = Prompt("You execute a procedure.\n", (Turn("q", "a"),), "now 😀", "<tools>…</tools>")
REQUESTS = [
    ModelRequest(PROMPT, "action", actions=ACTIONS, legal=("finish",)),
    ModelRequest(PROMPT, "action", actions=ACTIONS, legal=("finish", "agree")),
    ModelRequest(PROMPT, "choice", actions=ACTIONS, labels=("one", "two")),
    ModelRequest(PROMPT, "choice", actions=ACTIONS, labels=("one", "two"), by_word=True),
    ModelRequest(PROMPT, "text", actions=ACTIONS),
]


def beginning(body: dict[str, Any]) -> str:
    """The tools and the system text of a request, as they are sent."""
    system = body["messages"][0]["content"] if "system" not in body else body["system"]
    return json.dumps([body.get("tools"), system], ensure_ascii=False)


@pytest.mark.parametrize("mode", ["auto", "tools", "json_schema", "text"])
def test_an_openai_request_of_any_form_begins_alike(mode: str) -> None:
    endpoint = Endpoint(mode, official=False)
    assert len({beginning(endpoint.way(request).body) for request in REQUESTS}) == 1


def test_an_anthropic_request_of_any_form_begins_alike() -> None:
    ways = Ways()
    assert len({beginning(ways.way(request).body) for request in REQUESTS}) == 1
    body = ways.way(REQUESTS[2]).body
    assert body["system"][-1]["cache_control"] == {"type": "ephemeral"}


async def answers(answer: Any, *requests: ModelRequest) -> list[dict[str, Any]]:
    """The bodies that an endpoint got for these requests."""
    with serve(answer) as endpoint:
        model = OpenAIModel("m", base_url=endpoint.url)
        for request in requests:
            await model.complete(request)
        await model.close()
    return endpoint.bodies


async def test_no_tool_may_be_called_where_a_letter_is_asked_for() -> None:
    (body,) = await answers([says("A")], REQUESTS[2])
    assert body["tool_choice"] == "none"
    assert len(body["tools"]) == 2


@pytest.mark.parametrize(
    "said", ["tools cannot be used with response_format and top_logprobs", "bad request"]
)
async def test_an_endpoint_that_refuses_tools_there_is_asked_without_them_and_remembered(said: str) -> None:
    def answer(body: dict[str, Any]) -> Answer:
        if body.get("tool_choice") == "none":
            return refuses(400, said)
        return calls(("finish", "{}")) if "tools" in body else says("A")

    bodies = await answers(answer, REQUESTS[2], REQUESTS[0], REQUESTS[2])
    assert ["tools" in body for body in bodies] == [True, False, True, False]
    assert all("logprobs" in body and "response_format" in body for body in (bodies[1], bodies[3]))
    assert "<tools>" in bodies[1]["messages"][0]["content"]


async def test_an_endpoint_that_calls_all_the_same_is_shown_no_tools_the_next_time() -> None:
    bodies = await answers([calls(("finish", "{}")), says("A")], REQUESTS[2], REQUESTS[2])
    assert ["tools" in body for body in bodies] == [True, False]


def test_openai_is_told_which_requests_begin_alike() -> None:
    key = [Endpoint("auto", official=True).way(request).body["prompt_cache_key"] for request in REQUESTS]
    other = ModelRequest(Prompt("Another procedure", (), "x"), "text")
    assert len(set(key)) == 1
    assert Endpoint("auto", official=True).way(other).body["prompt_cache_key"] != key[0]
    assert "prompt_cache_key" not in Endpoint("auto", official=False).way(other).body
