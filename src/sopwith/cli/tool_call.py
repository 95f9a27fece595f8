"""One call of a tool as a run of its own: judged, budgeted, journaled and on record like any other."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

from sopwith.cli.answer import ask_at
from sopwith.cli.exit_code import ExitCode
from sopwith.cli.project import Project
from sopwith.cli.run import Asked, start
from sopwith.cli.session import Session
from sopwith.cli.terminal import Terminal
from sopwith.errors import Text, UserError
from sopwith.ir.procedure import Procedure
from sopwith.ir.tool import Effect, ToolSpec
from sopwith.ir.value import Json
from sopwith.lang.compile import parameters
from sopwith.lang.document import Document

ID = "tool_call"
_NAME, _STEP = Text("call of a tool", "调用工具"), Text("call", "调用")
_MAY = Text("{} ({}) with {}: call it?", "{}（{}），参数 {}：是否调用？")


def call_tool(
    shown: Terminal, project: Project, spec: ToolSpec, arguments: dict[str, Json], *, yes: bool, dry_run: bool
) -> ExitCode:
    """Call a tool in a run; a write is asked for first, unless `yes`. Returns the exit code of the run.

    Raises `UserError` for a write that nobody can be asked about.
    """
    _hold_to_required(spec, arguments)
    if spec.effect is not Effect.READ:
        if not yes and not dry_run and not _leave(shown, spec, arguments):
            return ExitCode.DENIED
        project = replace(project, allow=(*project.allow, spec.name))
    session = Session(shown, asyncio.Runner())
    inputs = {f"a{i}": value for i, value in enumerate(arguments.values())}
    asked = Asked(request="", inputs=inputs, grip=None, dry_run=dry_run)
    return start(session, project, _document(spec, arguments, shown.language), asked)


def _leave(shown: Terminal, spec: ToolSpec, arguments: dict[str, Json]) -> bool:
    if not shown.asks or shown.json:
        raise UserError(
            Text(
                f"{spec.name} is a {spec.effect}: nothing was called",
                f"{spec.name} 是 {spec.effect}：没有调用",
            ),
            Text("look at it with --dry-run, or give --yes", "可先用 --dry-run 查看，或加上 --yes"),
        )
    told = json.dumps(arguments, ensure_ascii=False)
    return ask_at(shown, shown.text(_MAY).format(spec.name, spec.effect, told), {"type": "boolean"}) is True


def _hold_to_required(spec: ToolSpec, arguments: dict[str, Json]) -> None:
    known, required = parameters(spec.input_schema)
    missing = [name for name in sorted(required) if name not in arguments]
    if missing and arguments.keys() <= known.keys():  # a misspelled one is told by the check
        example = json.dumps(dict.fromkeys(missing, "…"), ensure_ascii=False)
        raise UserError(
            Text(f"{spec.name} requires {', '.join(missing)}", f"{spec.name} 需要参数：{'、'.join(missing)}"),
            Text(f"give it: --with '{example}'", f"请给出：--with '{example}'"),
        )


def _document(spec: ToolSpec, arguments: dict[str, Json], language: str) -> Document:
    """A procedure of one step, in a language. Every argument is an input: no text of it is an expression."""
    procedure = Procedure.from_data(
        {
            "id": ID,
            "name": _NAME.in_(language),
            "tools": [spec.name],
            "start": "call",
            "inputs": {f"a{i}": {"schema": {}} for i in range(len(arguments))},
            "output": {"type": "object", "properties": {"result": {}}, "required": ["result"]},
            "steps": {
                "call": {
                    "id": "call",
                    "name": _STEP.in_(language),
                    "tool": spec.name,
                    "with": {argument: f"${{inputs.a{i}}}" for i, argument in enumerate(arguments)},
                    "as": "result",
                    "end": "complete",
                    "result": {"result": "${result}"},
                }
            },
        }
    )
    return Document(procedure, {}, f"<{spec.name}>", "")
