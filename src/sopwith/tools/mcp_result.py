"""What an MCP tool answers, made into a `ToolResult`."""

from __future__ import annotations

import asyncio

import mcp_types as types
from mcp.shared.exceptions import MCPError

from sopwith.errors import Text
from sopwith.ir.input_request import InputWanted
from sopwith.ir.tool import Effect, ToolSpec
from sopwith.ir.value import storable
from sopwith.tools.bounded import Outcome
from sopwith.tools.mcp_connection import Lost
from sopwith.tools.mcp_server import Server
from sopwith.tools.port import ToolResult, failed
from sopwith.tools.returned import misfit

_NO_REASON = Text("the tool failed and says no reason", "工具失败，且没有说明原因")
_NOT_DONE = frozenset({-32700, -32600, -32601, -32602})
"""The errors of JSON-RPC by which a server refuses a request before it acts."""


def result_of(server: Server, spec: ToolSpec, came: types.CallToolResult | InputWanted) -> ToolResult:
    """The structured value where the tool declares one; else its text; else the list of its typed parts."""
    if isinstance(came, InputWanted):
        return ToolResult(wants=came)
    parts = [part.model_dump(mode="json", by_alias=True, exclude_none=True) for part in came.content]
    texts = [part["text"] for part in parts if part["type"] == "text"]
    if came.is_error:
        said = server.masked(str(storable("\n".join(texts))))
        return failed("tool_error", said or _NO_REASON)
    if spec.output_schema is not None:
        value = storable(came.structured_content)
        wrong = misfit(spec, value)
        unknown = spec.effect is not Effect.READ
        return failed("invalid_result", wrong, unknown=unknown) if wrong else ToolResult(value=value)
    if not parts:
        return ToolResult()
    return ToolResult(value=storable(texts[0] if len(texts) == len(parts) == 1 else parts))


def error_result(server: Server, spec: ToolSpec, error: BaseException) -> ToolResult:
    """What it means that a call raised `error`."""
    writes = spec.effect is not Effect.READ
    if isinstance(error, Lost):
        return failed("server_lost", str(error), unknown=writes)
    if isinstance(error, MCPError):
        unknown = writes and error.code not in _NOT_DONE
        return failed("tool_error", server.masked(error.message), unknown=unknown)
    # The server has answered, with something that breaks its own promise.
    said = server.masked(f"{type(error).__name__}: {error}")
    return failed("invalid_result", said, unknown=writes)


def late_result(server: Server, spec: ToolSpec, outcome: Outcome) -> ToolResult | None:
    """The answer to a call that was given up; None where it, or its server, was only ended, or asks something."""
    value, error = outcome
    if error is None:
        return None if isinstance(value, InputWanted) else result_of(server, spec, value)
    found = None if isinstance(error, asyncio.CancelledError) else error_result(server, spec, error)
    return None if found is None or (found.error and found.error.code == "server_lost") else found
