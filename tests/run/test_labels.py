"""Labels of a choice: no two of them can be taken for each other, by letter or by word."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.models.endpoint_server import says, serve

from sopwith import Engine
from sopwith.ir.event import EdgeTaken, ReplyRejected
from sopwith.ir.value import Json
from sopwith.models.chat import LETTERS, plain
from sopwith.models.openai_compatible import OpenAIModel
from sopwith.models.port import ModelReply, ModelRequest, Prompt
from sopwith.models.profile import Profiles
from sopwith.models.reply import read_reply
from sopwith.models.scripted import ScriptedModel
from sopwith.run.labels import Labels

NEAR = [
    "a",
    "A",
    " a",
    "a ",
    "a.",
    '"a"',
    "ａ",
    "A B",
    "a\nb",
    "",
    " ",
    "…",
    "1",
    "1 (1)",
    '1 ("1")',
    "e\u0301",
    "é",
]
VALUES: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(NEAR), st.integers(0, 3), st.booleans(), st.none(), st.text(max_size=4)
)


def by_word(words: tuple[str, ...]) -> ModelRequest:
    return ModelRequest(Prompt("", (), ""), "choice", labels=words, by_word=True)


@given(st.lists(st.tuples(VALUES, st.sampled_from([*NEAR, "none of these"])), min_size=1, max_size=26))
def test_no_two_labels_are_alike_and_each_is_read_as_itself(pairs: list[tuple[Json, str]]) -> None:
    labels = Labels.of((value for value, _ in pairs), (word for _, word in pairs))
    assert len(set(map(plain, labels.words))) == len(pairs) and all(map(plain, labels.words))
    assert labels == Labels.of((value for value, _ in pairs), (word for _, word in pairs))
    request = by_word(labels.words)
    for word in labels.words:
        assert read_reply(request, ModelReply(word)).action == word


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["a", "b"], ["a", "b"]),
        ([1, "1"], ["1 (1)", '1 ("1")']),
        (["a", "A"], ['a ("a") (1)', 'A ("A") (2)']),
        (["a", "a "], ['a ("a")', 'a  ("a ")']),
        (["", "b"], ['""', "b"]),
        ([None, "null"], ["null", 'null ("null")']),
    ],
)
def test_only_what_is_alike_is_told_apart(values: list[Json], words: list[str]) -> None:
    said = ["null" if value is None else str(value) for value in values]
    assert list(Labels.of(values, said).words) == words


@pytest.mark.parametrize(
    ("said", "letter"),
    [
        ("b", "A"),
        ("B", "A"),
        ("b.", "A"),
        ("「b」", "A"),
        ("c", "B"),
        ("n", "C"),
        ("a", None),
        ("A", None),
        ("", None),
    ],
)
async def test_words_that_are_letters_are_never_read_as_letters(said: str, letter: str | None) -> None:
    request = by_word(("b", "c", "n"))
    for reply in (said, json.dumps({"choice": said})):
        with serve([says(reply)]) as endpoint:
            model = OpenAIModel("m", base_url=endpoint.url)
            reading = read_reply(request, await model.complete(request))
            await model.close()
        assert reading.action == (None if letter is None else request.labels[LETTERS.index(letter)])
    if letter is None:
        told = read_reply(request, ModelReply(said))
        assert told.error is not None and told.error.code == "no_choice"
        assert told.error.message.startswith("the reply must be one of these, word for word: b | c | n;")


@pytest.mark.parametrize("said", ["I", "a", "T", "A."])
def test_a_letter_that_nobody_has_shown_names_no_label(said: str) -> None:
    told = read_reply(by_word(tuple(f"city {n}" for n in range(20))), ModelReply(said))
    assert told.error is not None and told.error.code == "no_choice"


JUDGED = """
schema: sopwith/procedure/1
id: p
start: a
steps:
  a:
    do: "Sort ${run.request}"
    next:
      - {to: x, judge: None of these.}
      - {to: y, judge: they are angry}
      - {to: z, judge: They are angry}
      - otherwise: o
  x: {end: complete}
  y: {end: complete}
  z: {end: complete}
  o: {end: complete}
"""


@pytest.mark.parametrize(
    ("said", "to"),
    [
        ('None of these. ("x")', "x"),
        ('they are angry ("y")', "y"),
        ('They are angry ("z")', "z"),
        ("none of these", "o"),
    ],
)
async def test_a_judgement_that_reads_like_another_or_like_none_of_these_is_chosen_apart(
    said: str, to: str
) -> None:
    def reply(request: ModelRequest) -> ModelReply:
        assert request.prompt.tail.endswith(
            '- None of these. ("x")\n- they are angry ("y")\n- They are angry ("z")\n- none of these\n'
            "Reply with one of these, word for word."
        )
        return ModelReply(said)

    model = ScriptedModel(reply)
    async with Engine(JUDGED, model=model, profiles=Profiles({"scripted": {"choice": "word"}})) as engine:
        run = await engine.run("x")
    assert [e.body.to for e in run.events if isinstance(e.body, EdgeTaken)] == [to]


async def test_what_is_no_label_is_refused_in_the_words_of_the_choice() -> None:
    model = ScriptedModel(["B", 'they are angry ("y")'])
    async with Engine(JUDGED, model=model, profiles=Profiles({"scripted": {"choice": "word"}})) as engine:
        run = await engine.run("x")
    (told,) = [e.body.error for e in run.events if isinstance(e.body, ReplyRejected)]
    assert "word for word" in told.message and "letter" not in told.message
    assert run.path == ("a", "y")
