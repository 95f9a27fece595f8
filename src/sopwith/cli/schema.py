"""`sopwith schema`: the JSON Schemas of what Sopwith reads and writes."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from sopwith.cli.exit_code import ExitCode
from sopwith.cli.options import Lang, new_verb
from sopwith.cli.terminal import terminal
from sopwith.lang.schema import procedure_schema
from sopwith.log.schema import event_schema

verb = new_verb()


@verb.command()
def schema(
    context: typer.Context,
    what: Annotated[
        Literal["procedure", "events"],
        typer.Argument(help="Of a procedure file, or of one event. 流程或事件"),
    ] = "procedure",
    lang: Lang = "",
) -> int:
    """Print a JSON Schema: of procedure files, for editors, or of the events of a run.

    输出 JSON Schema：流程文件（供编辑器使用）或运行事件。
    """
    made = procedure_schema if what == "procedure" else event_schema
    terminal(context).document(made())
    return ExitCode.OK
