"""`sopwith signal`: something has happened outside that a run waits for."""

from __future__ import annotations

from typing import Annotated

import typer

from sopwith.cli.json_text import read_json
from sopwith.cli.options import (
    AsJson,
    AsLines,
    By,
    Data,
    Lang,
    Mcp,
    ModelSpec,
    PolicyFile,
    PriceFile,
    Reveal,
    RunId,
    Tools,
    new_verb,
)
from sopwith.cli.project import Options
from sopwith.cli.resume import take_up
from sopwith.cli.session import Session
from sopwith.errors import Text
from sopwith.ir.event import Event
from sopwith.ir.value import Json
from sopwith.run.engine import Engine
from sopwith.run.run import Run
from sopwith.run.state import State

verb = new_verb()


@verb.command()
def signal(
    context: typer.Context,
    run: RunId,
    event: Annotated[str, typer.Argument(metavar="EVENT", help="The name of the event. 事件名")],
    payload: Annotated[
        str | None, typer.Option("--payload", metavar="JSON", help="What it brings. 事件数据（JSON）")
    ] = None,
    by: By = None,
    reveal: Reveal = False,
    model: ModelSpec = None,
    tools: Tools = None,
    mcp: Mcp = None,
    policy: PolicyFile = None,
    prices: PriceFile = None,
    data: Data = None,
    as_json: AsJson = False,
    as_lines: AsLines = False,
    lang: Lang = "",
) -> int:
    """Tell a run that an event has happened. A run that waits for it goes on; else it is kept until the run does.

    通知运行某个事件已发生：正在等待的运行会继续，否则事件会保留到运行等待它时。
    """
    told = _payload(payload)

    async def act(engine: Engine, session: Session, state: State, events: list[Event]) -> Run:
        return await engine.signal(session.run_id, event, payload=told, by=session.who)

    options = Options(model, data, tools or None, mcp, policy, prices)
    return take_up(context, run, options, act, by=by, lines=as_lines, reveal=reveal)


def _payload(text: str | None) -> Json:
    if text is None:
        return None
    hint = Text("text is put in quotes: --payload '\"paid\"'", "文本要加引号：--payload '\"paid\"'")
    return read_json(text, "--payload", hint)
