"""The command `sopwith`: its verbs, one module each, imported when they are used."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import sopwith
from sopwith.cli.exit_code import ExitCode
from sopwith.cli.language import from_arguments, language, options_of
from sopwith.cli.misuse import misuse
from sopwith.cli.terminal import Terminal, unread
from sopwith.errors import LANGUAGES, Text, UserError

VERBS: dict[str, Text] = {
    "init": Text("make a new project with a small procedure that works", "新建一个可直接运行的小项目"),
    "doctor": Text("see whether everything that is needed is there", "检查运行环境是否齐备"),
    "check": Text("find what is wrong with procedures, before they run", "在运行之前检查流程"),
    "fmt": Text("write procedures in canonical form, comments kept", "把流程写成规范格式，保留注释"),
    "convert": Text("write a procedure in another form", "把流程改写成另一种形式"),
    "policy": Text(
        "try the rules of a policy on calls, without running anything", "试一试策略规则，不执行任何操作"
    ),
    "tools": Text("list, call, try and judge tools", "列出、调用、试用和检查工具"),
    "show": Text("show a procedure, or exactly what a model would see", "显示流程，或模型将看到的内容"),
    "diff": Text("say what differs between two procedures", "说明两个流程的差异"),
    "find": Text("find the procedure, tool or document for a request", "查找与请求相符的流程、工具或文档"),
    "run": Text("run a procedure on a request", "按流程处理一个请求"),
    "resume": Text("go on with a run: after an answer, or after a crash", "回答之后或崩溃之后继续运行"),
    "takeover": Text("take over a run that was handed to a person", "接管已转交人工的运行"),
    "cancel": Text("end a run, also one that is being driven", "取消运行，包括正在执行的运行"),
    "approve": Text("give leave for a call that waits for it", "批准一个等待批准的调用"),
    "deny": Text("refuse a call that waits for leave", "拒绝一个等待批准的调用"),
    "signal": Text("tell a run that an event has happened", "通知运行某个事件已发生"),
    "wake": Text("go on with the runs whose time has come", "继续已到时间的运行"),
    "approvals": Text("list the calls that wait for leave", "列出等待批准的调用"),
    "runs": Text("list the runs", "列出运行"),
    "trace": Text("show what happened in a run", "显示一次运行的经过"),
    "value": Text("list the values of a run, and show any part of one", "列出运行的值，显示其任意部分"),
    "audit": Text("find what was changed in a store, and sign its heads", "查找存储中的改动，签名链头"),
    "gc": Text("remove runs that ended long ago", "删除很久以前结束的运行"),
    "vault": Text("see how much the vault holds, and forget somebody", "查看保险库，或抹除某人的数据"),
    "watchdog": Text("raise alerts for runs that are late or left alone", "为超时或无人执行的运行发出告警"),
    "library": Text(
        "share procedures: versions, and the one of each that runs", "共享流程：各个版本，以及运行哪一个"
    ),
    "serve": Text("let others call procedures: an MCP server", "让其他程序调用流程：MCP 服务器"),
    "budget": Text("show what principals may use and have used", "显示各主体的预算与用量"),
    "model": Text("get and list models that run on this machine", "获取和列出本机模型"),
    "schema": Text("print the JSON Schema of procedures or events", "输出流程或事件的 JSON Schema"),
}
"""Every verb, in the order of the help. Its module is `sopwith.cli.VERB` and holds a `typer.Typer` named `verb`."""

_COMMANDS = Text("Verbs", "命令")
_INTERRUPTED = Text("interrupted", "已中断")


class Verbs(TyperGroup):
    """The group of all verbs. Errors become one message and an exit code, never a traceback."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of the verbs."""
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A verb by name; its module is imported now."""
        if cmd_name not in VERBS:
            return None
        command = typer.main.get_command(import_module(f"sopwith.cli.{cmd_name}").verb)
        command.name = cmd_name
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """One line a verb, without importing any."""
        shown = _terminal_of(ctx).language
        with formatter.section(_COMMANDS.in_(shown)):
            formatter.write_dl([(name, help_.in_(shown)) for name, help_ in VERBS.items()])

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:
        """Run the command line and exit with its code."""
        given = list(sys.argv[1:] if args is None else args)
        options = options_of(given)
        wanted = from_arguments(options)
        terminal = Terminal(language(wanted, os.environ), "--json" in options)
        if wanted is not None and wanted not in LANGUAGES:
            sys.exit(int(terminal.failed(_no_language(wanted))))
        extra |= {"standalone_mode": False, "obj": terminal, "prog_name": "sopwith"}
        _have_streams()
        _forgive_encodings()
        code = _code(super().main, given, terminal, extra)
        _flush()
        sys.exit(int(code))


def _code(run: Any, arguments: list[str], terminal: Terminal, extra: dict[str, Any]) -> int:
    try:
        code = run(arguments, **extra)
        return code if isinstance(code, int) else ExitCode.OK
    except SystemExit as end:
        # A broken pipe makes typer exit, after its help; anything else that does is not ours to believe.
        return ExitCode.OK if isinstance(end.__context__, BrokenPipeError) else terminal.failed(_exited(end))
    except (KeyboardInterrupt, typer.Abort):
        terminal.say(_INTERRUPTED)
        return ExitCode.INTERRUPTED
    except Exception as error:
        if hasattr(error, "format_message"):  # what typer says about a command line
            return terminal.misused(misuse(error), _usage_of(error))
        return terminal.failed(error)


def _flush() -> None:
    """Write what is left, unless nobody reads it any more."""
    for stream in filter(None, (sys.__stdout__, sys.stdout)):
        try:
            stream.flush()
        except BrokenPipeError:
            unread(stream)


def _no_language(wanted: str) -> UserError:
    return UserError(
        Text(f"--lang {wanted}: there is no such language", f"--lang {wanted}：没有这种语言"),
        Text("write en or zh", "请写 en 或 zh"),
    )


def _exited(end: SystemExit) -> RuntimeError:
    return RuntimeError(f"a tool has called sys.exit({end.code!r})")


def _usage_of(error: Any) -> Text:
    """Where the usage of the verb that was misused is described."""
    path = getattr(getattr(error, "ctx", None), "command_path", "sopwith")
    return Text(f"see `{path} --help`", f"参见 {path} --help")


def _terminal_of(context: Any) -> Terminal:
    found = context.find_root().obj
    return found if isinstance(found, Terminal) else Terminal()


def _have_streams() -> None:
    """A stream that was closed (`>&-`) goes nowhere. It keeps its number, so that no file gets it."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            nowhere = Path(os.devnull).open("r" if name == "stdin" else "w", encoding="utf-8")  # noqa: SIM115
            setattr(sys, name, nowhere)


def _forgive_encodings() -> None:
    """A stream that is not UTF-8 gets escapes for what it cannot say, instead of an error."""
    for stream in (sys.stdout, sys.stderr):
        if (stream.encoding or "").lower().replace("-", "") != "utf8" and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


app = typer.Typer(cls=Verbs, rich_markup_mode=None, no_args_is_help=True, add_completion=False)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"sopwith {sopwith.__version__}")
        raise typer.Exit


@app.callback()
def sopwith_(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version. 显示版本", callback=_version, is_eager=True)
    ] = False,
    lang: Annotated[str, typer.Option("--lang", help="en or zh: the language of messages. 消息语言")] = "",
) -> None:
    """Make any language model execute an enterprise's procedures exactly.

    让任何语言模型严格按企业流程办事。
    """


def main() -> None:
    """The entry point of the command `sopwith`."""
    app()
