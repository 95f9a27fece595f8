import asyncio
import json
import time
from collections.abc import Iterator

import pytest
from tests.models.real_model import real_model_file

from sopwith.errors import ModelError, ModelFileError, UserError
from sopwith.ir.schema import validator
from sopwith.models.llama import label_probabilities, request_body
from sopwith.models.local import LocalModel, physical_cores
from sopwith.models.port import Action, ModelReply, ModelRequest, Prompt, Turn
from sopwith.models.reply import read_reply

PREFIX = (
    "You carry out one step of a procedure at a time. "
    + "Use only the values shown and never invent one. " * 20
)


@pytest.fixture(scope="module")
def model() -> Iterator[LocalModel]:
    local = LocalModel(real_model_file(), context=1024, slots=2)
    yield local
    asyncio.run(local.close())


def action(schema: dict, tail: str, max_tokens: int = 48) -> ModelRequest:
    return ModelRequest(
        Prompt(PREFIX, (), tail), "action", (Action("a", "", schema),), ("a",), max_tokens=max_tokens
    )


def one(schema: dict) -> dict:
    return {"type": "object", "properties": {"v": schema}, "required": ["v"], "additionalProperties": False}


def test_probabilities_are_renormalised_over_the_letters():
    given = [
        {"token": "B", "logprob": -0.5},
        {"token": "A", "logprob": -0.5},
        {"token": "the", "logprob": -3.0},
    ]
    found = label_probabilities(given, "ABC")
    assert found[0] == found[1] > found[2] > 0
    assert sum(found) == pytest.approx(1)
    assert label_probabilities([], "AB") == ()


def test_the_body_holds_the_whole_prompt_and_what_is_legal():
    prompt = Prompt("系统\n", (Turn("问", "答"),), "尾", "<tools>")
    choice = ModelRequest(prompt, "choice", labels=("x", "y", "z"))
    body = request_body(choice, lambda schema: schema)
    assert [m["content"] for m in body["messages"]] == ["系统\n<tools>", "问", "答", "尾"]
    assert (body["grammar"], body["max_tokens"], body["temperature"]) == ("root ::= [A-C]", 1, 0)
    acting = ModelRequest(prompt, "action", (Action("a", "", {"type": "object"}),), ("a",))
    assert json.loads(request_body(acting, lambda schema: schema)["grammar"])["type"] == "object"


def test_at_least_one_core():
    assert physical_cores() >= 1


@pytest.mark.parametrize("labels", [(), tuple("x" * 27)])
def test_a_choice_without_a_letter_for_each_label_is_a_mistake(labels):
    with pytest.raises(UserError):
        request_body(ModelRequest(Prompt("", (), ""), "choice", labels=labels), None)


def test_a_legal_name_without_an_action_is_a_mistake():
    with pytest.raises(UserError):
        request_body(ModelRequest(Prompt("", (), ""), "action", legal=("x",)), None)


@pytest.mark.slow
async def test_a_damaged_file_is_an_error_and_no_crash(tmp_path):
    path = tmp_path / "damaged.gguf"
    with real_model_file().open("rb") as whole:
        path.write_bytes(whole.read(3_000_000))
    with pytest.raises(ModelFileError) as caught:
        await LocalModel(path).load()
    assert "not a complete GGUF" in caught.value.message.en and "不是完整" in caught.value.message.zh


ENFORCED = [
    {"enum": ["x", "y"]},
    {"const": {"a": [1, None]}},
    {"type": "string", "pattern": "^\\d{3}-[A-Z]{2}$"},
    {"type": "string", "format": "date"},
    {"type": "string", "maxLength": 4},
    {"type": "integer", "exclusiveMinimum": 0, "maximum": 30},
    {"type": ["boolean", "null"]},
    {"type": "integer", "minimum": -(10**30)},
    {"type": "object", "properties": {"数": {"type": "integer"}}, "required": ["数"]},
    {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2},
    {"oneOf": [{"type": "null"}, {"type": "boolean"}]},
    {"type": "array", "prefixItems": [{"type": "boolean"}], "items": False, "minItems": 1},
    {"type": "string", "not": {"const": ""}, "minLength": 1, "maxLength": 5, "format": "unheard-of"},
]


@pytest.mark.slow
@pytest.mark.parametrize("schema", ENFORCED, ids=str)
async def test_a_reply_can_only_be_what_the_schema_admits(model, schema):
    request = action(one(schema), "Tell me a story about the number minus five.")
    reading = read_reply(request, await model.complete(request))
    assert reading.error is None and reading.repairs == ()
    assert validator(one(schema)).accepts(reading.value)


@pytest.mark.slow
async def test_an_empty_object_and_a_recursive_one(model):
    empty = action({"type": "object", "properties": {}}, "Tell me a story.")
    assert (await model.complete(empty)).text == "{}"
    tree = {
        "$ref": "#/$defs/node",
        "$defs": {
            "node": {
                "type": "object",
                "required": ["n"],
                "properties": {
                    "n": {"type": "integer", "maximum": 9, "minimum": 0},
                    "next": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/node"}]},
                },
            }
        },
    }
    request = action(tree, 'Give {"n": 1, "next": {"n": 2, "next": null}}')
    assert read_reply(request, await model.complete(request)).error is None


@pytest.mark.slow
async def test_the_prefix_is_read_once(model):
    first = await model.complete(action(one({"type": "boolean"}), "Is it true that 2 > 1?"))
    second = await model.complete(action(one({"type": "boolean"}), "Is it true that the sea is dry?"))
    assert second.usage.cached > 150 and second.usage.input < 60
    assert first.usage.input + first.usage.cached > 150


@pytest.mark.slow
async def test_a_call_out_of_time_returns_then_and_soon_stops_computing(model):
    busy = ModelRequest(Prompt("word " * 900, (), "go"), "text", seconds=0.3)
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        await model.complete(busy)
    assert time.monotonic() - began < 1


@pytest.mark.slow
async def test_a_prompt_that_does_not_fit_names_the_remedy(model):
    with pytest.raises(ModelError) as caught:
        await model.complete(ModelRequest(Prompt("word " * 2000, (), "go"), "text"))
    assert caught.value.code == "SW081" and "1024 fit" in caught.value.message.en
    assert caught.value.hint.zh


@pytest.mark.slow
async def test_a_reply_at_its_limit_says_so(model):
    reply: ModelReply = await model.complete(
        ModelRequest(Prompt(PREFIX, (), "写一首关于大海的长诗。"), "text", max_tokens=8)
    )
    assert reply.finish == "length" and reply.usage.output == 8
    assert "\N{REPLACEMENT CHARACTER}" not in reply.text


@pytest.mark.slow
def test_one_model_serves_one_event_loop_after_another(model):
    for _ in range(2):
        request = action(one({"enum": ["yes"]}), "Say yes.")
        assert asyncio.run(model.complete(request)).text == '{"v": "yes"}'


@pytest.mark.slow
async def test_a_closed_model_says_so():
    local = LocalModel(real_model_file())
    await local.close()
    await local.close()
    with pytest.raises(UserError):
        await local.complete(action(one({}), "x"))
