"""A server made with the official SDK, over stdio or HTTP, of both protocol eras or of the handshake alone.

    python sdk_server.py stdio|PORT [handshake] [token=TOKEN]

With HTTP, the line `up` on standard output says that it can be reached. The file in JOURNAL gets a line for each call
that acts.
"""

from __future__ import annotations

import asyncio
import json
import os
import pathlib
import socket
import sys
from typing import Annotated, Any

import uvicorn
from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
from mcp.server.runner import serve_loop
from mcp.server.stdio import stdio_server
from mcp_types import ImageContent, ResourceLink, TextContent, ToolAnnotations
from pydantic import BaseModel, Field
from starlette.types import ASGIApp, Receive, Scope, Send

server = MCPServer("sdk", instructions="天气与报告 Weather and reports", log_level="ERROR")


class Weather(BaseModel):
    """The weather of a place."""

    degrees: float
    words: list[str]


class Room(BaseModel):
    """Which room."""

    room: str = Field(description="The room to book.")
    seats: int = Field(default=4, ge=1, le=20)


class Login(BaseModel):
    """Who it is."""

    user: str
    password: str


def acted(line: str) -> None:
    """Note that a call has done something."""
    if path := os.environ.get("JOURNAL"):
        with pathlib.Path(path).open("a", encoding="utf-8") as journal:
            journal.write(line + "\n")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def weather(place: str) -> Weather:
    """Say what the weather is like."""
    return Weather(degrees=21.5, words=[place, "晴"])


@server.tool()
def pid() -> int:
    """Say which process this is."""
    return os.getpid()


@server.tool(structured_output=False)
def mixed() -> list[Any]:
    """Give several kinds of content."""
    return [
        TextContent(type="text", text="一张图"),
        ImageContent(type="image", data="aGk=", mime_type="image/png"),
        ResourceLink(
            type="resource_link", name="report", uri="file:///report.pdf", mime_type="application/pdf"
        ),
    ]


@server.tool()
def fail(why: str) -> str:
    """Fail."""
    raise ValueError(why)


@server.tool()
async def stall() -> str:
    """Never answer."""
    acted("stall")
    await asyncio.Event().wait()
    return ""


async def which_room(day: str) -> Elicit[Room]:
    """Ask for the room."""
    return Elicit(f"Which room on {day}?", Room)


async def who() -> Elicit[Login]:
    """Ask what must not be asked so."""
    return Elicit("Log in, please.", Login)


@server.tool()
async def book(day: str, room: Annotated[ElicitationResult[Room], Resolve(which_room)]) -> str:
    """Book a room for a day."""
    if not isinstance(room, AcceptedElicitation):
        acted(f"not booked: {room.action}")
        return f"not booked: {room.action}"
    acted(f"booked {room.data.room} {day}")
    return f"booked {room.data.room} for {room.data.seats} on {day}"


@server.tool()
async def log_in(login: Annotated[ElicitationResult[Login], Resolve(who)]) -> str:
    """Log somebody in."""
    return login.action


@server.tool()
async def learn(name: str, ctx: Context) -> str:
    """Add a tool of this name."""
    server.add_tool(lambda: name, name=name, description=f"Say {name}.")
    await ctx.notify_tools_changed()
    return name


@server.tool()
async def forget(name: str, ctx: Context) -> str:
    """Remove the tool of this name."""
    server.remove_tool(name)
    await ctx.notify_tools_changed()
    return name


class Handshake:
    """Answers as a server that has never heard of the modern era."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the discovery of the modern era, and pass everything else on."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        asked = json.loads(body)
        if asked.get("method") == "server/discover":
            error = {"code": -32601, "message": "Method not found"}
            await answer(send, 200, {"jsonrpc": "2.0", "id": asked["id"], "error": error})
            return
        pending = [{"type": "http.request", "body": body, "more_body": False}]

        async def again() -> Any:
            return pending.pop() if pending else await receive()

        await self.app(scope, again, send)


class Guarded:
    """Wants a token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self.app = app
        self.token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse whoever has none."""
        headers = dict(scope.get("headers", []))
        if scope["type"] == "http" and headers.get(b"authorization") != f"Bearer {self.token}".encode():
            await answer(send, 401, {"error": "who are you?"})
            return
        await self.app(scope, receive, send)


async def answer(send: Send, status: int, body: Any) -> None:
    """Answer with JSON."""
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})


async def over_http(port: int, options: list[str]) -> None:
    """Serve at a port of this machine."""
    app: ASGIApp = server.streamable_http_app()
    if "handshake" in options:
        app = Handshake(app)
    for token in (option.removeprefix("token=") for option in options if option.startswith("token=")):
        app = Guarded(app, token)
    with socket.socket() as own:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        own.bind(("127.0.0.1", port))
        own.listen()  # before anybody is told
        serving = uvicorn.Server(uvicorn.Config(app, log_level="error"))
        print("up", own.getsockname()[1], flush=True)
        await serving.serve(sockets=[own])


async def over_stdio(options: list[str]) -> None:
    """Serve on the pipes of this process."""
    low = server._lowlevel_server  # pyright: ignore[reportPrivateUsage]
    if "handshake" not in options:
        await server.run_stdio_async()
        return
    async with stdio_server() as (read, write), low.lifespan(low) as state:
        await serve_loop(low, read, write, lifespan_state=state)


if __name__ == "__main__":
    where, *rest = sys.argv[1:]
    asyncio.run(over_stdio(rest) if where == "stdio" else over_http(int(where), rest))
