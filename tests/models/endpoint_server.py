"""A real HTTP endpoint that answers chat completions with given bodies, and remembers what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, Any]
"""A status, and a body: an object is sent as JSON, text as it is."""

PATH = "/v1/chat/completions"


def completion(message: dict[str, Any], finish: str = "stop", **more: Any) -> Answer:
    """A completion with one choice."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": None, **message},
        "finish_reason": finish,
    }
    choice["logprobs"] = more.pop("logprobs", None)
    body = {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "m-1",
        "choices": [choice],
        **more,
    }
    return 200, body


def says(text: str, finish: str = "stop", **more: Any) -> Answer:
    """A completion that is text."""
    return completion({"content": text}, finish, **more)


def calls(*pairs: tuple[str, Any], finish: str = "tool_calls", **more: Any) -> Answer:
    """A completion that calls tools: names with their arguments as text."""
    listed = [
        {"id": f"call_{i}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for i, (name, arguments) in enumerate(pairs)
    ]
    return completion({"tool_calls": listed}, finish, **more)


def refuses(status: int, message: str, **more: Any) -> Answer:
    """An error in the form that OpenAI gives it."""
    return status, {"error": {"message": message, "type": "invalid_request_error", **more}}


class EndpointServer:
    """Answers in order and repeats the last one; or computes each answer from the request's body."""

    def __init__(self, answers: list[Answer] | Callable[[dict[str, Any]], Answer]) -> None:
        self._answers = answers
        self.bodies: list[dict[str, Any]] = []
        self.raw: list[bytes] = []
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.url = ""

    def answer(self, raw: bytes) -> Answer:
        self.raw.append(raw)
        self.bodies.append(json.loads(raw))
        if callable(self._answers):
            return self._answers(self.bodies[-1])
        return self._answers[min(len(self.bodies), len(self._answers)) - 1]


@contextmanager
def serve(answers: list[Answer] | Callable[[dict[str, Any]], Answer]) -> Iterator[EndpointServer]:
    """Such an endpoint on 127.0.0.1 while the block runs."""
    endpoint = EndpointServer(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            endpoint.paths.append(self.path)
            endpoint.headers.append({name.lower(): value for name, value in self.headers.items()})
            status, body = endpoint.answer(self.rfile.read(int(self.headers["Content-Length"])))
            data = body.encode() if isinstance(body, str) else json.dumps(body, ensure_ascii=False).encode()
            kind = "text/html" if isinstance(body, str) else "application/json"
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Retry-After-Ms", "1")
            with suppress(ConnectionError):  # the caller may have given up
                self.end_headers()
                self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    endpoint.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield endpoint
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
