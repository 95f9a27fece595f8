"""Tools: Python functions and MCP servers, as one catalogue with one way to call."""

from sopwith.tools.catalogue import Catalogue
from sopwith.tools.function import FunctionSource, ToolError, tool, tools_of
from sopwith.tools.mcp import McpSource
from sopwith.tools.mcp_config import mcp_sources
from sopwith.tools.module import load_module
from sopwith.tools.port import ToolResult, ToolSource

__all__ = [
    "Catalogue",
    "FunctionSource",
    "McpSource",
    "ToolError",
    "ToolResult",
    "ToolSource",
    "load_module",
    "mcp_sources",
    "tool",
    "tools_of",
]
