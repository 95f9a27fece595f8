"""What a JSON Schema asks for, in words for people: "a list, each: text"."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

from sopwith.errors import Text
from sopwith.ir.value import Json

_DEEPEST = 3
_ANYTHING = Text("anything", "任意值")
_TYPES = {
    "null": Text("null", "空值"),
    "boolean": Text("true or false", "true 或 false"),
    "integer": Text("a whole number", "整数"),
    "number": Text("a number", "数字"),
    "string": Text("text", "文本"),
    "array": Text("a list", "列表"),
    "object": Text("an object", "对象"),
}
_FORMATS = {
    "date": Text("a date (2026-01-31)", "日期（2026-01-31）"),
    "date-time": Text("a time (2026-01-31T09:00:00)", "时间（2026-01-31T09:00:00）"),
    "email": Text("an e-mail address", "电子邮件地址"),
}


def in_words(schema: Json, deepest: int = _DEEPEST) -> Text:
    """What `schema` asks for. What has no short words (`$ref`, `not`, conditions) is left out."""
    if not isinstance(schema, dict):
        return _ANYTHING
    node = cast("Mapping[str, Json]", schema)
    arms = node.get("oneOf") or node.get("anyOf")
    choices = node.get("enum", [node["const"]] if "const" in node else None)
    if isinstance(choices, list):
        return _listed([_print(choice) for choice in cast("list[Json]", choices)])
    if isinstance(arms, list):
        each = [in_words(arm, deepest) for arm in cast("list[Json]", arms)]
        return Text(" or ".join(one.en for one in each), "或".join(one.zh for one in each))
    kinds = node.get("type")
    if isinstance(kinds, list):
        each = [_typed(str(kind), node, deepest) for kind in cast("list[Json]", kinds)]
        return Text(" or ".join(one.en for one in each), "或".join(one.zh for one in each))
    if kinds is None:
        kinds = "object" if "properties" in node else "array" if "items" in node else ""
    return _typed(str(kinds), node, deepest)


def _typed(kind: str, node: Mapping[str, Json], deepest: int) -> Text:
    said = _TYPES.get(kind, _ANYTHING)
    if kind == "string":
        said = _FORMATS.get(str(node.get("format")), said)
    if kind == "array" and isinstance(node.get("items"), dict) and deepest:
        each = in_words(node["items"], deepest - 1)
        said = Text(f"{said.en}, each: {each.en}", f"{said.zh}，每项为{each.zh}")
    if kind == "object" and isinstance(node.get("properties"), dict) and deepest:
        fields = cast("Mapping[str, Json]", node["properties"])
        told = {name: in_words(item, deepest - 1) for name, item in fields.items()}
        en = ", ".join(f"{name} ({one.en})" for name, one in told.items())
        zh = "、".join(f"{name}（{one.zh}）" for name, one in told.items())
        said = Text(f"{said.en} with {en}", f"{said.zh}，含 {zh}") if told else said
    for key, (en, zh) in _LIMITS.items():
        if key not in node:
            continue
        limit = _print(node[key])
        said = Text(f"{said.en}, {en.format(limit)}", f"{said.zh}，{zh.format(limit)}")
    return said


_LIMITS = {
    "minimum": Text("at least {}", "不小于 {}"),
    "maximum": Text("at most {}", "不大于 {}"),
    "exclusiveMinimum": Text("more than {}", "大于 {}"),
    "exclusiveMaximum": Text("less than {}", "小于 {}"),
    "minLength": Text("{} or more characters", "至少 {} 个字符"),
    "maxLength": Text("{} characters at most", "至多 {} 个字符"),
    "pattern": Text("of the form {}", "格式为 {}"),
    "minItems": Text("{} or more items", "至少 {} 项"),
    "maxItems": Text("{} items at most", "至多 {} 项"),
}


def _listed(choices: list[str]) -> Text:
    if len(choices) == 1:
        return Text(choices[0], choices[0])
    return Text(f"one of {', '.join(choices)}", f"{'、'.join(choices)} 之一")


def _print(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
