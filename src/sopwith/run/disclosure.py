"""Tools that are found when they are needed: `search`, `describe` and `call` in the place of a long list.

What was found is appended to the transcript like any result; the beginning of the prompt never changes. A call goes the
way of every other one: held to the schema of its tool, judged, journaled.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from sopwith.errors import Text
from sopwith.ir.finding import EntryDescribed, FoundEntry, SearchMade
from sopwith.ir.tool import ErrorData, ToolSpec
from sopwith.ir.value import Json
from sopwith.models.port import Action, ModelReply, ModelRequest, Prompt
from sopwith.models.reply import Reading, Resolve, read_reply
from sopwith.run.preview import preview
from sopwith.tools.names import alias

SEARCH, DESCRIBE, CALL = "search", "describe", "call"
LONGEST_DEFINITION = 12_000
"""Characters of the parameters of a tool that `describe` shows whole."""

MOST_KNOWN = 12
"""So many of the tools found last constrain what a decoder may write."""

_QUERY: dict[str, Json] = {"type": "string", "minLength": 1, "maxLength": 200}
_QUERIES: dict[str, Json] = {"type": "array", "items": _QUERY, "maxItems": 8}
SCHEMAS: Mapping[str, dict[str, Json]] = {
    SEARCH: {
        "type": "object",
        "properties": {"context": _QUERY, "tools": _QUERIES, "procedures": _QUERIES},
        "required": ["context"],
        "additionalProperties": False,
    },
    DESCRIBE: {
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 200}},
        "required": ["name"],
        "additionalProperties": False,
    },
    CALL: {
        "type": "object",
        "properties": {"tool": {"type": "string", "maxLength": 200}, "arguments": {"type": "object"}},
        "required": ["tool", "arguments"],
        "additionalProperties": False,
    },
}
SAYS: Mapping[str, Text] = {
    SEARCH: Text(
        "find tools and procedures: what the next part of the task is about; `tools` and `procedures` may say what "
        "each one that is wanted does, one entry each",
        "查找工具和流程：说明任务的下一部分是什么；tools 和 procedures 可逐条写明所需的每一个做什么",
    ),
    DESCRIBE: Text(
        "show the parameters of a tool, or the steps of a procedure, that search has found",
        "显示 search 找到的工具的参数，或流程的步骤",
    ),
    CALL: Text(
        "call a tool that search has found, with arguments as describe shows them",
        "调用 search 找到的工具，参数按 describe 所示填写",
    ),
}
_NOTHING = Text("nothing was found; say it in other words", "没有找到；请换一种说法")
_PROCEDURE = Text("procedure", "流程")
_UNKNOWN = Text(
    'there is no tool "{}" that may be called here; search finds the names',
    "这里没有可调用的工具“{}”；请用 search 查找名称",
)
_NOT_FOUND = Text(
    '"{}" was not found before; search finds the names', "此前没有找到“{}”；请用 search 查找名称"
)
_SEE = Text("describe shows the parameters", "describe 会显示参数")


def about_tokens(text: str) -> int:
    """About how many tokens `text` has, the same on every machine: one for four ASCII characters, or for one other."""
    ascii_ = len(text.encode("ascii", "ignore"))
    return -(-ascii_ // 4) + len(text) - ascii_


def definition(spec: ToolSpec) -> Json:
    """A tool as `describe` shows it; parameters that are very long as a preview of their whole parts."""
    parameters: Json = spec.input_schema
    if len(json.dumps(parameters, ensure_ascii=False)) > LONGEST_DEFINITION:
        parameters = preview(parameters)
    return {"name": spec.name, "description": spec.description, "parameters": parameters}


def told(looked: SearchMade | EntryDescribed, tools: Mapping[str, ToolSpec], language: str) -> str:
    """What a model is told of a search, or of what it had described."""
    if isinstance(looked, SearchMade):
        lines = [_line(one, language) for one in looked.found]
        return "\n".join(lines) if lines else _NOTHING.in_(language)
    if looked.entry == "procedure":
        return looked.text
    return json.dumps(definition(tools[looked.name]), ensure_ascii=False)


def _line(found: FoundEntry, language: str) -> str:
    mark = f" ({_PROCEDURE.in_(language)})" if found.entry == "procedure" else ""
    return f"{found.name}{mark}: {found.says}" if found.says else f"{found.name}{mark}"


def called(
    reading: Reading, tools: Mapping[str, ToolSpec], language: str, resolve: Resolve | None
) -> Reading:
    """What a reply that chose `call` says: the tool as its action, with arguments held to its own schema.

    `tools` are those that may be called, by name. A name that is none of them, and arguments that do not fit, are
    errors for the model to read.
    """
    asked = cast("dict[str, Json]", reading.value)
    spec = named(asked["tool"], tools)
    if spec is None:
        return replace(reading, action=None, value=None, error=unknown_tool(asked["tool"], language))
    action = Action(alias(spec.name), "", spec.input_schema)
    request = ModelRequest(Prompt("", (), ""), "action", (action,), (action.name,))
    reply = ModelReply(json.dumps(asked["arguments"], ensure_ascii=False), action.name)
    inner = read_reply(request, reply, language, resolve)
    if inner.error is not None:
        said = f"{inner.error.message}; {_SEE.in_(language)}"
        return replace(reading, action=None, value=None, error=ErrorData(code=inner.error.code, message=said))
    return replace(inner, repairs=(*reading.repairs, *inner.repairs))


def named(name: str, tools: Mapping[str, ToolSpec]) -> ToolSpec | None:
    """The tool that a model names, by its name or as it is called on the wire; never by likeness."""
    name = name.strip()
    return tools.get(name) or next((spec for key, spec in tools.items() if alias(key) == name), None)


def unknown_tool(name: str, language: str) -> ErrorData:
    """The error for a tool that may not be called, or is not there: a model learns no difference."""
    return ErrorData(code="unknown_action", message=_UNKNOWN.in_(language).format(name))


def not_found(name: str, language: str) -> ErrorData:
    """The error for something to be described that no search has found."""
    return ErrorData(code="unknown_action", message=_NOT_FOUND.in_(language).format(name))


def known_tools(found: tuple[FoundEntry, ...], tools: Mapping[str, ToolSpec]) -> list[ToolSpec]:
    """The tools that were found, the latest first, as many as may constrain a decoder."""
    names = dict.fromkeys(one.name for one in reversed(found) if one.entry == "tool" and one.name in tools)
    return [tools[name] for name in names][:MOST_KNOWN]


def call_schema(tools: list[ToolSpec], arguments: Mapping[str, dict[str, Json]]) -> dict[str, Json]:
    """The arguments of `call` for a decoder: one of `tools`, each with its own parameters (`arguments`, by name)."""
    ways: list[Json] = [
        {
            "type": "object",
            "properties": {
                "tool": {"const": tool.name},
                "arguments": _moved(arguments[tool.name], f"#/anyOf/{at}/properties/arguments"),
            },
            "required": ["tool", "arguments"],
            "additionalProperties": False,
        }
        for at, tool in enumerate(tools)
    ]
    return {"anyOf": ways}


def _moved(schema: Json, to: str) -> Json:
    """A schema with its own references as they are where it lies at `to`."""
    if isinstance(schema, list):
        return [_moved(item, to) for item in cast("list[Json]", schema)]
    if not isinstance(schema, dict):
        return schema
    pairs = cast("dict[str, Json]", schema)
    moved = {key: _moved(item, to) for key, item in pairs.items()}
    ref = pairs.get("$ref")
    if isinstance(ref, str) and ref.startswith("#"):
        moved["$ref"] = to + ref[1:]
    return moved


def describe_schema(found: tuple[FoundEntry, ...]) -> dict[str, Json]:
    """The arguments of `describe` for a decoder: one of the names that were found."""
    names: list[Json] = list(dict.fromkeys(one.name for one in reversed(found)))
    return {**SCHEMAS[DESCRIBE], "properties": {"name": {"enum": names[: 2 * MOST_KNOWN]}}}
