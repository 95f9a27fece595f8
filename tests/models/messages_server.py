"""Anthropic's Messages API as the SDK's own types describe it: requests are held to them, replies are made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from anthropic.types import Message, TextBlock, ToolUseBlock, Usage
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config
from tests.models.endpoint_server import Answer

MOST_MARKS = 4
USAGE = {
    "input_tokens": 20,
    "output_tokens": 5,
    "cache_read_input_tokens": 30,
    "cache_creation_input_tokens": 7,
}

_REQUEST: TypeAdapter[Any] = TypeAdapter(
    with_config(ConfigDict(extra="forbid", defer_build=True))(MessageCreateParamsNonStreaming)
)


def message(*blocks: TextBlock | ToolUseBlock, reason: str = "end_turn", **more: Any) -> Answer:
    """A message as the API answers with."""
    made = Message.model_validate(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-test-1",
            "content": [block.model_dump() for block in blocks],
            "stop_reason": reason,
            "stop_sequence": None,
            "usage": Usage.model_validate(USAGE).model_dump(),
            **more,
        }
    )
    return 200, made.model_dump(mode="json")


def says(text: str, reason: str = "end_turn", **more: Any) -> Answer:
    """A message that is text."""
    return message(TextBlock(type="text", text=text), reason=reason, **more)


def uses(*pairs: tuple[str, dict[str, Any]], said: str = "", reason: str = "tool_use") -> Answer:
    """A message that uses tools, perhaps after some text."""
    blocks: list[TextBlock | ToolUseBlock] = [TextBlock(type="text", text=said)] if said else []
    blocks += [
        ToolUseBlock(type="tool_use", id=f"toolu_{i}", name=name, input=given)
        for i, (name, given) in enumerate(pairs)
    ]
    return message(*blocks, reason=reason)


def refuses(status: int, kind: str, words: str) -> Answer:
    """An error in the API's form."""
    return status, {"type": "error", "error": {"type": kind, "message": words}, "request_id": "req_1"}


def held(answer: Callable[[dict[str, Any]], Answer]) -> Callable[[dict[str, Any]], Answer]:
    """`answer`, after the request was held to the SDK's types and to what the API documents beyond them."""

    def judged(body: dict[str, Any]) -> Answer:
        try:
            _walk(_REQUEST.validate_python(body))
        except ValidationError as error:
            return refuses(400, "invalid_request_error", str(error))
        problem = _problem(body)
        return answer(body) if problem is None else refuses(400, "invalid_request_error", problem)

    return judged


def marks(body: Any) -> int:
    """How many cache breakpoints a request has."""
    if isinstance(body, dict):
        return ("cache_control" in body) + sum(marks(item) for item in body.values())
    return sum(marks(item) for item in body) if isinstance(body, list) else 0


def _walk(value: Any) -> None:
    """Read `value` to its end: the lists in it are judged as they are read."""
    if isinstance(value, dict):
        for item in value.values():
            _walk(item)
    elif not isinstance(value, str) and isinstance(value, Iterable):
        for item in value:
            _walk(item)


def _problem(body: dict[str, Any]) -> str | None:
    if marks(body) > MOST_MARKS:
        return f"A maximum of {MOST_MARKS} blocks with cache_control may be provided."
    names = {tool["name"] for tool in body.get("tools", [])}
    choice = body.get("tool_choice")
    if choice is not None and not names:
        return "tool_choice may only be specified while providing tools."
    if choice is not None and choice["type"] == "tool" and choice["name"] not in names:
        return f"Tool '{choice['name']}' not found in provided tools"
    for tool in body.get("tools", []):
        if {"anyOf", "oneOf", "allOf"} & tool["input_schema"].keys():
            return "input_schema does not support oneOf, allOf, or anyOf at the top level"
    texts = [m["content"] for m in body["messages"]]
    if not all(texts):
        return "all messages must have non-empty content"
    return None
