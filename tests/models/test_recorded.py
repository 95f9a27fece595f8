import pytest

from sopwith.errors import ModelError
from sopwith.ir.event import Event, ModelReplied, ModelRequested, Phase
from sopwith.ir.usage import Usage
from sopwith.ir.value import digest
from sopwith.models.port import ModelRequest, Prompt
from sopwith.models.recorded import RecordedModel

PREFIX, BLOCK = "你执行流程。", "<tools></tools>"
STABLE = digest((PREFIX + BLOCK).encode())


def event(seq: int, body: object) -> Event:
    return Event("t", "r", seq, seq, Phase.EXECUTE, "s", None, body)


def asked(tail: str, *legal: str) -> ModelRequested:
    return ModelRequested(purpose="arguments", model="local:m@1", prefix=STABLE, tail=tail, legal=legal)


LOG = [
    event(1, asked("第一步", "submit")),
    event(2, asked("第一步", "submit")),  # a crash came before the reply
    event(
        3,
        ModelReplied(
            text="{}",
            name="submit",
            extra=("finish",),
            usage=Usage(input=3, model_calls=1),
            finish="tool_calls",
        ),
    ),
    event(4, asked("第二步：金额 12 元", "A", "B")),
    event(5, ModelReplied(text="B", confidence=0.7, model="local:m@1#x")),
]


def request(tail: str, *legal: str, prefix: str = PREFIX) -> ModelRequest:
    return ModelRequest(Prompt(prefix, (), tail, BLOCK), "action", legal=legal)


async def test_the_recorded_replies_come_back_whole():
    model = RecordedModel(LOG)
    assert model.id == "local:m@1"
    first = await model.complete(request("第一步", "submit"))
    assert (first.text, first.name, first.extra, first.finish) == ("{}", "submit", ("finish",), "tool_calls")
    assert first.usage.input == 3 and first.model == "local:m@1"
    second = await model.complete(request("第二步：金额 12 元", "A", "B"))
    assert (second.text, second.confidence, second.model) == ("B", 0.7, "local:m@1#x")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (request("第一步", "submit", prefix="别的"), "system text"),
        (request("第一步", "cancel"), "legal was submit, is cancel"),
        (request("第一步!", "submit"), "the tail was “第一步”, is “第一步!”"),
    ],
)
async def test_the_first_difference_is_named(wrong, said):
    with pytest.raises(ModelError) as caught:
        await RecordedModel(LOG).complete(wrong)
    assert said in caught.value.message.en and "model call 1" in caught.value.message.en
    assert caught.value.code == "SW083"


async def test_asking_further_than_recorded_is_a_difference():
    model = RecordedModel([])
    with pytest.raises(ModelError, match="no further"):
        await model.complete(request("x"))
