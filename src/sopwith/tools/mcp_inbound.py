"""What an MCP server sends, before the SDK reads it: lists without the tools that would make them unreadable, and the
end of a server's standard error."""

from __future__ import annotations

import asyncio
import os
import threading
from types import TracebackType
from typing import Any, TextIO, cast

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage
from mcp_types.methods import validate_server_result
from pydantic import ValidationError

from sopwith.errors import Text
from sopwith.ir.pydantic_problem import told

_TAIL_BYTES = 4096
_TAIL_LINES = 8
_TAIL_SECONDS = 0.05
_LIST = "tools/list"

_Item = SessionMessage | Exception


class Inbound:
    """The messages of a server, without the listed tools that would make the whole list unreadable."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.version = ""
        self.ended = asyncio.Event()
        self.unread: list[tuple[str, Text]] = []

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
                self.unread.append(("SW430", Text(f"{name}: {why.en}", f"{name}：{why.zh}")))
        result["tools"] = good

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> Inbound:
        return self

    async def __anext__(self) -> _Item:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Inbound:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class Tail:
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
