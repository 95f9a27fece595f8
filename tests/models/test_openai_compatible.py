import asyncio
import json
import math
import threading

import pytest
from tests.models.endpoint_server import Answer, calls, completion, refuses, says, serve

from sopwith.errors import ModelError, UserError
from sopwith.models.openai_compatible import OpenAIModel
from sopwith.models.port import Action, ModelReply, ModelRequest, Prompt, Turn
from sopwith.models.reply import read_reply

LEAVE = {
    "type": "object",
    "required": ["kind", "files"],
    "properties": {
        "kind": {"enum": ["annual", "sick"]},
        "files": {"type": "array", "items": {"type": "string"}},
    },
}
SUBMIT = Action("submit_leave", "请假", LEAVE)
FINISH = Action("finish", "", {"type": "object", "properties": {"text": {"type": "string"}}})
AGREE = Action("returns_agree", "", {"type": "boolean"})
ACTIONS = (FINISH, AGREE, SUBMIT)
PROMPT = Prompt("你执行流程。\n", (Turn("问", "答"),), "我下周一请年假😀", "<tools>…</tools>")
GOOD = '{"kind": "annual", "files": []}'
VALUE = {"kind": "annual", "files": []}


def ask(*legal: str, **more: object) -> ModelRequest:
    return ModelRequest(PROMPT, "action", actions=ACTIONS, legal=legal or ("submit_leave",), **more)  # type: ignore[arg-type]


def choose() -> ModelRequest:
    return ModelRequest(PROMPT, "choice", labels=("refund", "shipping", "other"), max_tokens=1)


async def reply_of(url: str, request: ModelRequest, **settings: object) -> ModelReply:
    model = OpenAIModel("m", base_url=url, **settings)  # type: ignore[arg-type]
    try:
        return await model.complete(request)
    finally:
        await model.close()
        await model.close()


async def failure_of(answers: list[Answer], request: ModelRequest | None = None) -> ModelError:
    with serve(answers) as endpoint, pytest.raises(ModelError) as caught:
        await reply_of(endpoint.url, request or ask(), retries=1)
    assert caught.value.hint.en and caught.value.hint.zh
    return caught.value


async def test_one_legal_action_is_a_named_tool_call_out_of_the_whole_block():
    with serve([calls(("submit_leave", GOOD))]) as endpoint:
        reply = await reply_of(endpoint.url, ask())
    (body,) = endpoint.bodies
    assert body["tool_choice"] == {"type": "function", "function": {"name": "submit_leave"}}
    assert [tool["function"]["name"] for tool in body["tools"]] == ["finish", "returns_agree", "submit_leave"]
    assert body["parallel_tool_calls"] is False and body["temperature"] == 0 and body["max_tokens"] == 512
    assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant", "user"]
    assert "<tools>" not in body["messages"][0]["content"]
    assert (reply.name, reply.text, reply.finish) == ("submit_leave", GOOD, "tool_calls")
    assert read_reply(ask(), reply).value == VALUE


async def test_several_legal_actions_are_required():
    with serve([calls(("finish", '{"text": "完"}'))]) as endpoint:
        reply = await reply_of(endpoint.url, ask("submit_leave", "finish"))
    assert endpoint.bodies[0]["tool_choice"] == "required"
    assert read_reply(ask("submit_leave", "finish"), reply).action == "finish"


async def test_chinese_goes_out_as_utf8():
    with serve([calls(("submit_leave", GOOD))]) as endpoint:
        await reply_of(endpoint.url, ask())
    assert "我下周一请年假😀".encode() in endpoint.raw[0]
    assert b"\\u" not in endpoint.raw[0]


async def test_the_order_of_properties_is_kept():
    with serve([calls(("submit_leave", GOOD))]) as endpoint:
        await reply_of(endpoint.url, ask())
    parameters = endpoint.bodies[0]["tools"][2]["function"]["parameters"]
    assert list(parameters["properties"]) == ["kind", "files"]


async def test_only_the_first_legal_call_is_read_and_the_others_are_listed():
    answer = calls(("finish", "{}"), ("submit_leave", GOOD), ("submit_leave", '{"kind": "sick"}'))
    with serve([answer]) as endpoint:
        reply = await reply_of(endpoint.url, ask())
    assert (reply.name, reply.text, reply.extra) == ("submit_leave", GOOD, ("finish", "submit_leave"))


@pytest.mark.parametrize(
    "arguments",
    [
        '{"kind": "annual", "files": "[]"}',
        json.dumps(GOOD),
        f"```json\n{GOOD}\n```",
        {"kind": "annual", "files": []},
    ],
)
async def test_odd_arguments_are_repaired(arguments):
    with serve([calls(("submit_leave", arguments))]) as endpoint:
        reading = read_reply(ask(), await reply_of(endpoint.url, ask()))
    assert reading.value == VALUE


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (calls(("submit_leave", '{"kind": "ann'), finish="length"), "reply_truncated"),
        (calls(("submit_leave", '{"kind": "ann')), "reply_truncated"),
        (calls(("submit_leave", "")), "reply_not_json"),
        (calls(("delete_all", "{}")), "unknown_action"),
        (calls(("", None)), "unknown_action"),
        (says("我不能这样做。"), "reply_not_json"),
        (completion({"refusal": "No."}), "reply_not_json"),
        (completion({"content": None}), "reply_not_json"),
    ],
)
async def test_what_cannot_be_used_is_a_structural_error(answer, code):
    with serve([answer]) as endpoint:
        error = read_reply(ask(), await reply_of(endpoint.url, ask())).error
    assert error is not None and error.code == code


async def test_a_value_that_is_no_object_is_wrapped_and_unwrapped():
    with serve([calls(("returns_agree", '{"value": true}'))]) as endpoint:
        reading = read_reply(ask("returns_agree"), await reply_of(endpoint.url, ask("returns_agree")))
    parameters = endpoint.bodies[0]["tools"][1]["function"]["parameters"]
    assert parameters == {
        "type": "object",
        "properties": {"value": {"type": "boolean"}},
        "required": ["value"],
    }
    assert reading.value is True


async def test_an_endpoint_without_tools_is_asked_by_schema_then_by_prompt_and_remembered():
    def answer(body: dict) -> Answer:
        if "tools" in body:
            return refuses(400, "this model does not support tools")
        if "response_format" in body:
            return refuses(422, "response_format is not supported")
        return says(f"好的：{GOOD}")

    with serve(answer) as endpoint:
        model = OpenAIModel("m", base_url=endpoint.url)
        assert read_reply(ask(), await model.complete(ask())).value == VALUE
        assert len(endpoint.bodies) == 3
        assert endpoint.bodies[1]["response_format"]["json_schema"]["schema"]["required"] == ["kind", "files"]
        assert "<tools>" in endpoint.bodies[2]["messages"][0]["content"]
        await model.complete(ask())
        assert len(endpoint.bodies) == 4
        await model.close()


async def test_an_endpoint_that_ignores_tools_is_asked_by_schema_the_next_time():
    with serve([says(GOOD)]) as endpoint:
        model = OpenAIModel("m", base_url=endpoint.url)
        assert read_reply(ask(), await model.complete(ask())).value == VALUE
        await model.complete(ask())
        await model.close()
    assert "tools" in endpoint.bodies[0] and "response_format" in endpoint.bodies[1]


async def test_a_fixed_mode_is_kept():
    with serve([refuses(400, "tools are not supported")]) as endpoint:
        with pytest.raises(ModelError):
            await reply_of(endpoint.url, ask(), mode="tools")
        assert len(endpoint.bodies) == 1


async def test_parameters_that_are_refused_are_left_out_or_renamed():
    def answer(body: dict) -> Answer:
        if "temperature" in body:
            return refuses(400, "Unsupported value: 'temperature'", param="temperature")
        if "max_tokens" in body:
            return refuses(400, "Use 'max_completion_tokens' instead of 'max_tokens'.", param="max_tokens")
        return calls(("submit_leave", GOOD))

    with serve(answer) as endpoint:
        assert (await reply_of(endpoint.url, ask(max_tokens=99))).text == GOOD
    assert endpoint.bodies[-1]["max_completion_tokens"] == 99
    assert "tools" in endpoint.bodies[-1]


async def test_a_prompt_that_is_too_long_is_told_as_such_and_teaches_nothing():
    words = "This model's maximum context length is 4096 tokens."
    error = await failure_of([refuses(400, words, code="context_length_exceeded")])
    assert error.code == "SW081"


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (refuses(401, "bad key"), "OPENAI_API_KEY"),
        (refuses(403, "not allowed"), "OPENAI_API_KEY"),
        (refuses(404, "no such model", code="model_not_found"), "name"),
        (refuses(429, "slow down"), "quota"),
        (refuses(500, "oops"), "later"),
        ((503, "<html>"), "later"),
        ((200, "<html>"), "URL"),
        ((200, {"object": "chat.completion", "choices": []}), "URL"),
        ((200, "{"), ""),
    ],
)
async def test_an_endpoint_that_fails_is_an_error_with_a_remedy(answer, hint):
    assert hint in (await failure_of([answer])).hint.en


async def test_a_busy_endpoint_is_tried_again():
    busy = refuses(429, "slow down")
    with serve([busy, refuses(500, "oops"), calls(("submit_leave", GOOD))]) as endpoint:
        assert (await reply_of(endpoint.url, ask())).text == GOOD
    assert len(endpoint.bodies) == 3


async def test_nobody_there():
    with serve([]) as endpoint:
        url = endpoint.url
    with pytest.raises(ModelError) as caught:
        await reply_of(url, ask(), retries=0)
    assert "cannot be reached" in caught.value.message.en and "无法连接" in caught.value.message.zh


async def test_seconds_bound_the_call():
    leave = threading.Event()

    def answer(body: dict) -> Answer:
        leave.wait(20)
        return says("late")

    with serve(answer) as endpoint:
        with pytest.raises(TimeoutError):
            await reply_of(endpoint.url, ModelRequest(PROMPT, "text", seconds=0.1))
        leave.set()


def logprobs(*tokens: dict[str, float]) -> dict:
    def entry(candidates: dict[str, float]) -> dict:
        listed = [{"token": t, "logprob": math.log(p), "bytes": None} for t, p in candidates.items()]
        return {**listed[0], "top_logprobs": listed}

    return {"content": [entry(candidates) for candidates in tokens], "refusal": None}


async def test_a_choice_has_a_confidence_from_the_token_that_holds_the_letter():
    given = logprobs(
        {'{"': 1.0}, {"choice": 1.0}, {'":"': 1.0}, {"B": 0.5, "A": 0.2, " B": 0.1, "x": 0.1}, {'"}': 1.0}
    )
    with serve([says('{"choice":"B"}', logprobs=given)]) as endpoint:
        reply = await reply_of(endpoint.url, choose())
    schema = endpoint.bodies[0]["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["choice"]["enum"] == ["A", "B", "C"]
    assert reply.text == "B"
    assert reply.confidence == pytest.approx(0.6 / 0.9)
    assert reply.probabilities == pytest.approx((0.2 / 0.9, 0.6 / 0.9, 0.1 / 0.9))
    assert read_reply(choose(), reply).repairs == ()


async def test_a_choice_without_schema_or_logprobs_is_one_letter():
    def answer(body: dict) -> Answer:
        if "logprobs" in body:
            return refuses(400, "logprobs are not available")
        if "response_format" in body:
            return refuses(400, "json_schema is not supported")
        return says("B.")

    with serve(answer) as endpoint:
        reply = await reply_of(endpoint.url, choose())
    assert reply.confidence is None
    assert read_reply(choose(), reply).action == "shipping"


async def test_prose():
    with serve([says("您好😀")]) as endpoint:
        reply = await reply_of(endpoint.url, ModelRequest(PROMPT, "text"))
    assert reply.text == "您好😀" and "tools" not in endpoint.bodies[0]


async def test_cached_tokens_are_counted_once():
    usage = {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}
    usage["prompt_tokens_details"] = {"cached_tokens": 80}
    answer = says("好", usage=usage, system_fingerprint="fp_1")
    with serve([answer]) as endpoint:
        reply = await reply_of(endpoint.url, ModelRequest(PROMPT, "text"))
    counted = (reply.usage.input, reply.usage.cached, reply.usage.cache_write, reply.usage.output)
    assert counted == (20, 80, 0, 7) and reply.usage.tokens == 107
    assert reply.model.endswith("#m-1/fp_1")


def test_the_key_and_the_name(monkeypatch):
    for name in ("OPENAI_API_KEY", "SOPWITH_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UserError):
        OpenAIModel("m")
    assert OpenAIModel("m", api_key="k").id == "openai:m"
    assert OpenAIModel("m", base_url="http://user:secret@localhost:80/v1").id == "openai:m@localhost:80"


def test_the_same_model_object_serves_one_event_loop_after_another():
    with serve([says("好")]) as endpoint:
        model = OpenAIModel("m", base_url=endpoint.url)

        async def once() -> str:
            reply = await model.complete(ModelRequest(PROMPT, "text"))
            await model.close()
            return reply.text

        assert [asyncio.run(once()), asyncio.run(once())] == ["好", "好"]
