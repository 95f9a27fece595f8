"""`sopwith check`: what is wrong with procedures, before they run."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from sopwith.cli.connection import read_policy
from sopwith.cli.exit_code import ExitCode
from sopwith.cli.fmt import difference
from sopwith.cli.folder import find_procedures
from sopwith.cli.options import AsJson, Lang, Mcp, PolicyFile, Tools, new_verb
from sopwith.cli.output_file import replace
from sopwith.cli.procedure_files import files_of
from sopwith.cli.project import MCP, POLICY, TOOLS, Options, Project, find_project
from sopwith.cli.settings import FILE
from sopwith.cli.terminal import Terminal, diagnostics_of, terminal
from sopwith.cli.toolbox import open_tools, tools_named
from sopwith.cli.watch import rounds
from sopwith.errors import ProcedureError, Text, UserError
from sopwith.guard.policy_check import check_policy
from sopwith.ir.diagnostic import Diagnostic, Severity
from sopwith.ir.tool import ToolSpec
from sopwith.lang.check import check
from sopwith.lang.check.library import library_problems
from sopwith.lang.document import Document
from sopwith.lang.fix import Check, fix
from sopwith.lang.partly import read_file_partly
from sopwith.lang.text_file import read_text_file
from sopwith.lang.yaml import read_yaml

verb = new_verb()

_SUM = Text("files: {}, errors: {}, warnings: {}", "文件 {} 个，错误 {} 个，警告 {} 个")
_NO_TOOLS = Text(
    "{}: no tools are connected (no tools.py or .mcp.json beside it): tools and arguments were not checked",
    "{}：没有连接工具（旁边没有 tools.py 或 .mcp.json），未检查工具与参数",
)
_FIXED = Text("fixed: {} {}", "已修复：{} {}")
_REWRITTEN = Text(
    "{}: one of the fixes needs more than a line, so the file is written anew, as by sopwith fmt",
    "{}：有的修复不止改动一行，因此整个文件改写为规范格式（同 sopwith fmt）",
)
_NOT_YAML = Text(
    "{}: only YAML can be fixed (`sopwith fmt` does not write this form)", "{}：只能修复 YAML 格式的文件"
)
_WATCHING = Text("watching {} files; Ctrl-C ends", "正在监视 {} 个文件；按 Ctrl-C 结束")
_ALONE = (
    Text("--watch goes with neither --fix nor --json", "--watch 不能与 --fix 或 --json 同时使用"),
    Text("leave one of them out", "请去掉其中一个"),
)
_NOTHING_TO_SHOW = (
    Text("--diff shows what --fix would change", "--diff 用于显示 --fix 将作的修改"),
    Text("add --fix", "请加上 --fix"),
)
_SKIPPED = Text("skipped: {} ({})", "已跳过：{}（{}）")
_CLEAR = "\x1b[2J\x1b[H"


@verb.command()
def check_(
    context: typer.Context,
    files: Annotated[
        list[Path], typer.Argument(metavar="FILES…", help="Files of procedures, or folders. 流程文件或文件夹")
    ],
    tools: Tools = None,
    mcp: Mcp = None,
    policy: PolicyFile = None,
    fix_: Annotated[
        bool, typer.Option("--fix", help="Remedy what has exactly one remedy. 修复只有一种改法的问题")
    ] = False,
    diff: Annotated[
        bool, typer.Option("--diff", "--dry-run", help="With --fix: change nothing, show what would. 只显示")
    ] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Check again at every change. 有改动就重查")] = False,
    skipped: Annotated[
        bool, typer.Option("--skipped", help="Say which files of a folder are no procedures. 列出跳过的文件")
    ] = False,
    as_json: AsJson = False,
    lang: Lang = "",
) -> int:
    """Find what is wrong with procedures. No model, no network; tools are read from beside each file.

    在运行之前检查流程；不用模型，不联网。
    """
    shown = terminal(context)
    if watch and (fix_ or as_json):
        raise UserError(*_ALONE)
    if diff and not fix_:
        raise UserError(*_NOTHING_TO_SHOW)
    options = Options(tools=tools or None, mcp=mcp, policy=policy)
    if watch:
        return _watch(shown, files, options)
    checking = _Checking(shown, options, fix_, diff, as_json)
    there = find_procedures(files)
    for one in there.skipped if skipped and not as_json else ():
        shown.say(shown.text(_SKIPPED).format(one.file, shown.text(one.why)))
    found = [d for file in there.procedures for d in asyncio.run(checking.file(file))]
    found += library_problems(checking.documents) if len(checking.documents) > 1 else []
    for diagnostic in found if not as_json else ():
        shown.out(diagnostic.render(shown.language))
    errors = sum(d.severity is Severity.ERROR for d in found)
    if as_json:
        told = {
            "ok": not errors,
            "diagnostics": [d.to_json(shown.language) for d in found],
            **checking.fixed(),
        }
        passed = [{"file": str(one.file), "why": shown.text(one.why)} for one in there.skipped]
        shown.document(told | ({"skipped": passed} if skipped else {}))
    shown.say(shown.text(_SUM).format(checking.count, errors, len(found) - errors))
    return ExitCode.INVALID if errors else ExitCode.OK


@dataclass(slots=True)
class _Checking:
    """One check of several files, and what has come of it."""

    shown: Terminal
    options: Options
    fixes: bool
    only_shows: bool
    as_json: bool
    documents: list[Document] = field(default_factory=list[Document])
    count: int = 0
    _policies: set[Path] = field(default_factory=set[Path])
    _applied: list[Diagnostic] = field(default_factory=list[Diagnostic])
    _changes: list[Text] = field(default_factory=list[Text])
    _differences: list[str] = field(default_factory=list[str])

    async def file(self, file: Path) -> list[Diagnostic]:
        """What is wrong with a procedure, after its fixes, and odd about the policy beside it."""
        self.count += 1
        project = find_project(file, self.options)
        if not project.connects:
            self.shown.say(self.shown.text(_NO_TOOLS).format(file))
            return [*self._procedure(project, file, None), *self._policy(project, None)]
        async with open_tools(project) as catalogue:
            specs = await catalogue.specs(needed=_tools_of(file))
            found = self._procedure(project, file, specs)
            if catalogue.failed:  # a rule about their tools is not a dead one
                return [*found, *catalogue.not_started(), *self._policy(project, None)]
            return [*found, *self._policy(project, specs)]

    def fixed(self) -> dict[str, object]:
        """What was fixed, for `--json`."""
        if not self.fixes:
            return {}
        applied = zip(self._applied, self._changes, strict=True)
        each = [{**d.to_json(self.shown.language), "change": self.shown.text(said)} for d, said in applied]
        told: dict[str, object] = {"fixed": each}
        return {**told, "diff": "".join(self._differences)} if self.only_shows else told

    def _procedure(
        self, project: Project, file: Path, specs: Mapping[str, ToolSpec] | None
    ) -> list[Diagnostic]:
        library = files_of(project)

        def checked(document: Document) -> list[Diagnostic]:
            return check(document, specs, library.library(document), time.time_ns() // 1000)

        if self.fixes and file.suffix not in (".yaml", ".yml"):
            self.shown.say(self.shown.text(_NOT_YAML).format(file))
        elif self.fixes:
            return self._fix(file, checked)
        try:
            document = read_file_partly(file)
        except ProcedureError as error:
            return diagnostics_of(error)
        if not document.lost:
            self.documents.append(document)
        return checked(document)

    def _fix(self, file: Path, checked: Check) -> list[Diagnostic]:
        before = read_text_file(file, keep_line_ends=True)
        fixed = fix(before, str(file), checked)
        self._applied += fixed.applied
        if self.only_shows and fixed.applied:
            self._differences.append(difference(before, fixed.text, file))
            if not self.as_json:
                self.shown.out(self._differences[-1].rstrip("\n"))
        elif fixed.applied:
            replace(file, fixed.text)
        for one, change in zip(fixed.applied, fixed.changes, strict=True):
            self._changes.append(change)
            self.shown.say(self.shown.text(_FIXED).format(one.place, self.shown.text(change)))
        if fixed.rewritten:
            self.shown.say(self.shown.text(_REWRITTEN).format(file))
        with suppress(ProcedureError):
            self.documents.append(read_yaml(fixed.text, str(file)))
        return list(fixed.left)

    def _policy(self, project: Project, specs: Mapping[str, ToolSpec] | None) -> list[Diagnostic]:
        if project.policy is None or project.policy in self._policies:
            return []
        self._policies.add(project.policy)
        policy, file = read_policy(project.policy)
        return check_policy(policy, file, specs)


def _tools_of(file: Path) -> set[str]:
    """The tools that a procedure names; none where it cannot be read, which its check tells."""
    try:
        return tools_named([read_file_partly(file)])
    except ProcedureError:
        return set()


def _watch(shown: Terminal, files: list[Path], options: Options) -> int:
    """Check in a process of its own at each change, so that the tools and what they import are read anew."""
    find_procedures(files)  # a folder without procedures is a mistake, a file that goes and comes is not
    given = [part for tool in options.tools or () for part in ("--tools", str(tool))]
    given += [
        p for name, f in (("--mcp", options.mcp), ("--policy", options.policy)) if f for p in (name, str(f))
    ]
    given += ["--lang", shown.language, "--", *map(str, files)]
    command = [sys.executable, "-c", "from sopwith.cli.app import main; main()", "check", *given]
    clears = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    try:
        for _ in rounds(lambda: _watched(files, options)):
            if clears:
                shown.line(_CLEAR)
            subprocess.run(command, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}, check=False)
            shown.say(shown.text(_WATCHING).format(len(set(_watched(files, options)))))
    except KeyboardInterrupt:
        pass
    return ExitCode.OK


def _watched(files: list[Path], options: Options) -> list[Path]:
    """The procedures, and whatever beside them takes part: tools and what they may import, settings, a policy."""
    try:
        procedures = find_procedures(files).procedures
    except UserError:
        procedures = []
    named = [Path(path) for path in (*(options.tools or ()), options.mcp, options.policy) if path is not None]
    folders = dict.fromkeys(path.absolute().parent for path in (*procedures, *files, *named))
    beside = [folder / name for folder in folders for name in (TOOLS, MCP, POLICY, FILE)]
    modules = [module for folder in folders for module in sorted(folder.glob("*.py"))]
    return list(dict.fromkeys(path.absolute() for path in (*procedures, *named, *beside, *modules)))
