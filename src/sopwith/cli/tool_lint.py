"""What makes a tool hard to choose and to call: words that are missing, forms that nobody says, look-alikes.

The rules read names, descriptions and schemas as a model does, in English and in Chinese. They are advice.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, cast

from sopwith.errors import Text
from sopwith.ir.coerce import resolve
from sopwith.ir.diagnostic import Diagnostic, Place, Severity
from sopwith.ir.tool import Effect, ToolSpec
from sopwith.ir.value import Json
from sopwith.lang.check.library import Likeness, words

_VERB = "|".join((
    "add", "approve", "archive", "book", "buy", "cancel", "change", "check", "close", "copy", "create",
    "delete", "download", "edit", "export", "fetch", "find", "get", "import", "insert", "list", "look",
    "modify", "move", "order", "pay", "post", "read", "register", "remove", "rename", "reply", "run", "save",
    "search", "send", "set", "start", "stop", "submit", "translate", "update", "upload", "validate", "write",
))  # fmt: skip
_CHINESE_VERB = "新建|创建|查询|修改|更新|删除|取消|发送|提交|审批|预订|导出|导入|查看|添加"
_TWO_PURPOSES = (
    re.compile(rf"^(?:{_VERB})\b[^.;\n]*?(?:\band\b|\bor\b|\bas well as\b|,)\s+(?:{_VERB})\b", re.IGNORECASE),
    re.compile(
        rf"^(?:可|能|可以|用于)?(?:{_CHINESE_VERB})[^。；\n]{{0,20}}?(?:以及|并且|和|或|及|、|并|/)(?:{_CHINESE_VERB})"
    ),
)
_WHEN = re.compile(
    r"\b(?:when|use (?:this|it)|for|if|before|after|where|whose|to)\b|用于|用来|当|适用|需要|如果|时使用|以便|按|根据",
    re.IGNORECASE,
)
_WHEN_NOT = re.compile(
    r"\b(?:not|never|instead|rather|only|unless|except|cannot)\b|n't\b|不|勿|仅|只|而非|除外|请改用",
    re.IGNORECASE,
)
_GENERIC = frozenset({
    "run", "do", "call", "execute", "exec", "process", "handle", "query", "api", "data", "tool", "action", "function",
    "main", "test", "get", "set", "post", "put", "执行", "处理", "调用", "操作", "查询", "数据", "工具", "接口",
})  # fmt: skip
_ACTIONS = frozenset({"action", "operation", "command", "op", "method", "操作", "动作", "命令"})
_TELLING = frozenset({
    "enum", "const", "format", "pattern", "description", "$ref", "anyOf", "oneOf", "allOf", "examples", "minimum",
    "maximum", "exclusiveMinimum", "exclusiveMaximum",
})  # fmt: skip


class Advice(NamedTuple):
    """What could be better about one tool."""

    tool: str
    diagnostic: Diagnostic


def lint(specs: Mapping[str, ToolSpec], places: Mapping[str, str]) -> list[Advice]:
    """What could be better about tools, by name; `places` are the names of their sources by theirs."""
    found = [(name, problem) for name, spec in specs.items() for problem in _problems(spec)]
    found += _look_alikes(list(specs.values()))
    return [
        Advice(
            tool,
            Diagnostic(
                code=code,
                severity=Severity.WARNING,
                place=Place(file=places[tool]),
                message=Text(f"{tool}: {said.en}", f"{tool}：{said.zh}"),
                hint=hint,
            ),
        )
        for tool, (code, said, hint) in found
    ]


_Problem = tuple[str, Text, Text]
"""A code, what is wrong, and what to do."""


def _problems(spec: ToolSpec) -> Iterator[_Problem]:
    yield from _name(spec)
    yield from _description(spec)
    yield from _parameters(spec)
    if spec.output_schema is None and spec.effect is Effect.READ:
        yield (
            "SW444",
            Text("it reads, and says nothing about its result", "它读取数据，却没有说明结果"),
            Text(
                "Declare the schema of the result: steps are checked against it.",
                "请声明结果的 schema：流程步骤据此检查。",
            ),
        )


def _name(spec: ToolSpec) -> Iterator[_Problem]:
    own = spec.name.rpartition(".")[2]
    if own.lower() in _GENERIC or len(own) < 2:
        yield (
            "SW445",
            Text(f"'{own}' could be anything", f"“{own}”可以是任何东西"),
            Text(
                "Name what it does and to what, such as find_order.",
                "请写明做什么、对什么做，例如 find_order。",
            ),
        )


def _description(spec: ToolSpec) -> Iterator[_Problem]:
    text = spec.description.strip()
    if not text:
        yield (
            "SW440",
            Text("it has no description", "没有描述"),
            Text("Say in a sentence what it does, and when to use it.", "请用一句话说明它做什么、何时使用。"),
        )
        return
    if any(form.search(text) for form in _TWO_PURPOSES) or _actions(spec):
        yield (
            "SW442",
            Text("it does several things", "它做多件事"),
            Text("Make each a tool of its own.", "请拆分为各自独立的工具。"),
        )
    lacks = [
        said
        for form, said in (
            (_WHEN, Text("when to use it", "何时使用")),
            (_WHEN_NOT, Text("when not to", "何时不用")),
        )
        if not form.search(text)
    ]
    if lacks:
        en, zh = " and ".join(each.en for each in lacks), "和".join(each.zh for each in lacks)
        yield (
            "SW441",
            Text(f"the description does not say {en}", f"描述没有说明{zh}"),
            Text("Add a sentence, such as: Use it when …, not for ….", "请补一句，例如：用于……，不用于……。"),
        )


def _actions(spec: ToolSpec) -> bool:
    """Whether an argument chooses among several things that the tool does."""
    properties = cast("dict[str, Json]", spec.input_schema.get("properties", {}))
    return any(
        name.lower() in _ACTIONS
        and isinstance(schema, dict)
        and len(cast("list[Json]", cast("dict[str, Json]", schema).get("enum") or [])) > 1
        for name, schema in properties.items()
    )


def _parameters(spec: ToolSpec) -> Iterator[_Problem]:
    silent = list(_silent(spec.input_schema, spec.input_schema, "", 0))
    if silent:
        listed = ", ".join(silent)
        yield (
            "SW443",
            Text(f"nothing says what to write for {listed}", f"没有说明 {listed} 应如何填写"),
            Text(
                "Give each a description, and a format, an enum or limits where it has them.",
                "请为每个参数写描述；有格式、可选值或范围的也请写明。",
            ),
        )


def _silent(root: Json, schema: Json, path: str, depth: int) -> Iterator[str]:
    """The paths of properties about which a schema says nothing but perhaps their type."""
    node = _target(root, schema)
    for name, value in cast("dict[str, Json]", node.get("properties") or {}).items():
        place = f"{path}.{name}" if path else name
        each = _target(root, value)
        told = _TELLING & (each.keys() | (value.keys() if isinstance(value, dict) else set()))
        if each.get("type") == "object" and each.get("properties") and depth < 2:
            yield from _silent(root, value, place, depth + 1)
        elif not told - {"$ref"} and each.get("type") != "boolean":
            yield place


def _target(root: Json, schema: Json) -> dict[str, Json]:
    node = cast("dict[str, Json]", schema) if isinstance(schema, dict) else {}
    for _ in range(8):
        if not isinstance(node.get("$ref"), str):
            break
        target = resolve(root, cast("str", node["$ref"]))
        node = cast("dict[str, Json]", target) if isinstance(target, dict) else {}
    return node


def _look_alikes(specs: Sequence[ToolSpec]) -> Iterator[tuple[str, _Problem]]:
    """SW446: each tool that an earlier one is taken for, with the one that it resembles most."""
    likeness = Likeness([Counter(words(f"{_spaced(s.name)}\n{s.description}")) for s in specs])
    for i, spec in enumerate(specs):
        alike = max(likeness.alike(i), default=None)
        if alike is None:
            continue
        other = specs[alike[1]].name
        yield (
            spec.name,
            (
                "SW446",
                Text(f"a search cannot tell it from {other}", f"检索无法把它与 {other} 区分开"),
                Text(
                    "Say in each description what the other is for, or leave one of them out.",
                    "请在各自的描述中写明另一个的用途，或去掉其中一个。",
                ),
            ),
        )


def _spaced(name: str) -> str:
    own = name.rpartition(".")[2]
    return re.sub(r"[_-]+|(?<=[a-z])(?=[A-Z])", " ", own)
