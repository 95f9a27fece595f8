"""Tools: Python functions and MCP servers, as one catalogue with one way to call."""

from sopwith.tools.catalogue import Catalogue
from sopwith.tools.declaration import ToolError, tool, tools_of
from sopwith.tools.function import FunctionSource
from sopwith.tools.mcp import McpSource
from sopwith.tools.mcp_config import mcp_sources
from sopwith.tools.module import load_module
from sopwith.tools.port import Reconciled, ToolResult, ToolSource
from sopwith.tools.program import Ran, command
from sopwith.tools.reconcile import Done, NotDone, Unsure

__all__ = [
    "Catalogue",
    "Done",
    "FunctionSource",
    "McpSource",
    "NotDone",
    "Ran",
    "Reconciled",
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
