"""`sopwith init`: a new project with a small procedure that works."""

from __future__ import annotations

import json
import shlex
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from sopwith.cli.exit_code import ExitCode
from sopwith.cli.options import new_verb
from sopwith.cli.terminal import terminal
from sopwith.errors import Text, UserError
from sopwith.ir.os_reason import os_reason
from sopwith.lang.schema import procedure_schema

verb = new_verb()

TEMPLATE = {
    "procedure.yaml": "procedure.yaml",
    "tools.py": "tools.py",
    "policy.yaml": "policy.yaml",
    "sopwith.toml": "sopwith.toml",
    ".gitignore": "gitignore",
}
"""The files of a project, and their names in the template of a language."""

SCHEMA = "procedure.schema.json"

_MADE = Text("made in {}: {}", "已在 {} 新建：{}")
_NEXT = Text("next:", "接下来：")
_REQUESTS = (
    Text("Where is my order A-1001?", "我的订单 A-1001 到哪了？"),
    Text("Order A-1002 has not come", "订单 A-1002 还没到"),
)


@verb.command()
def init(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="A new or existing folder. 目录")] = Path(),
    lang: Annotated[
        str, typer.Option("--lang", metavar="en|zh", help="Language of the project. 项目语言")
    ] = "",
) -> int:
    """Make a new project: a procedure, its tools, a policy, settings. Nothing is overwritten.

    新建项目：流程、工具、策略与设置；不会覆盖任何文件。
    """
    shown = terminal(context)
    files = template(shown.language)
    there = [name for name in files if (folder / name).exists()]
    if there:
        listed = ", ".join(there)
        raise UserError(
            Text(f"{folder} has {listed} already", f"{folder} 中已有 {listed}"),
            Text("name another folder; nothing was written", "请指定其他目录；未写入任何内容"),
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        why = os_reason(error)
        raise UserError(
            Text(f"{folder} cannot be written: {why.en}", f"无法写入 {folder}：{why.zh}")
        ) from error
    shown.say(shown.text(_MADE).format(folder, ", ".join(files)))
    shown.say(_NEXT)
    for command in commands(folder, shown.language):
        shown.out(f"  {command}")
    return ExitCode.OK


def template(language: str) -> dict[str, str]:
    """The files of a new project with their texts."""
    place = resources.files("sopwith.cli").joinpath("template", language)
    files = {name: place.joinpath(source).read_text(encoding="utf-8") for name, source in TEMPLATE.items()}
    return files | {SCHEMA: json.dumps(procedure_schema(), ensure_ascii=False, indent=1) + "\n"}


def commands(folder: Path, language: str) -> list[str]:
    """What to type next. Each of them works."""
    first, second = (f'"{request.in_(language)}"' for request in _REQUESTS)
    go = [] if folder.resolve() == Path.cwd() else [f"cd {shlex.quote(str(folder))}"]
    return [
        *go,
        "sopwith check procedure.yaml",
        f"sopwith run procedure.yaml --request {first}",
        f"sopwith run procedure.yaml --request {second} --answer y",
        "sopwith trace",
    ]
