"""What the author of a tool writes: the `@tool` decorator, and the error that says that nothing was done."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, overload

from sopwith.errors import Text, UserError
from sopwith.ir.tool import Effect

F = TypeVar("F", bound=Callable[..., Any])
EffectName = Literal["read", "write", "irreversible"]
_MARK = "__sopwith_tool__"


class ToolError(Exception):
    """Raise this in a tool to give the caller a typed error: `on_error` can branch on its `code`.

    It says that **nothing was done**: a write that raises it may be tried again. Raise anything else where
    that is not certain. `zh` is the message in Chinese: a run in Chinese is told that one.
    """

    def __init__(self, code: str, message: str, *, zh: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.zh = zh

    @property
    def said(self) -> Text | str:
        """The message: in both languages, or in the one that it was given in."""
        return self.message if self.zh is None else Text(self.message, self.zh)


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
    process: bool
    reconcile: Callable[..., Any] | None
    value_threshold: int | None


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
    process: bool = False,
    reconcile: Callable[..., Any] | None = None,
    value_threshold: int | None = None,
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
    process: bool = False,
    reconcile: Callable[..., Any] | None = None,
    value_threshold: int | None = None,
) -> Any:
    """Mark a function, sync or async, as a tool. It stays the plain function that it is.

    The input schema comes from the annotations, the descriptions from the docstring, the output schema from
    the return annotation. `name` is `source.tool`; where it has no dot, the source's name is put before it.
    `effect` says what a call does to the world; `idempotent` that it may be called again with the same key,
    which a keyword-only parameter `idempotency_key: str` receives. `timeout` is in seconds. A result with a field of
    more than `value_threshold` characters (1,000) is stored, and a model is shown a preview of it.

    A sync function runs in a thread. `inline=True` runs it in the event loop: faster, for what is quick and
    never blocks, and without a timeout. `process=True` runs it in a process of its own, which is ended with
    everything it has started when the time is up: for what a thread cannot be stopped in.

    `reconcile` belongs to a write: called with the arguments and the `idempotency_key` of a call of which nobody
    knows whether it happened, it returns `Done(value)`, `NotDone()` or `Unsure()`.
    """
    effect = _effect(effect)
    if timeout is not None and not timeout > 0:
        raise UserError(Text(f"a timeout of {timeout} is not possible", f"timeout 不能是 {timeout}"))
    if reconcile is not None and effect is Effect.READ:
        raise UserError(
            Text("reconcile belongs to a write", "reconcile 只用于写操作"),
            Text(
                "Say effect='write', or leave it out: a read may be repeated.",
                "请写 effect='write'，或去掉 reconcile：读操作可以重复。",
            ),
        )
    if process and inline:
        raise UserError(Text("a tool runs inline or in a process", "工具要么 inline 运行，要么在进程中运行"))
    if value_threshold is not None and value_threshold < 1:
        raise UserError(
            Text(
                f"a value_threshold of {value_threshold} is not possible",
                f"value_threshold 不能是 {value_threshold}",
            ),
            Text("Write 1 or more characters.", "请写 1 或更大的字符数。"),
        )
    declaration = Declaration(
        name, description, effect, idempotent, timeout, tuple(scopes), sensitivity, inline, process, reconcile,
        value_threshold,
    )  # fmt: skip

    def mark(marked: Callable[..., Any]) -> Callable[..., Any]:
        # A bound method holds no attributes of its own: a function around it does.
        target = _around(marked) if inspect.ismethod(marked) else marked
        setattr(target, _MARK, declaration)
        return target

    return mark if function is None else mark(function)


def _effect(effect: str) -> Effect:
    if effect not in tuple(Effect):
        raise UserError(
            Text(f"the effect {effect!r} is unknown", f"未知的 effect：{effect!r}"),
            Text("Write read, write or irreversible.", "请写 read、write 或 irreversible。"),
        )
    return Effect(effect)


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
