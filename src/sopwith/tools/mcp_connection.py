"""One running MCP server: its process, its session, and the task that owns both from start to end.

The only file that imports the MCP SDK; the source imports it when a server is first needed.
"""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO, cast

import anyio
import mcp_types as types
from mcp.client import Client, Transport
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types.methods import validate_server_result
from pydantic import ValidationError

from sopwith.errors import Text, ToolSourceError
from sopwith.ir.pydantic_problem import told
from sopwith.ir.value import Json
from sopwith.process.supervisor import supervised

_TAIL_BYTES = 4096
_TAIL_LINES = 8
_TAIL_SECONDS = 0.05
_PROBE_SECONDS = 1.0
_MOST_PAGES = 100
_LIST = "tools/list"
_CLIENT = types.Implementation(name="sopwith", version=version("sopwith"))

META_KEY = "sopwith/idempotency-key"
"""Where the idempotency key is in the `_meta` of a call."""

_Item = SessionMessage | Exception


@dataclass(frozen=True, slots=True)
class Server:
    """How a server is started. `env` is added to the few variables that servers inherit."""

    name: str
    command: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict[str, str])
    cwd: str | None = None
    start_seconds: float = 30.0

    def program(self) -> str:
        """What `command` names. Raises `FileNotFoundError` or `PermissionError`, as running it would."""
        if os.sep in self.command:
            found = Path(self.cwd or ".", self.command)
            problem = None if os.access(found, os.X_OK) else errno.EACCES if found.exists() else errno.ENOENT
        else:
            known = shutil.which(self.command, path=self.env.get("PATH"))
            problem = None if known else errno.ENOENT
        if problem:
            raise OSError(problem, os.strerror(problem), self.command)
        return self.command


class Lost(Exception):
    """The server ended while it was called; `said` is the end of its standard error."""

    def __init__(self, server: str, said: str) -> None:
        super().__init__(f"the MCP server {server} ended during the call{': ' if said else ''}{said}")


class Connection:
    """A server that runs: started at once, waited for by `ready`, ended by `retire` once no call needs it."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.loop = asyncio.get_running_loop()
        self.left_out: list[Text] = []
        self.tools: list[types.Tool] = []
        self._inbound: _Inbound | None = None
        self._client: Client | None = None
        self._started: asyncio.Future[None] = self.loop.create_future()
        self._stop = asyncio.Event()
        self._deadline = self.loop.time() + server.start_seconds
        self._retired = False
        self._calls: set[object] = set()
        self._stderr = _Tail()
        self.doubt: asyncio.Task[None] | None = None
        self.owner = asyncio.create_task(self._own(), name=f"mcp server {server.name}")

    @property
    def usable(self) -> bool:
        """Whether a new call may be sent here."""
        dead = self._inbound is not None and self._inbound.ended.is_set()
        return not (self._retired or dead or self.owner.done() or self.loop is not asyncio.get_running_loop())

    async def ready(self) -> None:
        """Wait until the server answers, or raise `ToolSourceError`."""
        await asyncio.wait((self._started,), timeout=max(0.0, self._deadline - self.loop.time()))
        if not self._started.done():
            self.owner.cancel()
        if not self._started.done() or self._started.cancelled():
            raise self._not_started(TimeoutError())
        error = self._started.exception()
        if error is not None:
            raise self._not_started(error) from error
        if self.doubt is not None:
            await asyncio.wait((self.doubt,))

    async def call(
        self, call: object, tool: str, arguments: dict[str, Json], key: str
    ) -> types.CallToolResult:
        """Call `tool`; its `_meta` carries the idempotency key. `call` stands for this one call, see `question`.

        Raises `Lost`, `MCPError`, or what a result that breaks the protocol leads to.
        """
        assert self._client is not None
        self._calls.add(call)
        try:
            result = await self._client.session.call_tool(
                tool,
                arguments,
                meta=cast("types.RequestParamsMeta", {META_KEY: key}),
                allow_input_required=True,
            )
        except MCPError as error:
            if error.code == types.CONNECTION_CLOSED:
                self.retire()
                raise Lost(self.server.name, self._stderr.text()) from error
            raise
        finally:
            self._calls.discard(call)
            if self._retired and not self._calls:
                self._stop.set()
        if isinstance(result, types.InputRequiredResult):
            raise MCPError(types.INTERNAL_ERROR, "the tool asks for input, which is not supported")
        return result

    def question(self, call: object) -> None:
        """After a call that took too long and is not waited for: does the server still answer? Else retire it."""
        self._calls.discard(call)
        if self.doubt is None or self.doubt.done():
            self.doubt = asyncio.create_task(self._probe())

    def retire(self) -> None:
        """Take no new calls, and end the server as soon as the calls of others have come back."""
        self._retired = True
        if not self._calls:
            self._stop.set()

    def end(self) -> None:
        """End the server now."""
        self._retired = True
        self._stop.set()
        if not self._started.done():
            self.owner.cancel()

    async def _own(self) -> None:
        # A client is left in the task that entered it, or its cancel scopes break.
        try:
            async with Client(self._transport(), cache=None, client_info=_CLIENT) as client:
                assert self._inbound is not None
                self._inbound.version = client.protocol_version
                self.tools = await _list_tools(client)
                self.left_out = self._inbound.left_out
                self._client = client
                self._started.set_result(None)
                await self._stop.wait()
        except Exception as error:
            if not self._started.done():
                self._started.set_exception(error)
                self._started.exception()  # seen, also when nobody waits any more
        finally:
            if not self._started.done():
                self._started.cancel()

    def _transport(self) -> Transport:
        return cast("Transport", self._streams())

    @asynccontextmanager
    async def _streams(self) -> AsyncGenerator[tuple[Any, Any]]:
        server = self.server
        python, *supervisor = supervised([server.program(), *server.args])
        parameters = StdioServerParameters(
            command=python, args=supervisor, env=dict(server.env), cwd=server.cwd
        )
        with self._stderr.open() as errlog:
            async with stdio_client(parameters, errlog=errlog) as (read, write):
                errlog.close()
                self._inbound = _Inbound(read)
                yield self._inbound, write

    async def _probe(self) -> None:
        assert self._client is not None
        try:
            async with asyncio.timeout(_PROBE_SECONDS):
                await self._client.list_tools()
        except (TimeoutError, MCPError, ValidationError) as error:
            if not isinstance(error, ValidationError):
                self.retire()

    def _not_started(self, error: BaseException) -> ToolSourceError:
        cause = _first(error)
        server = self.server
        if isinstance(cause, FileNotFoundError | NotADirectoryError | PermissionError):
            why = Text(f"cannot be run: {cause}", f"无法运行：{cause}")
            hint = Text("Install the command, or correct its path.", "请安装该命令，或改正它的路径。")
        elif isinstance(cause, TimeoutError):
            limit = f"{server.start_seconds:g}"
            why = Text(f"did not answer within {limit} s", f"在 {limit} 秒内没有应答")
            hint = Text(
                "Run the command by hand to see what it waits for.", "请手动运行该命令，看看它在等什么。"
            )
        else:
            why = Text(f"ended during its start: {cause}", f"在启动时退出：{cause}")
            hint = Text("Run the command by hand to see its message.", "请手动运行该命令，查看它的报错。")
        tail = self._stderr.text()
        said = Text(f"; its last words: {tail}", f"；最后的输出：{tail}") if tail else Text("", "")
        return ToolSourceError(
            Text(
                f"the MCP server {server.name} ({server.command}) {why.en}{said.en}",
                f"MCP 服务器 {server.name}（{server.command}）{why.zh}{said.zh}",
            ),
            hint,
        )


class _Inbound:
    """The messages of a server, without the listed tools that would make the whole list unreadable."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.version = ""
        self.ended = asyncio.Event()
        self.left_out: list[Text] = []

    async def receive(self) -> _Item:
        try:
            item = cast("_Item", await self._inner.receive())
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            self.ended.set()
            raise
        if isinstance(item, SessionMessage) and isinstance(item.message, types.JSONRPCResponse):
            self._sift(item.message.result)
        return item

    def _sift(self, result: dict[str, Any]) -> None:
        tools = result.get("tools")
        if not isinstance(tools, list):
            return
        good: list[Any] = []
        for tool in cast("list[Any]", tools):
            try:
                validate_server_result(_LIST, self.version, {**result, "tools": [tool]})
                types.Tool.model_validate(tool, by_name=False)
                good.append(tool)
            except (ValidationError, ValueError, KeyError, TypeError) as error:
                name = cast("dict[str, Any]", tool).get("name") if isinstance(tool, dict) else None
                why = _unreadable(error)
                self.left_out.append(Text(f"{name}: {why.en}", f"{name}：{why.zh}"))
        result["tools"] = good

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> _Inbound:
        return self

    async def __anext__(self) -> _Item:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> _Inbound:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class _Tail:
    """The end of what a server writes to its standard error, read by a thread: the pipe never fills."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._is_cut = False
        self._reader: threading.Thread | None = None

    def open(self) -> TextIO:
        """A pipe's end for the server to write to; close it here once the server has it."""
        read, write = os.pipe()
        self._reader = threading.Thread(target=self._drain, args=(read,), name="sopwith-mcp", daemon=True)
        self._reader.start()
        return os.fdopen(write, "w", encoding="utf-8")

    def text(self) -> str:
        """The last lines, on one line, of a server that has probably ended."""
        if self._reader is not None:
            self._reader.join(_TAIL_SECONDS)
        lines = bytes(self._bytes).decode(errors="replace").splitlines()
        if self._is_cut:  # half a line may hold half a secret, which nobody would know for one
            lines = lines[1:]
        return " | ".join(line.strip() for line in lines[-_TAIL_LINES:] if line.strip())

    def _drain(self, read: int) -> None:
        while data := os.read(read, 65536):
            self._bytes += data
            self._is_cut = self._is_cut or len(self._bytes) > _TAIL_BYTES
            del self._bytes[:-_TAIL_BYTES]
        os.close(read)


async def _list_tools(client: Client) -> list[types.Tool]:
    tools: list[types.Tool] = []
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None:
            break
    return tools


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


def _unreadable(error: Exception) -> Text:
    """Why a tool that a server lists cannot be read."""
    if not isinstance(error, ValidationError):
        return Text(str(error), str(error))
    first = error.errors()[0]
    said = told(first).message
    if first["type"] == "missing":
        return said
    field = first["loc"][-1]
    return Text(f"{field}: {said.en}", f"{field}：{said.zh}")
