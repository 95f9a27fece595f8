"""`sopwith check`: what is wrong with procedures, before they run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from sopwith.cli.connection import read_policy
from sopwith.cli.exit_code import ExitCode
from sopwith.cli.library import files_of
from sopwith.cli.options import AsJson, Lang, Mcp, PolicyFile, Tools, new_verb
from sopwith.cli.project import Options, Project, find_project
from sopwith.cli.terminal import Terminal, diagnostics_of, terminal
from sopwith.cli.toolbox import open_tools
from sopwith.errors import ProcedureError, Text
from sopwith.guard.policy_check import check_policy
from sopwith.ir.diagnostic import Diagnostic, Severity
from sopwith.ir.tool import ToolSpec
from sopwith.lang.check import check
from sopwith.lang.read import read

verb = new_verb()

_SUM = Text("files: {}, errors: {}, warnings: {}", "文件 {} 个，错误 {} 个，警告 {} 个")
_NO_TOOLS = Text(
    "{}: no tools are connected (no tools.py or .mcp.json beside it): tools and arguments were not checked",
    "{}：没有连接工具（旁边没有 tools.py 或 .mcp.json），未检查工具与参数",
)


@verb.command()
def check_(
    context: typer.Context,
    files: Annotated[list[Path], typer.Argument(metavar="FILES…", help="Files of procedures. 流程文件")],
    tools: Tools = None,
    mcp: Mcp = None,
    policy: PolicyFile = None,
    as_json: AsJson = False,
    lang: Lang = "",
) -> int:
    """Find what is wrong with procedures. No model, no network; tools are read from beside each file.

    在运行之前检查流程；不用模型，不联网。
    """
    shown = terminal(context)
    options = Options(tools=tools or None, mcp=mcp, policy=policy)
    seen: set[Path] = set()
    found = [d for file in files for d in asyncio.run(_check(shown, file, options, seen))]
    for diagnostic in found if not as_json else ():
        shown.out(diagnostic.render(shown.language))
    errors = sum(d.severity is Severity.ERROR for d in found)
    if as_json:
        shown.document({"ok": not errors, "diagnostics": [d.to_json(shown.language) for d in found]})
    shown.say(shown.text(_SUM).format(len(files), errors, len(found) - errors))
    return ExitCode.INVALID if errors else ExitCode.OK


async def _check(shown: Terminal, file: Path, options: Options, seen: set[Path]) -> list[Diagnostic]:
    """What is wrong with a procedure, and odd about the policy beside it, unless that was `seen` before."""
    project = find_project(file, options)
    if not project.tools and project.mcp is None:
        shown.say(shown.text(_NO_TOOLS).format(file))
        return [*_procedure(project, file, None), *_policy(project, None, seen)]
    async with open_tools(project) as catalogue:
        specs = await catalogue.specs()
        return [*_procedure(project, file, specs), *_policy(project, specs, seen)]


def _procedure(project: Project, file: Path, specs: Mapping[str, ToolSpec] | None) -> list[Diagnostic]:
    try:
        document = read(file)
        return check(document, specs, files_of(project).library(document), time.time_ns() // 1000)
    except ProcedureError as error:
        return diagnostics_of(error)


def _policy(project: Project, specs: Mapping[str, ToolSpec] | None, seen: set[Path]) -> list[Diagnostic]:
    if project.policy is None or project.policy in seen:
        return []
    seen.add(project.policy)
    policy, file = read_policy(project.policy)
    return check_policy(policy, file, specs)
