"""`sopwith convert`: a procedure in another form."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sopwith.cli.exit_code import ExitCode
from sopwith.cli.named_procedure import open_named
from sopwith.cli.options import AsJson, Lang, new_verb
from sopwith.cli.output_file import replace
from sopwith.cli.procedure_files import files_of
from sopwith.cli.project import Project
from sopwith.cli.terminal import Terminal, terminal
from sopwith.errors import Text, UserError
from sopwith.ir.os_reason import os_reason
from sopwith.ir.procedure import Procedure
from sopwith.lang.document import Document
from sopwith.lang.form import SKILL, procedure_file
from sopwith.lang.read import read
from sopwith.lang.skill import skill_name, write_skill
from sopwith.lang.write import left_out, write
from sopwith.lang.yaml import write_yaml
from sopwith.run.book import language_of

verb = new_verb()

STDIN = "-"
_LEFT_OUT = Text("this form does not say: {}", "该形式没有写出：{}")
_WROTE = Text("wrote {}", "已写出 {}")


class Form(StrEnum):
    """The forms that can be written."""

    YAML = "yaml"
    ROUTINE = "routine"
    MERMAID = "mermaid"
    DOT = "dot"
    SKILL = "skill"


@verb.command()
def convert(
    context: typer.Context,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A procedure in any form; - is stdin. 流程文件")
    ],
    to: Annotated[Form, typer.Option("--to", help="The form to write. 目标形式")],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="OUT", help="A file, or the folder of a skill. 输出位置"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over what is there. 覆盖")] = False,
    as_json: AsJson = False,
    lang: Lang = "",
) -> int:
    """Write a procedure in another form: YAML, Routine text, a flowchart, a skill.

    把流程改写成另一种形式：YAML、Routine 文本、流程图或技能。
    """
    shown = terminal(context)
    if str(file) == STDIN:
        project, document = None, read(sys.stdin.read(), "<stdin>")
    else:
        project, document = open_named(file)
    procedure = document.procedure
    language = lang or language_of(procedure)
    called = {} if project is None else _called(project, document)
    files = _files(procedure, to, language, out, called)
    missing = () if to is Form.SKILL else left_out(procedure, to, files[""])
    if to is Form.YAML and out is not None and procedure_file(file).name == SKILL:
        files |= {f"{name}.yaml": write_yaml(one) for name, one in called.items()}
    _tell(shown, document, missing)
    if as_json:
        shown.document(
            {
                "form": str(to),
                "files": {name or str(out or ""): text for name, text in files.items()},
                "left_out": list(missing),
                "notes": [note.to_json(shown.language) for note in document.notes],
            }
        )
    if out is not None:
        folder = out if to is Form.SKILL else out.parent
        _write(shown, {folder / name if name else out: text for name, text in files.items()}, force=force)
    elif not as_json:
        shown.out(files[""].rstrip("\n"))
    return ExitCode.OK


def _called(project: Project, document: Document) -> dict[str, Procedure]:
    """The procedures that a procedure calls, and those that these call, by id, as far as there are files of them."""
    if not document.procedure.callees():
        return {}
    found = files_of(project).callees(document)
    return {name: each.procedure for name, each in found.items()}


def _files(
    procedure: Procedure, form: Form, language: str, out: Path | None, called: dict[str, Procedure]
) -> dict[str, str]:
    """The texts by their paths in the folder of a skill; a form of one text has the path ""."""
    if form is not Form.SKILL:
        return {"": write(procedure, form, language)}
    if out is None:
        name = skill_name(procedure.id)
        raise UserError(
            Text("a skill is a folder: say where", "技能是一个文件夹：请指定位置"),
            Text(f"add -o {name}", f"请加上 -o {name}"),
        )
    return write_skill(procedure, language, out.absolute().name, called)


def _tell(shown: Terminal, document: Document, missing: tuple[str, ...]) -> None:
    """On stderr: what was read with a doubt, and what the new form leaves out."""
    for note in document.notes:
        shown.say(note.render(shown.language))
    if missing:
        shown.say(shown.text(_LEFT_OUT).format(", ".join(missing)))


def _write(shown: Terminal, files: dict[Path, str], *, force: bool) -> None:
    """Write the files, none of them over another one unless that is wanted."""
    for target in files:
        if target.exists() and not force:
            raise UserError(
                Text(f"{target} is there already", f"{target} 已存在"),
                Text("choose another name, or write over it: --force", "请换一个名称，或用 --force 覆盖"),
            )
    for target, text in files.items():
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            why = os_reason(error)
            raise UserError(
                Text(f"{target} cannot be written: {why.en}", f"无法写入 {target}：{why.zh}")
            ) from None
        replace(target, text)
        shown.say(shown.text(_WROTE).format(target))
