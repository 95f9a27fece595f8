import json
from typing import Any

import pytest
from tests.models.endpoint_server import Answer, calls, completion, refuses, says, serve
from tests.models.real_model import KEY, llama_server, real_model_file

from sopwith.errors import ModelError
from sopwith.models.openai_compatible import OpenAIModel
from sopwith.models.probe import NAMES, Probed, probe

USAGE = {
    "prompt_tokens": 50,
    "completion_tokens": 3,
    "total_tokens": 53,
    "prompt_tokens_details": {"cached_tokens": 40},
}
TOKEN = {"token": "Hi", "logprob": -0.1, "bytes": None}


async def probed(url: str, **settings: Any) -> Probed:
    model = OpenAIModel("m", base_url=url, **settings)
    try:
        return await probe(model)
    finally:
        await model.close()


def strict(body: dict[str, Any]) -> Answer:
    """An endpoint that does what it is told."""
    choice = body.get("tool_choice")
    if isinstance(choice, dict):
        return calls((choice["function"]["name"], '{"kind": "sick"}'), usage=USAGE)
    if choice is not None:
        one = ("search", '{"query": "weather"}')
        return calls(*([one] if body.get("parallel_tool_calls") is False else [one, one]), usage=USAGE)
    if "response_format" in body:
        name, schema = next(iter(body["response_format"]["json_schema"]["schema"]["properties"].items()))
        value = schema.get("const") or schema["enum"][0]
        return says(json.dumps({name: value}, ensure_ascii=False), usage=USAGE)
    logprobs = {"content": [{**TOKEN, "top_logprobs": [TOKEN]}], "refusal": None}
    return completion({"content": "Hi"}, usage=USAGE, logprobs=logprobs if body.get("logprobs") else None)


def careless(body: dict[str, Any]) -> Answer:
    """An endpoint that takes everything and heeds nothing."""
    if body.get("tool_choice") == "auto":
        return calls(("search", "{}"), ("search", "{}"))
    return says("The sea, the sea, the open sea, the blue, the fresh, the ever free.")


def plain(body: dict[str, Any]) -> Answer:
    """An endpoint that refuses all but words."""
    for key in ("tools", "response_format", "logprobs"):
        if key in body:
            return refuses(400, f"{key} is not supported")
    return says("Hi", usage=USAGE)


async def test_an_endpoint_that_enforces_everything_is_asked_by_tools():
    with serve(strict) as endpoint:
        found = await probed(endpoint.url)
    assert [(f.name, f.state) for f in found.findings] == [(name, "enforced") for name in NAMES]
    assert found.fields == {"mode": "tools"}


async def test_one_that_heeds_nothing_is_asked_by_words():
    with serve(careless) as endpoint:
        found = await probed(endpoint.url)
    assert {f.state for f in found.findings} == {"ignored"}
    assert found.fields == {"mode": "text"}


async def test_one_that_refuses_is_not_sent_it_again():
    with serve(plain) as endpoint:
        found = await probed(endpoint.url)
    refused = {f.name: f.said for f in found.findings if f.state == "refused"}
    assert refused.keys() == {
        "named_tool", "required_tool", "one_call", "json_schema", "logprobs", "unicode"
    }  # fmt: skip
    assert refused["logprobs"] == "logprobs is not supported"
    assert found.fields == {"mode": "text", "without": ["parallel_tool_calls", "logprobs", "top_logprobs"]}


@pytest.mark.parametrize("kind", ["named", "required"])
async def test_tools_that_hold_only_half_give_way_to_a_schema(kind: str):
    def answer(body: dict[str, Any]) -> Answer:
        choice = body.get("tool_choice")
        half = isinstance(choice, dict) if kind == "named" else choice == "required"
        return says("No.") if half else strict(body)

    with serve(answer) as endpoint:
        assert (await probed(endpoint.url)).mode == "json_schema"


@pytest.mark.parametrize("answer", [refuses(401, "bad key"), refuses(404, "no such model")])
async def test_an_endpoint_that_does_not_answer_is_an_error(answer: Answer):
    with serve([answer]) as endpoint, pytest.raises(ModelError):
        await probed(endpoint.url, retries=0)


@pytest.mark.slow
async def test_a_real_server_of_llama_cpp():
    with llama_server(real_model_file()) as url:
        found = await probed(url, api_key=KEY)
    for finding in found.findings:
        print(finding)
    assert found.held("json_schema") and found.held("unicode") and found.held("logprobs")
    assert found.held("max_tokens") and found.held("usage") and found.held("cached")
    assert found.mode in ("tools", "json_schema")
