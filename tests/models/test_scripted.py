import pytest

from sopwith.errors import ModelError
from sopwith.models.port import ModelReply, ModelRequest, Prompt
from sopwith.models.scripted import ScriptedModel

REQUEST = ModelRequest(Prompt("", (), "步骤 3"), "text")


async def test_replies_come_in_order_and_the_requests_are_kept():
    model = ScriptedModel(["一", ModelReply("二", confidence=0.5)], id="s")
    assert (await model.complete(REQUEST)).text == "一"
    assert (await model.complete(REQUEST)).confidence == 0.5
    assert model.requests == [REQUEST, REQUEST] and model.id == "s"


async def test_a_function_answers_each_request():
    model = ScriptedModel(lambda request: request.prompt.tail)
    assert (await model.complete(REQUEST)).text == "步骤 3"


async def test_an_exhausted_script_says_what_was_asked():
    with pytest.raises(ModelError) as caught:
        await ScriptedModel([]).complete(REQUEST)
    assert "步骤 3" in caught.value.message.en and "步骤 3" in caught.value.message.zh


async def test_a_call_costs_next_to_nothing():
    model = ScriptedModel(lambda request: "{}")
    reply = await model.complete(REQUEST)
    assert reply.usage.model_calls == 1 and reply.usage.tokens == 0
