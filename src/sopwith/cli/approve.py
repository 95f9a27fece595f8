"""`sopwith approve`: leave for the call that a run waits to make; the run goes on."""

from __future__ import annotations

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
from sopwith.cli.session import Session
from sopwith.ir.event import Event
from sopwith.run.engine import Engine
from sopwith.run.run import Run
from sopwith.run.state import State

verb = new_verb()


@verb.command()
def approve(
    context: typer.Context,
    run: RunId,
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
    """Give leave for the call that a run waits to make, and go on with the run. The policy says who may.

    批准一个运行等待执行的调用，并继续运行；谁可以批准由策略决定。
    """

    async def act(engine: Engine, session: Session, state: State, events: list[Event]) -> Run:
        return await engine.approve(session.run_id, by=session.who)

    options = Options(model, data, tools or None, mcp, policy, prices)
    return take_up(context, run, options, act, by=by, lines=as_lines, reveal=reveal)
