"""MCP servers, run as child processes or reached over HTTP, as sources of tools."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal

from sopwith.errors import ExpressionError, Text, ToolSourceError, UserError
from sopwith.ir.diagnostic import Diagnostic, Place, Severity
from sopwith.ir.input_request import InputGiven
from sopwith.ir.tool import Effect, ErrorData, ToolSpec
from sopwith.ir.value import Json
from sopwith.tools.arguments import changes, prepared
from sopwith.tools.bounded import Bounded, OutOfTime
from sopwith.tools.mcp_listing import Listing, Settings, listing
from sopwith.tools.mcp_lookup import Lookup
from sopwith.tools.mcp_server import Endpoint, Program, Server
from sopwith.tools.port import Reconciled, ToolResult, failed, promised
from sopwith.tools.refusal import not_read_yet, refusal, took_too_long, unknown_tool

if TYPE_CHECKING:
    from sopwith.tools.mcp_call import OpenCall
    from sopwith.tools.mcp_connection import Connection

_CLOSE_SECONDS = 10.0
_LATE_SECONDS = 600.0
"""How long a late answer to a write is still taken."""

_VERSIONS = 4
"""So many earlier forms of a tool are remembered, for the runs that are pinned to one of them."""


class McpSource:
    """The tools of one MCP server: a `command` that is run, or the `url` of a streamable HTTP endpoint. They are named
    `name.tool`.

    A command is started when it is first needed and again after it has died; an endpoint is connected anew. What a
    server says about the effects of its tools is a hint that anybody can write, so every tool is a `write`, unless
    `effects` says otherwise by the tool's own name, or `trust` holds "annotations" and the tool is annotated as
    read-only.

    The idempotency key goes out of the model's sight: in the `_meta` of the call, and as the argument
    `key_argument` of those tools that have one, which is then not in their schema here. `idempotent` names the
    tools that may be called again with the same key, `reconcile` how the server is asked about a write, and
    `descriptions` those of tools that have none; `value_threshold` from how many characters on a field of a tool's
    result is stored apart. `call_seconds` limits each call. The texts in `secrets` are kept out of every error.
    """

    def __init__(
        self,
        name: str,
        command: str = "",
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        *,
        url: str | None = None,
        headers: Mapping[str, str] | None = None,
        effects: Mapping[str, str] | None = None,
        trust: Iterable[Literal["annotations"]] = (),
        idempotent: Iterable[str] = (),
        key_argument: str | None = None,
        reconcile: Mapping[str, Lookup] | None = None,
        descriptions: Mapping[str, str] | None = None,
        value_threshold: Mapping[str, int] | None = None,
        start_seconds: float = 30.0,
        call_seconds: float | None = None,
        secrets: Iterable[str] = (),
    ) -> None:
        self.name = name
        hidden = tuple(secrets)
        self.server: Server = (
            Program(name, command, tuple(args), dict(env or {}), cwd, start_seconds, hidden)
            if url is None
            else Endpoint(name, url, dict(headers or {}), start_seconds, hidden)
        )
        self.settings = Settings(
            effects={tool: _effect(name, tool, effect) for tool, effect in (effects or {}).items()},
            trusted="annotations" in set(trust),
            idempotent=frozenset(idempotent),
            key_argument=key_argument,
            lookups=dict(reconcile or {}),
            descriptions=dict(descriptions or {}),
            value_threshold=dict(value_threshold or {}),
            call_seconds=call_seconds,
        )
        self.notes: tuple[Text, ...] = ()
        self._listing: Listing | None = None
        self._earlier: dict[str, tuple[ToolSpec, ...]] = {}
        self._connection: Connection | None = None
        self._listed_by: Connection | None = None
        self._held: dict[str, tuple[Connection, OpenCall]] = {}
        self._ending: set[Connection] = set()
        self._bounded = Bounded()

    @property
    def problems(self) -> list[Text]:
        """What is not used, and why: keys of the configuration and, once they were read, tools."""
        return [told.message for told in self.diagnostics]

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """The same with codes."""
        place = Place(file=self.name)
        notes = [
            Diagnostic(code="SW436", severity=Severity.WARNING, place=place, message=note)
            for note in self.notes
        ]
        return [*notes, *(self._listing.left_out if self._listing else ())]

    async def specs(self) -> Sequence[ToolSpec]:
        """The tools, sorted by name, read once. Raises `ToolSourceError` when the server does not start."""
        specs = (await self._known()).specs
        return [specs[name] for name in sorted(specs)]

    async def refresh(self) -> bool:
        """Read the tools anew where the server may have others now: it has said so, or is another process. Whether they
        are others. A server that cannot be reached keeps those that it had."""
        before = self._listing
        if before is None:
            return False
        try:
            connection = await self._running()
            if connection.changed or not connection.tells:
                await connection.relist()
            elif connection is self._listed_by:
                return False
        except ToolSourceError:
            return False
        return self._take(connection).specs != before.specs

    def prepare(self, name: str, arguments: dict[str, Json]) -> dict[str, Json] | ErrorData:
        """The arguments themselves where the tool's schema takes and lists them; see `ToolSource.prepare`."""
        if self._listing is None:
            return not_read_yet(self.name)
        return self._prepared(name, arguments) if self._forms(name) else unknown_tool(name)

    async def call(
        self, name: str, arguments: dict[str, Json], *, key: str, seconds: float | None
    ) -> ToolResult:
        """Call a tool; see `ToolSource.call`."""
        return await self._called(name, arguments, key, seconds, None)

    async def go_on(
        self, name: str, arguments: dict[str, Json], given: InputGiven, *, key: str, seconds: float | None
    ) -> ToolResult:
        """Go on with a call that has asked; see `Asking.go_on`."""
        if not given.held:
            return await self._called(name, arguments, key, seconds, given)
        held, forms = self._held.pop(key, None), self._forms(name)
        writes = not forms or forms[0].effect is not Effect.READ
        if held is None or not (held[0].here and held[1].go_on(given)):
            said = Text(
                f"the call of {name} waited for its answer in a process or connection that has ended",
                f"{name} 的调用在等待回答时，其所在的进程或连接已经结束",
            )
            return failed("input_lost", said, unknown=writes)
        return await self._come(*held, forms[0], key, seconds)

    async def reconcile(
        self, name: str, arguments: dict[str, Json], *, key: str, seconds: float | None
    ) -> Reconciled:
        """Ask another tool of the server, as `reconcile` says; see `ToolSource.reconcile`."""
        try:
            specs = (await self._bounded.run(self._known(), seconds)).specs
        except (ToolSourceError, OutOfTime) as error:
            return Reconciled(reason=str(error) or f"the MCP server {self.name} did not start")
        spec, how = specs.get(name), self.settings.lookups.get(name.removeprefix(f"{self.name}."))
        if spec is None or how is None or not spec.reconcilable:
            return Reconciled(reason=f"{name} has no reconcile")
        asked = specs[f"{self.name}.{how.tool}"]
        try:
            given = self._prepared(asked.name, how.arguments(asked, arguments, key))
        except ExpressionError as error:
            return Reconciled(reason=error.message.en)
        if isinstance(given, ErrorData):
            return Reconciled(reason=given.message)
        found = await self.call(asked.name, given, key=key, seconds=seconds)
        if found.error is not None:
            return Reconciled(reason=found.error.message)
        if found.wants is not None:
            return Reconciled(reason=f"{asked.name} asks for input")
        return how.read(spec, found.value, arguments, key)

    async def close(self) -> None:
        """End the connection, and a server that was run. Bounded, also for a server that hangs."""
        self._held.clear()
        self._replace(None)
        here = asyncio.get_running_loop()
        ending = [connection for connection in self._ending if connection.loop is here]
        for connection in ending:
            connection.end()
        if ending:
            await asyncio.wait([connection.owner for connection in ending], timeout=_CLOSE_SECONDS)
        await self._bounded.close()

    async def _called(
        self,
        name: str,
        arguments: dict[str, Json],
        key: str,
        seconds: float | None,
        given: InputGiven | None,
    ) -> ToolResult:
        clock = asyncio.get_running_loop().time
        end = None if seconds is None else clock() + seconds
        try:
            # A server that does not start in time has not seen the call: an error also for a write.
            await self._bounded.run(self._known(), seconds)
            forms = self._forms(name)
            if not forms:
                return ToolResult(error=unknown_tool(name))
            ready = self._prepared(name, arguments)
            changed = ready if isinstance(ready, ErrorData) else changes(arguments, ready)
            if changed is not None:
                return ToolResult(error=changed)
            connection = await self._bounded.run(self._running(), None if end is None else end - clock())
        except ToolSourceError as error:
            result = failed("unavailable", error.message)
        except OutOfTime:
            said = Text(
                f"the MCP server {self.name} did not start within {seconds:g} s",
                f"MCP 服务器 {self.name} 未能在 {seconds:g} 秒内启动",
            )
            result = failed("unavailable", said)
        else:
            left = None if end is None else end - clock()
            return await self._perform(connection, forms[0], arguments, key, left, given)
        # What has asked before has been called before.
        return result if given is None else replace(result, unknown=self._writes(name))

    async def _perform(
        self,
        connection: Connection,
        spec: ToolSpec,
        arguments: dict[str, Json],
        key: str,
        seconds: float | None,
        given: InputGiven | None,
    ) -> ToolResult:
        from sopwith.tools.mcp_connection import Gone

        tool, argument = spec.name.removeprefix(f"{self.name}."), self.settings.key_argument
        keyed = self._listing is not None and spec.name in self._listing.keyed
        sent = {**arguments, argument: key} if keyed and argument else arguments
        try:
            return await self._come(connection, connection.call(tool, sent, key, given), spec, key, seconds)
        except Gone:
            # The server was started anew, knows the session no more, and has refused the call: one more way to it.
            try:
                connection = await self._bounded.run(self._running(), seconds)
                return await self._come(
                    connection, connection.call(tool, sent, key, given), spec, key, seconds
                )
            except (ToolSourceError, OutOfTime, Gone):
                said = Text(
                    f"the MCP server {self.name} knows the session no more",
                    f"MCP 服务器 {self.name} 不再认识该会话",
                )
                return failed("unavailable", said)

    async def _come(
        self, connection: Connection, call: OpenCall, spec: ToolSpec, key: str, seconds: float | None
    ) -> ToolResult:
        """What comes of a call at work: its result, or a question, with which a call may be held."""
        from sopwith.tools.mcp_connection import Gone
        from sopwith.tools.mcp_result import error_result, late_result, result_of

        writes = spec.effect is not Effect.READ
        try:
            # A read is cancelled. A write goes on: what it answers after all tells what happened.
            came = await self._bounded.run(call.coming(), seconds, patience=_LATE_SECONDS if writes else 0.0)
        except OutOfTime as given_up:
            connection.question(call)
            told = failed("timeout", took_too_long(spec.name, f"{seconds or 0:.3g}"), unknown=writes)
            late = partial(late_result, self.server, spec)
            return replace(told, late=promised(given_up.late, late))
        except asyncio.CancelledError:
            connection.question(call)
            raise
        except Gone:
            raise
        except Exception as error:
            return error_result(self.server, spec, error)
        result = result_of(self.server, spec, came)
        if result.wants is not None and result.wants.held:
            self._held[key] = (connection, call)
        return result

    def _writes(self, name: str) -> bool:
        forms = self._forms(name)
        return not forms or forms[0].effect is not Effect.READ

    def _forms(self, name: str) -> tuple[ToolSpec, ...]:
        """The tool as it is, and as it was before: a run that is pinned to an earlier form goes on with that."""
        now = None if self._listing is None else self._listing.specs.get(name)
        return (*((now,) if now else ()), *self._earlier.get(name, ()))

    def _prepared(self, name: str, arguments: dict[str, Json]) -> dict[str, Json] | ErrorData:
        argument = self.settings.key_argument
        if self._listing is not None and name in self._listing.keyed and argument in arguments:
            why = Text(f"$.{argument}: there is no such argument", f"$.{argument}：没有这个参数")
            return refusal("invalid_arguments", why)
        found = [prepared(form, arguments) for form in self._forms(name)]
        return next((one for one in found if not isinstance(one, ErrorData)), found[0])

    async def _known(self) -> Listing:
        if self._listing is None:
            connection = await self._running()
            if self._listing is None:
                return self._take(connection)
        return self._listing

    def _take(self, connection: Connection) -> Listing:
        """What a connection lists is from now on the listing."""
        new = listing(self.name, self.settings, connection.tools, connection.unread, connection.about)
        before: Mapping[str, ToolSpec] = {} if self._listing is None else self._listing.specs
        for name, spec in before.items():
            if new.specs.get(name) != spec:
                self._earlier[name] = (spec, *self._earlier.get(name, ()))[:_VERSIONS]
        self._listing, self._listed_by = new, connection
        return new

    async def _running(self) -> Connection:
        connection_type = _connection_type()
        while True:
            current = self._connection
            if current is None or not current.usable:
                current = connection_type(self.server)
                self._replace(current)
            await current.ready()
            if current.usable:
                return current

    def _replace(self, new: Connection | None) -> None:
        """Let `new` take the calls from now on; the one before ends in the background."""
        old, self._connection = self._connection, new
        if old is not None and not old.owner.done() and old.loop is asyncio.get_running_loop():
            self._ending.add(old)
            old.owner.add_done_callback(lambda _: self._ending.discard(old))
            old.retire()


def _connection_type() -> type[Connection]:
    try:
        from sopwith.tools.mcp_connection import Connection
    except ModuleNotFoundError as error:
        raise ToolSourceError(
            Text("MCP servers need the package mcp", "使用 MCP 服务器需要安装 mcp"),
            Text("Install it: pip install 'sopwith[mcp]'", "请安装：pip install 'sopwith[mcp]'"),
        ) from error
    return Connection


def _effect(server: str, tool: str, effect: str) -> Effect:
    if effect not in tuple(Effect):
        raise UserError(
            Text(
                f"{server}: the effect {effect!r} of {tool} is unknown",
                f"{server}：{tool} 的 effect {effect!r} 未知",
            ),
            Text("Write read, write or irreversible.", "请写 read、write 或 irreversible。"),
        )
    return Effect(effect)
