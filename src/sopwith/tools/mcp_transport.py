"""How the SDK talks to a server: over the pipes of a child process, or over streamable HTTP."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from sopwith.process.supervisor import supervised
from sopwith.tools.mcp_inbound import Inbound, Tail
from sopwith.tools.mcp_server import Endpoint, Program, Server

_WRITE_SECONDS = 30.0


class Wire:
    """The way to one server. `inbound` is what it sends, once there is a way; `tail` the end of its standard error;
    `status` that of its last answer over HTTP, where it was an error."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.inbound: Inbound | None = None
        self.tail = Tail()
        self.status: int | None = None

    @asynccontextmanager
    async def streams(self) -> AsyncGenerator[tuple[Any, Any]]:
        """Both directions, as the SDK wants them."""
        way = self._run(self.server) if isinstance(self.server, Program) else self._reach(self.server)
        async with way as (read, write):
            self.inbound = Inbound(read)
            yield self.inbound, write

    @asynccontextmanager
    async def _run(self, server: Program) -> AsyncGenerator[tuple[Any, Any]]:
        python, *supervisor = supervised([server.program(), *server.args])
        parameters = StdioServerParameters(
            command=python, args=supervisor, env=dict(server.env), cwd=server.cwd
        )
        with self.tail.open() as errlog:
            async with stdio_client(parameters, errlog=errlog) as (read, write):
                errlog.close()
                yield read, write

    @asynccontextmanager
    async def _reach(self, server: Endpoint) -> AsyncGenerator[tuple[Any, Any]]:
        async def noted(response: httpx2.Response) -> None:
            self.status = response.status_code if response.status_code >= 400 else None

        # No limit on reading: a call has its own.
        limits = httpx2.Timeout(_WRITE_SECONDS, connect=server.start_seconds, read=None)
        async with (
            httpx2.AsyncClient(
                headers=server.headers, timeout=limits, event_hooks={"response": [noted]}
            ) as client,
            streamable_http_client(server.url, http_client=client) as (read, write),
        ):
            yield read, write
