"""`sopwith serve`: the procedures of a project, for others to call."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import sopwith
from sopwith.cli.connection import Connection, beside, guards_of, open_all
from sopwith.cli.exit_code import ExitCode
from sopwith.cli.folder import find_procedures
from sopwith.cli.named_procedure import LIBRARY, in_library, library_of
from sopwith.cli.options import (
    Allowed,
    Data,
    Lang,
    Mcp,
    ModelSpec,
    PolicyFile,
    PriceFile,
    PrincipalId,
    Reveal,
    Roles,
    Tools,
    new_verb,
)
from sopwith.cli.project import Options, Project, folder_project, remember
from sopwith.cli.terminal import Terminal, terminal
from sopwith.errors import ProcedureError, Text, UserError
from sopwith.ir.event import Principal
from sopwith.lang.document import Document
from sopwith.lang.read import read
from sopwith.library.library import Reference
from sopwith.serve.caller import LOOPBACK, TOKEN
from sopwith.serve.procedure_tool import ProcedureTool, procedure_tool
from sopwith.serve.run_result import CANCEL, CONTINUE

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server

verb = new_verb()

_SERVES = Text("serving {} procedures over {}: {}", "正在通过 {1} 提供 {0} 个流程：{2}")
_LEFT_OUT = Text("{} is left out: {}", "未提供 {}：{}")
_TAKEN = Text("'{}' is the name of a tool of the server", "“{}”是本服务自带的工具名")
_NONE = Text("there is no procedure to serve", "没有可提供的流程")
_CHECK = Text("see what is wrong: sopwith check", "查看问题：sopwith check")
_NO_PORT = (
    Text("--http {}: this is no port", "--http {}：这不是端口"),
    Text("for example: --http 8765, or --http 127.0.0.1:8765", "例如：--http 8765 或 --http 127.0.0.1:8765"),
)


@verb.callback()
def serve_() -> None:
    """Let others call the procedures of a project.

    让其他程序调用项目中的流程。
    """


@verb.command("mcp")
def mcp_(
    context: typer.Context,
    places: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[PLACES…]", help="Procedures, folders, library:ID, library: (.). 流程文件或目录"
        ),
    ] = None,
    http: Annotated[
        str | None,
        typer.Option(
            "--http", metavar="[HOST:]PORT", help="Over streamable HTTP, not stdio. 使用 HTTP 而非 stdio"
        ),
    ] = None,
    principal: PrincipalId = None,
    role: Roles = None,
    model: ModelSpec = None,
    tools: Tools = None,
    mcp: Mcp = None,
    policy: PolicyFile = None,
    prices: PriceFile = None,
    allow: Allowed = None,
    reveal: Reveal = False,
    data: Data = None,
    lang: Lang = "",
) -> int:
    """Be an MCP server: each procedure is a tool, and each call a run, in the name of one principal.

    作为 MCP 服务器：每个流程是一个工具，每次调用是一次运行，均以同一主体的名义。
    """
    shown = terminal(context)
    if find_spec("mcp") is None:
        raise UserError(
            Text("the package for MCP is not installed", "未安装 MCP 所需的包"),
            Text("install it: pip install 'sopwith[mcp]'", "请安装：pip install 'sopwith[mcp]'"),
        )
    given = places or [Path()]
    options = Options(model, data, tools or None, mcp, policy, prices, principal, role or None)
    folder = given[0] if given[0].is_dir() else given[0].parent  # that of `library:ID` is the current one
    project = replace(folder_project(folder, options), allow=tuple(allow or ()))
    documents = _documents(shown, _files(project, given))
    if not documents:
        raise UserError(_NONE, _CHECK)
    address = None if http is None else _address(http)
    with asyncio.Runner() as runner, suppress(KeyboardInterrupt):
        runner.run(_serve(shown, project, documents, address, reveal=reveal))
    return ExitCode.OK


def _files(project: Project, places: Sequence[Path]) -> list[Path]:
    """The files of procedures in the places; `library:` stands for all that are pinned in the library."""
    found: list[Path] = []
    for place in places:
        if not str(place).startswith(LIBRARY):
            found += find_procedures([place]).procedures
            continue
        library = library_of(project.settings)
        reference = in_library(place) if str(place) != LIBRARY else None
        wanted = [Reference(name) for name in library.pinned_ids()] if reference is None else [reference]
        found += (Path(library.read(each).file) for each in wanted)
    return list(dict.fromkeys(found))


def _documents(shown: Terminal, files: Sequence[Path]) -> list[Document]:
    """The procedures in these files. What cannot be read, or has the name of a tool of the server, is left out."""
    found: list[Document] = []
    for file in files:
        try:
            document = read(file)
        except ProcedureError as error:
            _leave_out(shown, str(file), error.message)
            continue
        if document.procedure.id in (CONTINUE, CANCEL):
            name = document.procedure.id
            _leave_out(shown, str(file), Text(_TAKEN.en.format(name), _TAKEN.zh.format(name)))
        else:
            found.append(document)
    return found


def _leave_out(shown: Terminal, file: str, why: Text) -> None:
    shown.say(shown.text(_LEFT_OUT).format(file, shown.text(why)))


def _address(text: str) -> tuple[str, int]:
    """The host and port of `[HOST:]PORT`. Raises `UserError` for what is none."""
    host, _, port = text.rpartition(":")
    if not port.isdecimal():
        said, hint = _NO_PORT
        raise UserError(Text(said.en.format(text), said.zh.format(text)), hint)
    return host.strip("[]") or LOOPBACK[0], int(port)


async def _serve(
    shown: Terminal,
    project: Project,
    documents: list[Document],
    address: tuple[str, int] | None,
    *,
    reveal: bool,
) -> None:
    from sopwith.serve.mcp import ProcedureServer

    guards = guards_of(project)
    shown.secrets = guards.redact.secret_rules()
    opened = await open_all(project, guards, documents)
    connection = opened.connection
    try:
        for problem in opened.problems:
            shown.say(problem.render(shown.language))
        for error in opened.refused:
            shown.failed(error)
        tools = await _tools(connection, documents, shown.language)
        settings = project.settings

        projects = {each.procedure.id: beside(project, each) for each in documents}

        def began(run: str, tool: ProcedureTool) -> None:
            remember(projects[tool.procedure.id], settings.data, run)

        service = ProcedureServer(
            connection.engine,
            tools,
            Principal(id=settings.principal, roles=settings.roles),
            language=shown.language,
            reveal=reveal,
            secret=shown.secrets,
            began=began,
        )
        listed = ", ".join(sorted(tool.name for tool in tools))
        server = service.server(sopwith.__version__)
        if address is None:
            await _over_stdio(server, lambda over: _say(shown, len(tools), over, listed))
        else:
            await _over_http(server, address, lambda over: _say(shown, len(tools), over, listed))
    finally:
        await connection.close()


async def _tools(connection: Connection, documents: list[Document], language: str) -> list[ProcedureTool]:
    """The tools that the procedures are which have passed their checks."""
    library = await connection.engine.procedures()
    machines = (connection.machine, *connection.family)
    specs = {name: spec for machine in machines for name, spec in machine.tools.items()}
    named = (each.procedure.id for each in documents)
    return [procedure_tool(library[name], library, specs, language) for name in named if name in library]


def _say(shown: Terminal, count: int, over: str, listed: str) -> None:
    shown.say(shown.text(_SERVES).format(count, over, listed))


async def _over_stdio(server: Server[Any], ready: Callable[[str], None]) -> None:
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (received, sent):
        ready("stdio")
        with redirect_stdout(
            sys.stderr
        ):  # what a tool prints would else come out when the stream is given back
            await server.run(received, sent, server.create_initialization_options())


async def _over_http(server: Server[Any], address: tuple[str, int], ready: Callable[[str], None]) -> None:
    from sopwith.serve.http import PATH, listen, serve_http

    token = os.environ.get(TOKEN)
    with listen(*address, token) as listening:
        host, port = listening.getsockname()[:2]
        ready(f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}")
        await serve_http(server, listening, address[0], token)
