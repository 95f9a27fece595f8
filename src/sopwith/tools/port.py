"""What a source of tools is to the engine: specs, and one call at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from sopwith.ir.tool import ErrorData, ToolSpec
from sopwith.ir.value import Json


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came back from a call: a value, or a typed error, or neither (`unknown`: it may have acted)."""

    value: Json = None
    error: ErrorData | None = None
    unknown: bool = False


class ToolSource(Protocol):
    """A source of tools: a Python module, an MCP server, a document, a recording."""

    async def specs(self) -> Sequence[ToolSpec]:
        """The tools, sorted by name. A tool that cannot be read is left out and reported, the others stay."""
        ...

    async def call(
        self, name: str, arguments: dict[str, Json], *, key: str, seconds: float | None
    ) -> ToolResult:
        """Call the tool `name` (`source.tool`). Nothing that the tool raises passes: it is a typed error.

        `key` is the idempotency key. Past `seconds` it returns: a read is a typed error `timeout`, a write is
        `unknown`. Raises only `asyncio.CancelledError`.
        """
        ...

    async def close(self) -> None:
        """End what the source holds: processes, connections. May be called twice."""
        ...
