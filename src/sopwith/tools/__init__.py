"""Tools: Python functions, MCP servers and OpenAPI documents, as one catalogue with one way to call."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sopwith.tools.catalogue import Catalogue
    from sopwith.tools.declaration import ToolError, tool, tools_of
    from sopwith.tools.function import FunctionSource
    from sopwith.tools.mcp import McpSource
    from sopwith.tools.mcp_config import mcp_sources
    from sopwith.tools.module import load_module
    from sopwith.tools.openapi import OpenApiSource
    from sopwith.tools.port import Reconciled, ToolResult, ToolSource
    from sopwith.tools.program import Ran, command
    from sopwith.tools.reconcile import Done, NotDone, Unsure
    from sopwith.tools.recorded import RecordedSource

_HOMES = {
    "Catalogue": "catalogue",
    "Done": "reconcile",
    "FunctionSource": "function",
    "McpSource": "mcp",
    "NotDone": "reconcile",
    "OpenApiSource": "openapi",
    "Ran": "program",
    "Reconciled": "port",
    "RecordedSource": "recorded",
    "ToolError": "declaration",
    "ToolResult": "port",
    "ToolSource": "port",
    "Unsure": "reconcile",
    "command": "program",
    "load_module": "module",
    "mcp_sources": "mcp_config",
    "tool": "declaration",
    "tools_of": "declaration",
}

__all__ = [
    "Catalogue",
    "Done",
    "FunctionSource",
    "McpSource",
    "NotDone",
    "OpenApiSource",
    "Ran",
    "Reconciled",
    "RecordedSource",
    "ToolError",
    "ToolResult",
    "ToolSource",
    "Unsure",
    "command",
    "load_module",
    "mcp_sources",
    "tool",
    "tools_of",
]


def __getattr__(name: str) -> Any:
    """A public name, imported when it is first asked for: many need none of the servers and programs."""
    if name not in _HOMES:
        raise AttributeError(f"module 'sopwith.tools' has no attribute '{name}'")
    found = getattr(import_module(f"sopwith.tools.{_HOMES[name]}"), name)
    globals()[name] = found
    return found
