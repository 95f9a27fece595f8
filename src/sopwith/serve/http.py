"""The streamable HTTP side of a server: where it listens, and who may call."""

from __future__ import annotations

import hmac
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import uvicorn
from mcp.server.lowlevel.server import Server
from starlette.responses import PlainTextResponse

from sopwith.errors import Text, UserError
from sopwith.ir.os_reason import os_reason
from sopwith.serve.caller import LOOPBACK, TOKEN

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

PATH = "/mcp"


def listen(host: str, port: int, token: str | None) -> socket.socket:
    """A socket that listens. Raises `UserError` where that cannot be, or where anybody on the network could call."""
    if host not in LOOPBACK and not token:
        raise UserError(
            Text(
                f"{host} can be reached from other machines, and anybody there could start runs",
                f"其他机器可以访问 {host}，任何人都能启动运行",
            ),
            Text(
                f"set {TOKEN} to a long secret, which callers send as 'Authorization: Bearer …'; or use 127.0.0.1",
                f"请把 {TOKEN} 设为足够长的密钥，调用方以 'Authorization: Bearer …' 发送；或改为监听 127.0.0.1",
            ),
        )
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, OverflowError) as error:
        why = os_reason(error) if isinstance(error, OSError) else Text(str(error), str(error))
        raise UserError(
            Text(f"cannot listen on {host}:{port}: {why.en}", f"无法监听 {host}:{port}：{why.zh}"),
            Text("name another one: --http 127.0.0.1:PORT", "请换一个：--http 127.0.0.1:端口"),
        ) from error


async def serve_http(server: Server[Any], listening: socket.socket, host: str, token: str | None) -> None:
    """Serve until the process is told to end."""
    app: App = server.streamable_http_app(streamable_http_path=PATH, host=host)
    config = uvicorn.Config(
        app if not token else _with_token(app, token), log_level="warning", lifespan="on", ws="none"
    )
    await uvicorn.Server(config).serve(sockets=[listening])


def _with_token(app: App, token: str) -> App:
    """`app` for those who send the token; everybody else gets 401."""
    wanted = f"Bearer {token}".encode()

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers: list[tuple[bytes, bytes]] = scope["headers"]
            sent = next((value for name, value in headers if name == b"authorization"), b"")
            if not hmac.compare_digest(sent, wanted):
                refused = PlainTextResponse("unauthorized", 401, {"WWW-Authenticate": "Bearer"})
                await refused(scope, receive, send)
                return
        await app(scope, receive, send)

    return guarded
