"""What may be stored: plain JSON that comes back as it is, and never the caller's own objects."""

from __future__ import annotations

import json
import math
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopwith.errors import ValueRefused
from sopwith.ir.value import DEPTH, UNSURE, plain_copy, storable

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def containers(value: Any) -> list[int]:
    """The identities of all lists and objects in `value`."""
    if not isinstance(value, dict | list):
        return []
    inner = cast("dict[str, Any]", value).values() if isinstance(value, dict) else cast("list[Any]", value)
    return [id(cast("object", value)), *(found for item in inner for found in containers(item))]


@given(PLAIN)
def test_plain_json_is_stored_as_an_equal_copy_that_shares_nothing(value: Any) -> None:
    copy = storable(value)
    assert json.dumps(copy) == json.dumps(value)
    assert not {*containers(copy)} & {*containers(value)}


@given(PLAIN)
def test_a_plain_copy_is_what_would_be_stored(value: Any) -> None:
    copy = plain_copy(value)
    assert copy is UNSURE or copy == storable(value)


@pytest.mark.parametrize("text", ["a\ud800b", "文\udfff"])
def test_half_a_character_is_replaced_in_texts_and_keys(text: str) -> None:
    assert plain_copy([text]) is UNSURE
    assert plain_copy({text: 1}) is UNSURE
    (key,) = storable({text: text})
    assert "\N{REPLACEMENT CHARACTER}" in key
    assert storable({text: text})[key] == key


@pytest.mark.parametrize("value", [math.nan, math.inf, b"bytes", {1: 2}, {3}, object()])
def test_what_json_cannot_hold_is_refused_with_its_path(value: Any) -> None:
    with pytest.raises(ValueRefused) as refused:
        storable({"a": [1, value]})
    assert refused.value.path.startswith("$.a[1]")


def test_tuples_become_lists_also_deep_inside() -> None:
    assert storable({"a": ({"b": (1,)},)}) == {"a": [{"b": [1]}]}


def test_nesting_has_a_limit() -> None:
    value: Any = 1
    for _ in range(DEPTH + 1):
        value = [value]
    assert storable(value) == value
    with pytest.raises(ValueRefused, match="nested deeper"):
        storable([value])
