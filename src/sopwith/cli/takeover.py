"""`sopwith takeover`: a person takes over a run that has escalated, says what they know, and hands it back."""

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
from sopwith.cli.pairs import read_known, read_pairs
from sopwith.cli.project import Options
from sopwith.cli.resume import take_up
from sopwith.cli.session import Session, reason
from sopwith.ir.event import Event
from sopwith.run.engine import Engine
from sopwith.run.run import Run
from sopwith.run.state import State

verb = new_verb()


@verb.command()
def takeover(
    context: typer.Context,
    run: RunId,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="STEP",
            help="Hand it back at this step: its id, name or number. 交还到该步骤（id、名称或编号）",
        ),
    ] = None,
    values: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Give a name a value. 设置值")
    ] = None,
    happened: Annotated[
        list[str] | None,
        typer.Option(
            "--happened",
            metavar="yes|no|STEP=yes",
            help="Whether the open write has acted; of several, which. 未知的写操作是否已执行",
        ),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Make writes that have acted once more. 再次执行已执行的写操作")
    ] = False,
    why: Annotated[str | None, typer.Option("--why", metavar="TEXT", help="The reason. 原因")] = None,
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
    """Take over a run that was handed to a person; with --to, hand it back at a step, and it goes on.

    接管一个已转交人工的运行；加 --to 则交还到某个步骤继续执行。
    """
    known = read_known(happened or [])
    given, said_why = read_pairs(values or []), reason(why)

    async def act(engine: Engine, session: Session, state: State, events: list[Event]) -> Run:
        return await engine.take_over(
            session.run_id, by=session.who, to=to, values=given, happened=known, again=again, why=said_why
        )

    options = Options(model, data, tools or None, mcp, policy, prices)
    return take_up(context, run, options, act, by=by, lines=as_lines, reveal=reveal, ended=True)
