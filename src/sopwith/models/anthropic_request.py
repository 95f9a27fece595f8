"""A request in the form of Anthropic's Messages API, with what is stable marked for its cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sopwith.models.chat import WORD_TOKENS, legal_actions, letters, messages
from sopwith.models.failure import is_too_long, what_it_said
from sopwith.models.port import ModelRequest
from sopwith.models.tool_block import parameters_of

_CACHE = {"type": "ephemeral"}
_CHOICE_TOKENS = 24
_NO_THINKING = {"type": "disabled"}


@dataclass(frozen=True, slots=True)
class Way:
    """One way of asking: the body of the request, and the actions whose arguments were put under `value`."""

    body: dict[str, Any]
    wrapped: frozenset[str] = frozenset()


class Ways:
    """How a model is asked, and what it has been found to refuse: it begins with the most and only goes down."""

    def __init__(self) -> None:
        self._thinks = False
        self._forced = True
        self._temperature = True

    def way(self, request: ModelRequest) -> Way:
        """How to ask for `request` now.

        The tools and the system text are the same in every request of a procedure, also where none may be called:
        the provider's cache begins with them. They end in one mark, the worked examples in another.
        """
        body: dict[str, Any] = {"max_tokens": request.max_tokens}
        wrapped = _put_tools(request, body)
        told = messages(request.prompt, block=not request.actions)
        stable, rest = (told[:1], told[1:]) if told[0]["role"] == "system" else ([], told)
        if stable:
            body["system"] = [_marked(stable[0]["content"])]
        elif "tools" in body:
            body["tools"][-1]["cache_control"] = _CACHE
        turns: list[dict[str, Any]] = [dict(message) for message in rest]
        if len(turns) > 1:
            turns[-2]["content"] = [_marked(turns[-2]["content"])]
        body["messages"] = turns
        if request.form == "choice":
            letters(request)
            body["max_tokens"] = WORD_TOKENS if request.by_word else _CHOICE_TOKENS
        if "tools" in body:
            body["tool_choice"] = self._choice(request)
        if not self._thinks:
            body["thinking"] = _NO_THINKING
        if request.temperature and self._temperature:  # zero is not sent: not every model takes one
            body["extra_body"] = {"temperature": request.temperature}
        return Way(body, wrapped)

    def _choice(self, request: ModelRequest) -> dict[str, Any]:
        if request.form != "action":
            return {"type": "none"}
        legal = legal_actions(request)
        if not self._forced:
            return {"type": "auto", "disable_parallel_tool_use": True}
        if len(legal) == 1:
            return {"type": "tool", "name": legal[0].name, "disable_parallel_tool_use": True}
        return {"type": "any", "disable_parallel_tool_use": True}

    def learn(self, error: Any, way: Way) -> bool:
        """Whether a refusal teaches another way of asking. Never for a prompt that is too long."""
        said = what_it_said(error).lower()
        if is_too_long(said):
            return False
        if "tool_choice" in said and self._forced and way.body.get("tool_choice", {}).get("type") != "none":
            self._forced = False
            return True
        if "thinking" in said and "thinking" in way.body:
            self._thinks = True
            return True
        if "temperature" in said and "extra_body" in way.body:
            self._temperature = False
            return True
        return False


def _put_tools(request: ModelRequest, body: dict[str, Any]) -> frozenset[str]:
    wrapped: set[str] = set()
    tools: list[dict[str, Any]] = []
    for action in request.actions:
        schema, is_wrapped = parameters_of(action, plain=True)
        if is_wrapped:
            wrapped.add(action.name)
        tools.append({"name": action.name, "description": action.description, "input_schema": schema})
    if tools:
        body["tools"] = tools
    return frozenset(wrapped)


def _marked(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text, "cache_control": _CACHE}
