"""An endpoint that sends its callers elsewhere: a prompt goes to the host that was named, and to no other."""

from __future__ import annotations

from typing import Any

from sopwith.errors import ModelError, Text

_ELSEWHERE = "x-sopwith-elsewhere"
_PORTS = {"http": 80, "https": 443}


def bound_client(sdk: Any) -> Any:
    """An HTTP client of `sdk` (`openai`, `anthropic`) that follows redirects only within the host that was asked."""
    return sdk.DefaultAsyncHttpxClient(event_hooks={"response": [_hold]})


def left_for(error: Any, model: str) -> ModelError | None:
    """The error for an answer that pointed to another host, where `error` (of an SDK) is about one."""
    response = getattr(error, "response", None)
    there = None if response is None else response.headers.get(_ELSEWHERE)
    if there is None:
        return None
    return ModelError(
        Text(
            f"{model} sends its callers to another host, {there}: the prompt was not sent there",
            f"{model} 要求转到另一主机 {there}：提示未发往该处",
        ),
        Text(
            "if you trust that host, name it as the model's URL; else find out who answers at this one",
            "若信任该主机，请将它写成模型的 URL；否则请查明当前地址由谁应答",
        ),
    )


async def _hold(response: Any) -> None:
    if not response.has_redirect_location:
        return
    asked = response.request.url
    there = asked.join(response.headers["location"])
    if not _within(asked, there):
        del response.headers["location"]
        response.headers[_ELSEWHERE] = f"{there.scheme}://{there.netloc.decode('ascii', 'replace')}"


def _within(asked: Any, there: Any) -> bool:
    """Whether both are one host: at the same port, or at that of https instead of that of http."""
    if asked.host != there.host:
        return False
    before, after = (url.port or _PORTS.get(url.scheme) for url in (asked, there))
    upgraded = (asked.scheme, before, there.scheme, after) == ("http", 80, "https", 443)
    return upgraded or (asked.scheme, before) == (there.scheme, after)
