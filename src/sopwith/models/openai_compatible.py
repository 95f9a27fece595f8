"""A language model behind an OpenAI-compatible endpoint: OpenAI, a gateway, vLLM, llama.cpp, Ollama."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

from sopwith.errors import ModelError, Text, UserError
from sopwith.models.endpoint import Endpoint, Way, endpoint_id
from sopwith.models.failure import model_error, package_missing, remedy, what_it_said
from sopwith.models.openai_reply import read_completion
from sopwith.models.port import ModelReply, ModelRequest
from sopwith.models.profile import Mode
from sopwith.models.redirect import bound_client
from sopwith.models.token_count import counted_here

_NOT_IMPLEMENTED = 501


class Refused(Exception):
    """The endpoint does not take a request; `said` are its words."""

    def __init__(self, said: str) -> None:
        super().__init__(said)
        self.said = said


class OpenAIModel:
    """A model by its name at `base_url` (default: OpenAI's). Needs the extra `openai`.

    `mode` says how one action is asked for: `tools` by a named or required tool call, `json_schema` by a
    response format, `text` by the prompt alone; `auto` begins with tools and goes down when the endpoint
    refuses; `without` names parameters that are never sent.
    What was learned is kept as long as the object lives. `retries` bounds repeated attempts after
    429, 5xx and lost connections. The key is `api_key`, else `SOPWITH_API_KEY`, else `OPENAI_API_KEY`; an
    endpoint of one's own needs none.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        mode: Mode = "auto",
        without: Iterable[str] = (),
        retries: int = 2,
    ) -> None:
        key = api_key or os.environ.get("SOPWITH_API_KEY") or os.environ.get("OPENAI_API_KEY")
        if not key and base_url is None:
            raise UserError(
                Text("OpenAI's endpoint needs a key", "OpenAI 的接口需要密钥"),
                Text("set OPENAI_API_KEY, or give a base_url", "请设置 OPENAI_API_KEY，或给出 base_url"),
            )
        self.model = model
        self.base_url = base_url
        self._key = key or "none"
        self._retries = retries
        self._endpoint = Endpoint(mode, official=base_url is None, without=without)
        self._client: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._id = endpoint_id("openai", model, base_url)

    @property
    def id(self) -> str:
        """`openai:MODEL`, and `@HOST` where it is not OpenAI's own."""
        return self._id

    async def complete(self, request: ModelRequest) -> ModelReply:
        """One reply.

        Raises `ModelError` with a remedy when the endpoint fails, `TimeoutError` past `seconds`.
        """
        async with asyncio.timeout(request.seconds):
            openai = await asyncio.to_thread(_seam)
            client = self._connected(openai)
            while True:
                way = self._endpoint.way(request)
                try:
                    completion = await client.chat.completions.create(model=self.model, **way.body)
                except (
                    openai.BadRequestError,
                    openai.NotFoundError,
                    openai.UnprocessableEntityError,
                ) as error:
                    if not self._endpoint.learn(error, way):
                        raise model_error(openai, error, self._id) from error
                    continue
                except openai.InternalServerError as error:
                    if error.status_code != _NOT_IMPLEMENTED or not self._endpoint.learn(error, way):
                        raise model_error(openai, error, self._id) from error
                    continue
                except openai.OpenAIError as error:
                    raise model_error(openai, error, self._id) from error
                return self._read(completion, request, way)

    async def post(self, body: dict[str, Any]) -> Any:
        """The completion of one request as it is, to see what the endpoint makes of it.

        Raises `Refused` where the endpoint does not take it, `ModelError` for everything else that fails.
        """
        openai = await asyncio.to_thread(_seam)
        client = self._connected(openai)
        asked = {self._endpoint.tokens if key == "max_tokens" else key: value for key, value in body.items()}
        try:
            completion = await client.chat.completions.create(model=self.model, **asked)
        except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
            raise Refused(what_it_said(error)) from error
        except openai.OpenAIError as error:
            if getattr(error, "status_code", None) == _NOT_IMPLEMENTED:
                raise Refused(what_it_said(error)) from error
            raise model_error(openai, error, self._id) from error
        if not getattr(completion, "choices", None):
            raise self._without_a_reply()
        return completion

    async def close(self) -> None:
        """Close the connections. May be called twice."""
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.close()

    def _connected(self, openai: Any) -> Any:
        """The client of this event loop: connections do not outlive the loop that opened them."""
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            self._loop = loop
            self._client = openai.AsyncOpenAI(
                api_key=self._key,
                base_url=self.base_url,
                max_retries=self._retries,
                http_client=bound_client(openai),
            )
        return self._client

    def _without_a_reply(self) -> ModelError:
        return ModelError(
            Text(f"{self._id} answered without a reply", f"{self._id} 的应答中没有回复"), remedy("url")
        )

    def _read(self, completion: Any, request: ModelRequest, way: Way) -> ModelReply:
        choices = cast("list[Any]", getattr(completion, "choices", None) or [])
        if not choices or choices[0].message is None:
            raise self._without_a_reply()
        called = bool(choices[0].message.tool_calls)
        if way.mode == "tools" and not called:
            self._endpoint.tools_ignored()
        elif way.beside and called:
            self._endpoint.called_though_none_may_be()
        reply = read_completion(completion, choices[0], request, way, self._id)
        return replace(reply, usage=counted_here(self.model, request, reply.text, reply.usage))


def _seam() -> Any:
    """The one place that imports the OpenAI SDK (most of a second), when it is first needed."""
    try:
        import openai
    except ImportError as error:
        raise package_missing("openai", "openai") from error
    return cast("Any", openai)
