"""`sopwith fmt`: procedures in canonical form."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path
from typing import Annotated

import typer

from sopwith.cli.exit_code import ExitCode
from sopwith.cli.options import Lang, new_verb
from sopwith.cli.output_file import replace
from sopwith.cli.terminal import Terminal, terminal
from sopwith.errors import Text, UserError
from sopwith.lang.form import SUFFIXES, YAML_SUFFIXES
from sopwith.lang.text_file import read_text_file
from sopwith.lang.yaml import format_yaml

verb = new_verb()

STDIN = "-"
_WOULD = Text("{} is not in canonical form", "{} 不是规范格式")
_DID = Text("{} was formatted", "已格式化 {}")
_HINT = Text("run `sopwith fmt {}`", "请运行 sopwith fmt {}")


@verb.command()
def fmt(
    context: typer.Context,
    files: Annotated[list[Path], typer.Argument(metavar="FILES…", help="YAML files; - is stdin. 流程文件")],
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit 3 if something would. 只检查")
    ] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Change nothing; show what would. 只显示改动")] = False,
    lang: Lang = "",
) -> int:
    """Write procedures in canonical YAML. Comments stay, the meaning stays.

    把流程写成规范的 YAML，保留注释与含义。
    """
    shown = terminal(context)
    changed = False
    for file in files:
        if str(file) == STDIN:
            sys.stdout.write(format_yaml(sys.stdin.read(), "<stdin>"))
            continue
        changed = _format(shown, file, check=check, diff=diff) or changed
    return ExitCode.INVALID if changed and check else ExitCode.OK


def _format(shown: Terminal, file: Path, *, check: bool, diff: bool) -> bool:
    """Format one file. Returns whether its text is another now, or would be."""
    if file.suffix.lower() in SUFFIXES - YAML_SUFFIXES:
        raise UserError(
            Text(
                f"{file} is not YAML: only YAML has a canonical form",
                f"{file} 不是 YAML：只有 YAML 有规范格式",
            ),
            Text(
                f"make YAML of it: sopwith convert {file} --to yaml",
                f"转成 YAML：sopwith convert {file} --to yaml",
            ),
        )
    before = read_text_file(file, keep_line_ends=True)
    after = format_yaml(before, str(file))
    if after == before:
        return False
    if diff:
        sys.stdout.write(difference(before, after, file))
    if check:
        shown.say(shown.text(_WOULD).format(file))
        shown.say(shown.text(_HINT).format(file))
    if not check and not diff:
        replace(file, after)
        shown.say(shown.text(_DID).format(file))
    return True


def difference(before: str, after: str, file: Path) -> str:
    """The changed lines of a file, as a unified diff."""
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), str(file), str(file)
    )
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
