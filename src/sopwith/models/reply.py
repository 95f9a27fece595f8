"""A model's reply, read strictly: one legal action, one label, or prose; else an error as data.

What can be repaired without doubt is repaired, and the repair is recorded. What is doubtful is an error for
the model to read, never a guess and never an empty object.

The repairs: `fence`, `prose`, `wrapper`, `namespace NAME`, `label`, `extra NAME`, `empty`, and those of
`sopwith.ir.coerce`. The errors: `reply_not_json`, `reply_truncated`, `reply_ambiguous`, `reply_empty`,
`unknown_action`, `invalid_arguments`, `no_choice`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from sopwith.errors import Text, ValueRefused
from sopwith.ir.coerce import coerce, parse_json
from sopwith.ir.cut import cut
from sopwith.ir.schema import together, validator
from sopwith.ir.tool import ErrorData
from sopwith.ir.value import Json, storable
from sopwith.models.chat import LETTERS, worded
from sopwith.models.port import Action, ModelReply, ModelRequest

_FENCE = re.compile(r"```[A-Za-z]*[ \t]*\n(.*?)```", re.DOTALL)
_CALL = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)
_LETTER = re.compile(r"[\s(\[\"'`*（【]*([A-Za-z])(?:[\s)\].:,\"'`*：。、，）】]+(.*))?", re.DOTALL)
_SEPARATORS = re.compile(r"[^A-Za-z0-9]+")
_NAMESPACES = ("api_", "default_api_", "function_", "functions_", "tool_", "tools_")
_LONGEST_NAME = 80
_LONGEST_REASON = 200
_NOTHING = object()


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reply says.

    `action` is the wire name of the chosen action, or the text of the chosen label; `value` its valid
    arguments, or the prose. Where `error` is set, both are None.
    """

    action: str | None = None
    value: Json = None
    confidence: float | None = None
    repairs: tuple[str, ...] = ()
    error: ErrorData | None = None


class Refused(Exception):
    """Ends the reading of one reply; never leaves `read_reply`."""

    def __init__(self, code: str, en: str, zh: str) -> None:
        super().__init__(en)
        self.code = code
        self.message = Text(en, zh)


Resolve = Callable[[Action, Json], Json]
"""The arguments of an action with what they refer to in its place. Raises `Refused`."""


def read_reply(
    request: ModelRequest, reply: ModelReply, language: str = "en", resolve: Resolve | None = None
) -> Reading:
    """The one thing that `reply` says, out of what `request` allows; an error is told in `language`.

    Arguments are decoded, then resolved by `resolve`, and then judged by their schema. Pure; never raises because of
    the reply.
    """
    repairs = list(reply.repairs)
    try:
        if request.form == "choice":
            return _read_choice(request, reply, repairs)
        if reply.finish == "length":
            raise Refused(
                "reply_truncated",
                f"the reply was cut off at {request.max_tokens} tokens; write less",
                f"回复在 {request.max_tokens} 个 token 处被截断，请写短一些",
            )
        if request.form == "text":
            return _read_text(reply, repairs)
        return _read_action(request, reply, repairs, resolve)
    except Refused as refused:
        told = ErrorData(code=refused.code, message=refused.message.in_(language))
        return Reading(repairs=tuple(repairs), error=told)
    except (ValueRefused, RecursionError) as refused:  # it nests deeper than anything that is stored
        told = ErrorData(code="invalid_arguments", message=str(refused)[-_LONGEST_REASON:])
        return Reading(repairs=tuple(repairs), error=told)


def _read_text(reply: ModelReply, repairs: list[str]) -> Reading:
    text = cast("str", storable(reply.text)).strip()
    if not text:
        raise Refused("reply_empty", "the reply is empty", "回复为空")
    return Reading(value=text, repairs=tuple(repairs))


def _read_choice(request: ModelRequest, reply: ModelReply, repairs: list[str]) -> Reading:
    text = reply.text.strip()
    letters = LETTERS[: len(request.labels)]
    index = (worded if request.by_word else _label)(request.labels, text)
    worded_out = request.by_word and text in map(str.strip, request.labels)
    if not worded_out and (text not in letters or len(text) != 1):
        repairs.append("label")
    if index is None:
        raise _no_choice(request, text)
    confidence = reply.confidence
    if confidence is None and index < len(reply.probabilities):
        confidence = reply.probabilities[index]
    return Reading(action=request.labels[index], confidence=confidence, repairs=tuple(repairs))


def _no_choice(request: ModelRequest, text: str) -> Refused:
    """What is said to a reply that names none of the labels, in the form in which they were asked for."""
    if request.by_word:
        labels = " | ".join(label.strip() for label in request.labels)
        return Refused(
            "no_choice",
            f"the reply must be one of these, word for word: {labels}; not {_quote(text)}",
            f"回复必须与其中一项完全一致：{labels}；不是 {_quote(text)}",
        )
    legal = ", ".join(LETTERS[: len(request.labels)])
    return Refused(
        "no_choice",
        f"the reply must be one letter out of {legal}, not {_quote(text)}",
        f"回复必须是一个字母（{legal}），不是 {_quote(text)}",
    )


def _label(labels: tuple[str, ...], text: str) -> int | None:
    """The label meant by `B`, `b.`, `B. its text`, its text alone, or a JSON object with one of those."""
    if text.startswith("{"):
        try:
            members = list(cast("dict[str, Json]", parse_json(text)).values())
        except ValueError:
            return None
        text = members[0].strip() if len(members) == 1 and isinstance(members[0], str) else ""
    match = _LETTER.fullmatch(text)
    if match is not None:
        index = LETTERS.index(match[1].upper())
        rest = (match[2] or "").strip()
        if index < len(labels) and rest in ("", labels[index].strip()):
            return index
    exact = [i for i, label in enumerate(labels) if label.strip() == text]
    return exact[0] if len(exact) == 1 else None


def _read_action(
    request: ModelRequest, reply: ModelReply, repairs: list[str], resolve: Resolve | None
) -> Reading:
    actions = {action.name: action for action in request.actions if action.name in request.legal}
    repairs.extend(f"extra {name}" for name in reply.extra)
    if reply.name is not None:
        action = actions[_legal_name(request, reply.name, repairs)]
        given = _arguments_text(action, reply.text, repairs)
    else:
        value = _json(reply.text, repairs, only_objects=len(request.legal) > 1)
        action, given = _chosen(request, actions, value, repairs)
    return _valid(action, given, repairs, resolve)


def _valid(action: Action, given: Json, repairs: list[str], resolve: Resolve | None) -> Reading:
    judge = validator(action.schema)
    # A float may stand where an integer is declared.
    if resolve is None and judge.accepts(given) and not _holds_float(given):
        return Reading(action=action.name, value=storable(given), repairs=tuple(repairs))
    value, coerced = coerce(action.schema, given)
    repairs.extend(coerced)
    value = storable(value)
    if resolve is not None:
        value = resolve(action, value)
    problems = judge.problems(value)
    if problems:
        said = together(problems)
        raise Refused("invalid_arguments", f"{action.name}: {said.en}", f"{action.name}：{said.zh}")
    return Reading(action=action.name, value=value, repairs=tuple(repairs))


def _holds_float(value: Json) -> bool:
    if isinstance(value, dict):
        return any(_holds_float(item) for item in cast("dict[str, Json]", value).values())
    if isinstance(value, list):
        return any(map(_holds_float, cast("list[Json]", value)))
    return isinstance(value, float)


def _arguments_text(action: Action, text: str, repairs: list[str]) -> Json:
    """The arguments of a provider's tool call. No text at all is `{}` only where there is nothing to say."""
    if not text.strip() and not action.schema.get("properties"):
        repairs.append("empty")
        return {}
    return _json(text, repairs, only_objects=False)


def _chosen(
    request: ModelRequest, actions: dict[str, Action], value: Json, repairs: list[str]
) -> tuple[Action, Json]:
    """The action that `value` is the arguments of, or that it names."""
    listed = isinstance(value, list)
    calls = cast("list[Json]", value if listed else [value])
    only = actions[request.legal[0]] if len(request.legal) == 1 else None
    named = all(map(_is_call, calls)) and bool(calls)
    if only is not None and (not named or _expects_calls(only, value)):
        return only, value
    if not named:
        names = ", ".join(request.legal)
        raise Refused(
            "unknown_action",
            f'the reply must be {{"name": …, "arguments": …}}; the names are {names}',
            f'回复必须是 {{"name": …, "arguments": …}}；可用的名称：{names}',
        )
    first = next((call for call in calls if call["name"] in actions), calls[0])
    repairs.extend(f"extra {_cut(call['name'])}" for call in calls if call is not first)
    if only is not None or listed:
        repairs.append("wrapper")
    return actions[_legal_name(request, first["name"], repairs)], first["arguments"]


def _is_call(value: Json) -> bool:
    if not isinstance(value, dict):
        return False
    call = cast("dict[str, Json]", value)
    return call.keys() == {"name", "arguments"} and isinstance(call["name"], str)


def _expects_calls(action: Action, value: Json) -> bool:
    """Whether the action's own arguments look like calls."""
    if isinstance(value, list):
        return action.schema.get("type") == "array"
    return {"name", "arguments"} <= cast("dict[str, Json]", action.schema.get("properties") or {}).keys()


def _legal_name(request: ModelRequest, name: str, repairs: list[str]) -> str:
    """The legal name that `name` is, a known namespace and its separators aside."""
    if name in request.legal:
        return name
    others = {_words(action.name) for action in request.actions} - {_words(legal) for legal in request.legal}
    words = _words(name)
    prefix = next((namespace for namespace in _NAMESPACES if words.startswith(namespace)), "")
    for spelled in (words, words.removeprefix(prefix)):
        found = [legal for legal in request.legal if _words(legal) == spelled]
        if spelled in others:
            break
        if len(found) == 1:
            repairs.append(f"namespace {_cut(name)}")
            return found[0]
    legal = ", ".join(request.legal)
    raise Refused(
        "unknown_action",
        f"{_quote(name)} cannot be done now; the legal names are {legal}",
        f"现在不能做 {_quote(name)}；合法的名称：{legal}",
    )


def _words(name: str) -> str:
    return _SEPARATORS.sub("_", name).strip("_")


def _json(text: str, repairs: list[str], *, only_objects: bool) -> Json:
    """The one JSON value in `text`: all of it, in `<tool_call>`, in a fence, or the only object in prose."""
    text = text.strip()
    value = _parse(text)
    for pattern, repair in ((_CALL, "wrapper"), (_FENCE, "fence")):
        found = pattern.findall(text) if value is _NOTHING else []
        if len(found) > 1:
            return _several(found, pattern is _CALL)
        if found:
            if pattern.sub("", text).strip():
                repairs.append("prose")
            repairs.append(repair)
            text = cast("str", found[0]).strip()
            value = _parse(text)
    if value is not _NOTHING and not (only_objects and _is_bare(value)):
        return value
    inside = _objects(text)
    if len(inside) > 1:
        raise Refused(
            "reply_ambiguous",
            f"the reply holds {len(inside)} JSON objects; write exactly one",
            f"回复含有 {len(inside)} 个 JSON 对象，只应写一个",
        )
    if not inside:
        raise Refused(
            "reply_not_json",
            f"the reply must be one JSON object, not {_quote(text)}",
            f"回复必须是一个 JSON 对象，不是 {_quote(text)}",
        )
    repairs.append("prose")
    return inside[0]


def _several(texts: list[str], calls: bool) -> Json:
    """Several tool calls are a list of calls; several fences are in doubt."""
    if not calls:
        raise Refused(
            "reply_ambiguous",
            f"the reply holds {len(texts)} fenced blocks; write exactly one",
            f"回复含有 {len(texts)} 个代码块，只应写一个",
        )
    try:
        return [parse_json(text) for text in texts]
    except ValueError:
        raise Refused(
            "reply_ambiguous",
            "the reply holds several tool calls, not all of them JSON",
            "回复含有多个工具调用，且并非都是 JSON",
        ) from None


def _objects(text: str) -> list[Json]:
    """The JSON objects that stand side by side in `text`.

    An object that never closes makes the whole reply truncated.
    """
    found: list[Json] = []
    start = text.find("{")
    while start >= 0:
        end = _closing(text, start)
        if end is None:
            raise Refused("reply_truncated", "the JSON in the reply is not complete", "回复中的 JSON 不完整")
        value = _parse(text[start : end + 1])
        if value is not _NOTHING:
            found.append(value)
        start = text.find("{", end + 1)
    return found


def _closing(text: str, start: int) -> int | None:
    """Where the brace at `start` is closed, braces in quoted text aside."""
    depth, quoted, i = 0, False, start
    while i < len(text):
        character = text[i]
        if quoted and character == "\\":
            i += 1
        elif character == '"':
            quoted = not quoted
        elif not quoted and character in "{}":
            depth += 1 if character == "{" else -1
            if depth == 0:
                return i
        i += 1
    return None


def _is_bare(value: Json) -> bool:
    return value is None or isinstance(value, bool | int | float)


def _parse(text: str) -> Json:
    try:
        return parse_json(text)
    except ValueError:
        return _NOTHING


def _quote(text: str) -> str:
    return f'"{_cut(text)}"'


def _cut(text: str) -> str:
    clean = cast("str", storable(text))
    return cut(clean, _LONGEST_NAME)
