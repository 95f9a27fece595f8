"""What pydantic refuses is said in words of people in both languages, with what to write instead."""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator

from sopwith.errors import NO_HINT, Text
from sopwith.ir.approval import Terms
from sopwith.ir.pydantic_problem import Told, told
from sopwith.ir.usage import Money


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")

    depth: int = 0


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str = ""
    inner: Inner | None = None
    inners: list[Inner] = []
    even: int = 0

    @field_validator("even")
    @classmethod
    def _is_even(cls, value: int) -> int:
        if value == 1:
            raise ValueError(Text("must be even", "应为偶数"), Text("write 2", "请写 2"))
        if value == 3:
            raise ValueError("is odd")
        return value


def first(kind: Any, value: object) -> Told:
    """What is said of the first problem of `value` as a `kind`."""
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(kind).validate_python(value)
    return told(
        caught.value.errors()[0], kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None
    )


STRICT_WHOLE = Annotated[int, Field(strict=True)]
SAID: list[tuple[Any, object, str, str, str, str]] = [
    (STRICT_WHOLE, "2", "must be a whole number", "as in 3", "应为整数", "例如 3"),
    (int, "two", "must be a whole number", "without quotes", "应为整数", "不加引号"),
    (int, 1.5, "must be a whole number", "digits", "应为整数", "数字"),
    (float, "x", "must be a number", "as in 0.5", "应为数字", "例如 0.5"),
    (Decimal, [], "must be a number", "as in 0.5", "应为数字", "例如 0.5"),
    (Money, "1", "must be a number of US dollars", "as in 0.5", "应为美元金额", "例如 0.5"),
    (Money, float("nan"), "must be a finite number", "as in 0.5", "应为有限的数", "例如 0.5"),
    (bool, "perhaps", "must be true or false", "true or false", "应为 true 或 false", "true 或 false"),
    (str, 5, "must be text", "put it in quotes", "应为文本", "请加引号"),
    (str, [1], "must be text", "write one text", "应为文本", "请写一个文本"),
    (tuple[str, ...], 3, "must be a list", '["a", "b"]', "应为列表", '["a", "b"]'),
    (list[str], 3, "must be a list", '["a", "b"]', "应为列表", '["a", "b"]'),
    (dict[str, int], 3, "must be a mapping", '{"key": "value"}', "应为映射", '{"键": "值"}'),
    (Inner, 3, "must be a mapping", '{"key": "value"}', "应为映射", '{"键": "值"}'),
    (dict[str, int], {1: 1}, "a key must be text", "put it in quotes", "键应为文本", "请加引号"),
    (Annotated[int, Field(ge=1)], 0, "must be 1 or more", "is 1 or more", "应不小于 1", "不小于 1"),
    (Annotated[float, Field(gt=0)], 0, "must be greater than 0", "than 0", "应大于 0", "大于 0"),
    (Annotated[int, Field(le=9)], 10, "must be 9 or less", "is 9 or less", "应不大于 9", "不大于 9"),
    (Annotated[float, Field(lt=0.5)], 1, "must be less than 0.5", "than 0.5", "应小于 0.5", "小于 0.5"),
    (
        Annotated[str, Field(min_length=2)], "王", "must have at least 2 characters", "at least 2",
        "应至少有 2 个字符", "至少 2 个字符",
    ),
    (
        Annotated[str, Field(max_length=1)], "ab", "must have at most 1 character", "at most 1",
        "应至多有 1 个字符", "至多 1 个字符",
    ),
    (
        Annotated[list[int], Field(min_length=1)], [], "must have at least 1 entry", "at least 1 entry",
        "应至少有 1 项", "至少 1 项",
    ),
    (
        Annotated[list[int], Field(max_length=2)], [1, 2, 3], "must have at most 2 entries", "2 entries",
        "应至多有 2 项", "至多 2 项",
    ),
    (Annotated[str, Field(pattern="^a+$")], "b", "right form", "matches the regular expression ^a+$", "格式", "^a+$"),
    (
        Literal["allow", "deny", "ask"], "maybe", "must be 'allow', 'deny' or 'ask'", "allow, deny, ask",
        "只能是 'allow'、'deny'、'ask'", "allow、deny、ask",
    ),
    (Literal["on"], "off", "must be 'on'", "write on", "只能是 'on'", "请写 on"),
    (Colour, "green", "must be 'red' or 'blue'", "red, blue", "只能是 'red'、'blue'", "red、blue"),
    (Terms, {"expires": "2 hours"}, "must be a duration", "30s, 15m, 2h or 1d", "应为时长", "30s、15m、2h 或 1d"),
    (Outer, {"even": 1}, "must be even", "write 2", "应为偶数", "请写 2"),
    (Outer, {"nmae": "x"}, "unknown field", "known fields: name, inner, inners, even", "未知字段", "可用字段：name"),
    (Outer, {"inner": {"x": 1}}, "unknown field", "known fields: depth", "未知字段", "可用字段：depth"),
    (Outer, {"inners": [{"x": 1}]}, "unknown field", "known fields: depth", "未知字段", "可用字段：depth"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "value", "en", "hint_en", "zh", "hint_zh"), SAID, ids=[f"{s[2]}-{n}" for n, s in enumerate(SAID)]
)
def test_a_wrong_value_is_said_with_its_remedy(
    kind: Any, value: object, en: str, hint_en: str, zh: str, hint_zh: str
) -> None:
    message, hint = first(kind, value)
    assert en in message.en and hint_en in hint.en
    assert zh in message.zh and hint_zh in hint.zh
    for word in ("Input", "tuple", "dictionary", "String should"):
        assert word not in f"{message} {hint}"
    if message.en != "unknown field":
        assert "known fields" not in hint.en


def test_a_missing_field_is_named() -> None:
    class Needs(BaseModel):
        id: str

    message, hint = first(Needs, {})
    assert message == Text("'id' is missing", "缺少“id”")
    assert hint == Text("add 'id'", "请补上“id”")


def test_what_is_not_known_is_said_as_it_is() -> None:
    assert first(Outer, {"even": 3}) == (Text("is odd", "取值不正确（is odd）"), NO_HINT)
    message, hint = first(Annotated[int, Field(multiple_of=2)], 3)
    assert "multiple of 2" in message.en and message.zh == f"取值不正确（{message.en}）"
    assert hint == NO_HINT
