"""The tools of a project: its Python files, documents, recordings and MCP servers, opened and closed."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from sopwith.cli.project import Project
from sopwith.cli.settings import RECORDED, Settings
from sopwith.cli.store import find_run, open_log, open_vault
from sopwith.lang.document import Document
from sopwith.run.recording import recording_of
from sopwith.tools.catalogue import Catalogue
from sopwith.tools.function import FunctionSource
from sopwith.tools.mcp import McpSource
from sopwith.tools.mcp_config import mcp_sources
from sopwith.tools.module import load_module
from sopwith.tools.openapi_config import openapi_source
from sopwith.tools.port import ToolSource
from sopwith.tools.recorded import RecordedSource, Recording


def sources_of(project: Project) -> list[ToolSource]:
    """The sources of a project's tools. No server is started, no document read; Python files are imported.

    With a recording among `tools`, only what is named there takes part: nothing else is connected.
    """
    functions: list[Callable[..., Any]] = []
    others: list[ToolSource] = []
    for each in project.tools:
        if isinstance(each, str) and each.startswith(RECORDED):
            others.append(_recorded(project, each.removeprefix(RECORDED)))
        elif isinstance(each, Path) and each.suffix == ".py":
            functions += load_module(each)
        else:
            name = Path(each).name.partition(".")[0]
            others.append(openapi_source(name, {"document": each}, f"tools: {each}"))
    found: list[ToolSource] = [FunctionSource(functions), *others]
    if any(isinstance(source, RecordedSource) for source in others):
        return found
    place = project.settings.found.get("openapi", "settings")
    tables = project.settings.openapi.items()
    found += [openapi_source(name, table, f"{place}: openapi.{name}") for name, table in tables]
    if project.settings.documents is not None:
        from sopwith.run.document_source import DocumentSource  # most projects have none

        found.append(DocumentSource(project.settings.documents, index_file(project.settings)))
    return [*found, *servers_of(project)]


def index_file(settings: Settings) -> Path:
    """The file of the index: beside the log, one for each folder of documents, so that projects that share a log do
    not find each other's."""
    folder = settings.documents
    mark = "" if folder is None else f"-{sha256(str(folder.resolve()).encode()).hexdigest()[:8]}"
    return settings.data / f"index{mark}.sqlite"


def servers_of(project: Project) -> list[McpSource]:
    """The MCP servers of a project, not started."""
    return [] if project.mcp is None else mcp_sources(project.mcp)


def tools_named(documents: Iterable[Document]) -> set[str]:
    """The tools that any of these procedures may call."""
    each = [document.procedure for document in documents]
    return {name for one in each for name in (*one.permitted_tools(), *one.step_tools())}


@asynccontextmanager
async def open_tools(project: Project) -> AsyncGenerator[Catalogue]:
    """The tools of a project as one catalogue."""
    catalogue = Catalogue(sources_of(project))
    try:
        yield catalogue
    finally:
        await catalogue.close()


def _recorded(project: Project, wanted: str) -> RecordedSource:
    data = project.settings.data

    async def load() -> Recording:
        log, vault = open_log(data), open_vault(data)
        try:
            return await recording_of(log, await find_run(log, wanted), vault)
        finally:
            vault.close()
            await log.close()

    return RecordedSource(f"{RECORDED}{wanted}", load)
