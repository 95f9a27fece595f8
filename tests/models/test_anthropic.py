import threading
from typing import Any

import pytest
from tests.models.endpoint_server import Answer, serve
from tests.models.messages_server import held, marks, message, refuses, says, uses

from sopwith.errors import ModelError, UserError
from sopwith.models.anthropic import AnthropicModel
from sopwith.models.connect import connect
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
EITHER = Action("either", "", {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]})
ACTIONS = (AGREE, EITHER, FINISH, SUBMIT)
PROMPT = Prompt(
    "你执行流程。\n", (Turn("问一", "答一"), Turn("问二", "答二")), "我下周一请年假😀", "<tools>…</tools>"
)
VALUE = {"kind": "annual", "files": []}
GOOD = uses(("submit_leave", VALUE))


def ask(*legal: str, **more: Any) -> ModelRequest:
    return ModelRequest(PROMPT, "action", actions=ACTIONS, legal=legal or ("submit_leave",), **more)


CHOOSE = ModelRequest(PROMPT, "choice", ACTIONS, ("A", "B"), labels=("refund", "shipping"), max_tokens=1)
TEXT = ModelRequest(PROMPT, "text", ACTIONS)


async def reply_of(url: str, request: ModelRequest, **settings: Any) -> ModelReply:
    model = AnthropicModel("m", base_url=url.removesuffix("/v1"), api_key="k", **settings)
    try:
        return await model.complete(request)
    finally:
        await model.close()
        await model.close()


async def failure_of(answer: Answer, request: ModelRequest | None = None) -> ModelError:
    with serve([answer]) as endpoint, pytest.raises(ModelError) as caught:
        await reply_of(endpoint.url, request or ask(), retries=1)
    assert caught.value.hint.en and caught.value.hint.zh
    return caught.value


async def test_one_legal_action_is_a_forced_tool_out_of_the_whole_block():
    with serve(held(lambda body: GOOD)) as endpoint:
        reply = await reply_of(endpoint.url, ask())
    (body,) = endpoint.bodies
    assert body["tool_choice"] == {
        "type": "tool",
        "name": "submit_leave",
        "disable_parallel_tool_use": True,
    }
    assert [tool["name"] for tool in body["tools"]] == [action.name for action in ACTIONS]
    assert body["thinking"] == {"type": "disabled"} and "temperature" not in body
    assert (reply.name, reply.finish) == ("submit_leave", "tool_calls")
    assert read_reply(ask(), reply).value == VALUE
    assert reply.model.endswith("#claude-test-1")


async def test_what_is_sent_where():
    with serve(held(lambda body: GOOD)) as endpoint:
        await reply_of(endpoint.url, ask())
    assert endpoint.paths == ["/v1/messages"]
    assert endpoint.headers[0]["authorization"] == "Bearer k" and endpoint.headers[0]["anthropic-version"]
    assert "我下周一请年假😀".encode() in endpoint.raw[0]


async def test_several_legal_actions_are_any():
    both = ask("submit_leave", "finish")
    with serve(held(lambda body: uses(("finish", {"text": "完"}), said="好的"))) as endpoint:
        reply = await reply_of(endpoint.url, both)
    assert endpoint.bodies[0]["tool_choice"] == {"type": "any", "disable_parallel_tool_use": True}
    assert read_reply(both, reply).action == "finish"


async def test_the_stable_parts_are_marked_and_the_same_in_every_form():
    def answer(body: dict[str, Any]) -> Answer:
        return says("B") if body["tool_choice"]["type"] == "none" else GOOD

    with serve(held(answer)) as endpoint:
        for request in (ask(), CHOOSE, TEXT):
            await reply_of(endpoint.url, request)
    assert [marks(body) for body in endpoint.bodies] == [2, 2, 2]
    first = endpoint.bodies[0]
    for body in endpoint.bodies:
        assert (body["tools"], body["system"]) == (first["tools"], first["system"])
        assert body["system"][-1]["cache_control"] == {"type": "ephemeral"}
        assert [m["role"] for m in body["messages"]] == ["user", "assistant", "user", "assistant", "user"]
        assert "cache_control" in body["messages"][-2]["content"][0]
        assert body["messages"][-1]["content"] == PROMPT.tail


async def test_without_a_prefix_or_tools():
    with serve(held(lambda body: says("好"))) as endpoint:
        await reply_of(endpoint.url, ModelRequest(Prompt("", (), "x"), "text"))
        await reply_of(endpoint.url, ModelRequest(Prompt("", (), "x"), "text", (FINISH,)))
        await reply_of(endpoint.url, ModelRequest(Prompt("系统", (), "x", "<tools>"), "text"))
    assert [marks(body) for body in endpoint.bodies] == [0, 1, 1]
    assert "system" not in endpoint.bodies[0] and endpoint.bodies[2]["system"][0]["text"] == "系统<tools>"


async def test_the_counters_are_apart():
    with serve([GOOD]) as endpoint:
        usage = (await reply_of(endpoint.url, ask())).usage
    assert (usage.input, usage.cached, usage.cache_write, usage.output) == (20, 30, 7, 5)
    assert usage.model_calls == 1


async def test_a_choice_is_a_letter_without_confidence():
    with serve(held(lambda body: says(" B\n"))) as endpoint:
        reply = await reply_of(endpoint.url, CHOOSE)
    assert endpoint.bodies[0]["tool_choice"] == {"type": "none"}
    assert (reply.text, reply.confidence, reply.probabilities) == ("B", None, ())
    assert read_reply(CHOOSE, reply).action == "shipping"


async def test_only_the_first_legal_use_is_read_and_the_others_are_listed():
    with serve([uses(("finish", {}), ("submit_leave", VALUE), ("submit_leave", {}))]) as endpoint:
        reply = await reply_of(endpoint.url, ask())
    assert (reply.name, reply.extra) == ("submit_leave", ("finish", "submit_leave"))
    assert read_reply(ask(), reply).value == VALUE


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("returns_agree", {"value": True}, True),
        ("either", {"value": {"a": 1}}, {"a": 1}),
        ("finish", {}, {}),
    ],
)
async def test_what_a_tool_cannot_take_is_wrapped_and_unwrapped(name, given, value):
    with serve(held(lambda body: uses((name, given)))) as endpoint:
        reading = read_reply(ask(name), await reply_of(endpoint.url, ask(name)))
    assert reading.error is None and reading.value == value


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (uses(("submit_leave", {"kind": "annual"}), reason="max_tokens"), "reply_truncated"),
        (uses(("submit_leave", {"kind": "holiday", "files": []})), "invalid_arguments"),
        (uses(("delete_all", {})), "unknown_action"),
        (says("我不能这样做。"), "reply_not_json"),
        (message(), "reply_not_json"),
    ],
)
async def test_what_cannot_be_used_is_a_structural_error(answer, code):
    with serve([answer]) as endpoint:
        error = read_reply(ask(), await reply_of(endpoint.url, ask())).error
    assert error is not None and error.code == code


REFUSED = {"type": "refusal", "category": "cyber", "explanation": "This could do harm."}


@pytest.mark.parametrize(
    ("answer", "words", "hint"),
    [
        (refuses(401, "authentication_error", "invalid x-api-key"), "401", "ANTHROPIC_API_KEY"),
        (refuses(402, "billing_error", "no credit"), "402", "quota"),
        (refuses(403, "permission_error", "not allowed"), "403", "ANTHROPIC_API_KEY"),
        (refuses(404, "not_found_error", "model: m"), "404", "name"),
        (refuses(429, "rate_limit_error", "slow down"), "429: slow down", "quota"),
        (refuses(500, "api_error", "oops"), "500", "later"),
        (refuses(529, "overloaded_error", "Overloaded"), "529: Overloaded", "later"),
        (refuses(400, "invalid_request_error", "tools.0.name: no"), "tools.0.name: no", "refused"),
        ((503, "<html>"), "503", "later"),
        ((200, "<html>"), "", "URL"),
        ((200, {"type": "message"}), "without a reply", "URL"),
        (message(reason="refusal", stop_details=REFUSED), "refused to answer: This could", "another model"),
        (message(reason="refusal"), "refused to answer", "another model"),
    ],
)
async def test_an_endpoint_that_fails_is_an_error_with_a_remedy(answer, words, hint):
    error = await failure_of(answer)
    assert words in error.message.en and hint in error.hint.en


@pytest.mark.parametrize(
    "answer",
    [
        refuses(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
        message(reason="model_context_window_exceeded"),
    ],
)
async def test_a_prompt_that_is_too_long_is_told_as_such(answer):
    assert (await failure_of(answer)).code == "SW081"


async def test_a_busy_endpoint_is_tried_again():
    busy = refuses(529, "overloaded_error", "Overloaded")
    with serve([busy, refuses(429, "rate_limit_error", "slow down"), GOOD]) as endpoint:
        assert read_reply(ask(), await reply_of(endpoint.url, ask())).value == VALUE
    assert len(endpoint.bodies) == 3


async def test_what_a_model_refuses_is_left_out_and_remembered():
    def answer(body: dict[str, Any]) -> Answer:
        if "thinking" in body:
            return refuses(400, "invalid_request_error", "thinking.type: disabled is not supported")
        if body["tool_choice"]["type"] in ("tool", "any"):
            return refuses(
                400, "invalid_request_error", "Thinking may not be enabled when tool_choice forces"
            )
        if "temperature" in body:
            return refuses(400, "invalid_request_error", "temperature: Extra inputs are not permitted")
        return says('{"kind": "annual", "files": []}')

    with serve(answer) as endpoint:
        model = AnthropicModel("m", base_url=endpoint.url.removesuffix("/v1"), api_key="k")
        for _ in range(2):
            assert read_reply(ask(temperature=0.5), await model.complete(ask(temperature=0.5))).value == VALUE
        await model.close()
    assert len(endpoint.bodies) == 5
    assert endpoint.bodies[0]["temperature"] == 0.5
    assert endpoint.bodies[-1]["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}


async def test_seconds_bound_the_call():
    leave = threading.Event()

    def answer(body: dict[str, Any]) -> Answer:
        leave.wait(20)
        return says("late")

    with serve(answer) as endpoint:
        with pytest.raises(TimeoutError):
            await reply_of(endpoint.url, ModelRequest(PROMPT, "text", seconds=0.1))
        leave.set()


async def test_nobody_there():
    with serve([]) as endpoint:
        url = endpoint.url
    with pytest.raises(ModelError) as caught:
        await reply_of(url, ask(), retries=0)
    assert "cannot be reached" in caught.value.message.en and "URL" in caught.value.hint.en


def test_by_one_line_of_text(monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "of another provider")
    with pytest.raises(UserError) as caught:
        connect("anthropic:claude-test")
    assert "ANTHROPIC_API_KEY" in caught.value.hint.zh
    assert connect("anthropic:claude-test@http://user:secret@h:1").id == "anthropic:claude-test@h:1"
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    assert connect("anthropic:claude-test").id == "anthropic:claude-test"
