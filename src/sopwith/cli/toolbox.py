"""The tools of a project: its Python files and its MCP servers, opened and closed."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

from sopwith.cli.project import Project
from sopwith.tools.catalogue import Catalogue
from sopwith.tools.function import FunctionSource
from sopwith.tools.mcp import McpSource
from sopwith.tools.mcp_config import mcp_sources
from sopwith.tools.module import load_module


def tools_of(project: Project) -> list[Callable[..., Any] | McpSource]:
    """The functions and servers of a project. No server is started; Python files are imported."""
    found: list[Callable[..., Any] | McpSource] = [f for path in project.tools for f in load_module(path)]
    return [*found, *servers_of(project)]


def servers_of(project: Project) -> list[McpSource]:
    """The MCP servers of a project, not started."""
    return [] if project.mcp is None else mcp_sources(project.mcp)


@asynccontextmanager
async def open_tools(project: Project) -> AsyncGenerator[Catalogue]:
    """The tools of a project as one catalogue."""
    functions = [f for path in project.tools for f in load_module(path)]
    catalogue = Catalogue([FunctionSource(functions), *servers_of(project)])
    try:
        yield catalogue
    finally:
        await catalogue.close()
