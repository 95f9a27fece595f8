"""What pydantic says against a value that a person wrote, in English and in Chinese, with what to write instead."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple, cast, get_args

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from sopwith.errors import NO_HINT, Text


class Told(NamedTuple):
    """What is wrong with a value, without its place, and what to write instead (or `NO_HINT`)."""

    message: Text
    hint: Text


def told(error: ErrorDetails, model: type[BaseModel] | None = None) -> Told:
    """One of the `errors()` of a `ValidationError` of `model`, whose fields are listed where one is unknown.

    A validator may raise `ValueError(message)` or `ValueError(message, hint)` with `Text`s: they are said as they are.
    A type that is not known here is said in pydantic's words.
    """
    kind, loc = error["type"], error["loc"]
    context = cast("Mapping[str, Any]", error.get("ctx", {}))
    if loc and loc[-1] == "[key]":
        return Told(Text("a key must be text", "键应为文本"), Text("put it in quotes", "请加引号"))
    if kind in _FORMS:
        message, hint = _FORMS[kind]
        return Told(Text(f"must be {message.en}", f"应为{message.zh}"), hint)
    if kind == "missing":
        name = loc[-1]
        return Told(Text(f"'{name}' is missing", f"缺少“{name}”"), Text(f"add '{name}'", f"请补上“{name}”"))
    if kind == "extra_forbidden":
        return Told(Text("unknown field", "未知字段"), NO_HINT if model is None else _fields(model, loc[:-1]))
    if kind == "string_type":
        return Told(Text("must be text", "应为文本"), _how_to_write_text(error["input"]))
    if kind == "value_error":
        return _raised(context.get("error"), error["msg"])
    return _chosen(kind, context) or _measured(kind, context) or Told(*_unknown(error["msg"]))


_NUMBER = Text("write digits without quotes, as in 0.5", "请写数字，不加引号，例如 0.5")
_WHOLE = Text("write digits without quotes, as in 3", "请写数字，不加引号，例如 3")
_BOOLEAN = Text("write true or false, without quotes", "请写 true 或 false，不加引号")
_LIST = Text('write a list, as in ["a", "b"]', '请写列表，例如 ["a", "b"]')
_MAPPING = Text('write a mapping, as in {"key": "value"}', '请写映射，例如 {"键": "值"}')
_DURATION = Text(
    "write a number and a unit, as in 30s, 15m, 2h or 1d", "请写数字和单位，例如 30s、15m、2h 或 1d"
)

_Form = tuple[Text, Text]
_A_NUMBER: _Form = (Text("a number", "数字"), _NUMBER)
_A_WHOLE_NUMBER: _Form = (Text("a whole number", "整数"), _WHOLE)
_A_BOOLEAN: _Form = (Text("true or false", " true 或 false"), _BOOLEAN)
_A_LIST: _Form = (Text("a list", "列表"), _LIST)
_A_MAPPING: _Form = (Text("a mapping", "映射"), _MAPPING)

_FORMS: dict[str, _Form] = {
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float", "int_parsing_size"), _A_WHOLE_NUMBER),
    **dict.fromkeys(("float_type", "float_parsing", "decimal_type", "decimal_parsing"), _A_NUMBER),
    **dict.fromkeys(("bool_type", "bool_parsing"), _A_BOOLEAN),
    **dict.fromkeys(("tuple_type", "list_type", "set_type", "frozen_set_type"), _A_LIST),
    **dict.fromkeys(("dict_type", "mapping_type", "model_type", "model_attributes_type"), _A_MAPPING),
    "finite_number": (Text("a finite number", "有限的数"), _NUMBER),
    "money_type": (Text("a number of US dollars", "美元金额"), _NUMBER),
    "duration": (Text("a duration", "时长"), _DURATION),
}
"""What a value of another type must be, by the type of the error."""

_LIMITS: dict[str, tuple[str, Text]] = {
    "greater_than": ("gt", Text("greater than {0}", "大于 {0}")),
    "greater_than_equal": ("ge", Text("{0} or more", "不小于 {0}")),
    "less_than": ("lt", Text("less than {0}", "小于 {0}")),
    "less_than_equal": ("le", Text("{0} or less", "不大于 {0}")),
}

_LENGTHS: dict[str, tuple[str, Text, Text]] = {
    "string_too_short": ("min_length", Text("at least", "至少"), Text("character", "个字符")),
    "string_too_long": ("max_length", Text("at most", "至多"), Text("character", "个字符")),
    "too_short": ("min_length", Text("at least", "至少"), Text("entry", "项")),
    "too_long": ("max_length", Text("at most", "至多"), Text("entry", "项")),
}
_MANY = {"character": "characters", "entry": "entries"}


def _how_to_write_text(value: object) -> Text:
    """A number, a date or `yes` becomes text by quotes; an empty value, a list or a mapping does not."""
    if value is None or isinstance(value, list | dict):
        return Text("write one text", "请写一个文本")
    return Text("put it in quotes", "请加引号")


def _raised(error: object, message: str) -> Told:
    """What a validator has raised itself."""
    said = error.args if isinstance(error, ValueError) else ()
    texts = [part for part in said if isinstance(part, Text)]
    if texts:
        return Told(texts[0], texts[1] if len(texts) > 1 else NO_HINT)
    return Told(*_unknown(str(error) if said else message))


def _chosen(kind: str, context: Mapping[str, Any]) -> Told | None:
    """A value that is none of those that are allowed."""
    if kind not in ("literal_error", "enum"):
        return None
    allowed = str(context.get("expected", ""))
    names: list[str] = re.findall(r"'([^']*)'", allowed)
    message = Text(f"must be {allowed}", f"只能是 {re.sub(' or |, ', '、', allowed)}")
    if len(names) == 1:
        return Told(message, Text(f"write {names[0]}", f"请写 {names[0]}"))
    return Told(message, Text(f"write one of these: {', '.join(names)}", f"请写其中之一：{'、'.join(names)}"))


def _measured(kind: str, context: Mapping[str, Any]) -> Told | None:
    """A value of the right type that is too small, too large, too short, too long, or of another form."""
    if kind in _LIMITS:
        name, words = _LIMITS[kind]
        wanted = Text(*(part.format(_plain(context[name])) for part in words))
        return Told(
            Text(f"must be {wanted.en}", f"应{wanted.zh}"),
            Text(f"write a number that is {wanted.en}", f"请写{wanted.zh} 的数"),
        )
    if kind in _LENGTHS:
        name, bound, unit = _LENGTHS[kind]
        count = int(context[name])
        units = unit.en if count == 1 else _MANY[unit.en]
        wanted = f"{bound.en} {count} {units}"
        return Told(
            Text(f"must have {wanted}", f"应{bound.zh}有 {count} {unit.zh}"),
            Text(f"write {wanted}", f"请写{bound.zh} {count} {unit.zh}"),
        )
    if kind == "string_pattern_mismatch":
        form = context["pattern"]
        return Told(
            Text("does not have the right form", "格式不正确"),
            Text(
                f"write a text that matches the regular expression {form}",
                f"请写符合正则表达式 {form} 的文本",
            ),
        )
    return None


def _plain(limit: object) -> str:
    return f"{limit:g}" if isinstance(limit, int | float | Decimal) else str(limit)


def _unknown(message: str) -> tuple[Text, Text]:
    return Text(message, f"取值不正确（{message}）"), NO_HINT


def _fields(model: type[BaseModel], path: Sequence[str | int]) -> Text:
    """The fields of what stands at `path` in a `model`."""
    fields = ", ".join(_model_at(model, path).model_fields)
    return Text(f"known fields: {fields}", f"可用字段：{fields}")


def _model_at(kind: type[BaseModel], path: Sequence[str | int]) -> type[BaseModel]:
    """The model of what stands at `path` in a `kind`."""
    for part in path:
        field = kind.model_fields.get(part) if isinstance(part, str) else None
        kind = kind if field is None else next(_models(field.annotation), kind)
    return kind


def _models(annotation: object) -> Iterator[type[BaseModel]]:
    """The models in a type: `Terms` in `Terms | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)
