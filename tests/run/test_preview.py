"""Any value that a tool may give: stored, shown by whole items, referred to, and got back as it was."""

from __future__ import annotations

import json
from typing import Any, cast

from hypothesis import example, given, settings
from hypothesis import strategies as st

from sopwith.guard.redact import Redactor
from sopwith.guard.vault import MemoryVault
from sopwith.ir.event import Principal
from sopwith.ir.schema import validator
from sopwith.ir.usage import UNLIMITED
from sopwith.ir.value import Json
from sopwith.models.constraint import constraint
from sopwith.models.port import Action
from sopwith.run.preview import FIELDS, MARK, ROOM, THRESHOLD, as_stored, described, is_long
from sopwith.run.preview import preview as preview_of
from sopwith.run.reading import part_of
from sopwith.run.reference_schema import widened
from sopwith.run.references import References
from sopwith.run.sketch import sketch
from sopwith.run.state import Reference, State
from sopwith.run.value_path import Part, parse_path, spell, walk
from sopwith.run.values import Values
from sopwith.tools.returned import plain

STATE = State("r", "r", "p", "0", Principal(id="u"), "", "2026-01-01", "en", UNLIMITED, 0)
TEXTS = st.text() | st.sampled_from(
    ["", "a.b", "it's", '"', "\\", "\x00", "\ud800", "客户", "\N{PILE OF POO}" * 700, "x" * 3000]
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
HUGE = st.sampled_from([10**400, -(10**4000), 1e308, 5e-324])
VALUES = st.recursive(
    SCALARS | HUGE,
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(TEXTS, inner, max_size=30),
    max_leaves=30,
)


def deep(depth: int) -> Json:
    value: Json = "x" * 1200
    for i in range(depth):
        value = [value] if i % 2 else {"": value}
    return value


def places(value: Json, parts: tuple[Part, ...] = ()) -> list[tuple[Part, ...]]:
    """Some places in a value."""
    found = [parts]
    if isinstance(value, dict):
        for key, item in list(cast("dict[str, Json]", value).items())[:5]:
            found += places(item, (*parts, key))
    if isinstance(value, list):
        for i, item in list(enumerate(cast("list[Json]", value)))[-5:]:
            found += places(item, (*parts, i))
    return found


@settings(max_examples=60)
@given(VALUES, st.sampled_from([1, 50, THRESHOLD]))
@example(deep(98), THRESHOLD)
@example([[]] * 5000, THRESHOLD)
@example({str(i): {} for i in range(5000)}, THRESHOLD)
@example("", 1)
def test_what_is_shown_is_parseable_short_and_made_of_whole_items(raw: Any, threshold: int) -> None:
    value = plain(raw)
    shown = described("v", value, threshold)
    if not is_long(value, threshold):
        assert shown is value
        return
    text = json.dumps(shown, ensure_ascii=False)
    assert json.loads(text.encode()) == shown
    if not isinstance(value, str):
        assert len(text) <= 4 * ROOM
    assert shown[MARK] == "v" and shown["bytes"] == len(as_stored(value).encode())
    assert 0 <= shown["shown"] <= shown["total"] == len(value)
    part = shown["preview"]
    if isinstance(value, str):
        assert len(part) <= THRESHOLD + 3 and shown["unit"] == "characters"
    else:
        assert len(part) == shown["shown"]
        assert isinstance(part, type(value))
    if isinstance(value, dict):
        assert list(part) == list(value)[: len(part)]
    assert_whole(value, part)


def assert_whole(value: Json, part: Json) -> None:
    """Each item that is shown is the item itself, or an object that says how much of it is shown."""
    pairs: list[tuple[Json, Json]] = []
    if isinstance(value, list):
        pairs = list(zip(value, part, strict=False))
    elif isinstance(value, dict):
        pairs = [(value[key], item) for key, item in cast("dict[str, Json]", part).items()]
    for whole, small in pairs:
        if small != whole and isinstance(small, type(whole)) and not isinstance(whole, dict):
            assert_whole(whole, small)
        elif small != whole:
            assert isinstance(small, dict)
            if small.keys() == {"preview", "shown", "total", "unit"}:
                assert small["total"] == len(whole) >= small["shown"]
            else:
                assert_whole(whole, small)


@settings(max_examples=60)
@given(VALUES)
@example(deep(98))
def test_what_is_stored_can_be_referred_to_and_is_the_same(raw: Any) -> None:
    value = plain(raw)
    blob = as_stored(value).encode()
    state = STATE.changed(values={"v": Reference("b", len(blob), preview_of(value))})
    values = Values(lambda name: blob, lambda told: told)
    references = References(state, {}, values)
    for parts in places(value)[:40]:
        path = spell("v", parts)
        assert parse_path(path) == ("v", parts)
        wanted = walk(value, parts)
        found = references.resolve(Action("a", "", {}), {"deep": [{MARK: path}]})
        assert exact(found) == exact({"deep": [wanted]})
        assert [link.at for link in references.links] == [("deep", 0)]


def exact(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


@settings(max_examples=60)
@given(VALUES)
def test_the_constraint_of_references_holds_only_what_resolves(raw: Any) -> None:
    value = plain(raw)
    schema: dict[str, Json] = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "array"}},
    }
    wide = widened(schema, {"v": value})
    assert len(json.dumps(wide, ensure_ascii=False)) < 4000
    judge = validator(constraint(wide, 1000))
    assert judge.accepts({"b": {MARK: "v"}}) == isinstance(value, list)
    assert judge.accepts({"a": {MARK: "v"}}) == isinstance(value, str)
    assert not judge.accepts({"a": {MARK: "w"}})


@settings(max_examples=60)
@given(VALUES, st.integers(0, 70), st.none() | st.integers(0, 70))
def test_a_part_says_which_it_is(raw: Any, start: int, end: int | None) -> None:
    value = plain(raw)
    sketch(value)
    found = part_of(value, start, end)
    if not isinstance(value, str | list | dict):
        assert found == {"part": value}
        return
    assert found["total"] == len(value) and len(found["part"]) == found["to"] - found["from"]
    if not isinstance(value, dict):
        assert found["part"] == value[start:end][: len(value)]
    shown = part_of(value, start, end, 400)
    assert len(json.dumps(shown, ensure_ascii=False)) < 2000


SECRETS = ["13800138000", "zhang.san@example.com", "sk-live-1234567890abcdefghijkl"]


@settings(max_examples=60)
@given(st.lists(TEXTS, max_size=6), st.sampled_from(SECRETS), st.integers(0, 2000))
def test_a_preview_shows_no_secret_and_no_half_of_one(texts: list[str], secret: str, before: int) -> None:
    value = plain([*texts, f"{'字 ' * (before // 2)} {secret} {'end ' * 400}", {"phone": secret}])
    redactor = Redactor(MemoryVault(), "r")
    told = redactor.redact(value)
    text = json.dumps(
        [described("v", told), described("v", told[-2]), preview_of(told), sketch(told)], ensure_ascii=False
    )
    assert secret not in text and secret[:8] not in text and secret[-6:] not in text


def test_a_value_is_long_by_one_field_or_as_a_whole() -> None:
    assert not is_long("x" * THRESHOLD) and is_long("x" * (THRESHOLD + 1))
    assert is_long({"a": {"b": "x" * (THRESHOLD + 1)}})
    assert is_long(["x" * 100] * (FIELDS * THRESHOLD // 100 + 1)) and not is_long(["x" * 100] * 30)
