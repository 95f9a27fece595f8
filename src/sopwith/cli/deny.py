"""`sopwith deny`: the call that a run waits to make is refused; the run goes on without it, or ends as denied."""

from __future__ import annotations

from typing import Annotated

import typer

from sopwith.cli.options import (
    AsJson,
    AsLines,
    By,
    Data,
    Lang,
    Mcp,
    ModelSpec,
    Plain,
    PolicyFile,
    PriceFile,
    Quiet,
    Reveal,
    RunId,
    Tools,
    new_verb,
)
from sopwith.cli.project import Options
from sopwith.cli.resume import take_up
from sopwith.cli.session import Session, said
from sopwith.errors import Text
from sopwith.ir.event import Event
from sopwith.run.engine import Engine
from sopwith.run.run import Run
from sopwith.run.state import State

verb = new_verb()


@verb.command()
def deny(
    context: typer.Context,
    run: RunId,
    why: Annotated[str, typer.Option("--why", metavar="TEXT", help="Why not; it is recorded. 理由")],
    by: By = None,
    reveal: Reveal = False,
    model: ModelSpec = None,
    tools: Tools = None,
    mcp: Mcp = None,
    policy: PolicyFile = None,
    prices: PriceFile = None,
    data: Data = None,
    plain: Plain = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
    as_lines: AsLines = False,
    lang: Lang = "",
) -> int:
    """Refuse the call that a run waits to make. The run follows its `on_error`, or ends as denied.

    拒绝一个运行等待执行的调用；运行转入 on_error，或以被拒绝结束。
    """

    said("--why", why, Text("say why not: it is recorded", "请说明理由，它会被记录"))

    async def act(engine: Engine, session: Session, state: State, events: list[Event]) -> Run:
        return await engine.deny(session.run_id, by=session.who, why=why)

    options = Options(model, data, tools or None, mcp, policy, prices)
    return take_up(context, run, options, act, by=by, lines=as_lines, reveal=reveal)
