"""`sopwith run`: a procedure, a request, a run."""

from __future__ import annotations

import asyncio
import sys
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from pydantic import ValidationError

from sopwith.cli.chosen import choose
from sopwith.cli.connection import Connection, guards_of, open_for
from sopwith.cli.exit_code import ExitCode
from sopwith.cli.inputs import read_inputs, ways_to_give
from sopwith.cli.named_procedure import open_named
from sopwith.cli.options import (
    Allowed,
    Answers,
    AsJson,
    AsLines,
    By,
    Data,
    DryRun,
    HeldGrip,
    Inputs,
    InputsFile,
    Lang,
    Mcp,
    ModelLimit,
    ModelSpec,
    MoneyLimit,
    Plain,
    PolicyFile,
    PriceFile,
    PrincipalId,
    ProcedureFile,
    Quiet,
    RequestFile,
    RequestText,
    Reveal,
    Roles,
    TimeLimit,
    TokenLimit,
    ToolLimit,
    Tools,
    new_verb,
)  # fmt: skip
from sopwith.cli.project import Options, Project, remember
from sopwith.cli.session import Session
from sopwith.cli.settings import load_settings
from sopwith.cli.terminal import terminal
from sopwith.errors import NO_HINT, Text, UserError
from sopwith.ir.event import Principal
from sopwith.ir.procedure import Grip
from sopwith.ir.pydantic_problem import told
from sopwith.ir.usage import Budget, exact
from sopwith.ir.value import Json
from sopwith.lang.document import Document
from sopwith.lang.document import Path as Place
from sopwith.lang.form import is_skill
from sopwith.lang.kinds import spell
from sopwith.lang.request import reader_of_request
from sopwith.lang.text_file import read_text_file
from sopwith.run.run import Run

verb = new_verb()

STDIN = "-"


@verb.command()
def run(
    context: typer.Context,
    procedure: ProcedureFile,
    request: RequestText = None,
    request_file: RequestFile = None,
    inputs: Inputs = None,
    inputs_file: InputsFile = None,
    principal: PrincipalId = None,
    role: Roles = None,
    grip: HeldGrip = None,
    model: ModelSpec = None,
    tools: Tools = None,
    mcp: Mcp = None,
    policy: PolicyFile = None,
    prices: PriceFile = None,
    allow: Allowed = None,
    budget_tokens: TokenLimit = None,
    budget_money: MoneyLimit = None,
    budget_model_calls: ModelLimit = None,
    budget_tool_calls: ToolLimit = None,
    budget_seconds: TimeLimit = None,
    dry_run: DryRun = False,
    answer: Answers = None,
    by: By = None,
    reveal: Reveal = False,
    data: Data = None,
    plain: Plain = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
    as_lines: AsLines = False,
    lang: Lang = "",
) -> int:
    """Run a procedure on a request, one legal action at a time. Of a folder, the one that the request is for.

    按流程处理一个请求，每次只做一个合法动作；给出文件夹时，由请求选定其中的流程。
    """
    budget = _budget(
        tokens=budget_tokens,
        money=exact(budget_money),
        model_calls=budget_model_calls,
        tool_calls=budget_tool_calls,
        seconds=budget_seconds,
    )
    options = Options(model, data, tools or None, mcp, policy, prices, principal, role or None, budget)
    shown = terminal(context)
    folder = procedure if procedure.is_dir() and not is_skill(procedure) else None
    named: Path | str = procedure
    if folder is not None:
        request = _request(request, request_file, None, NO_HINT)
        request_file = None
        named = choose(shown, folder, load_settings(folder, options.given()), request)
    project, document = open_named(named, options, allow or ())
    passed = read_inputs(document.procedure, inputs or (), inputs_file)
    asked = Asked(
        request=_request(
            request,
            request_file,
            reader_of_request(document.procedure, passed),
            ways_to_give(document.procedure, passed),
        ),
        inputs=passed,
        grip=None if grip is None else Grip(grip),
        dry_run=dry_run,
    )
    session = Session(shown, asyncio.Runner(), list(answer or ()), as_lines, by, reveal)
    return start(session, project, document, asked)


@dataclass(frozen=True, slots=True)
class Asked:
    """What one run is asked to do."""

    request: str
    inputs: Mapping[str, Json]
    grip: Grip | None
    dry_run: bool = False


def start(session: Session, project: Project, document: Document, asked: Asked) -> ExitCode:
    """Open what the run needs, note where its files are, and drive it."""
    settings = project.settings
    session.run_id = uuid.uuid4().hex[:12]
    session.shown_data = unusual(settings.data)
    guards = guards_of(project)
    session.terminal.secrets = guards.redact.secret_rules()
    with session.runner:
        connection: Connection = session.runner.run(
            open_for(project, guards, document, asked.grip, asked.inputs)
        )
        remember(project, settings.data, session.run_id)

        async def begin() -> Run:
            return await connection.engine.run(
                asked.request,
                procedure=document.procedure.id,
                principal=Principal(id=settings.principal, roles=settings.roles),
                inputs=asked.inputs,
                grip=asked.grip,
                run_id=session.run_id,
                dry_run=asked.dry_run,
            )

        return session.drive(connection, session.terminal.language, begin)


def unusual(data: Path) -> Path | None:
    """The data folder, where another command in this place would not find it by itself."""
    return None if load_settings(Path.cwd()).data.absolute() == data.absolute() else data


def _request(text: str | None, file: str | None, reader: Place | None, inputs: Text) -> str:
    """The request. Only a procedure in which somebody reads it (at `reader`) demands one."""
    if text is not None and file is not None:
        raise UserError(
            Text("give --request or --request-file, not both", "--request 与 --request-file 只能给一个")
        )
    if text is not None:
        return text
    if file is None:
        if reader is None:
            return ""
        where = spell(reader)
        raise UserError(
            Text(
                f"what is asked for? {where} reads the request, and there is no --request",
                f"{where} 要读取请求，但没有给出 --request",
            ),
            Text(
                'for example: --request "…", or --request-file -' + (inputs.en and f"; or {inputs.en}"),
                '例如：--request "…"，或 --request-file -' + (inputs.zh and f"；或 {inputs.zh}"),
            ),
        )
    return sys.stdin.read() if file == STDIN else _text(Path(file))


def _text(file: Path) -> str:
    return read_text_file(file).removeprefix("\ufeff")


def _budget(**limits: Any) -> Budget:
    """The limits of `--budget-…`. Raises `UserError` for one that is no limit, such as `inf`."""
    try:
        return Budget(**limits)
    except ValidationError as error:
        first = error.errors()[0]
        option = f"--budget-{str(first['loc'][0]).replace('_', '-')}"
        (en, zh), hint = told(first)
        raise UserError(Text(f"{option}: {en}", f"{option}：{zh}"), hint) from None
