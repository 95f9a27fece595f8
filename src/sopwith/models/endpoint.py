"""How an OpenAI-compatible endpoint is asked, and what has been learned about what it can do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from sopwith.ir.value import Json, digest
from sopwith.models.chat import WORD_TOKENS, legal_actions, letters, messages
from sopwith.models.constraint import reply_schema
from sopwith.models.failure import is_too_long, what_it_said
from sopwith.models.port import ModelRequest
from sopwith.models.tool_block import parameters_of

Level = Literal["tools", "json_schema", "text"]

_LEVELS: tuple[Level, ...] = ("tools", "json_schema", "text")
_CHOICE_TOKENS = 24
_MOST_LOGPROBS = 20
_CACHE_KEY = "prompt_cache_key"
_OPTIONAL = ("parallel_tool_calls", "temperature", "top_logprobs", "logprobs", _CACHE_KEY)


@dataclass(frozen=True, slots=True)
class Way:
    """One way of asking: the body of the request, and what the reply will look like.

    `letters` are those of a choice; `wrapped` names the actions whose arguments are no object and were put
    under `value`.
    """

    mode: Level
    body: dict[str, Any]
    letters: str = ""
    wrapped: frozenset[str] = frozenset()

    @property
    def beside(self) -> bool:
        """Whether the tools are only there for the cache, and none may be called."""
        return self.mode != "tools" and "tools" in self.body


class Endpoint:
    """What an endpoint can do. It begins with the most and only goes down, so that learning ends."""

    def __init__(self, mode: str, *, official: bool, without: Iterable[str] = ()) -> None:
        self._fixed = mode != "auto"
        self.level: Level = "tools" if mode == "auto" else cast("Level", mode)
        self._choice_by_schema = self.level != "text"
        self.tokens = "max_completion_tokens" if official else "max_tokens"
        self._swapped = False
        self._tools_always = True
        self._official = official
        self._without: set[str] = set(without)

    def way(self, request: ModelRequest) -> Way:
        """How to ask for `request` now.

        With tools, they are sent in every request, also where none may be called: the provider's cache begins with
        them. OpenAI is told by a key which requests begin alike.
        """
        body: dict[str, Any] = {"temperature": request.temperature}
        body[self.tokens] = request.max_tokens
        level: Level = "text"
        wrapped: frozenset[str] = frozenset()
        options = letters(request) if request.form == "choice" else ""
        if options:
            level = "json_schema" if self._choice_by_schema else "text"
            body[self.tokens] = WORD_TOKENS if request.by_word else _CHOICE_TOKENS
            if not request.by_word:
                body |= {"logprobs": True, "top_logprobs": _MOST_LOGPROBS}
            if self._choice_by_schema:
                allowed = request.labels if request.by_word else tuple(options)
                body["response_format"] = _format(_choice_schema(allowed))
        elif request.form == "action":
            level = self.level
            if level == "tools":
                wrapped = _ask_by_tool(request, body)
            elif level == "json_schema":
                body["response_format"] = _format(reply_schema(request))
        beside = request.form != "action" and self.level == "tools" and self._tools_always
        if beside and request.actions:
            body["tools"], _ = _tools(request)
            body["tool_choice"] = "none"
        if self._official:
            body[_CACHE_KEY] = digest(request.prompt.prefix.encode())[:32]
        body["messages"] = messages(request.prompt, block="tools" not in body)
        if "logprobs" in self._without or "top_logprobs" in self._without:
            body = {key: value for key, value in body.items() if key not in ("logprobs", "top_logprobs")}
        return Way(level, {key: body[key] for key in body if key not in self._without}, options, wrapped)

    def learn(self, error: Any, way: Way) -> bool:
        """Whether a refusal teaches another way of asking. Never for a prompt that is too long."""
        said = what_it_said(error).lower()
        if is_too_long(said) or getattr(error, "code", None) == "model_not_found":
            return False
        named = str(getattr(error, "param", None) or "").lower()
        if "max_tokens" in (said + named) and not self._swapped:
            self._swapped = True
            self.tokens = "max_completion_tokens" if self.tokens == "max_tokens" else "max_tokens"
            return True
        if way.beside and "tool" in said + named:
            self._tools_always = False
            return True
        for key in _OPTIONAL:
            if key in way.body and (key in said or key == named):
                self._without.add(key)
                return True
        if way.beside:  # for whatever it was refused: without the tools it is a plainer request
            self._tools_always = False
            return True
        return self._step_down(way)

    def called_though_none_may_be(self) -> None:
        """The endpoint called a tool where none may be called: show it none there next time."""
        self._tools_always = False

    def tools_ignored(self) -> None:
        """The endpoint answered a required tool call with prose: ask another way next time."""
        if not self._fixed and self.level == "tools":
            self.level = "json_schema"

    def _step_down(self, way: Way) -> bool:
        if way.letters:
            if way.mode == "json_schema":
                self._choice_by_schema = False
                return True
            if "logprobs" in way.body:
                self._without.add("logprobs")
                return True
            return False
        if self._fixed or way.mode == "text":
            return False
        lower = _LEVELS.index(way.mode) + 1
        self.level = _LEVELS[max(lower, _LEVELS.index(self.level))]  # calls side by side learn the same
        return True


def _ask_by_tool(request: ModelRequest, body: dict[str, Any]) -> frozenset[str]:
    """Put the whole tool block into `body`, the same in every request, and choose by `tool_choice`."""
    legal = legal_actions(request)
    body["tools"], wrapped = _tools(request)
    body["parallel_tool_calls"] = False
    if len(legal) == 1:
        body["tool_choice"] = {"type": "function", "function": {"name": legal[0].name}}
    else:
        body["tool_choice"] = "required"
    return wrapped


def _tools(request: ModelRequest) -> tuple[list[dict[str, Json]], frozenset[str]]:
    """The whole tool block, and the names of those whose arguments were put under `value`."""
    wrapped: set[str] = set()
    tools: list[dict[str, Json]] = []
    for action in request.actions:
        parameters, is_wrapped = parameters_of(action)
        if is_wrapped:
            wrapped.add(action.name)
        function: dict[str, Json] = {
            "name": action.name,
            "description": action.description,
            "parameters": parameters,
        }
        tools.append({"type": "function", "function": function})
    return tools, frozenset(wrapped)


def endpoint_id(kind: str, model: str, base_url: str | None) -> str:
    """The id of a model by its name at an endpoint: with its host, where that is not the provider's own."""
    where = "" if base_url is None else f"@{urlsplit(base_url).netloc.rpartition('@')[2]}"
    return f"{kind}:{model}{where}"


def _choice_schema(options: tuple[str, ...]) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": {"choice": {"type": "string", "enum": list(options)}},
        "required": ["choice"],
        "additionalProperties": False,
    }


def _format(schema: dict[str, Json]) -> dict[str, Json]:
    return {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}
