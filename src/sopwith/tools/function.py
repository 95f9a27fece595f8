"""Python functions as tools: the source that calls what `@tool` has marked."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sopwith.errors import Text, ToolSourceError, UserError, ValueRefused
from sopwith.ir.tool import Effect, ErrorData, ToolSpec
from sopwith.ir.value import Json
from sopwith.tools.arguments import changes
from sopwith.tools.bounded import Bounded, Outcome, OutOfTime
from sopwith.tools.declaration import ToolError, declaration_of
from sopwith.tools.port import Reconciled, ToolResult, failed, promised
from sopwith.tools.process_worker import Ended, Processes, Raised, Target, Unstorable, target_of
from sopwith.tools.reconcile import Hook, hook_of, told
from sopwith.tools.refusal import took_too_long, unknown_tool
from sopwith.tools.returned import misfit, plain
from sopwith.tools.signature import KEY, Signature, place, read_signature
from sopwith.tools.worker import Interrupt, NotStarted, Workers

_THREAD, _PROCESS = Text("thread", "线程"), Text("process", "进程")
_CANCELLED = Text("CancelledError: the tool was cancelled", "CancelledError：工具被取消")


@dataclass(frozen=True, slots=True)
class _Tool:
    function: Callable[..., Any]
    spec: ToolSpec
    signature: Signature
    inline: bool
    is_async: bool
    hook: Hook | None
    target: Target | None


@dataclass(frozen=True, slots=True)
class _Call:
    """One call: the arguments as JSON, `prepared`, and as the function takes them, `given`."""

    tool: _Tool
    prepared: dict[str, Json]
    given: dict[str, Any]
    key: str
    seconds: float | None


class FunctionSource:
    """A source of tools made of Python functions that `@tool` has marked.

    `name` is put before the names that have no source: `local` where it is not given. Raises `UserError`
    with file and line for a function that cannot be a tool.
    """

    def __init__(self, functions: Iterable[Callable[..., Any]], name: str | None = None) -> None:
        self.name = prefix = name or "local"
        self._workers = Workers()
        self._bounded = Bounded()
        self._processes = Processes()
        self._ready = False
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
        """The tools, sorted by name.

        Raises `ToolSourceError` where a process does not find a function that is to run there.
        """
        targets = [made.target for made in self._tools.values() if made.target is not None]
        if targets and not self._ready:
            await self._processes.start(targets)
            self._ready = True
        return [self._tools[name].spec for name in sorted(self._tools)]

    def prepare(self, name: str, arguments: dict[str, Json]) -> dict[str, Json] | ErrorData:
        """The arguments as the function's types read them, and its defaults; see `ToolSource.prepare`.

        The error is `not_plain` where a type changes them in a way that JSON cannot say.
        """
        found = self._tools.get(name)
        if found is None:
            return unknown_tool(name)
        return found.signature.parameters.prepare(arguments)

    async def call(
        self, name: str, arguments: dict[str, Json], *, key: str, seconds: float | None
    ) -> ToolResult:
        """Call a function; see `ToolSource.call`."""
        found = self._tools.get(name)
        if found is None:
            return ToolResult(error=unknown_tool(name))
        read = found.signature.parameters.read(arguments)
        if isinstance(read, ErrorData):
            return ToolResult(error=read)
        prepared, given = read
        changed = changes(arguments, prepared)
        if changed is not None:
            return ToolResult(error=changed)
        if found.signature.takes_key:
            given = {**given, KEY: key}
        call = _Call(found, prepared, given, key, _limit(found.spec, seconds))
        return await self._outcome(call)

    async def reconcile(
        self, name: str, arguments: dict[str, Json], *, key: str, seconds: float | None
    ) -> Reconciled:
        """Ask the tool's hook; see `ToolSource.reconcile`."""
        found = self._tools.get(name)
        if found is None or found.hook is None:
            return Reconciled(reason=f"{name} has no reconcile")
        read = found.signature.parameters.read(arguments)
        if isinstance(read, ErrorData):
            return Reconciled(reason=read.message)
        prepared, given = read
        changed = changes(arguments, prepared)
        if changed is not None:
            return Reconciled(reason=changed.message)
        asked = functools.partial(found.hook, **given, **{KEY: key})
        limit = _limit(found.spec, seconds)
        try:
            if inspect.iscoroutinefunction(found.hook):
                answer = await self._bounded.run(asked(), limit)
            else:
                answer = await self._workers.run(asked, limit, interrupt=True)
        except OutOfTime:
            return Reconciled(reason=f"reconcile of {name} took longer than {limit:g} s")
        except NotStarted:
            return Reconciled(reason=f"no thread was free for reconcile of {name}")
        except (asyncio.CancelledError, KeyboardInterrupt) as error:
            if _is_ours(error):
                raise
            return Reconciled(reason="CancelledError: reconcile was cancelled")
        except BaseException as error:
            return Reconciled(reason=f"{type(error).__name__}: {error}")
        return told(found.spec, answer)

    async def _outcome(self, call: _Call) -> ToolResult:
        spec = call.tool.spec
        writes = spec.effect is not Effect.READ
        try:
            value, error = await self._perform(call), None
        except OutOfTime as given_up:
            late = promised(given_up.late, functools.partial(_late, spec))
            told = failed("timeout", took_too_long(spec.name, f"{call.seconds:g}"), unknown=writes)
            return replace(told, late=late)
        except NotStarted:
            what = _PROCESS if call.tool.target else _THREAD
            said = Text(
                f"no {what.en} was free for {spec.name}: it was not called",
                f"没有空闲的{what.zh}可运行 {spec.name}：未调用",
            )
            return failed("unavailable", said)
        except (asyncio.CancelledError, KeyboardInterrupt) as cancelled:
            if _is_ours(cancelled):
                raise
            value, error = None, cancelled
        except BaseException as raised:
            value, error = None, raised
        return _result(spec, value, error)

    async def _perform(self, call: _Call) -> Any:
        made = call.tool
        if made.target is not None:
            return await self._processes.run(made.target, call.prepared, call.key, call.seconds)
        if made.is_async:
            return await self._bounded.run(made.function(**call.given), call.seconds)
        if made.inline:
            return made.function(**call.given)
        function = functools.partial(made.function, **call.given)
        return await self._workers.run(function, call.seconds, interrupt=made.spec.effect is Effect.READ)

    async def close(self) -> None:
        """End the threads and processes, and cancel the calls that were given up."""
        self._workers.close()
        await self._processes.close()
        await self._bounded.close()


def _result(spec: ToolSpec, value: object, error: BaseException | None) -> ToolResult:
    """What a call that has ended gives. Only the tool's own word, a ToolError, proves that a write has done nothing."""
    writes = spec.effect is not Effect.READ
    match error:
        case None:
            pass
        case ToolError():
            return failed(error.code, error.said)
        case ToolSourceError():
            return failed("unavailable", error.message)
        case Ended():
            said = Text(f"{spec.name}: {error.said.en}", f"{spec.name}：{error.said.zh}")
            return failed("process_lost", said, unknown=writes)
        case Raised():
            return failed("exception", str(error), unknown=writes)
        case Unstorable():
            return failed("unstorable_result", str(error), unknown=writes)
        case asyncio.CancelledError():
            return failed("exception", _CANCELLED, unknown=writes)
        case _:
            return failed("exception", f"{type(error).__name__}: {error}", unknown=writes)
    try:
        stored = plain(value)
    except ValueRefused as refused:
        return failed("unstorable_result", refused.message, unknown=writes)
    wrong = misfit(spec, stored)
    return failed("invalid_result", wrong, unknown=writes) if wrong else ToolResult(value=stored)


def _late(spec: ToolSpec, outcome: Outcome) -> ToolResult | None:
    """The result of a call that was given up; None where it has only been ended."""
    value, error = outcome
    ended = isinstance(error, asyncio.CancelledError | Interrupt | Ended)
    return None if ended else _result(spec, value, error)


def _is_ours(error: BaseException) -> bool:
    """Whether it is the caller who is cancelled: a tool's own cancellation is its failure."""
    task = asyncio.current_task()
    return isinstance(error, KeyboardInterrupt) or task is None or task.cancelling() > 0


def _limit(spec: ToolSpec, seconds: float | None) -> float | None:
    limits = [limit for limit in (spec.timeout, seconds) if limit is not None]
    return min(limits, default=None)


def _make(function: Callable[..., Any], prefix: str) -> _Tool:
    said = declaration_of(function)
    if said is None:
        raise UserError(
            Text(f"{place(function)} is not a tool", f"{place(function)} 不是工具"),
            Text("Put @tool before its definition.", "请在函数定义前加上 @tool。"),
        )
    signature = read_signature(function)
    name = said.name or function.__name__
    names = signature.input_schema["properties"]
    hook = None if said.reconcile is None else hook_of(function, said.reconcile, names)
    target = target_of(function) if said.process else None
    spec = ToolSpec(
        name=name if "." in name else f"{prefix}.{name}",
        description=said.description or signature.description,
        input_schema=signature.input_schema,
        output_schema=signature.output_schema,
        effect=said.effect,
        idempotent=said.idempotent,
        reconcilable=hook is not None,
        scopes=said.scopes,
        sensitivity=said.sensitivity,
        timeout=said.timeout,
        value_threshold=said.value_threshold,
    )
    return _Tool(function, spec, signature, said.inline, inspect.iscoroutinefunction(function), hook, target)
