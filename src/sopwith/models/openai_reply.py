"""An OpenAI-compatible completion as a reply: the call, the label with its confidence, the counters."""

from __future__ import annotations

import json
import math
from typing import Any, Literal, cast

from sopwith.ir.coerce import parse_json
from sopwith.ir.usage import Usage
from sopwith.models.endpoint import Way
from sopwith.models.port import ModelReply, ModelRequest
from sopwith.models.tool_block import unwrapped

Finish = Literal["stop", "length", "tool_calls", "other"]

_FINISHES: dict[str, Finish] = {"stop": "stop", "length": "length", "tool_calls": "tool_calls"}
_FEW_TOKENS = 24


def read_completion(completion: Any, choice: Any, request: ModelRequest, way: Way, model: str) -> ModelReply:
    """The first choice of `completion`, which was asked for in `way`, as a reply."""
    message = choice.message
    text = str(message.content or getattr(message, "refusal", None) or "")
    name: str | None = None
    extra: tuple[str, ...] = ()
    confidence, probabilities = None, ()
    if request.form == "action" and message.tool_calls:
        name, text, extra = _call(message.tool_calls, request, way)
    elif request.form == "choice":
        text, confidence, probabilities = _choice(text, choice, request, way.letters)
    return ModelReply(
        text=text,
        name=name,
        extra=extra,
        confidence=confidence,
        probabilities=probabilities,
        usage=usage_of(getattr(completion, "usage", None)),
        model=_pinned(completion, model),
        finish=_FINISHES.get(str(choice.finish_reason), "other"),
    )


def _call(calls: list[Any], request: ModelRequest, way: Way) -> tuple[str, str, tuple[str, ...]]:
    """The first call that is legal (else the first), and the names of all others."""
    named = [(_name(call), _arguments(call)) for call in calls]
    chosen = next((i for i, (name, _) in enumerate(named) if name in request.legal), 0)
    name, text = named[chosen]
    if name in way.wrapped:
        text = unwrapped(text)
    return name, text, tuple(other for i, (other, _) in enumerate(named) if i != chosen)


def _name(call: Any) -> str:
    return str(getattr(getattr(call, "function", None), "name", None) or "")


def _arguments(call: Any) -> str:
    """The arguments as text. Some servers send them decoded, where text is specified."""
    given = getattr(getattr(call, "function", None), "arguments", None)
    if given is None:
        return ""
    return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)


def _choice(
    text: str, choice: Any, request: ModelRequest, options: str
) -> tuple[str, float | None, tuple[float, ...]]:
    """The letter of a choice, or its words where the prompt asks for those; and the probabilities of all letters at the
    token that held it."""
    letter = text.strip()
    try:
        value = parse_json(letter)
    except ValueError:
        value = None
    if isinstance(value, dict) and (named := cast("dict[str, Any]", value)).keys() == {"choice"}:
        letter = str(named["choice"])
    if request.by_word:
        return letter.strip(), None, ()
    letter = letter.strip()
    if letter not in options or len(letter) != 1:
        return text, None, ()
    tokens = cast("list[Any]", getattr(getattr(choice, "logprobs", None), "content", None) or [])
    for token in reversed(tokens[:_FEW_TOKENS]):  # the last one: `{"choice": "B"}`
        if _letter(token.token) == letter:
            probabilities = _probabilities(token, options)
            return letter, probabilities[options.index(letter)], probabilities
    return letter, None, ()


def _probabilities(token: Any, options: str) -> tuple[float, ...]:
    """Over `options`, renormalised. Spellings of one letter (` B`, `"B`) are added up."""
    weights = dict.fromkeys(options, 0.0)
    least = 1.0
    for candidate in cast("list[Any]", token.top_logprobs or [token]):
        probability = math.exp(min(0.0, float(candidate.logprob)))
        least = min(least, probability)
        letter = _letter(candidate.token)
        if letter in weights:
            weights[letter] += probability
    weights = {letter: weight or least for letter, weight in weights.items()}
    total = sum(weights.values()) or 1.0
    return tuple(weights[letter] / total for letter in options)


def _letter(token: str) -> str:
    return str(token).strip(" \n\"'{}:.")


def usage_of(reported: Any) -> Usage:
    """The four counters. Cached tokens are counted inside the prompt's here, and apart in `Usage`."""
    prompt = _count(reported, "prompt_tokens")
    details = getattr(reported, "prompt_tokens_details", None)
    cached = min(prompt, _count(details, "cached_tokens"))
    written = min(prompt - cached, _count(details, "cache_write_tokens"))
    output = _count(reported, "completion_tokens")
    return Usage(
        input=prompt - cached - written, cached=cached, cache_write=written, output=output, model_calls=1
    )


def _count(holder: Any, name: str) -> int:
    value = getattr(holder, name, None)
    return max(0, int(value)) if isinstance(value, int | float) else 0


def _pinned(completion: Any, model: str) -> str:
    """Which model really answered: the name it gives itself and its fingerprint."""
    answered = str(getattr(completion, "model", None) or "")
    mark = str(getattr(completion, "system_fingerprint", None) or "")
    told = "/".join(part for part in (answered, mark) if part)
    return f"{model}#{told}" if told else model
