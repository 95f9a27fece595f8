"""MCP servers over stdio as sources of tools."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast

from sopwith.errors import ExpressionError, Text, ToolSourceError, UserError
from sopwith.ir.schema import validator
from sopwith.ir.tool import Effect, ErrorData, ToolSpec
from sopwith.ir.value import Json, storable
from sopwith.tools.arguments import changes, prepared, without_key
from sopwith.tools.bounded import Bounded, Outcome, OutOfTime
from sopwith.tools.mcp_lookup import Lookup
from sopwith.tools.port import Reconciled, ToolResult, failed, promised
from sopwith.tools.refusal import known, refusal, took_too_long, unknown_tool
from sopwith.tools.returned import misfit

if TYPE_CHECKING:
    from mcp_types import CallToolResult, Tool

    from sopwith.tools.mcp_connection import Connection

_CLOSE_SECONDS = 10.0
_LATE_SECONDS = 600.0
"""How long a late answer to a write is still taken."""

_NOT_DONE = frozenset({-32700, -32600, -32601, -32602})
"""The errors of JSON-RPC by which a server refuses a request before it acts."""


class McpSource:
    """The tools of one MCP server that is run as a child process. They are named `name.tool`.

    The server starts when it is first needed and again after it has died. What it says about the effects of
    its tools is a hint that anybody can write, so every tool is a `write`, unless `effects` says otherwise by
    the tool's own name, or `trust` holds "annotations" and the tool is annotated as read-only.

    The idempotency key goes out of the model's sight: in the `_meta` of the call, and as the argument
    `key_argument` of those tools that have one, which is then not in their schema here. `idempotent` names the
    tools that may be called again with the same key, `reconcile` how the server is asked about a write, and
    `value_threshold` from how many characters on a field of a tool's result is stored apart.
    """

    def __init__(
        self,
        name: str,
        command: str,
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        *,
        effects: Mapping[str, str] | None = None,
        trust: Iterable[Literal["annotations"]] = (),
        idempotent: Iterable[str] = (),
        key_argument: str | None = None,
        reconcile: Mapping[str, Lookup] | None = None,
        value_threshold: Mapping[str, int] | None = None,
        start_seconds: float = 30.0,
    ) -> None:
        self.name = name
        self.command = command
        self.args = tuple(args)
        self.env = dict(env or {})
        self.cwd = cwd
        self.start_seconds = start_seconds
        self.effects = {tool: _effect(name, tool, effect) for tool, effect in (effects or {}).items()}
        self.trusted = "annotations" in set(trust)
        self.idempotent = frozenset(idempotent)
        self.key_argument = key_argument
        self.lookups = dict(reconcile or {})
        self.value_threshold = dict(value_threshold or {})
        self.notes: tuple[Text, ...] = ()
        self._left_out: list[Text] = []
        self._specs: dict[str, ToolSpec] | None = None
        self._keyed: set[str] = set()
        self._connection: Connection | None = None
        self._ending: set[Connection] = set()
        self._bounded = Bounded()

    @property
    def problems(self) -> list[Text]:
        """What is not used, and why: keys of the configuration and, once they were read, tools."""
        return [*self.notes, *self._left_out]

    async def specs(self) -> Sequence[ToolSpec]:
        """The tools, sorted by name, read once. Raises `ToolSourceError` when the server does not start."""
        specs = await self._known()
        return [specs[name] for name in sorted(specs)]

    def prepare(self, name: str, arguments: dict[str, Json]) -> dict[str, Json] | ErrorData:
        """The arguments themselves where the tool's schema takes and lists them; see `ToolSource.prepare`."""
        spec = known(self._specs, self.name, name)
        return spec if isinstance(spec, ErrorData) else self._prepared(spec, arguments)

    async def call(
        self, name: str, arguments: dict[str, Json], *, key: str, seconds: float | None
    ) -> ToolResult:
        """Call a tool; see `ToolSource.call`."""
        clock = asyncio.get_running_loop().time
        end = None if seconds is None else clock() + seconds
        try:
            # A server that does not start in time has not seen the call: an error also for a write.
            spec = (await self._bounded.run(self._known(), seconds)).get(name)
            if spec is None:
                return ToolResult(error=unknown_tool(name))
            prepared = self._prepared(spec, arguments)
            changed = prepared if isinstance(prepared, ErrorData) else changes(arguments, prepared)
            if changed is not None:
                return ToolResult(error=changed)
            connection = await self._bounded.run(self._running(), None if end is None else end - clock())
        except ToolSourceError as error:
            return failed("unavailable", error.message)
        except OutOfTime:
            said = Text(
                f"the MCP server {self.name} did not start within {seconds:g} s",
                f"MCP 服务器 {self.name} 未能在 {seconds:g} 秒内启动",
            )
            return failed("unavailable", said)
        left = None if end is None else end - clock()
        return await self._perform(connection, spec, arguments, key, left)

    async def reconcile(
        self, name: str, arguments: dict[str, Json], *, key: str, seconds: float | None
    ) -> Reconciled:
        """Ask another tool of the server, as `reconcile` says; see `ToolSource.reconcile`."""
        try:
            specs = await self._bounded.run(self._known(), seconds)
        except (ToolSourceError, OutOfTime) as error:
            return Reconciled(reason=str(error) or f"the MCP server {self.name} did not start")
        spec, how = specs.get(name), self.lookups.get(name.removeprefix(f"{self.name}."))
        if spec is None or how is None or not spec.reconcilable:
            return Reconciled(reason=f"{name} has no reconcile")
        asked = specs[f"{self.name}.{how.tool}"]
        try:
            given = self._prepared(asked, how.arguments(asked, arguments, key))
        except ExpressionError as error:
            return Reconciled(reason=error.message.en)
        if isinstance(given, ErrorData):
            return Reconciled(reason=given.message)
        found = await self.call(asked.name, given, key=key, seconds=seconds)
        if found.error is not None:
            return Reconciled(reason=found.error.message)
        return how.read(spec, found.value, arguments, key)

    async def close(self) -> None:
        """End the server. Bounded, also for a server that hangs."""
        self._replace(None)
        here = asyncio.get_running_loop()
        ending = [connection for connection in self._ending if connection.loop is here]
        for connection in ending:
            connection.end()
        if ending:
            await asyncio.wait([connection.owner for connection in ending], timeout=_CLOSE_SECONDS)
        await self._bounded.close()

    async def _perform(
        self,
        connection: Connection,
        spec: ToolSpec,
        arguments: dict[str, Json],
        key: str,
        seconds: float | None,
    ) -> ToolResult:
        writes = spec.effect is not Effect.READ
        tool = spec.name.removeprefix(f"{self.name}.")
        sent = (
            {**arguments, self.key_argument: key}
            if spec.name in self._keyed and self.key_argument
            else arguments
        )
        call = object()
        answer = connection.call(call, tool, sent, key)
        try:
            # A read is cancelled. A write goes on: what it answers after all tells what happened.
            result = await self._bounded.run(answer, seconds, patience=_LATE_SECONDS if writes else 0.0)
        except OutOfTime as given_up:
            connection.question(call)
            told = failed("timeout", took_too_long(spec.name, f"{seconds or 0:.3g}"), unknown=writes)
            return replace(told, late=promised(given_up.late, partial(_late, spec)))
        except asyncio.CancelledError:
            connection.question(call)
            raise
        except Exception as error:
            return _failed(spec, error)
        return _result(result, spec)

    def _prepared(self, spec: ToolSpec, arguments: dict[str, Json]) -> dict[str, Json] | ErrorData:
        if spec.name in self._keyed and self.key_argument in arguments:
            path = f"$.{self.key_argument}"
            why = Text(f"{path}: there is no such argument", f"{path}：没有这个参数")
            return refusal("invalid_arguments", why)
        return prepared(spec, arguments)

    async def _known(self) -> dict[str, ToolSpec]:
        if self._specs is None:
            connection = await self._running()
            if self._specs is None:
                self._specs = self._read(connection)
        return self._specs

    async def _running(self) -> Connection:
        connection_type = _connection_type()
        while True:
            current = self._connection
            if current is None or not current.usable:
                current = connection_type(self._server())
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

    def _server(self) -> Any:
        from sopwith.tools.mcp_connection import Server

        return Server(self.name, self.command, self.args, self.env, self.cwd, self.start_seconds)

    def _read(self, connection: Connection) -> dict[str, ToolSpec]:
        specs: dict[str, ToolSpec] = {}
        problems = list(connection.left_out)
        for tool in connection.tools:
            try:
                spec = self._spec(tool)
            except UserError as error:
                problems.append(Text(f"{tool.name}: {error.message.en}", f"{tool.name}：{error.message.zh}"))
                continue
            if spec.name in specs:
                problems.append(Text(f"{tool.name}: listed twice", f"{tool.name}：重复列出"))
            else:
                specs[spec.name] = spec
        problems += self._misnamed(specs)
        for name, how in self.lookups.items():
            problem = _unaskable(specs.get(f"{self.name}.{name}"), specs.get(f"{self.name}.{how.tool}"))
            if problem is None:
                spec = specs[f"{self.name}.{name}"]
                specs[spec.name] = spec.model_copy(update={"reconcilable": True})
            else:
                problems.append(Text(f"reconcile.{name}: {problem.en}", f"reconcile.{name}：{problem.zh}"))
        self._left_out = [Text(f"{self.name}: {p.en}", f"{self.name}：{p.zh}") for p in problems]
        return specs

    def _misnamed(self, specs: Mapping[str, ToolSpec]) -> list[Text]:
        named = [("effects", name) for name in self.effects]
        named += [("idempotent", name) for name in sorted(self.idempotent)]
        found = [
            Text(
                f"{name}: {key} names it, but there is no such tool", f"{name}：{key} 中有它，但没有这个工具"
            )
            for key, name in named
            if f"{self.name}.{name}" not in specs
        ]
        if self.key_argument is not None and not self._keyed:
            why = f"key_argument: no tool has {self.key_argument}"
            found.append(Text(why, f"key_argument：没有工具有参数 {self.key_argument}"))
        return found

    def _spec(self, tool: Tool) -> ToolSpec:
        input_schema = cast("dict[str, Json]", storable(tool.input_schema))
        output_schema = cast("dict[str, Json] | None", storable(tool.output_schema))
        for schema in (input_schema, output_schema):
            if schema is not None:
                validator(schema)
        if self.key_argument is not None and self.key_argument in input_schema.get("properties", {}):
            input_schema = without_key(input_schema, self.key_argument)
            self._keyed.add(f"{self.name}.{tool.name}")
        hints = tool.annotations if self.trusted else None
        read_only = Effect.READ if hints and hints.read_only_hint else Effect.WRITE
        return ToolSpec(
            name=f"{self.name}.{tool.name}",
            description=storable(tool.description or tool.title or ""),
            input_schema=input_schema,
            output_schema=output_schema,
            effect=self.effects.get(tool.name, read_only),
            idempotent=tool.name in self.idempotent or bool(hints and hints.idempotent_hint),
            value_threshold=self.value_threshold.get(tool.name),
        )


_NO_REASON = Text("the tool failed and says no reason", "工具失败，且没有说明原因")


def _unaskable(write: ToolSpec | None, asked: ToolSpec | None) -> Text | None:
    """Why a write cannot be asked about, if it cannot."""
    if write is None:
        return Text("there is no such tool", "没有这个工具")
    if write.effect is Effect.READ:
        return Text("it only reads", "它只读取")
    if asked is None:
        return Text("there is no such tool to ask", "要询问的工具不存在")
    if asked.effect is not Effect.READ:
        return Text(f"{asked.name} is not declared as a read", f"{asked.name} 未声明为 read")
    return None


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


def _failed(spec: ToolSpec, error: BaseException) -> ToolResult:
    from mcp.shared.exceptions import MCPError

    from sopwith.tools.mcp_connection import Lost

    writes = spec.effect is not Effect.READ
    if isinstance(error, Lost):
        return failed("server_lost", str(error), unknown=writes)
    if isinstance(error, MCPError):
        return failed("tool_error", error.message, unknown=writes and error.code not in _NOT_DONE)
    # The server has answered, with something that breaks its own promise.
    return failed("invalid_result", f"{type(error).__name__}: {error}", unknown=writes)


def _late(spec: ToolSpec, outcome: Outcome) -> ToolResult | None:
    """The answer to a call that was given up; None where it, or its server, was only ended."""
    value, error = outcome
    if error is None:
        return _result(value, spec)
    found = None if isinstance(error, asyncio.CancelledError) else _failed(spec, error)
    return None if found is None or (found.error and found.error.code == "server_lost") else found


def _result(result: CallToolResult, spec: ToolSpec) -> ToolResult:
    """The structured value where the tool declares one; else its text; else the list of its typed parts."""
    parts = [part.model_dump(mode="json", by_alias=True, exclude_none=True) for part in result.content]
    texts = [part["text"] for part in parts if part["type"] == "text"]
    if result.is_error:
        return failed("tool_error", storable("\n".join(texts)) or _NO_REASON)
    if spec.output_schema is not None:
        value = storable(result.structured_content)
        wrong = misfit(spec, value)
        unknown = spec.effect is not Effect.READ
        return failed("invalid_result", wrong, unknown=unknown) if wrong else ToolResult(value=value)
    if not parts:
        return ToolResult()
    return ToolResult(value=storable(texts[0] if len(texts) == len(parts) == 1 else parts))
