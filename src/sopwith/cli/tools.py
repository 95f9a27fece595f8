"""`sopwith tools`: the tools of a project, listed, shown, called, tried and judged."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import typer

from sopwith.cli.columns import cut, table
from sopwith.cli.exit_code import ExitCode
from sopwith.cli.json_text import read_json_object
from sopwith.cli.options import (
    AsJson,
    Data,
    Lang,
    Mcp,
    Plain,
    PolicyFile,
    PrincipalId,
    Quiet,
    Roles,
    ToolLimit,
    Tools,
    new_verb,
)
from sopwith.cli.profile_file import settings_file, write_table
from sopwith.cli.project import Options, Project, folder_project
from sopwith.cli.terminal import Terminal, terminal
from sopwith.cli.tool_call import call_tool
from sopwith.cli.tool_lint import lint
from sopwith.cli.tool_test import Tested, test_tool
from sopwith.cli.toolbox import open_tools
from sopwith.errors import Text, ToolSourceError, UserError
from sopwith.ir.diagnostic import Diagnostic
from sopwith.ir.tool import ToolSpec
from sopwith.ir.usage import Budget
from sopwith.ir.value import Json
from sopwith.tools.catalogue import Catalogue
from sopwith.tools.names import alias
from sopwith.tools.openapi_config import is_url, openapi_source
from sopwith.tools.port import ToolSource

verb = new_verb()

_WIDTH = 100
_HEADS = (
    Text("tool", "工具"),
    Text("effect", "副作用"),
    Text("from", "来源"),
    Text("what it is for", "用途"),
)
_NONE = Text("no tools are connected", "没有连接任何工具")
_SUM = Text("tools: {}, left out: {}", "工具：{} 个，未采用：{} 处")
_LINTED = Text("tools: {}, warnings: {}", "工具：{} 个，警告：{} 条")
_TESTED = Text("tools: {}, failed: {}, called: {}", "工具：{} 个，失败：{} 个，调用：{} 次")
_JUDGED = Text("{} called, {} judged", "调用 {} 次，核对 {} 次")
_WOULD = Text("{} would have {} tools", "{} 将提供 {} 个工具")
_WRITTEN = Text("written to {}: {}", "已写入 {}：{}")
_YES_NO = {True: Text("yes", "是"), False: Text("no", "否")}
_ROWS = (
    ("name", Text("name", "名称")),
    ("alias", Text("name for models", "模型所见名称")),
    ("source", Text("from", "来源")),
    ("effect", Text("effect", "副作用")),
    ("idempotent", Text("may be repeated with its key", "可用同一键重复")),
    ("timeout", Text("seconds at most", "最长秒数")),
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The tool: source.tool. 工具名称")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before a write. 写操作不再询问")]


@verb.callback()
def tools_() -> None:
    """List, show, call, try and judge the tools of the project in this folder.

    列出、查看、调用、试用和检查当前目录项目的工具。
    """


@verb.command("list")
def list_(
    context: typer.Context,
    tools: Tools = None,
    mcp: Mcp = None,
    data: Data = None,
    as_json: AsJson = False,
    lang: Lang = "",
) -> int:
    """List all tools: effect, source, one line.

    列出所有工具：副作用、来源、一行说明。
    """
    shown = terminal(context)
    opened = _Opened.of(_project(tools, mcp, data))
    opened.warn(shown)
    if as_json:
        listed = [opened.as_json(spec) for spec in opened.specs.values()]
        shown.document({"tools": listed, "problems": _as_json(shown, opened.problems)})
    elif opened.specs:
        rows = [
            [spec.name, str(spec.effect), opened.source(spec.name), cut(spec.description, _WIDTH)]
            for spec in opened.specs.values()
        ]
        for line in table([[shown.text(head) for head in _HEADS], *rows]):
            shown.out(line)
    shown.say(shown.text(_SUM).format(len(opened.specs), len(opened.problems)) if opened.specs else _NONE)
    return ExitCode.OK


@verb.command("show")
def show(
    context: typer.Context,
    name: Name,
    tools: Tools = None,
    mcp: Mcp = None,
    data: Data = None,
    as_json: AsJson = False,
    lang: Lang = "",
) -> int:
    """Show one tool: its names, effect, source, description and schemas.

    显示一个工具：名称、副作用、来源、描述与 schema。
    """
    shown = terminal(context)
    opened = _Opened.of(_project(tools, mcp, data))
    told = opened.as_json(opened.tool(name))
    if as_json:
        shown.document(told)
        return ExitCode.OK
    rows = [(said, told[key]) for key, said in _ROWS if told[key] is not None]
    for line in table(
        [
            [shown.text(said), shown.text(_YES_NO[one]) if isinstance(one, bool) else str(one)]
            for said, one in rows
        ]
    ):
        shown.out(line)
    if told["description"]:
        shown.out("\n" + told["description"])
    for key in ("input_schema", "output_schema"):
        if told[key] is not None:
            shown.out(f"\n{key}\n" + json.dumps(told[key], ensure_ascii=False, indent=2))
    return ExitCode.OK


@verb.command("call")
def call(
    context: typer.Context,
    name: Name,
    arguments: Annotated[
        str, typer.Option("--with", metavar="JSON", help="The arguments as a JSON object. 参数")
    ] = "{}",
    yes: Yes = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Make the result of a write up. 试运行")] = False,
    tools: Tools = None,
    mcp: Mcp = None,
    policy: PolicyFile = None,
    principal: PrincipalId = None,
    role: Roles = None,
    budget_tool_calls: ToolLimit = None,
    data: Data = None,
    plain: Plain = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
    lang: Lang = "",
) -> int:
    """Call a tool in a run of its own: under the policy and the budget, and on record.

    在一次独立的运行中调用工具：受策略与预算约束，并留有记录。
    """
    shown = terminal(context)
    hint = Text('for example: --with \'{"order_id": "A-1"}\'', '例如：--with \'{"order_id": "A-1"}\'')
    given = read_json_object(arguments, "--with", hint)
    budget = Budget(tool_calls=budget_tool_calls)
    options = Options(None, data, tools or None, mcp, policy, None, principal, role or None, budget)
    project = folder_project(Path.cwd(), options)
    spec = _Opened.of(project).tool(name)
    return call_tool(shown, project, spec, given, yes=yes, dry_run=dry_run)


@verb.command("import")
def import_(
    context: typer.Context,
    document: Annotated[str, typer.Argument(metavar="FILE|URL", help="An OpenAPI document. OpenAPI 文档")],
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="The source. 来源名称")] = None,
    url: Annotated[str | None, typer.Option("--url", metavar="URL", help="The server. 服务器地址")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write nothing. 不写入")] = False,
    as_json: AsJson = False,
    lang: Lang = "",
) -> int:
    """Say which tools a document would become, and put it into the settings of this folder.

    说明一个文档会成为哪些工具，并写入当前目录的设置。
    """
    shown = terminal(context)
    own = name or Path(document).name.partition(".")[0]
    entry = {"document": document, **({"url": url} if url else {})}
    opened = _Opened.reading([openapi_source(own, entry, document)])
    opened.warn(shown)
    if not is_url(document):
        beside = settings_file(Path.cwd()).parent.resolve()
        entry["document"] = Path(os.path.relpath(Path(document).resolve(), beside)).as_posix()
    file = None if dry_run else write_table(("openapi", own), entry, Path.cwd())
    if as_json:
        listed = [opened.as_json(spec) for spec in opened.specs.values()]
        written = None if file is None else str(file)
        problems = _as_json(shown, opened.problems)
        shown.document({"source": own, "tools": listed, "problems": problems, "file": written})
        return ExitCode.OK
    for line in table([[s.name, str(s.effect), cut(s.description, _WIDTH)] for s in opened.specs.values()]):
        shown.out(line)
    shown.say(shown.text(_WOULD).format(document, len(opened.specs)))
    if file is not None:
        shown.say(shown.text(_WRITTEN).format(file, f"[openapi.{own}]"))
    return ExitCode.OK


@verb.command("test")
def test(
    context: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="The tools; all. 工具名称")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Call what writes as well. 也调用写操作")] = False,
    tools: Tools = None,
    mcp: Mcp = None,
    data: Data = None,
    as_json: AsJson = False,
    lang: Lang = "",
) -> int:
    """Start all sources, judge the examples that tools declare, and call those of tools that read.

    启动所有来源，核对工具自带的示例，并调用只读工具的示例。
    """
    shown = terminal(context)
    project = _project(tools, mcp, data)

    async def tried() -> tuple[list[Tested], list[Diagnostic]]:
        async with open_tools(project) as catalogue:
            opened = await _Opened.read(catalogue)
            chosen = [opened.tool(name) for name in names or opened.specs]
            return [await test_tool(catalogue, spec, writes=yes) for spec in chosen], opened.problems

    done, problems = asyncio.run(tried())
    failed = [each for each in done if each.problem is not None]
    for problem in problems:
        shown.say(problem.render(shown.language))
    if as_json:
        rows = [
            {
                "tool": each.tool,
                "ok": each.problem is None,
                "called": each.called,
                "judged": each.judged,
                "code": each.code or None,
                "message": None if each.problem is None else shown.text(each.problem),
            }
            for each in done
        ]
        shown.document({"ok": not failed, "tools": rows, "problems": _as_json(shown, problems)})
    else:
        for line in table([_told(shown, each) for each in done]) if done else []:
            shown.out(line)
    shown.say(shown.text(_TESTED).format(len(done), len(failed), sum(each.called for each in done)))
    return ExitCode.INVALID if failed else ExitCode.OK


@verb.command("lint")
def lint_(
    context: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="The tools; all. 工具名称")
    ] = None,
    tools: Tools = None,
    mcp: Mcp = None,
    data: Data = None,
    as_json: AsJson = False,
    lang: Lang = "",
) -> int:
    """Say what makes tools hard to choose or to call: words and forms that are missing, look-alikes.

    指出工具难以选用或调用之处：缺少的说明与格式、彼此相似的工具。
    """
    shown = terminal(context)
    opened = _Opened.of(_project(tools, mcp, data))
    wanted = {opened.tool(name).name for name in names or opened.specs}
    places = {name: opened.source(name) for name in opened.specs}
    advice = lint(opened.specs, places)
    found = [*opened.problems, *(each.diagnostic for each in advice if each.tool in wanted)]
    if as_json:
        shown.document({"problems": _as_json(shown, found)})
    else:
        for diagnostic in found:
            shown.out(diagnostic.render(shown.language))
    shown.say(shown.text(_LINTED).format(len(wanted), len(found)))
    return ExitCode.INVALID if opened.problems else ExitCode.OK


class _Opened:
    """The tools of some sources, read, and which source each is of."""

    def __init__(self, catalogue: Catalogue, specs: Mapping[str, ToolSpec]) -> None:
        self.specs = specs
        self._source = {name: catalogue.source_name(name) for name in specs}
        self.problems = catalogue.diagnostics()

    @classmethod
    async def read(cls, catalogue: Catalogue) -> _Opened:
        """The tools of an open catalogue; a source that does not start is one of its problems."""
        return cls(catalogue, await catalogue.specs(needed=()))

    @classmethod
    def of(cls, project: Project) -> _Opened:
        """The tools of a project, its sources started and ended."""

        async def opened() -> _Opened:
            async with open_tools(project) as catalogue:
                return await cls.read(catalogue)

        return asyncio.run(opened())

    @classmethod
    def reading(cls, sources: Sequence[ToolSource]) -> _Opened:
        """The tools of these sources, all of which must start."""

        async def opened() -> _Opened:
            catalogue = Catalogue(sources)
            try:
                return cls(catalogue, await catalogue.specs())
            finally:
                await catalogue.close()

        return asyncio.run(opened())

    def tool(self, name: str) -> ToolSpec:
        """A tool by its name, that for models, or without its source where one only is called so. Raises `UserError`
        with near ones."""
        found = self.specs.get(name) or next((s for s in self.specs.values() if alias(s.name) == name), None)
        short = [spec for spec in self.specs.values() if spec.name.partition(".")[2] == name]
        if found is None and len(short) == 1:
            found = short[0]
        if found is None:
            for problem in self.problems:
                if problem.code == "SW439" and name.startswith(f"{problem.place.file}."):
                    raise ToolSourceError(problem.message, problem.hint)
            near = ", ".join(get_close_matches(name, self.specs, 3) or list(self.specs)[:10])
            raise UserError(
                Text(f"there is no tool '{name}'", f"没有工具“{name}”"),
                Text(f"tools: {near}", f"工具：{near}") if near else _NONE,
            )
        return found

    def source(self, name: str) -> str:
        """The name of the source of a tool."""
        return self._source[name]

    def warn(self, shown: Terminal) -> None:
        """Say what was left out."""
        for problem in self.problems:
            shown.say(problem.render(shown.language))

    def as_json(self, spec: ToolSpec) -> dict[str, Any]:
        """A tool as data, with its alias and its source."""
        return {"alias": alias(spec.name), "source": self.source(spec.name), **spec.model_dump(mode="json")}


def _project(tools: list[str] | None, mcp: Path | None, data: Path | None) -> Project:
    return folder_project(Path.cwd(), Options(tools=tools or None, mcp=mcp, data=data))


def _told(shown: Terminal, each: Tested) -> list[str]:
    """A tool that was tried, as a row: whether it is well, its name, what was done or what is wrong."""
    if each.problem is not None:
        return ["✗", each.tool, shown.text(each.problem)]
    return ["✓", each.tool, shown.text(_JUDGED).format(each.called, each.judged)]


def _as_json(shown: Terminal, problems: Sequence[Diagnostic]) -> list[dict[str, Json]]:
    return [problem.to_json(shown.language) for problem in problems]
