"""JSON on a command line and in its files: what cannot be kept is one clear error."""

from __future__ import annotations

from pathlib import Path

import pytest

from sopwith.cli.answer import read_answer
from sopwith.cli.json_text import read_json, read_json_object
from sopwith.cli.pairs import read_pairs
from sopwith.cli.script import model_of
from sopwith.errors import UserError

DEEP = "[" * 5000 + "]" * 5000


@pytest.mark.parametrize(
    "text", [DEEP, "[" * 200 + "]" * 200, "NaN", "[1e999]", "-Infinity", "{", "", "9" * 5000]
)
def test_what_cannot_be_kept_is_a_usage_error(text: str) -> None:
    with pytest.raises(UserError, match="--payload is not JSON") as caught:
        read_json(text, "--payload")
    assert caught.value.code == "SW002"
    assert "--payload 不是 JSON" in caught.value.message.zh


def test_an_object_is_wanted() -> None:
    assert read_json_object('{"a": 1}', "x") == {"a": 1}
    with pytest.raises(UserError, match="not a JSON object"):
        read_json_object("[]", "x")


@pytest.mark.parametrize("text", [DEEP, "1e999", "NaN"])
def test_a_pair_and_an_answer_that_cannot_be_kept(text: str) -> None:
    with pytest.raises(UserError, match="a is not JSON"):
        read_pairs([f"a={text}"])
    with pytest.raises(UserError, match="is not an answer"):
        read_answer(text, {"type": "array"})
    assert read_pairs(["a=hello", "b=[1]"]) == {"a": "hello", "b": [1]}


def test_a_script_that_is_nested_too_deep(tmp_path: Path) -> None:
    (tmp_path / "s").write_text(DEEP)
    with pytest.raises(UserError, match="s:1 is not JSON"):
        model_of(f"scripted:{tmp_path / 's'}")
