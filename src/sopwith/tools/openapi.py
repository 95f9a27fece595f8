"""The operations of an OpenAPI document as a source of tools."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from sopwith.errors import NO_HINT, Text, ToolSourceError, UserError
from sopwith.ir.diagnostic import Diagnostic, Place, Severity
from sopwith.ir.tool import Effect, ErrorData, ToolSpec
from sopwith.ir.value import Json
from sopwith.tools.arguments import changes, prepared
from sopwith.tools.bounded import Bounded, Outcome, OutOfTime
from sopwith.tools.openapi_auth import Credentials, Reference
from sopwith.tools.openapi_document import Document, Operation, parse_document, read_document
from sopwith.tools.openapi_request import Request, misplaced, request_of
from sopwith.tools.openapi_response import masked, result_of
from sopwith.tools.port import Reconciled, ToolResult, failed, promised
from sopwith.tools.refusal import known, refusal, took_too_long, unknown_tool
from sopwith.tools.schema import UNUSABLE, hold_to_usable

if TYPE_CHECKING:
    from sopwith.tools.openapi_client import Client, TooLarge

_EFFECTS = {"GET": Effect.READ, "HEAD": Effect.READ, "OPTIONS": Effect.READ, "TRACE": Effect.READ,
            "DELETE": Effect.IRREVERSIBLE}  # fmt: skip
_IDEMPOTENT = frozenset({"PUT", "DELETE"})
_LATE_SECONDS = 600.0
"""How long a late answer to a write is still taken."""

_START_SECONDS = 30.0


class OpenApiSource:
    """The operations of one document, named `name.operationId`; without an id, after method and path.

    `document` is a file or a URL. `url` is the base of all requests; without it, the document's first server is.
    GET and HEAD read, DELETE is irreversible and the others write, unless the document says `x-sopwith-effect`, or
    `effects` says otherwise by the operation's name. PUT, DELETE, what `idempotent` names and what declares a header
    `Idempotency-Key` may be called again with the same key. `only` are patterns of the operations that are used.
    `auth` holds references to the environment by the names of the document's security schemes. `timeout` is the limit
    of a call in seconds.
    """

    def __init__(
        self,
        name: str,
        document: str | Path,
        *,
        url: str | None = None,
        auth: Mapping[str, Reference] | None = None,
        effects: Mapping[str, Effect] | None = None,
        idempotent: Iterable[str] = (),
        only: Iterable[str] = ("*",),
        timeout: float | None = 60.0,
    ) -> None:
        self.name = name
        self.document = document
        self.url = None if url is None else url.rstrip("/")
        self.effects = dict(effects or {})
        self.idempotent = frozenset(idempotent)
        self.only = tuple(only)
        self.timeout = timeout
        self.diagnostics: list[Diagnostic] = []
        self._credentials = Credentials(auth or {})
        self._specs: dict[str, ToolSpec] | None = None
        self._operations: dict[str, Operation] = {}
        self._document: Document | None = None
        self._base = ""
        self._client: Client | None = None
        self._bounded = Bounded()

    @property
    def problems(self) -> list[Text]:
        """What is not used, and why, once the document was read."""
        return [told.message for told in self.diagnostics]

    async def specs(self) -> Sequence[ToolSpec]:
        """The tools, sorted by name, read once. Raises `ToolSourceError` where the document cannot be read."""
        specs = await self._known()
        return [specs[name] for name in sorted(specs)]

    def prepare(self, name: str, arguments: dict[str, Json]) -> dict[str, Json] | ErrorData:
        """The arguments themselves where the operation takes and lists them; see `ToolSource.prepare`."""
        spec = known(self._specs, self.name, name)
        if isinstance(spec, ErrorData):
            return spec
        plain = prepared(spec, arguments)
        if isinstance(plain, ErrorData):
            return plain
        wrong = misplaced(self._operations[name], plain)
        return refusal("invalid_arguments", wrong) if wrong else plain

    async def call(
        self, name: str, arguments: dict[str, Json], *, key: str, seconds: float | None
    ) -> ToolResult:
        """Send the request; see `ToolSource.call`. A status of 400 or more is the error `http_STATUS`."""
        limit = min((each for each in (seconds, self.timeout) if each is not None), default=None)
        clock = asyncio.get_running_loop().time
        end = None if limit is None else clock() + limit
        try:
            spec = (await self._bounded.run(self._known(), limit)).get(name)
        except ToolSourceError as error:
            return failed("unavailable", error.message)
        except OutOfTime:
            said = Text(
                f"the document of {self.name} was not read within {limit:g} s",
                f"未能在 {limit:g} 秒内读取 {self.name} 的文档",
            )
            return failed("unavailable", said)
        if spec is None:
            return ToolResult(error=unknown_tool(name))
        given = self.prepare(name, arguments)
        changed = given if isinstance(given, ErrorData) else changes(arguments, given)
        if changed is not None:
            return ToolResult(error=changed)
        return await self._perform(spec, arguments, key, None if end is None else end - clock())

    async def reconcile(
        self, name: str, arguments: dict[str, Json], *, key: str, seconds: float | None
    ) -> Reconciled:
        """Nobody can say: a document does not tell how to ask."""
        return Reconciled(reason=f"{name} has no reconcile")

    async def close(self) -> None:
        """Close the connections."""
        await self._bounded.close()
        client, self._client = self._client, None
        if client is not None and client.loop is asyncio.get_running_loop():
            await client.close()

    async def _perform(
        self, spec: ToolSpec, arguments: dict[str, Json], key: str, seconds: float | None
    ) -> ToolResult:
        operation = self._operations[spec.name]
        request = request_of(operation, self._base, arguments, key)
        try:
            secrets = await self._bounded.run(self._authorised(request, operation), seconds)
        except ToolSourceError as error:
            return failed("unavailable", error.message)
        except OutOfTime:
            return failed("unavailable", _no_token(self.name, Text("out of time", "超时")))
        except Exception as error:
            kind = type(error).__name__
            return failed("unavailable", _no_token(self.name, Text(kind, kind)))
        writes = spec.effect is not Effect.READ
        answer = self._running().send(request)
        try:
            # A read is cancelled. A write goes on: what it answers after all tells what happened.
            got = await self._bounded.run(answer, seconds, patience=_LATE_SECONDS if writes else 0.0)
        except OutOfTime as given_up:
            told = failed("timeout", took_too_long(spec.name, f"{seconds or 0:.3g}"), unknown=writes)
            late = promised(given_up.late, partial(_late, spec, secrets))
            return replace(told, late=late)
        except Exception as error:
            return _failed(spec, error, secrets)
        if got.status == 401:
            self._credentials.forget_tokens()
        return result_of(spec, got, secrets)

    async def _authorised(self, request: Request, operation: Operation) -> tuple[str, ...]:
        assert self._document is not None  # the specs were read from it
        client = self._running()
        return await self._credentials.add(request, self._document, operation, client, self._base)

    def _running(self) -> Client:
        """The client of this event loop."""
        client = self._client
        if client is None or client.loop is not asyncio.get_running_loop():
            client = self._client = cast("Client", _http().Client())
        return client

    async def _known(self) -> dict[str, ToolSpec]:
        if self._specs is None:
            document = await self._read()
            if self._specs is None:
                self._take(document)
        return cast("dict[str, ToolSpec]", self._specs)

    async def _read(self) -> Document:
        if isinstance(self.document, Path):
            return Document(read_document(self.document))
        http = _http()
        try:
            answer = await self._bounded.run(
                self._running().send(Request("GET", self.document)), _START_SECONDS
            )
        except (*http.Failure, http.TooLarge, OutOfTime) as error:
            raise _unread(self.document, f"{type(error).__name__}: {error}") from error
        if answer.status != 200:
            raise _unread(self.document, f"status {answer.status}")
        text = answer.body.decode("utf-8-sig", "replace")
        return Document(parse_document(text, self.document), self.document)

    def _take(self, document: Document) -> None:
        base = self.url or document.server()
        if base is None:
            raise ToolSourceError(
                Text(
                    f"{self.name}: {self.document} names no server that is a whole URL",
                    f"{self.name}：{self.document} 没有给出完整的服务器地址",
                ),
                Text("Give `url` in the settings of this document.", "请在该文档的设置中给出 url。"),
            )
        left_out: list[tuple[str, UserError]] = []
        specs: dict[str, ToolSpec] = {}
        for operation in filter(self._is_wanted, document.operations(left_out)):
            try:
                self._hold_to_server(operation, base)
                spec = self._spec(document, operation)
            except UserError as error:
                left_out.append((operation.name, error))
                continue
            specs[spec.name] = spec
            self._operations[spec.name] = operation
        notes = [
            Text(f"{kind}.{name}: there is no such operation", f"{kind}.{name}：没有这个操作")
            for kind, names in (("effects", self.effects), ("idempotent", sorted(self.idempotent)))
            for name in names
            if f"{self.name}.{name}" not in specs
        ]
        notes += self._credentials.problems(document, list(self._operations.values()))
        self.diagnostics = [
            *(self._told(e.code, e.message, e.hint, name) for name, e in left_out if self._is_named(name)),
            *(self._told("SW435", note) for note in notes),
        ]
        self._document, self._base, self._specs = document, base, specs

    def _is_wanted(self, operation: Operation) -> bool:
        return self._is_named(operation.name)

    def _is_named(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self.only)

    def _hold_to_server(self, operation: Operation, base: str) -> None:
        if operation.server is not None and self.url is None and operation.server != base:
            raise UserError(
                Text(
                    f"it goes to another server, {operation.server}", f"它发往另一服务器 {operation.server}"
                ),
                Text(
                    "Make it a source of its own, with `only` and `url`.",
                    "请用 only 和 url 为它单独设一个来源。",
                ),
                "SW434",
            )

    def _spec(self, document: Document, operation: Operation) -> ToolSpec:
        given = [(p.argument, p.schema, p.required) for p in operation.parameters]
        if operation.body is not None:
            given.append((operation.body.argument, operation.body.schema, operation.body.required))
        schema: dict[str, Json] = {
            "type": "object",
            "properties": {name: each for name, each, _ in given},
            "required": [name for name, _, required in given if required],
            "additionalProperties": False,
        }
        output = operation.results
        wanted: Any = None if output is None else output[0] if len(output) == 1 else {"anyOf": list(output)}
        inputs = document.schemas.whole(schema, "input")
        outputs = None if wanted is None else document.schemas.whole(wanted, "output")
        for each in (inputs, outputs):
            if each is not None:
                hold_to_usable(each)
        idempotent = operation.method in _IDEMPOTENT or operation.key_header is not None
        return ToolSpec(
            name=f"{self.name}.{operation.name}",
            description=operation.description,
            input_schema=inputs,
            output_schema=outputs,
            effect=self.effects.get(operation.name) or _effect(operation),
            idempotent=idempotent or operation.name in self.idempotent,
            timeout=self.timeout,
            about=document.about,
        )

    def _told(self, code: str, what: Text, hint: Text = NO_HINT, tool: str = "") -> Diagnostic:
        en, zh = (f"{self.name}.{tool}: ", f"{self.name}.{tool}：") if tool else (f"{self.name}: ",) * 2
        return Diagnostic(
            code=code if code.startswith("SW4") else UNUSABLE,
            severity=Severity.WARNING,
            place=Place(file=str(self.document)),
            message=Text(en + what.en, zh + what.zh),
            hint=hint,
        )


def _effect(operation: Operation) -> Effect:
    if operation.effect is None:
        return _EFFECTS.get(operation.method, Effect.WRITE)
    if operation.effect not in tuple(Effect):
        raise UserError(
            Text(
                f"x-sopwith-effect: {operation.effect!r} is unknown",
                f"x-sopwith-effect：未知的 {operation.effect!r}",
            ),
            Text("Write read, write or irreversible.", "请写 read、write 或 irreversible。"),
            "SW434",
        )
    return Effect(operation.effect)


def _failed(spec: ToolSpec, error: Exception, secrets: tuple[str, ...]) -> ToolResult:
    """A request without an answer. Only where no connection was made is it certain that nothing was done."""
    http = _http()
    writes = spec.effect is not Effect.READ
    if isinstance(error, http.NOT_SENT):
        why = masked(str(error) or type(error).__name__, secrets)
        return failed("unavailable", Text(f"the server cannot be reached: {why}", f"无法连接服务器：{why}"))
    if isinstance(error, http.TooLarge):
        return failed("too_large", cast("TooLarge", error).said, unknown=writes)
    why = masked(f"{type(error).__name__}: {error}".rstrip(": "), secrets)
    said = Text(f"the connection was lost before an answer: {why}", f"收到答复之前连接中断：{why}")
    return failed("server_lost", said, unknown=writes)


def _no_token(source: str, why: Text) -> Text:
    return Text(
        f"{source} gave no token ({why.en}): the call was not made",
        f"{source} 未给出令牌（{why.zh}）：未发出调用",
    )


def _late(spec: ToolSpec, secrets: tuple[str, ...], outcome: Outcome) -> ToolResult | None:
    """The answer to a call that was given up; None where it has only been ended."""
    answer, error = outcome
    return result_of(spec, answer, secrets) if error is None else None


def _unread(document: str, why: str) -> ToolSourceError:
    return ToolSourceError(
        Text(f"{document} cannot be read: {why}", f"无法读取 {document}：{why}"),
        Text("Look whether the address is right.", "请检查地址是否正确。"),
    )


def _http() -> Any:
    try:
        from sopwith.tools import openapi_client
    except ModuleNotFoundError as error:
        raise ToolSourceError(
            Text("OpenAPI documents need the package httpx2", "使用 OpenAPI 文档需要安装 httpx2"),
            Text("Install it: pip install 'sopwith[openapi]'", "请安装：pip install 'sopwith[openapi]'"),
        ) from error
    return openapi_client
