"""Whether a call happened: what the hook of `@tool(reconcile=…)` answers, and what the engine is told."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, cast

from sopwith.errors import Text, UserError, ValueRefused
from sopwith.ir.tool import ToolSpec
from sopwith.tools.port import Reconciled
from sopwith.tools.returned import misfit, plain
from sopwith.tools.signature import KEY, place


@dataclass(frozen=True, slots=True)
class Done:
    """The call happened. `value` is what it returned, or would have."""

    value: object = None


@dataclass(frozen=True, slots=True)
class NotDone:
    """The call did not happen and will not: it may be made."""


@dataclass(frozen=True, slots=True)
class Unsure:
    """Nobody can say whether the call happened, `reason` says why: a person has to look."""

    reason: str = ""


Hook = Callable[..., Any]
"""Called with the arguments of a call by name and its `idempotency_key`; sync or async."""


def told(spec: ToolSpec, answer: object) -> Reconciled:
    """What a hook's `answer` says about a call of `spec`; a value that no call could have given is no proof."""
    match answer:
        case NotDone():
            return Reconciled(happened=False)
        case Unsure(reason=reason):
            return Reconciled(reason=reason)
        case Done(value=value):
            return happened(spec, value)
        case _:
            return Reconciled(
                reason=f"the hook returned {type(answer).__name__}: not Done, NotDone or Unsure"
            )


def happened(spec: ToolSpec, value: object) -> Reconciled:
    """A call of `spec` that happened with `value`; unsure where that is not what the tool declares."""
    try:
        stored = plain(value)
    except ValueRefused as error:
        return Reconciled(reason=error.message.en)
    wrong = misfit(spec, stored)
    return Reconciled(reason=wrong.en) if wrong else Reconciled(happened=True, value=stored)


def hook_of(function: Callable[..., Any], given: object, parameters: Iterable[str]) -> Hook:
    """The hook `given` for the tool `function`: a method beside it is bound to the same object.

    Raises `UserError` for one that cannot be called with the tool's `parameters` and the key.
    """
    if not callable(given):
        raise _unusable(function, Text("reconcile is not a function", "reconcile 不是函数"))
    hook = cast("Hook", given)
    owner = getattr(function, "__self__", None)
    if owner is not None and any(hook is one for kind in type(owner).__mro__ for one in vars(kind).values()):
        hook = hook.__get__(owner)
    try:
        inspect.signature(hook).bind(**dict.fromkeys((*parameters, KEY)))
    except TypeError as error:
        raise _unusable(
            function,
            Text(
                f"its reconcile cannot be called by its arguments: {error}",
                f"无法用该工具的参数调用它的 reconcile：{error}",
            ),
        ) from error
    return hook


def _unusable(function: Callable[..., Any], why: Text) -> UserError:
    return UserError(
        Text(f"{place(function)}: {why.en}", f"{place(function)}：{why.zh}"),
        Text(
            f"Give it the tool's parameters and {KEY}, by name; **arguments takes them all.",
            f"请让它按名称接收该工具的参数和 {KEY}；也可以用 **arguments 全部接收。",
        ),
    )
