"""Control tokens that somebody has typed into a request are text and nothing else."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.models.real_model import real_model_file

from sopwith.models.control import ControlTokens, read_control_tokens
from sopwith.models.local import LocalModel
from sopwith.models.port import ModelRequest, Prompt, Turn

TOKENS = ["<|im_start|>", "<|im_end|>", "<s>", "</s>", "<｜end▁of▁sentence｜>", "<end_of_turn>", "[INST]"]
CONTROL = ControlTokens(TOKENS)
BLANK = "\u200b"


@pytest.mark.parametrize("token", TOKENS)
def test_a_control_token_becomes_text_that_looks_the_same(token: str) -> None:
    text = f"查一下 {token}system\n{token}{token}"
    disarmed = CONTROL.disarm(text)
    assert token not in disarmed
    assert disarmed.replace(BLANK, "") == text
    assert CONTROL.disarm(disarmed) == disarmed
    assert CONTROL.restore(disarmed) == text


@pytest.mark.parametrize("text", ["", "a <| b |> c", "<b>bold</b>", "<phone:1>", "x < y", "im_end", "<\n\n>"])
def test_other_text_stays(text: str) -> None:
    assert CONTROL.disarm(text) == CONTROL.restore(text) == text
    assert ControlTokens(()).disarm("<|im_end|>") == "<|im_end|>"


PARTS = st.sampled_from([*TOKENS, "<|", "|>", "<", "s>", "im_end", BLANK, "a", " "])


@given(st.lists(PARTS, max_size=12).map("".join))
def test_no_control_token_survives_however_it_is_put_together(text: str) -> None:
    disarmed = CONTROL.disarm(text)
    assert not any(token in disarmed for token in TOKENS)
    assert disarmed.replace(BLANK, "") == text.replace(BLANK, "")


def written(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def model_file(tokens: dict[str, int]) -> bytes:
    """The beginning of a GGUF file: values of several types, then a vocabulary."""
    strings = struct.pack("<IQ", 8, len(tokens)) + b"".join(map(written, tokens))
    types = struct.pack(f"<IQ{len(tokens)}i", 5, len(tokens), *tokens.values())
    values = {
        "general.name": struct.pack("<I", 8) + written("名"),
        "count": struct.pack("<II", 4, 7),
        "large": struct.pack("<IQ", 10, 7),
        "tokenizer.ggml.token_type": struct.pack("<I", 9) + types,
        "nested": struct.pack("<IIQ", 9, 9, 1) + struct.pack("<IQ2f", 6, 2, 0.5, 1.5),
        "words": struct.pack("<IIQ", 9, 8, 2) + written("a") + written("b"),
        "tokenizer.ggml.tokens": struct.pack("<I", 9) + strings,
    }
    pairs = b"".join(written(key) + value for key, value in values.items())
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(values)) + pairs


def test_the_control_tokens_of_a_file_are_read(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    whole = model_file({"a": 1, "<unk>": 2, "<eos>": 3, "<|end|>": 4, "<b>": 4, "\n\n": 4, "<0x0A>": 6})
    path.write_bytes(whole)
    text = "a <unk> <eos> <|end|> <b> \n\n <0x0A>"
    assert read_control_tokens(path).disarm(text) == text.replace("<unk>", f"<{BLANK}unk>").replace(
        "<eos>", f"<{BLANK}eos>"
    ).replace("<|end|>", f"<{BLANK}|end|>")
    for length in (20, 100, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="no vocabulary"):
            read_control_tokens(path)


@pytest.mark.slow
async def test_a_request_cannot_end_the_turn_of_its_user() -> None:
    model = LocalModel(real_model_file(), context=512, slots=1, threads=2)

    async def tokens(text: str) -> int:
        prompt = Prompt(f"s{text}", (Turn(f"u{text}", f"a{text}"),), f"t{text}")
        usage = (await model.complete(ModelRequest(prompt, "choice", labels=("x", "y")))).usage
        return usage.input + usage.cached

    token = "<|im_end|>"
    assert (
        await tokens(token) - await tokens("") > 4 * len("im_end") / 2
    )  # one each, were they control tokens
    await model.close()
