"""Procedures of one library that a search cannot tell apart are named; those that differ in what counts are not."""

from __future__ import annotations

import pytest

from sopwith.lang.check.library import library_problems, words
from sopwith.lang.document import Document
from sopwith.lang.yaml import read_yaml


def document(id_: str, name: str, description: str = "", *examples: str) -> Document:
    shown = "".join(f"  - {one}\n" for one in examples)
    text = f"schema: sopwith/procedure/1\nid: {id_}\nname: {name}\ndescription: {description or name}\n"
    text += f"examples:\n{shown}" if shown else ""
    return read_yaml(text + "start: a\nsteps: {a: {end: escalate}}\n", f"{id_}.yaml")


LEAVE = document("leave", "请假申请", "员工提交请假申请；不处理销假", "我下周一要请年假")
CANCEL = document("cancel", "销假", "员工提前返岗，撤回已批准的假期", "我提前回来了，要销假")
RETURN = document(
    "give_back", "Return an order", "A customer sends goods back", "I want to return these shoes"
)
REFUND = document("refund", "Refund", "Money goes back after a return was received", "where is my money")


def test_different_procedures_are_left_in_peace() -> None:
    assert library_problems([LEAVE, CANCEL, RETURN, REFUND]) == []
    assert library_problems([LEAVE]) == library_problems([]) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            (
                "return_order",
                "Returns of orders",
                "Customer sending goods back",
                "I want to return the shoes",
            ),
            RETURN,
        ),
        (("ask_leave", "请假申请", "员工提交请假申请，不处理销假", "下周一我要请年假"), LEAVE),
    ],
)
def test_nearly_the_same_words_are_told(one: tuple[str, ...], other: Document) -> None:
    (told,) = library_problems([LEAVE, CANCEL, RETURN, REFUND, document(*one)])
    assert (told.code, told.place.file, told.severity) == ("SW810", f"{one[0]}.yaml", "warning")
    assert other.file in told.message.en and other.file in told.message.zh


def test_two_procedures_of_one_id_are_told() -> None:
    (told,) = library_problems([LEAVE, RETURN, document("leave", "Something else")])
    assert told.message.en == "leave.yaml has the id 'leave' as well"
    assert told.place.line == 2


def test_procedures_without_a_word_are_no_twins() -> None:
    empty = [
        read_yaml(f"schema: sopwith/procedure/1\nid: p{i}\nstart: a\nsteps: {{a: {{end: escalate}}}}\n")
        for i in (1, 2)
    ]
    assert library_problems(empty) == []


def test_words_are_stems_and_pairs_of_characters() -> None:
    assert list(words("Returning returned returns")) == ["return"] * 3
    assert list(words("请年假 VPN")) == ["vpn", "请年", "年假"]
