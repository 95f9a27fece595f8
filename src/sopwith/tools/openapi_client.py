"""The HTTP client of an OpenAPI source. Imported when the first request is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx2

from sopwith.errors import Text
from sopwith.tools.openapi_request import Request
from sopwith.tools.openapi_response import Answer

LARGEST = 50_000_000
"""Bytes of one answer."""

_AT_ONCE = 32
_ACCEPT = "application/json, */*;q=0.5"
_SECRET = "sopwith_secret_query"

NOT_SENT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.UnsupportedProtocol,
    httpx2.InvalidURL,
    httpx2.LocalProtocolError,
)
"""The errors by which it is certain that a server has not seen the request."""

Failure = (httpx2.HTTPError, httpx2.InvalidURL)


class TooLarge(Exception):
    """An answer that is not read to its end; `said` says so in both languages."""

    said = Text(f"the answer has more than {LARGEST:,} bytes", f"答复超过 {LARGEST:,} 字节")

    def __init__(self) -> None:
        super().__init__(self.said.en)


class Client:
    """Sends requests in one event loop. It sets no limits of time, follows no redirects, and keeps no cookies."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        limits = httpx2.Limits(max_connections=_AT_ONCE)
        self._http = httpx2.AsyncClient(
            timeout=None,
            follow_redirects=False,
            transport=_Transport(limits=limits),
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        )

    async def send(self, request: Request) -> Answer:
        """The answer, read to its end. Raises one of `Failure`, or `TooLarge`."""
        told = {"Accept": _ACCEPT, **request.headers}
        headers = [(name.encode(), value.encode()) for name, value in told.items()]
        if request.cookies:
            pairs = "; ".join(f"{name}={value}" for name, value in request.cookies.items())
            headers.append((b"Cookie", pairs.encode()))
        sending = self._http.stream(
            request.method,
            request.url,
            headers=headers,
            content=request.content,
            extensions={_SECRET: request.secret_query},
        )
        async with sending as response:
            body = bytearray()
            async for part in response.aiter_bytes():
                body += part
                if len(body) > LARGEST:
                    raise TooLarge
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            location = response.headers.get("location", "")
            return Answer(response.status_code, kind, response.charset_encoding, bytes(body), location)

    async def post_form(self, url: str, form: Mapping[str, str], headers: Mapping[str, str]) -> Answer:
        """The answer to a form."""
        answer = await self._http.post(url, data=dict(form), headers=dict(headers))
        return Answer(answer.status_code, "application/json", answer.charset_encoding, answer.content)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()


class _Transport(httpx2.AsyncHTTPTransport):
    """Adds what is secret in a query at the last moment: the client writes its URLs into Python's log."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        secret = request.extensions.get(_SECRET)
        if secret:
            query = b"&".join(part for part in (request.url.query, secret.encode()) if part)
            url = request.url.copy_with(query=query)
            request = httpx2.Request(
                request.method,
                url,
                headers=request.headers,
                stream=request.stream,
                extensions=request.extensions,
            )
        return await super().handle_async_request(request)
