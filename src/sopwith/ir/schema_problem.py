"""What a JSON Schema says against a value, as sentences in English and in Chinese.

The English ones stand in prompts as well: a change of a word changes what models are told.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, cast

from jsonschema_rs import ValidationErrorKind as Kind

from sopwith.errors import Text
from sopwith.ir.cut import cut
from sopwith.ir.value import Json

LONGEST = 160
"""Characters of one sentence or value, about."""


def problem(error: Any) -> Text:
    """What is wrong, with its path: `$.files[0].p: …`."""
    path, said = json_path(error.instance_path), what(error)
    return Text(f"{path}: {said.en}", f"{path}：{said.zh}")


def what(error: Any) -> Text:
    """What is wrong, without its path."""
    return Text(_english(error), _chinese(error))


def json_path(parts: Iterable[str | int]) -> str:
    """`$.files[0].p`; a key that is not an identifier is quoted: `$["a b"]`."""
    path = "$"
    for part in parts:
        if isinstance(part, int):
            path += f"[{part}]"
        else:
            path += f".{part}" if part.isidentifier() else f"[{json.dumps(part, ensure_ascii=False)}]"
    return path


def _english(error: Any) -> str:
    match error.kind:
        case Kind.Type(types):
            return f"must be {' or '.join(types)}, not {type_name(error.instance)}"
        case Kind.Enum(options):
            return f"{_print(error.instance)} is not one of {_listed(options, ', ')}"
        case Kind.Constant(expected):
            return f"{_print(error.instance)} is not {_print(expected)}"
        case Kind.Required(name):
            return f"{_print(name)} is missing"
        case Kind.AdditionalProperties(names) | Kind.UnevaluatedProperties(names):
            return f"{_listed(names, ', ')} is not allowed here"
        case Kind.AnyOf(context) | Kind.OneOfNotValid(context):
            return f"fits no alternative: {_alternatives(context, _english, '; or ')}"
        case _:
            return cut(str(error.message), LONGEST)


def _chinese(error: Any) -> str:
    match error.kind:
        case Kind.Type(types):
            wanted = "或".join(TYPES[name].zh for name in types)
            return f"应为{wanted}，不是{TYPES[type_name(error.instance)].zh}"
        case Kind.Enum(options):
            return f"{_print(error.instance)} 不在可选值之内：{_listed(options, '、')}"
        case Kind.Constant(expected):
            return f"{_print(error.instance)} 应为 {_print(expected)}"
        case Kind.Required(name):
            return f"缺少 {_print(name)}"
        case Kind.AdditionalProperties(names) | Kind.UnevaluatedProperties(names):
            return f"此处不允许 {_listed(names, '、')}"
        case Kind.AnyOf(context) | Kind.OneOfNotValid(context):
            return f"不符合任何一种形式：{_alternatives(context, _chinese, '；或 ')}"
        case _:
            return _measured(error) or cut(str(error.message), LONGEST)


def _measured(error: Any) -> str | None:
    """The Chinese sentence of a keyword that holds a measure or a form; None where there is none."""
    value = _print(error.instance)
    match error.kind:
        case Kind.Minimum(limit):
            return f"{value} 小于最小值 {limit}"
        case Kind.Maximum(limit):
            return f"{value} 大于最大值 {limit}"
        case Kind.ExclusiveMinimum(limit):
            return f"{value} 应大于 {limit}"
        case Kind.ExclusiveMaximum(limit):
            return f"{value} 应小于 {limit}"
        case Kind.MultipleOf(unit):
            return f"{value} 不是 {unit} 的倍数"
        case Kind.MinLength(limit):
            return f"{value} 不足 {limit} 个字符"
        case Kind.MaxLength(limit):
            return f"{value} 超过 {limit} 个字符"
        case Kind.MinItems(limit):
            return f"{value} 不足 {limit} 项"
        case Kind.MaxItems(limit):
            return f"{value} 超过 {limit} 项"
        case Kind.MinProperties(limit):
            return f"{value} 不足 {limit} 个键"
        case Kind.MaxProperties(limit):
            return f"{value} 超过 {limit} 个键"
        case Kind.Pattern(pattern):
            return f"{value} 不符合格式 {_print(pattern)}"
        case Kind.Format(name):
            return f"{value} 不是合法的 {name}"
        case _:
            return _of_parts(error, value)


def _of_parts(error: Any, value: str) -> str | None:
    match error.kind:
        case Kind.UniqueItems():
            return f"{value} 中有重复的项"
        case Kind.Contains():
            return f"{value} 中没有符合要求的项"
        case Kind.AdditionalItems() | Kind.UnevaluatedItems():
            return f"{value} 中有多余的项"
        case Kind.FalseSchema():
            return f"此处不允许 {value}"
        case Kind.Not(schema):
            return f"{value} 不应符合 {_print(schema)}"
        case Kind.OneOfMultipleValid():
            return f"{value} 同时符合多种形式，只能符合一种"
        case Kind.PropertyNames(inner):
            return f"键名不合要求：{_chinese(inner)}"
        case _:
            return None


def _alternatives(context: Any, told: Callable[[Any], str], between: str) -> str:
    """The first problem of each alternative, so that the reader sees what would have been right."""
    firsts = [errors[0] for errors in cast("list[list[Any]]", context) if errors]
    return cut(between.join(dict.fromkeys(told(first) for first in firsts)), 3 * LONGEST)


TYPES: dict[str, Text] = {
    "null": Text("null", "空值"),
    "boolean": Text("boolean", "真假值"),
    "integer": Text("integer", "整数"),
    "number": Text("number", "数字"),
    "string": Text("string", "文本"),
    "array": Text("array", "列表"),
    "object": Text("object", "对象"),
}
"""The types of JSON, as people call them."""

_TYPE_NAMES: dict[type[Any], str] = {
    type(None): "null", bool: "boolean", int: "integer", float: "number", str: "string", list: "array",
}  # fmt: skip


def type_name(value: Json) -> str:
    """The JSON type of `value`: null, boolean, integer, number, string, array or object."""
    return _TYPE_NAMES.get(cast("type[Any]", type(value)), "object")


def _listed(values: Any, between: str) -> str:
    return between.join(_print(value) for value in cast("list[Json]", values))


def _print(value: Json) -> str:
    return cut(json.dumps(value, ensure_ascii=False, default=str), LONGEST)
