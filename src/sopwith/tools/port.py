"""What a source of tools is to the engine: specs, and one call at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from sopwith.errors import Text
from sopwith.ir.input_request import InputGiven, InputWanted
from sopwith.ir.tool import ErrorData, ToolSpec
from sopwith.ir.value import Json
from sopwith.tools.bounded import Outcome
from sopwith.tools.refusal import refusal


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came back from a call: a value, or a typed error, or `unknown`: it may have acted.

    An `error` without `unknown` says that nothing was done; beside it, why nobody knows. `late` gets the result of
    a call that was given up, if that comes after all, in the event loop that called. `wants`: the tool asks before it
    goes on, and has not ended.
    """

    value: Json = None
    error: ErrorData | None = None
    unknown: bool = False
    late: asyncio.Future[ToolResult] | None = field(default=None, compare=False, repr=False)
    wants: InputWanted | None = None


Late = asyncio.Future[ToolResult]


@dataclass(frozen=True, slots=True)
class Reconciled:
    """Whether a call happened; `happened` is None where nobody can say, and `reason` says why (English).

    `value` is the result of a call that happened, as the call itself would have given it.
    """

    happened: bool | None = None
    value: Json = None
    reason: str = ""


def failed(code: str, message: Text | str, *, unknown: bool = False) -> ToolResult:
    """A call that ended in an error, in words of this library (a `Text`) or of the tool.

    `unknown`: it may have acted before.
    """
    own = isinstance(message, Text)
    error = refusal(code, message) if own else ErrorData(code=code, message=message)
    return ToolResult(error=error, unknown=unknown)


def promised(late: asyncio.Future[Outcome], result: Callable[[Outcome], ToolResult | None]) -> Late:
    """The `late` of a result: what `result` makes of the outcome, if there is one and it makes something."""
    promise: Late = late.get_loop().create_future()

    def settle(ended: asyncio.Future[Outcome]) -> None:
        found = None if ended.cancelled() else result(ended.result())
        if found is not None and not promise.done():
            promise.set_result(found)

    late.add_done_callback(settle)
    return promise


class ToolSource(Protocol):
    """A source of tools: a Python module, an MCP server, a document, a recording."""

    async def specs(self) -> Sequence[ToolSpec]:
        """The tools, sorted by name. A tool that cannot be read is left out and reported, the others stay."""
        ...

    def prepare(self, name: str, arguments: dict[str, Json]) -> dict[str, Json] | ErrorData:
        """`arguments` exactly as the tool `name` will get them: plain JSON, checked, with its own defaults.

        Or the typed error that a call with them would be. It does nothing else, and prepared arguments are
        prepared as themselves. Call it after `specs`: what it gives is what is judged, logged and called.
        """
        ...

    async def call(
        self, name: str, arguments: dict[str, Json], *, key: str, seconds: float | None
    ) -> ToolResult:
        """Call the tool `name` (`source.tool`). Nothing that the tool raises passes: it is a typed error.

        `arguments` are not changed any more: those that `prepare` would change are the error `not_prepared`.
        `key` is the idempotency key. Past `seconds` it returns: a read is a typed error `timeout`, a write is
        `unknown`, as it is after every failure that does not prove that nothing was done. Raises only
        `asyncio.CancelledError`.
        """
        ...

    async def reconcile(
        self, name: str, arguments: dict[str, Json], *, key: str, seconds: float | None
    ) -> Reconciled:
        """Ask whether the call of `name` with exactly these `arguments` and this `key` happened.

        It acts on nothing, and returns within `seconds`. Unsure is the answer to every failure, and of a tool
        that is not `reconcilable`. Raises only `asyncio.CancelledError`.
        """
        ...

    async def close(self) -> None:
        """End what the source holds: processes, connections. May be called twice."""
        ...


@runtime_checkable
class Asking(Protocol):
    """A source whose tools may ask a person in the middle of a call."""

    async def go_on(
        self, name: str, arguments: dict[str, Json], given: InputGiven, *, key: str, seconds: float | None
    ) -> ToolResult:
        """Go on with the call that came back with `wants`, with the same arguments and `key`.

        It is as `ToolSource.call` otherwise, and may ask again. A call that was held by a process that has ended is the
        error `input_lost`: unknown, where it writes.
        """
        ...


@runtime_checkable
class Changing(Protocol):
    """A source whose tools may change while it is used."""

    async def refresh(self) -> bool:
        """Read the tools anew where that may give others; whether it did. Raises nothing."""
        ...
