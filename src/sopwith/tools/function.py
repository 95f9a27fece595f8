"""Python functions as tools: the `@tool` decorator and the source that calls what it has marked."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, overload

from sopwith.errors import Text, UserError, ValueRefused
from sopwith.ir.tool import Effect, ErrorData, ToolSpec
from sopwith.ir.value import Json
from sopwith.tools.arguments import changes
from sopwith.tools.bounded import Bounded, OutOfTime
from sopwith.tools.port import ToolResult, failed
from sopwith.tools.returned import misfit, plain
from sopwith.tools.signature import KEY, Signature, place, read_signature
from sopwith.tools.worker import NotStarted, Workers

F = TypeVar("F", bound=Callable[..., Any])
EffectName = Literal["read", "write", "irreversible"]
_MARK = "__sopwith_tool__"


class ToolError(Exception):
    """Raise this in a tool to give the caller a typed error: `on_error` can branch on its `code`.

    It says that **nothing was done**: a write that raises it may be tried again. Raise anything else where
    that is not certain.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True)
class Declaration:
    """What `@tool` says about a function."""

    name: str | None
    description: str | None
    effect: Effect
    idempotent: bool
    timeout: float | None
    scopes: tuple[str, ...]
    sensitivity: str
    inline: bool


@overload
def tool(function: F, /) -> F: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    effect: EffectName | Effect = "read",
    idempotent: bool = False,
    timeout: float | None = None,
    scopes: Sequence[str] = (),
    sensitivity: str = "normal",
    inline: bool = False,
) -> Callable[[F], F]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    effect: EffectName | Effect = "read",
    idempotent: bool = False,
    timeout: float | None = None,
    scopes: Sequence[str] = (),
    sensitivity: str = "normal",
    inline: bool = False,
) -> Any:
    """Mark a function, sync or async, as a tool. It stays the plain function that it is.

    The input schema comes from the annotations, the descriptions from the docstring, the output schema from
    the return annotation. `name` is `source.tool`; where it has no dot, the source's name is put before it.
    `effect` says what a call does to the world; `idempotent` that it may be called again with the same key,
    which a keyword-only parameter `idempotency_key: str` receives. `timeout` is in seconds.

    A sync function runs in a thread. `inline=True` runs it in the event loop: faster, for what is quick and
    never blocks, and without a timeout.
    """
    if effect not in tuple(Effect):
        raise UserError(
            Text(f"the effect {effect!r} is unknown", f"未知的 effect：{effect!r}"),
            Text("Write read, write or irreversible.", "请写 read、write 或 irreversible。"),
        )
    if timeout is not None and not timeout > 0:
        raise UserError(Text(f"a timeout of {timeout} is not possible", f"timeout 不能是 {timeout}"))
    declaration = Declaration(
        name, description, Effect(effect), idempotent, timeout, tuple(scopes), sensitivity, inline
    )

    def mark(marked: Callable[..., Any]) -> Callable[..., Any]:
        # A bound method holds no attributes of its own: a function around it does.
        target = _around(marked) if inspect.ismethod(marked) else marked
        setattr(target, _MARK, declaration)
        return target

    return mark if function is None else mark(function)


def _around(method: Callable[..., Any]) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(method):

        @functools.wraps(method)
        async def call_async(*args: Any, **kwargs: Any) -> Any:
            return await method(*args, **kwargs)

        return call_async

    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        return method(*args, **kwargs)

    return call


def declaration_of(function: object) -> Declaration | None:
    """What `@tool` says about `function`, or None."""
    found = getattr(function, _MARK, None)
    return found if isinstance(found, Declaration) else None


def tools_of(target: object) -> list[Callable[..., Any]]:
    """The methods of `target` that `@tool` marks, bound to it, in the order of their definition."""
    names = dict.fromkeys(name for kind in reversed(type(target).__mro__) for name in vars(kind))
    marked = [name for name in names if declaration_of(inspect.getattr_static(target, name, None))]
    return [getattr(target, name) for name in marked]


@dataclass(frozen=True, slots=True)
class _Tool:
    function: Callable[..., Any]
    spec: ToolSpec
    signature: Signature
    inline: bool
    is_async: bool


class FunctionSource:
    """A source of tools made of Python functions that `@tool` has marked.

    `name` is put before the names that have no source: `local` where it is not given. Raises `UserError`
    with file and line for a function that cannot be a tool.
    """

    def __init__(self, functions: Iterable[Callable[..., Any]], name: str | None = None) -> None:
        self.name = prefix = name or "local"
        self._workers = Workers()
        self._bounded = Bounded()
        self._tools: dict[str, _Tool] = {}
        for function in functions:
            made = _make(function, prefix)
            name = made.spec.name
            if name in self._tools:
                first = self._tools[name].function
                both = f"{place(first)}, {place(function)}"
                raise UserError(
                    Text(f"two tools are named {name}: {both}", f"两个工具都叫 {name}：{both}"),
                    Text("Name one of them with @tool(name=…).", "请用 @tool(name=…) 给其中一个命名。"),
                )
            self._tools[name] = made

    async def specs(self) -> Sequence[ToolSpec]:
        """The tools, sorted by name."""
        return [self._tools[name].spec for name in sorted(self._tools)]

    def prepare(self, name: str, arguments: dict[str, Json]) -> dict[str, Json] | ErrorData:
        """The arguments as the function's types read them, and its defaults; see `ToolSource.prepare`.

        The error is `not_plain` where a type changes them in a way that JSON cannot say.
        """
        found = self._tools.get(name)
        if found is None:
            return ErrorData(code="unknown_tool", message=f"there is no tool {name}")
        return found.signature.parameters.prepare(arguments)

    async def call(
        self, name: str, arguments: dict[str, Json], *, key: str, seconds: float | None
    ) -> ToolResult:
        """Call a function; see `ToolSource.call`. A late result is dropped."""
        found = self._tools.get(name)
        if found is None:
            return failed("unknown_tool", f"there is no tool {name}")
        prepared = found.signature.parameters.prepare(arguments)
        if isinstance(prepared, ErrorData):
            return ToolResult(error=prepared)
        changed = changes(arguments, prepared)
        if changed is not None:
            return ToolResult(error=changed)
        given = found.signature.parameters.read(prepared)
        if found.signature.takes_key:
            given = {**given, KEY: key}
        limit = found.spec.timeout
        if limit is None or (seconds is not None and seconds < limit):
            limit = seconds
        return await self._outcome(found, given, limit)

    async def _outcome(self, found: _Tool, given: dict[str, Any], seconds: float | None) -> ToolResult:
        # Only the tool's own word, a ToolError, proves that a write has done nothing.
        writes = found.spec.effect is not Effect.READ
        try:
            value = await self._perform(found, given, seconds)
        except OutOfTime:
            return failed("timeout", f"{found.spec.name} took longer than {seconds:g} s", unknown=writes)
        except NotStarted:
            return failed("unavailable", f"no thread was free for {found.spec.name}: it was not called")
        except ToolError as error:
            return failed(error.code, error.message)
        except (asyncio.CancelledError, KeyboardInterrupt) as error:
            # The tool's own cancellation is its failure; the caller's is passed on.
            task = asyncio.current_task()
            if isinstance(error, KeyboardInterrupt) or task is None or task.cancelling():
                raise
            return failed("exception", "CancelledError: the tool was cancelled", unknown=writes)
        except BaseException as error:
            return failed("exception", f"{type(error).__name__}: {error}", unknown=writes)
        try:
            stored = plain(value)
        except ValueRefused as error:
            return failed("unstorable_result", error.message.en, unknown=writes)
        wrong = misfit(found.spec, stored)
        return failed("invalid_result", wrong, unknown=writes) if wrong else ToolResult(value=stored)

    async def _perform(self, found: _Tool, given: dict[str, Any], seconds: float | None) -> Any:
        if found.is_async:
            return await self._bounded.run(found.function(**given), seconds)
        if found.inline:
            return found.function(**given)
        return await self._workers.run(
            functools.partial(found.function, **given), seconds, interrupt=found.spec.effect is Effect.READ
        )

    async def close(self) -> None:
        """End the idle threads and cancel the calls that were given up."""
        self._workers.close()
        await self._bounded.close()


def _make(function: Callable[..., Any], prefix: str) -> _Tool:
    said = declaration_of(function)
    if said is None:
        raise UserError(
            Text(f"{place(function)} is not a tool", f"{place(function)} 不是工具"),
            Text("Put @tool before its definition.", "请在函数定义前加上 @tool。"),
        )
    signature = read_signature(function)
    name = said.name or function.__name__
    spec = ToolSpec(
        name=name if "." in name else f"{prefix}.{name}",
        description=said.description or signature.description,
        input_schema=signature.input_schema,
        output_schema=signature.output_schema,
        effect=said.effect,
        idempotent=said.idempotent,
        scopes=said.scopes,
        sensitivity=said.sensitivity,
        timeout=said.timeout,
    )
    return _Tool(function, spec, signature, said.inline, inspect.iscoroutinefunction(function))
