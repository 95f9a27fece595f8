"""What every model promises; each test runs against a scripted one, an endpoint over HTTP, and real ones."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from tests.models.endpoint_server import Answer, calls, says, serve
from tests.models.messages_server import held, uses
from tests.models.messages_server import says as speaks
from tests.models.real_model import KEY, llama_server, real_model_file

from sopwith.models.anthropic import AnthropicModel
from sopwith.models.local import LocalModel
from sopwith.models.openai_compatible import OpenAIModel
from sopwith.models.port import Action, Model, ModelReply, ModelRequest, Prompt, Turn
from sopwith.models.reply import read_reply
from sopwith.models.scripted import ScriptedModel

PREFIX = "You carry out one step of a procedure. 你每次只执行一个步骤。\n"
LEAVE: dict[str, Any] = {
    "type": "object",
    "required": ["kind", "days"],
    "properties": {
        "kind": {"enum": ["annual", "sick"]},
        "days": {"type": "integer", "minimum": 1, "maximum": 30},
    },
    "additionalProperties": False,
}
SEARCH: dict[str, Any] = {
    "type": "object",
    "required": ["query"],
    "properties": {"query": {"type": "string", "maxLength": 40}},
    "additionalProperties": False,
}
ACTIONS = (
    Action("search", "find an article 查找文章", SEARCH),
    Action("submit_leave", "file a leave 请假", LEAVE),
)
BLOCK = "<tools>\n" + "\n".join(
    json.dumps({"name": a.name, "description": a.description, "parameters": a.schema}, ensure_ascii=False)
    for a in ACTIONS
)  # fmt: skip

ONE = ModelRequest(
    Prompt(
        PREFIX,
        (),
        "<variables>\nrequest: 我要请 3 天年假\n</variables>\nGive the JSON arguments of submit_leave",
        BLOCK,
    ),
    "action",
    actions=ACTIONS,
    legal=("submit_leave",),
    max_tokens=60,
)
SEVERAL = ModelRequest(
    Prompt(
        PREFIX, (), '找一篇关于打印机的文章。Reply with one JSON object {"name": …, "arguments": …}.', BLOCK
    ),
    "action",
    actions=ACTIONS,
    legal=("search", "submit_leave"),
    max_tokens=80,
)
CHOICE = ModelRequest(
    Prompt(
        PREFIX,
        (
            Turn("A. refund\nB. shipping\nTicket: money back", "A"),
            Turn("A. refund\nB. shipping\nTicket: late", "B"),
        ),
        "A. refund\nB. shipping\nTicket: 我的包裹还没到\nReply with one letter.",
    ),
    "choice",
    labels=("refund", "shipping"),
    legal=("A", "B"),
    max_tokens=1,
)
TEXT = ModelRequest(Prompt(PREFIX, (), "用一句话问候顾客，带一个表情符号。", BLOCK), "text", max_tokens=48)
LONG = ModelRequest(
    Prompt(PREFIX, (), "Write a very long poem about the sea.", BLOCK), "text", max_tokens=800
)


def scripted(request: ModelRequest) -> str:
    if request.form == "choice":
        return "B"
    if request.form == "text":
        return "您好😀！"
    return (
        '{"kind": "annual", "days": 3}'
        if len(request.legal) == 1
        else '{"name": "search", "arguments": {"query": "打印机"}}'
    )


def answer(body: dict[str, Any]) -> Answer:
    """As a provider answers: with tool calls where tools are given."""
    usage = {"prompt_tokens": 50, "completion_tokens": 5, "total_tokens": 55}
    if body["messages"][-1]["content"] == LONG.prompt.tail:
        time.sleep(2)
    if "tools" not in body:
        return says('{"choice": "B"}' if "response_format" in body else "您好😀！", usage=usage)
    if body["tool_choice"] == "required":
        return calls(("search", '{"query": "打印机"}'), usage=usage)
    return calls(("submit_leave", '{"kind": "annual", "days": 3}'), usage=usage)


def message(body: dict[str, Any]) -> Answer:
    """As Anthropic answers: with tools where it is held to them."""
    if body["messages"][-1]["content"] == LONG.prompt.tail:
        time.sleep(2)
    choice = body.get("tool_choice", {"type": "none"})["type"]
    if choice == "none":
        return speaks("B" if body["messages"][-1]["content"].startswith("A. ") else "您好😀！")
    if choice == "any":
        return uses(("search", {"query": "打印机"}))
    return uses(("submit_leave", {"kind": "annual", "days": 3}))


@pytest.fixture(scope="module")
def local() -> Iterator[Model]:
    model = LocalModel(real_model_file(), context=2048)
    yield model
    asyncio.run(model.close())


@pytest.fixture(scope="module")
def llama() -> Iterator[str]:
    with llama_server(real_model_file()) as url:
        yield url


MODELS = [
    "scripted",
    "endpoint",
    "messages",
    pytest.param("local", marks=pytest.mark.slow),
    pytest.param("llama: auto", marks=pytest.mark.slow),
    pytest.param("llama: json_schema", marks=pytest.mark.slow),
]


@pytest.fixture(params=MODELS)
async def model(request: pytest.FixtureRequest) -> AsyncIterator[Model]:
    if request.param == "scripted":
        yield ScriptedModel(scripted)
    elif request.param == "endpoint":
        with serve(answer) as endpoint:
            connected = OpenAIModel("m", base_url=endpoint.url)
            yield connected
            await connected.close()
    elif request.param == "messages":
        with serve(held(message)) as endpoint:
            claude = AnthropicModel("m", base_url=endpoint.url.removesuffix("/v1"), api_key="k")
            yield claude
            await claude.close()
    elif request.param == "local":
        yield request.getfixturevalue("local")
    else:
        url, mode = request.getfixturevalue("llama"), request.param.partition(": ")[2]
        connected = OpenAIModel("m", base_url=url, api_key=KEY, mode=mode)
        yield connected
        await connected.close()


async def complete(model: Model, request: ModelRequest) -> ModelReply:
    reply = await model.complete(request)
    assert reply.usage.model_calls == 1
    assert min(reply.usage.input, reply.usage.cached, reply.usage.cache_write, reply.usage.output) >= 0
    assert "\N{REPLACEMENT CHARACTER}" not in reply.text
    return reply


async def test_the_id_is_stable(model: Model):
    assert model.id == model.id and model.id


async def test_one_legal_action_gives_its_arguments(model: Model):
    reading = read_reply(ONE, await complete(model, ONE))
    assert reading.error is None
    assert reading.action == "submit_leave"
    assert reading.value == {"kind": "annual", "days": 3}


async def test_several_legal_actions_give_one_of_them(model: Model):
    reading = read_reply(SEVERAL, await complete(model, SEVERAL))
    if reading.error is None:
        assert reading.action in SEVERAL.legal
    else:  # llama.cpp does not hold every model to a required tool call
        assert isinstance(model, OpenAIModel)


async def test_a_choice_is_one_label_with_a_sound_confidence(model: Model):
    reply = await complete(model, CHOICE)
    chosen = read_reply(CHOICE, reply).action
    assert chosen in CHOICE.labels
    if reply.confidence is not None:
        assert sum(reply.probabilities) == pytest.approx(1)
        assert 0 < reply.confidence == reply.probabilities[CHOICE.labels.index(chosen)] <= 1


async def test_prose_is_whole(model: Model):
    reading = read_reply(TEXT, await complete(model, TEXT))
    assert reading.error is None and reading.value


async def test_a_cancelled_call_returns_at_once_and_the_next_one_works(model: Model):
    if isinstance(model, ScriptedModel):
        return  # it never waits
    call = asyncio.create_task(model.complete(LONG))
    await asyncio.wait([call], timeout=0.3)
    began = time.monotonic()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert time.monotonic() - began < 0.5
    assert (await complete(model, TEXT)).text


async def test_calls_side_by_side_do_not_mix(model: Model):
    one, choice = await asyncio.gather(complete(model, ONE), complete(model, CHOICE))
    assert read_reply(ONE, one).action == "submit_leave"
    assert read_reply(CHOICE, choice).action in CHOICE.labels


async def test_closing_twice_is_harmless():
    closed = "http://127.0.0.1:9"
    for model in (
        ScriptedModel([]),
        OpenAIModel("m", base_url=closed),
        AnthropicModel("m", base_url=closed, api_key="k"),
    ):
        await model.close()
        await model.close()
