"""What an OpenAI-compatible endpoint really enforces: it is asked for things that it would not say by itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from sopwith.ir.coerce import parse_json
from sopwith.ir.value import Json
from sopwith.models.openai_compatible import OpenAIModel, Refused
from sopwith.models.openai_reply import usage_of
from sopwith.models.profile import Mode

State = Literal["enforced", "ignored", "refused"]

NAMES = (
    "named_tool", "required_tool", "one_call", "json_schema", "logprobs", "max_tokens", "unicode", "usage", "cached"
)  # fmt: skip
"""What is looked at, in order."""

_WORDS = "请假申请😀"
_FEW, _SOME, _LONG = 3, 64, 200
_FILLER = "Answer in prose. Never call a tool. " * 30


@dataclass(frozen=True, slots=True)
class Finding:
    """What one probe found: the parameter holds, is taken and has no effect, or is refused. `said` are the endpoint's
    own words, or what it answered."""

    name: str
    state: State
    said: str = ""


@dataclass(frozen=True, slots=True)
class Probed:
    """All findings, and what follows from them for asking the endpoint."""

    findings: tuple[Finding, ...]

    def held(self, name: str) -> bool:
        """Whether the endpoint enforces what is called `name`."""
        return any(finding.name == name and finding.state == "enforced" for finding in self.findings)

    @property
    def mode(self) -> Mode:
        """How an action is to be asked for: by tools where both ways of forcing one hold, else by a response format
        where that holds, else by words, to be read and repaired."""
        if self.held("named_tool") and self.held("required_tool"):
            return "tools"
        return "json_schema" if self.held("json_schema") else "text"

    @property
    def without(self) -> tuple[str, ...]:
        """The parameters that the endpoint refuses."""
        by = {"one_call": ("parallel_tool_calls",), "logprobs": ("logprobs", "top_logprobs")}
        refused = [finding.name for finding in self.findings if finding.state == "refused"]
        return tuple(key for name in refused for key in by.get(name, ()))

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of a profile that follow."""
        fields: dict[str, Any] = {"mode": self.mode}
        if self.without:
            fields["without"] = list(self.without)
        return fields


async def probe(model: OpenAIModel) -> Probed:
    """Ask the endpoint a few short things. Raises `ModelError` where it does not answer at all."""
    found: dict[str, Finding] = {}
    plain = await model.post(_body("Say hello.", _LONG))
    usage = usage_of(getattr(plain, "usage", None))
    counted = usage.input + usage.cached > 0 and usage.output > 0
    found["usage"] = Finding("usage", "enforced" if counted else "ignored", _counts(plain))
    again = await model.post(_body("Say hello.", _LONG))
    cached = usage_of(getattr(again, "usage", None)).cached
    found["cached"] = Finding("cached", "enforced" if cached else "ignored", str(cached))
    for name, body in _BODIES.items():
        try:
            completion = await model.post(body)
        except Refused as refused:
            found[name] = Finding(name, "refused", refused.said)
            continue
        holds, said = _judge(name, completion)
        found[name] = Finding(name, "enforced" if holds else "ignored", said)
    return Probed(tuple(found[name] for name in NAMES))


def _judge(name: str, completion: Any) -> tuple[bool, str]:
    choice = completion.choices[0]
    text = str(choice.message.content or "")
    called = cast("list[Any]", choice.message.tool_calls or [])
    calls = [str(call.function.name) for call in called]
    said = ", ".join(calls) or text[:60]
    if name == "named_tool":
        return calls == ["submit_leave"], said
    if name == "required_tool":
        return bool(calls), said
    if name == "one_call":
        return len(calls) == 1, said
    if name == "json_schema":
        return _member(text, "kind") in ("annual", "sick"), said
    if name == "unicode":
        return _member(text, "words") == _WORDS, said
    if name == "logprobs":
        tokens = cast("list[Any]", getattr(choice.logprobs, "content", None) or [])
        return bool(tokens and tokens[0].top_logprobs), str(len(tokens))
    used = usage_of(getattr(completion, "usage", None)).output
    return 0 < used <= _FEW or (not used and len(text) < _LONG // 4), _counts(completion)


def _member(text: str, name: str) -> Json:
    try:
        value = parse_json(text)
    except ValueError:
        return None
    return cast("dict[str, Json]", value).get(name) if isinstance(value, dict) else None


def _counts(completion: Any) -> str:
    usage = usage_of(getattr(completion, "usage", None))
    return f"{usage.input} + {usage.cached} → {usage.output}"


def _body(words: str, tokens: int = _SOME, **more: Any) -> dict[str, Any]:
    told = [{"role": "system", "content": _FILLER}, {"role": "user", "content": words}]
    return {"messages": told, "max_tokens": tokens, "temperature": 0, **more}


def _object(name: str, schema: Mapping[str, Json]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: dict(schema)},
        "required": [name],
        "additionalProperties": False,
    }


def _tool(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {"name": name, "description": name, "parameters": parameters},
    }


def _format(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}


_LEAVE = _object("kind", {"type": "string", "enum": ["annual", "sick"]})
_TOOLS = [_tool("search", _object("query", {"type": "string"})), _tool("submit_leave", _LEAVE)]
_TWO = "Search for the weather in Paris, and search for the weather in Rome, both at once."

_BODIES: Mapping[str, dict[str, Any]] = {
    "named_tool": _body(
        "Search for the weather.",
        tools=_TOOLS,
        tool_choice={"type": "function", "function": {"name": "submit_leave"}},
    ),
    "required_tool": _body("Write a poem about the sea.", tools=_TOOLS, tool_choice="required"),
    "one_call": _body(_TWO, tools=_TOOLS, tool_choice="auto", parallel_tool_calls=False),
    "json_schema": _body("Write a poem about the sea.", response_format=_format(_LEAVE)),
    "logprobs": _body("Say hello.", logprobs=True, top_logprobs=5),
    "max_tokens": _body("Write a very long poem about the sea.", _FEW),
    "unicode": _body(
        f"Reply with {json.dumps({'words': _WORDS}, ensure_ascii=False)}",
        response_format=_format(_object("words", {"type": "string", "const": _WORDS})),
    ),
}
