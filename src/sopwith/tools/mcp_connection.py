"""One MCP server that is connected: its session, and the task that owns it from start to end.

The source imports this, and with it the SDK, when a server is first needed.
"""

from __future__ import annotations

import asyncio
import logging
from importlib.metadata import version
from typing import Any, cast

import mcp_types as types
from mcp.client import Client, Transport
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from sopwith.errors import Text, ToolSourceError
from sopwith.ir.input_request import InputGiven
from sopwith.ir.tool import LONGEST_ABOUT
from sopwith.ir.value import Json
from sopwith.tools.mcp_call import Answer, OpenCall, responses
from sopwith.tools.mcp_server import Server
from sopwith.tools.mcp_transport import Wire

_PROBE_SECONDS = 1.0
_MOST_PAGES = 1000
_PAUSES = (0.05, 0.1, 0.25)
"""Seconds between questions to a server that only says to come again."""

_CLIENT = types.Implementation(name="sopwith", version=version("sopwith"))

# The SDK writes down, with its traceback, every server that cannot be reached; ours is a sentence.
logging.getLogger("mcp").addHandler(logging.NullHandler())

META_KEY = "sopwith/idempotency-key"
"""Where the idempotency key is in the `_meta` of a call."""


class Lost(Exception):
    """The server ended while it was called; `said` is the end of its standard error."""

    def __init__(self, server: str, said: str) -> None:
        super().__init__(f"the MCP server {server} ended during the call{': ' if said else ''}{said}")


class Gone(Exception):
    """The server knows the session no more, and has not made the call."""


class Connection:
    """A server that is connected: at once, waited for by `ready`, ended by `retire` once no call needs it."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.loop = asyncio.get_running_loop()
        self.unread: list[tuple[str, Text]] = []
        self.about = ""
        self.tools: list[types.Tool] = []
        self.changed = False
        """The server says that its tools are others now."""
        self.tells = False
        """The server promises to tell when they are."""
        self._wire = Wire(server)
        self._client: Client | None = None
        self._started: asyncio.Future[None] = self.loop.create_future()
        self._stop = asyncio.Event()
        self._deadline = self.loop.time() + server.start_seconds
        self._retired = False
        self._calls: dict[object, OpenCall] = {}
        self.doubt: asyncio.Task[None] | None = None
        self.owner = asyncio.create_task(self._own(), name=f"mcp server {server.name}")

    @property
    def usable(self) -> bool:
        """Whether a new call may be sent here."""
        inbound = self._wire.inbound
        dead = inbound is not None and inbound.ended.is_set()
        return not (self._retired or dead or self.owner.done() or not self.here)

    @property
    def here(self) -> bool:
        """Whether this belongs to the event loop that runs."""
        return self.loop is asyncio.get_running_loop()

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

    def call(
        self, tool: str, arguments: dict[str, Json], key: str, given: InputGiven | None = None
    ) -> OpenCall:
        """Call `tool`; its `_meta` carries the idempotency key. With `given`, go on with a call that has asked.

        What comes is a result or `InputWanted`; or `Lost`, `Gone`, `MCPError`, or what a result that breaks the
        protocol leads to.
        """
        found = OpenCall(self._answer(tool, arguments, key, given))
        self._calls[found] = found
        found.task.add_done_callback(lambda _: self._came_back(found))
        return found

    def question(self, call: OpenCall) -> None:
        """After a call that took too long and is not waited for: does the server still answer? Else retire it."""
        self._calls.pop(call, None)
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

    async def relist(self) -> None:
        """Read the tools anew. Raises `ToolSourceError`."""
        assert self._client is not None
        self.changed = False
        try:
            async with asyncio.timeout(self.server.start_seconds):
                await self._list(self._client)
        except (MCPError, ValidationError, TimeoutError) as error:
            self.changed = True
            self.retire()
            raise self._not_started(error) from error

    async def _answer(
        self, tool: str, arguments: dict[str, Json], key: str, given: InputGiven | None
    ) -> Answer:
        assert self._client is not None
        meta = cast("types.RequestParamsMeta", {META_KEY: key})
        answers = None if given is None else responses(given)
        state = None if given is None else given.state
        again = 0
        try:
            while True:
                result = await self._client.session.call_tool(
                    tool,
                    arguments,
                    input_responses=answers,
                    request_state=state,
                    meta=meta,
                    allow_input_required=True,
                )
                if not isinstance(result, types.InputRequiredResult) or result.input_requests:
                    return result
                # Only a state: the server asks to be called again with it.
                answers, state = None, result.request_state
                await asyncio.sleep(_PAUSES[min(again, len(_PAUSES) - 1)])
                again += 1
        except MCPError as error:
            if error.code == types.CONNECTION_CLOSED:
                self.retire()
                said = self.server.masked(self._wire.tail.text())
                raise Lost(self.server.name, said) from error
            if self._wire.status == 404 and error.code == types.INVALID_REQUEST:
                self.retire()
                raise Gone from error
            raise

    def _came_back(self, call: OpenCall) -> None:
        self._calls.pop(call, None)
        if not call.task.cancelled():
            call.task.exception()  # seen, also when nobody waits any more
        if self._retired and not self._calls:
            self._stop.set()

    async def _elicit(self, context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        """A question of a server of the older era: it does not say which call it belongs to."""
        calls = [call for call in self._calls.values() if not call.asks]
        return await calls[0].ask(params) if len(calls) == 1 else types.ElicitResult(action="cancel")

    async def _own(self) -> None:
        # A client is left in the task that entered it, or its cancel scopes break.
        transport = cast("Transport", self._wire.streams())
        try:
            async with Client(
                transport,
                cache=None,
                client_info=_CLIENT,
                message_handler=self._heard,
                elicitation_callback=self._elicit,
            ) as client:
                assert self._wire.inbound is not None
                self._wire.inbound.version = client.protocol_version
                await self._list(client)
                self._client = client
                self._started.set_result(None)
                await self._listen(client)
        except Exception as error:
            if not self._started.done():
                self._started.set_exception(error)
                self._started.exception()  # seen, also when nobody waits any more
        finally:
            if not self._started.done():
                self._started.cancel()

    async def _listen(self, client: Client) -> None:
        """Hear of changes until the server is not needed any more."""
        tools = client.server_capabilities.tools
        self.tells = tools is not None and bool(tools.list_changed)
        hearing: asyncio.Task[None] | None = None
        if self.tells and client.protocol_version in MODERN_PROTOCOL_VERSIONS:
            hearing = asyncio.create_task(self._hear(client))
        try:
            await self._stop.wait()
        finally:
            if hearing is not None:
                hearing.cancel()
                await asyncio.gather(hearing, return_exceptions=True)

    async def _hear(self, client: Client) -> None:
        try:
            async with client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self.changed = True
        except Exception:  # whoever cannot be heard any more is asked again
            self.changed = True

    async def _heard(self, message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self.changed = True

    async def _list(self, client: Client) -> None:
        inbound = self._wire.inbound
        assert inbound is not None
        inbound.unread = []
        tools: list[types.Tool] = []
        cursor: str | None = None
        seen: set[str | None] = {None}
        for _ in range(_MOST_PAGES):
            page = await client.list_tools(cursor=cursor)
            tools += page.tools
            cursor = page.next_cursor
            if cursor in seen:
                break
            seen.add(cursor)
        if cursor is not None:
            said = Text(
                "its list of tools has no end; the rest is left out", "工具列表没有尽头，其余部分未读取"
            )
            inbound.unread.append(("SW438", said))
        self.tools, self.unread = tools, list(inbound.unread)
        info = client.server_info
        said = () if info is None else (info.title or info.name, info.description)
        self.about = "\n".join(part for part in (*said, client.instructions) if part)[:LONGEST_ABOUT]

    async def _probe(self) -> None:
        assert self._client is not None
        try:
            async with asyncio.timeout(_PROBE_SECONDS):
                await self._client.list_tools()
        except (TimeoutError, MCPError, ValidationError) as error:
            if not isinstance(error, ValidationError):
                self.retire()

    def _not_started(self, error: BaseException) -> ToolSourceError:
        server = self.server
        why, hint = server.not_started(_first(error), self._wire.status)
        tail = self._wire.tail.text()
        said = Text(f"; its last words: {tail}", f"；最后的输出：{tail}") if tail else Text("", "")
        message = Text(
            f"the MCP server {server.name} ({server.title}) {why.en}{said.en}",
            f"MCP 服务器 {server.name}（{server.title}）{why.zh}{said.zh}",
        )
        return ToolSourceError(Text(server.masked(message.en), server.masked(message.zh)), hint)


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error
