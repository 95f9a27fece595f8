"""Words are what people compare: stems, parts of names, pairs of characters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopwith.find import words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Employees' refunds", ["employe", "refund"]),
        ("getUserName", ["get", "user", "name", "getusernam"]),
        (
            "parseHTTPResponse get_user-names",
            ["pars", "http", "respons", "parsehttprespons", "get", "user", "name"],
        ),
        ("WordPress", ["word", "press", "wordpress"]),
        ("ipv4 2024-05-01", ["ipv4", "2024", "05", "01"]),
        ("查询员工年假余额", ["查询", "询员", "员工", "工年", "年假", "假余", "余额"]),
        ("假", ["假"]),
        ("查API文档3页", ["查", "api", "文档", "3", "页"]),
        ("ＡＰＩ　①", ["api", "1"]),
        ("ﾊﾟｽﾎﾟｰﾄ", ["パス", "スポ", "ポー", "ート"]),
        ("직원을", ["직원", "원을"]),
        ("कर्मचारी café Straße", ["कर्मचारी", "café", "straße"]),
        ("บัญชี", ["บั", "ัญ", "ญช", "ชี"]),
        ("🙂 …！\ud800\x00", []),
    ],
)
def test_words_of(text: str, found: list[str]) -> None:
    assert words(text) == found


@given(st.text())
def test_words_are_plain(text: str) -> None:
    """Whatever comes in: no space, quote or control character, lowered, and storable."""
    for word in words(text):
        assert word
        assert not any(character.isspace() or character in "\"'_" for character in word)
        word.encode()


@given(st.text(), st.text())
def test_lines_are_independent(one: str, other: str) -> None:
    assert words(f"{one}\n{other}") == words(one) + words(other)


@given(st.text(alphabet="abcdefghij _-XYZ"))
def test_case_matters_only_inside_words(text: str) -> None:
    assert words(text.upper()) == words(text.lower())
