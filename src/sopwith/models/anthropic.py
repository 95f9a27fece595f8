"""A language model behind Anthropic's Messages API."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any, Literal, cast

from sopwith.errors import ModelError, Text, UserError
from sopwith.ir.cut import cut
from sopwith.ir.usage import Usage
from sopwith.models.anthropic_request import Way, Ways
from sopwith.models.endpoint import endpoint_id
from sopwith.models.failure import context_exceeded, model_error, package_missing, remedy
from sopwith.models.port import ModelReply, ModelRequest
from sopwith.models.redirect import bound_client
from sopwith.models.token_count import counted_here
from sopwith.models.tool_block import unwrapped

Finish = Literal["stop", "length", "tool_calls", "other"]

KEY = "ANTHROPIC_API_KEY"
URL = "ANTHROPIC_BASE_URL"
_FINISHES: dict[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
}
_LONGEST = 300


class AnthropicModel:
    """A model by its name at Anthropic, or at `base_url` (without `/v1`). Needs the extra `anthropic`.

    The stable parts of a prompt are marked for the provider's cache. A choice has no confidence: the API gives no
    log-probabilities. `retries` bounds repeated attempts after 408, 409, 429, 5xx and lost connections. The key is
    `api_key`, else the variable `ANTHROPIC_API_KEY`.
    """

    def __init__(
        self, model: str, *, base_url: str | None = None, api_key: str | None = None, retries: int = 2
    ) -> None:
        key = api_key or os.environ.get(KEY)
        self.base_url = base_url or os.environ.get(URL) or None
        if not key and self.base_url is None:
            raise UserError(
                Text("Anthropic's endpoint needs a key", "Anthropic 的接口需要密钥"),
                Text(f"set {KEY}", f"请设置 {KEY}"),
            )
        self.model = model
        self._key = key or "none"
        self._retries = retries
        self._ways = Ways()
        self._client: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._id = endpoint_id("anthropic", model, self.base_url)

    @property
    def id(self) -> str:
        """`anthropic:MODEL`, and `@HOST` where it is not Anthropic's own."""
        return self._id

    async def complete(self, request: ModelRequest) -> ModelReply:
        """One reply.

        Raises `ModelError` with a remedy when the endpoint fails or the model refuses, `TimeoutError` past `seconds`.
        """
        async with asyncio.timeout(request.seconds):
            sdk = await asyncio.to_thread(_seam)
            client = self._connected(sdk)
            while True:
                way = self._ways.way(request)
                try:
                    message = await client.messages.create(model=self.model, **way.body)
                except sdk.BadRequestError as error:
                    if not self._ways.learn(error, way):
                        raise self._failed(sdk, error) from error
                    continue
                except sdk.AnthropicError as error:
                    raise self._failed(sdk, error) from error
                return self._read(message, request, way)

    async def close(self) -> None:
        """Close the connections. May be called twice."""
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.close()

    def _connected(self, sdk: Any) -> Any:
        """The client of this event loop: connections do not outlive the loop that opened them."""
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            self._loop = loop
            self._client = sdk.AsyncAnthropic(
                api_key=self._key,
                base_url=self.base_url,
                max_retries=self._retries,
                http_client=bound_client(sdk),
            )
        return self._client

    def _failed(self, sdk: Any, error: Any) -> ModelError:
        return model_error(sdk, error, self._id, key="anthropic key", url="base url")

    def _read(self, message: Any, request: ModelRequest, way: Way) -> ModelReply:
        if isinstance(message, str) or not isinstance(getattr(message, "content", None), list):
            raise ModelError(
                Text(f"{self._id} answered without a reply", f"{self._id} 的应答中没有回复"),
                remedy("base url"),
            )
        reason = str(message.stop_reason)
        if reason == "refusal":
            raise self._refused(message)
        if reason == "model_context_window_exceeded":
            raise context_exceeded(self._id, None, None)
        name, text, extra = _said(message.content, request, way)
        answered = str(getattr(message, "model", None) or "")
        return ModelReply(
            text=text,
            name=name,
            extra=extra,
            usage=counted_here(self.model, request, text, usage_of(getattr(message, "usage", None))),
            model=f"{self._id}#{answered}" if answered else self._id,
            finish=_FINISHES.get(reason, "other"),
        )

    def _refused(self, message: Any) -> ModelError:
        details = getattr(message, "stop_details", None)
        told = str(getattr(details, "explanation", None) or getattr(details, "category", None) or "")
        why = cut(told, _LONGEST)
        return ModelError(
            Text(
                f"{self._id} refused to answer" + (f": {why}" if why else ""),
                f"{self._id} 拒绝回答" + (f"：{why}" if why else ""),
            ),
            remedy("refusal"),
        )


def _said(blocks: list[Any], request: ModelRequest, way: Way) -> tuple[str | None, str, tuple[str, ...]]:
    """The first legal call (else the first) with its arguments, and the names of all others; or the text."""
    calls = [block for block in blocks if block.type == "tool_use"]
    if request.form == "action" and calls:
        names = [str(call.name) for call in calls]
        chosen = next((i for i, name in enumerate(names) if name in request.legal), 0)
        text = json.dumps(calls[chosen].input, ensure_ascii=False)
        if names[chosen] in way.wrapped:
            text = unwrapped(text)
        return names[chosen], text, tuple(name for i, name in enumerate(names) if i != chosen)
    text = "".join(str(block.text) for block in blocks if block.type == "text")
    return None, text.strip() if request.form == "choice" else text, ()


def usage_of(reported: Any) -> Usage:
    """The four counters. What was read from the cache or written to it is counted apart here, as in `Usage`."""
    return Usage(
        input=_count(reported, "input_tokens"),
        cached=_count(reported, "cache_read_input_tokens"),
        cache_write=_count(reported, "cache_creation_input_tokens"),
        output=_count(reported, "output_tokens"),
        model_calls=1,
    )


def _count(holder: Any, name: str) -> int:
    value = getattr(holder, name, None)
    return max(0, int(value)) if isinstance(value, int | float) else 0


def _seam() -> Any:
    """The one place that imports Anthropic's SDK (more than a second), when it is first needed."""
    try:
        import anthropic
    except ImportError as error:
        raise package_missing("anthropic", "anthropic") from error
    return cast("Any", anthropic)
