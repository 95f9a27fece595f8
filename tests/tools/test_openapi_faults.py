"""What documents, servers, arguments and the environment may get wrong, and what must not come of it."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from sopwith.ir.tool import ErrorData
from sopwith.run.entries import tool_entry
from sopwith.tools import OpenApiSource
from sopwith.tools.openapi_auth import ClientCredentials

SECRET = 'pass/word +"1'
HEADERS = {"content-type": "application/json"}
Answer = tuple[int, dict[str, str], bytes]


class Server:
    """Answers every request by `answer`; keeps what came."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.answer: Callable[[str], Answer] = lambda path: (200, HEADERS, b"{}")
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: Any) -> None:
                pass

            def _serve(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                outer.requests.append((self.command, self.path, dict(self.headers)))
                status, headers, body = outer.answer(self.path)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            do_GET = do_HEAD = do_POST = do_DELETE = _serve

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


Opened = Callable[..., OpenApiSource]


@pytest.fixture
async def opened(server: Server, tmp_path: Path) -> AsyncIterator[Opened]:
    """Opens a source over paths; further parts of the document by name."""
    sources: list[OpenApiSource] = []

    def open_(paths: dict[str, Any], auth: dict[str, Any] | None = None, **parts: Any) -> OpenApiSource:
        file = tmp_path / "api.json"
        file.write_text(json.dumps({"openapi": "3.1.0", "paths": paths, **parts}), encoding="utf-8")
        sources.append(OpenApiSource("api", file, url=server.url, auth=auth))
        return sources[-1]

    yield open_
    for source in sources:
        await source.close()


def operation(id: str, **parts: Any) -> dict[str, Any]:
    return {"operationId": id, "responses": {"200": {"description": "ok"}}, **parts}


def returning(kind: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"responses": {"200": {"description": "ok", "content": {kind: {"schema": schema}}}}}


def parameter(place: str, name: str, **schema: Any) -> dict[str, Any]:
    return {"in": place, "name": name, "required": place == "path", "schema": schema}


SCHEMES = {
    "components": {
        "securitySchemes": {
            "token": {"type": "http", "scheme": "bearer"},
            "login": {"type": "http", "scheme": "basic"},
            "client": {
                "type": "oauth2",
                "flows": {"clientCredentials": {"tokenUrl": "https://elsewhere.example/token", "scopes": {}}},
            },
        }
    }
}


async def call(source: OpenApiSource, name: str, **arguments: Any) -> Any:
    await source.specs()
    given = source.prepare(name, arguments)
    if isinstance(given, ErrorData):
        return given
    result = await source.call(name, given, key="k", seconds=20)
    return result.error or result.value


@pytest.mark.parametrize("end", ["\n", "\r\n", "\x00", "\x1b[0m"])
async def test_a_credential_with_a_line_end_is_not_sent_and_not_told(
    opened: Opened, server: Server, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    value = f"topsecret{end}" if "\x00" not in end else "topsecret\x01"
    monkeypatch.setenv("TOKEN", value)
    source = opened(
        {"/a": {"get": operation("a", security=[{"token": []}])}}, {"token": "${TOKEN}"}, **SCHEMES
    )
    error = await call(source, "api.a")
    assert error.code == "unavailable" and "TOKEN" in error.message and "topsecret" not in error.message
    assert server.requests == []


@pytest.mark.parametrize(
    "told",
    [
        SECRET,
        quote(SECRET),
        quote(SECRET, safe=""),
        quote_plus(SECRET),
        json.dumps(SECRET)[1:-1],
        base64.b64encode(SECRET.encode()).decode(),
        base64.urlsafe_b64encode(SECRET.encode()).decode().rstrip("="),
        base64.b64encode(f"anna:{SECRET}".encode()).decode(),
        f"anna:{SECRET}",
    ],
)
async def test_a_credential_is_taken_out_of_answers_however_it_is_written(
    opened: Opened, server: Server, monkeypatch: pytest.MonkeyPatch, told: str
) -> None:
    monkeypatch.setenv("LOGIN", f"anna:{SECRET}")
    server.answer = lambda path: (400, {"content-type": "text/plain"}, f"you are <{told}>".encode())
    source = opened(
        {"/a": {"get": operation("a", security=[{"login": []}])}}, {"login": "${LOGIN}"}, **SCHEMES
    )
    error = await call(source, "api.a")
    assert "[credential]" in error.message and told not in error.message


async def test_a_path_item_may_be_a_reference_and_one_that_leads_nowhere_is_left_out(opened: Opened) -> None:
    item = {"get": operation("shared", parameters=[parameter("query", "q", type="string")])}
    source = opened(
        {
            "/there": {"$ref": "#/components/pathItems/shared"},
            "/gone": {"$ref": "./other.yaml#/paths/x"},
            "x-note": {"get": operation("none")},
            "@evil.example/steal": {"get": operation("steal")},
            "/own": {"get": operation("own")},
        },
        components={"pathItems": {"shared": item}},
    )
    assert [spec.name for spec in await source.specs()] == ["api.own", "api.shared"]
    told = "\n".join(problem.en for problem in source.problems)
    assert "gone" in told and "./other.yaml#/paths/x" in told and "does not begin with /" in told
    assert len(source.problems) == 2


@pytest.mark.parametrize("kind", ["*/*", "application/*", "application/json;charset=utf-8"])
async def test_an_answer_of_any_type_has_the_schema_that_is_told(
    opened: Opened, server: Server, kind: str
) -> None:
    schema = {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}
    server.answer = lambda path: (200, HEADERS, b'{"id": 7}')
    source = opened({"/a": {"get": operation("a", **returning(kind, schema))}})
    assert await call(source, "api.a") == {"id": 7}
    server.answer = lambda path: (200, HEADERS, b'{"id": "x"}')
    assert (await call(source, "api.a")).code == "invalid_result"


async def test_what_comes_back_without_a_body_is_not_held_to_the_schema_of_one(opened: Opened) -> None:
    schema = {"type": "object", "required": ["id"]}
    source = opened({"/a": {"head": operation("look", **returning("application/json", schema))}})
    assert await call(source, "api.look") is None


@pytest.mark.parametrize("empty", [[], {}])
async def test_a_filter_that_would_vanish_does_not_widen_a_write(
    opened: Opened, server: Server, empty: Any
) -> None:
    listed = [parameter("query", "ids")]
    source = opened(
        {"/a": {"delete": operation("clear", parameters=listed), "get": operation("look", parameters=listed)}}
    )
    error = await call(source, "api.clear", ids=empty)
    assert error.code == "invalid_arguments" and "$.ids" in error.message and server.requests == []
    await call(source, "api.look", ids=empty)
    await call(source, "api.clear", ids=["1"])
    await call(source, "api.clear")
    assert [target for _, target, _ in server.requests] == ["/a", "/a?ids=1", "/a"]


@pytest.mark.parametrize(
    "body", [b"[" * 100_000, b"[" * 900 + b"]" * 900, b'{"a":' * 50_000 + b"1" + b"}" * 50_000]
)
@pytest.mark.parametrize("status", [200, 500])
async def test_an_answer_that_nests_without_end_is_an_error(
    opened: Opened, server: Server, body: bytes, status: int
) -> None:
    server.answer = lambda path: (status, HEADERS, body)
    error = await call(opened({"/a": {"get": operation("a")}}), "api.a")
    assert error.code == ("invalid_result" if status == 200 else "http_500")


@pytest.mark.parametrize("charset", ["undefined", "base64", "no-such", "utf-7", "idna"])
async def test_a_charset_that_is_none_ends_no_run(opened: Opened, server: Server, charset: str) -> None:
    kind = {"content-type": f"text/plain; charset={charset}"}
    server.answer = lambda path: (200, kind, "\u00e4\u00f6.".encode() * 80)
    found = await call(opened({"/a": {"get": operation("a")}}), "api.a")
    assert isinstance(found, str) or found.code in ("unstorable_result", "invalid_result")


@pytest.mark.parametrize("value", ["\ud800", "a\ud800b", "\udfff"])
async def test_half_a_character_in_an_argument_is_sent_as_what_it_is_not(
    opened: Opened, server: Server, value: str
) -> None:
    listed = [parameter(place, place, type="string") for place in ("path", "query", "header", "cookie")]
    source = opened({"/a/{path}": {"get": operation("a", parameters=listed)}})
    await call(source, "api.a", path=value, query=value, header=value, cookie=value)
    assert len(server.requests) == 1 and "%EF%BF%BD" in server.requests[0][1]


async def test_cookies_of_a_server_are_not_kept(opened: Opened, server: Server) -> None:
    server.answer = lambda path: (200, {**HEADERS, "Set-Cookie": "session=of-anna; Path=/"}, b"{}")
    source = opened({"/a": {"get": operation("a")}})
    await call(source, "api.a")
    await call(source, "api.a")
    assert [headers.get("Cookie") for _, _, headers in server.requests] == [None, None]


async def test_a_secret_goes_to_another_server_only_where_the_settings_say_so(
    opened: Opened, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ID", "app")
    monkeypatch.setenv("SECRET", SECRET)
    paths = {"/a": {"get": operation("a", security=[{"client": []}])}}
    error = await call(opened(paths, {"client": ClientCredentials("${ID}", "${SECRET}")}, **SCHEMES), "api.a")
    assert error.code == "unavailable" and "https://elsewhere.example" in error.message
    assert server.requests == []
    server.answer = lambda path: (200, HEADERS, b'{"access_token": "t-1", "expires_in": 600}')
    given = ClientCredentials("${ID}", "${SECRET}", token_url=f"{server.url}/token")
    assert await call(opened(paths, {"client": given}, **SCHEMES), "api.a") is not None
    assert server.requests[-1][2]["Authorization"] == "Bearer t-1"


@pytest.mark.parametrize("value", ["a\nb", "a\rb", "a\x00b", "a\x1bb", "a\x7fb"])
async def test_a_header_takes_no_control_characters(opened: Opened, server: Server, value: str) -> None:
    source = opened(
        {"/a": {"post": operation("a", parameters=[parameter("header", "X-Note", type="string")])}}
    )
    error = await call(source, "api.a", **{"X-Note": value})
    assert error.code == "invalid_arguments" and server.requests == []


async def test_what_cannot_be_sent_was_certainly_not_done(opened: Opened, server: Server) -> None:
    source = opened(
        {"/a": {"post": operation("a", parameters=[parameter("header", "X-Note", type="string")])}}
    )
    await source.specs()
    result = await source.call("api.a", {"X-Note": " blank before "}, key="k", seconds=20)
    assert result.error is None or (result.error.code == "unavailable" and not result.unknown)


async def test_what_an_api_says_of_itself_helps_to_find_its_tools(opened: Opened) -> None:
    info = {"title": "Fleet", "description": "Cars of the company \ud800" + "x" * 2000, "version": "1"}
    (spec,) = await opened({"/a": {"get": operation("a")}}, info=info).specs()
    assert spec.about.startswith("Fleet\nCars of the company") and len(spec.about) == 500
    assert "Fleet" in tool_entry(spec).source and "about" in spec.model_dump()
    (bare,) = await opened({"/a": {"get": operation("a")}}).specs()
    assert bare.about == "" and "about" not in bare.model_dump()
