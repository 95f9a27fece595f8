"""A prompt goes to the host that was named, whatever that host answers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from tests.models.endpoint_server import says, serve

from sopwith.errors import ModelError
from sopwith.models.anthropic import AnthropicModel
from sopwith.models.openai_compatible import OpenAIModel
from sopwith.models.port import Model, ModelRequest, Prompt


@contextmanager
def pointing_to(there: str) -> Iterator[tuple[str, list[str]]]:
    """A host that sends every caller to `there`, and the paths that it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            asked.append(self.path)
            self.send_response(307)
            self.send_header("Location", there)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def request() -> ModelRequest:
    return ModelRequest(Prompt("", (), "hello bob", ""), "text")


async def failure(model: Model) -> ModelError:
    try:
        with pytest.raises(ModelError) as caught:
            await model.complete(request())
    finally:
        await model.close()
    return caught.value


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
async def test_no_prompt_is_sent_to_another_host(kind: str) -> None:
    with serve([says("hello")]) as other, pointing_to(f"{other.url}/x") as (url, asked):
        model = (
            AnthropicModel("m", api_key="k", base_url=url)
            if kind == "anthropic"
            else OpenAIModel("m", api_key="k", base_url=url)
        )
        error = await failure(model)
        assert other.url.removesuffix("/v1") in error.message.en
        assert other.raw == []
        assert len(asked) == 1


async def test_a_redirect_within_the_host_is_followed() -> None:
    with pointing_to("/elsewhere") as (url, asked):
        error = await failure(OpenAIModel("m", api_key="k", base_url=url, retries=0))
        assert asked[:2] == ["/chat/completions", "/elsewhere"]
        assert "another host" not in error.message.en
