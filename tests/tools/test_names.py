"""Names on the wire: legal, the same everywhere, and never shared."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopwith.tools.names import LONGEST, alias

LEGAL = re.compile(r"[A-Za-z0-9_-]{1,64}")
TRICKY = st.text(alphabet="ab_.-2z查/ ", min_size=1, max_size=80)
NAMES = st.one_of(TRICKY, st.text(min_size=1))


@pytest.mark.parametrize(
    ("name", "wire"),
    [
        ("hr.get_employee", "hr__get_employee"),
        ("fs.read-file", "fs__read-file"),
        ("a.b.c", "a__b__c"),
        ("plain", "plain"),
    ],
)
def test_an_ordinary_name_keeps_its_words(name: str, wire: str) -> None:
    assert alias(name) == wire


@pytest.mark.parametrize(
    "name",
    [
        "人事.查询",
        "a" * 64 + ".b",
        "a__b.c",
        "a_.b",
        "a._b",
        "../../etc/x",
        "odd.../../etc/x",
        "a b.c",
        "é.x",
        "\ud800",
    ],
)
def test_any_other_name_is_readable_and_marked(name: str) -> None:
    assert LEGAL.fullmatch(alias(name))
    assert re.search(r"-[a-z2-7]{16}$", alias(name))


def test_names_that_look_alike_stay_apart() -> None:
    alike = [
        "a.b",
        "a__b",
        "a_.b",
        "a._b",
        "a.b_",
        "a..b",
        "a___b",
        "a____b",
        "A.b",
        "a-b",
        alias("人事.查询"),
    ]
    assert len({alias(name) for name in alike}) == len(alike)


def test_ten_thousand_names_have_ten_thousand_aliases() -> None:
    words = ["查询", "get", "a_", "_a", ".", "__", "x" * 40, "员工", "-", "2z"]
    names = {f"{a}{b}.{c}{d}" for a in words for b in words for c in words for d in words}
    names |= {f"source{i}.tool" for i in range(10_000)}
    assert len(names) > 15_000
    assert len({alias(name) for name in names}) == len(names)


@given(NAMES)
def test_an_alias_is_legal_and_depends_on_nothing_else(name: str) -> None:
    wire = alias(name)
    alias.cache_clear()
    assert alias(name) == wire
    assert LEGAL.fullmatch(wire) and len(wire) <= LONGEST


@given(TRICKY, TRICKY)
def test_two_names_never_share_an_alias(one: str, other: str) -> None:
    assert (alias(one) == alias(other)) == (one == other)
