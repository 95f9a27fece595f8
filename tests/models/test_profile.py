from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.models.endpoint_server import calls, says, serve
from tests.models.messages_server import says as speaks

from sopwith.errors import UserError
from sopwith.models.anthropic import AnthropicModel
from sopwith.models.connect import connect, id_of
from sopwith.models.llama import request_body
from sopwith.models.local import LocalModel
from sopwith.models.openai_compatible import OpenAIModel
from sopwith.models.port import Action, ModelRequest, Prompt
from sopwith.models.profile import PLAIN, Calibration, Profile, Profiles, Shape
from sopwith.models.reply import read_reply

QWEN = "local:qwen2.5-coder-0.5b-instruct-q4_k_m@1d961463"
SHAPES = st.builds(Shape, st.booleans(), st.booleans(), st.sampled_from(["letter", "word"]))
CHOICE = ModelRequest(
    Prompt("", (), "- refund\n- late parcel"), "choice", labels=("refund", "late parcel"), by_word=True
)


def test_what_ships_is_valid_and_says_what_was_measured():
    profile = Profiles().of(QWEN)
    assert profile.context == 4096 and "17 of 18" in profile.about and profile.calibration is None
    assert Profiles().of("openai:unheard-of") == Profile()
    assert Profile().shape == PLAIN


def test_ones_own_stand_over_what_ships_field_by_field():
    own = Profiles({QWEN.replace("1d961463", "*"): {"context": 2048}, "local:*": {"flat": True}})
    assert (own.of(QWEN).context, own.of(QWEN).flat) == (2048, False)
    assert own.of(QWEN).about == Profiles().of(QWEN).about
    assert own.of("local:other@x").flat


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"flatt": True}, "profiles.m.flatt: unknown field"),
        ({"choice": "number"}, "profiles.m.choice: must be"),
        ({"context": 0}, "profiles.m.context: must be greater than 0"),
        ({"calibration": {"slope": -1, "offset": 0}}, "profiles.m.calibration.slope: must be 0 or more"),
        ({"without": ["tools"]}, "profiles.m.without.0: must be"),
    ],
)
def test_a_wrong_field_is_named(fields, said):
    with pytest.raises(UserError) as caught:
        Profiles({"m": fields})
    assert caught.value.message.en.startswith(said)


@given(st.floats(0, 20), st.floats(-20, 20), st.floats(0, 1), st.floats(0, 1))
def test_a_calibration_never_changes_an_order(slope, offset, one, other):
    calibration = Calibration(slope=slope, offset=offset)
    low, high = sorted((one, other))
    assert 0 <= calibration.of(low) <= calibration.of(high) <= 1
    assert Calibration(slope=1, offset=0).of(0.5) == 0.5


def test_a_choice_by_word_in_llama_cpp():
    body = request_body(CHOICE, None)
    assert body["grammar"] == 'root ::= "refund" | "late parcel"' and "logprobs" not in body
    assert body["max_tokens"] > 20


async def test_a_choice_by_word_at_endpoints_is_read_by_its_words():
    with serve([says('{"choice": "late parcel"}'), says("refund\n")]) as endpoint:
        model = OpenAIModel("m", base_url=endpoint.url)
        for words in ("late parcel", "refund"):
            reply = await model.complete(CHOICE)
            assert (reply.text, reply.confidence) == (words, None)
            reading = read_reply(CHOICE, reply)
            assert (reading.action, reading.repairs) == (words, ())
        await model.close()
    schema = endpoint.bodies[0]["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["choice"]["enum"] == ["refund", "late parcel"]
    assert "logprobs" not in endpoint.bodies[0]
    with serve([speaks("late parcel")]) as endpoint:
        claude = AnthropicModel("m", base_url=endpoint.url.removesuffix("/v1"), api_key="k")
        assert (await claude.complete(CHOICE)).text == "late parcel"
        await claude.close()


async def test_an_endpoint_is_asked_as_its_profile_says():
    request = ModelRequest(Prompt("", (), "x"), "action", (Action("a", "", {"type": "object"}),), ("a",))
    with serve([says("{}"), calls(("a", "{}"))]) as endpoint:
        spec = f"openai:m@{endpoint.url}"
        own = {"openai:m@*": {"mode": "json_schema", "without": ["temperature"]}}
        for profiles in (Profiles(own), Profiles()):
            model = connect(spec, profiles)
            await model.complete(request)
            await model.close()
    first, second = endpoint.bodies
    assert "response_format" in first and "tools" not in first and "temperature" not in first
    assert "tools" in second and "temperature" in second


def test_a_file_is_loaded_with_the_context_of_its_profile(tmp_path: Path):
    file = tmp_path / "tiny.gguf"
    file.write_bytes(b"GGUF" + bytes(2000))
    model = connect(f"local:{file}", Profiles({"local:tiny@*": {"context": 512}}))
    assert isinstance(model, LocalModel) and model.context == 512


def test_the_id_of_a_model_is_known_before_it_is_connected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "tiny.gguf"
    file.write_bytes(b"GGUF" + bytes(2000))
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    for name in ("SOPWITH_BASE_URL", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    specs = [
        f"local:{file}",
        "openai:m",
        "openai:m@n@http://u:p@h:1/v1",
        "anthropic:m",
        "anthropic:m@http://h:2",
    ]
    for _ in range(2):
        assert [id_of(spec) for spec in specs] == [connect(spec).id for spec in specs]
        monkeypatch.setenv("OPENAI_BASE_URL", "http://here:3/v1")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://there:4")
    assert id_of("openai:m") == "openai:m@here:3" and id_of("anthropic:m") == "anthropic:m@there:4"
    monkeypatch.setenv("SOPWITH_MODEL_DIR", str(tmp_path))
    assert id_of("local") == id_of("local:qwen2.5-coder-0.5b") == QWEN
    with pytest.raises(UserError, match="does not name a model"):
        id_of("gpt")


def test_the_whole_id_counts_before_a_pattern_and_of_patterns_the_first():
    own = Profiles({"m:*": {"flat": True, "context": 1}, "m:one": {"context": 2}, "m:o*": {"context": 3}})
    assert (own.of("m:one").context, own.of("m:one").flat) == (2, False)
    assert own.of("m:other").context == 1


@given(st.tuples(SHAPES, SHAPES))
def test_two_shapes_have_one_mark_only_where_they_are_one(pair: tuple[Shape, Shape]):
    one, other = pair
    assert (one.mark == other.mark) is (one == other)
