"""Which entries hold a value, however it was written; nobody else's are touched."""

from __future__ import annotations

import json

import pytest

from sopwith.errors import UserError
from sopwith.guard.erasure import holding
from sopwith.guard.vault import Secret


def holds(value: str, kind: str, entry: object) -> bool:
    return holding(value)("r1", Secret(kind, json.dumps(entry)))


@pytest.mark.parametrize(
    "value",
    ["13800138000", "138 0013 8000", "+86 138-0013-8000", "008613800138000", "１３８００１３８０００"],
)
@pytest.mark.parametrize(
    "entry",
    [
        "13800138000",
        "138 0013 8000",
        "+86 138 0013 8000",
        "(+86)13800138000",
        "013800138000",
        "138%200013%208000",
        "①③⑧00138000",
        13800138000,
        13800138000.0,
        "li:13800138000",
    ],
    ids=ascii,
)
def test_a_number_is_one_however_it_is_written(value: str, entry: object) -> None:
    assert holds(value, "phone", entry)
    assert not holds("13900139000", "phone", entry)
    assert not holds("3800138000", "phone", entry)
    assert not holds("1380013800", "phone", entry)


@pytest.mark.parametrize(
    ("value", "kind", "entry", "held"),
    [
        ("11010519491231002X", "id", "110105 19491231 002x", True),
        ("张三", "name", "张 三", True),
        ("张三", "name", "\\u5f20\\u4e09", True),
        ("张三", "name", "李四", False),
        ("li lei", "name", "Li.Lei", True),
        ("Li Lei", "name", "Li Leimin", False),
        ("li@example.com", "email", "LI%40example.com", True),
        ("li@example.com", "email", "x.li@example.com", False),
        ("hunter2", "password", "hunter2", True),
        ("12", "password", 12, True),
    ],
)
def test_a_text_is_one_in_any_case_and_with_other_blanks(
    value: str, kind: str, entry: object, held: bool
) -> None:
    assert holds(value, kind, entry) is held


@pytest.mark.parametrize("value", ["", " ", "x"])
def test_one_character_is_too_little_to_tell_a_person(value: str) -> None:
    with pytest.raises(UserError, match="two characters"):
        holding(value)
