"""`sopwith wake`: the runs whose time or event has come go on."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from sopwith.cli.connection import guards_of, open_again, pinned, pinned_family
from sopwith.cli.exit_code import ExitCode
from sopwith.cli.options import AsJson, Data, Lang, Mcp, ModelSpec, PolicyFile, PriceFile, Tools, new_verb
from sopwith.cli.project import Options
from sopwith.cli.resume import project_again
from sopwith.cli.settings import load_settings
from sopwith.cli.store import open_log
from sopwith.cli.terminal import Terminal, terminal
from sopwith.cli.waits import waits_json
from sopwith.errors import SopwithError, Text
from sopwith.ir.spoken import spoken
from sopwith.run.due import due
from sopwith.run.fold import fold_all
from sopwith.run.run import highest

verb = new_verb()

EVERY = 5.0
"""Seconds between two looks of `--watch`."""

_WENT = Text("run {} goes on: {}", "运行 {} 继续：{}")
_FAILED = Text("run {} is due and cannot go on: {}", "运行 {} 已到时间但无法继续：{}")
_NONE = Text("no run is due", "没有到时间的运行")


@verb.command()
def wake(
    context: typer.Context,
    watch: Annotated[
        bool, typer.Option("--watch", help="Look again and again, until stopped. 持续检查，直到被中断")
    ] = False,
    model: ModelSpec = None,
    tools: Tools = None,
    mcp: Mcp = None,
    policy: PolicyFile = None,
    prices: PriceFile = None,
    data: Data = None,
    as_json: AsJson = False,
    lang: Lang = "",
) -> int:
    """Go on with every run whose time, event or deadline has come: once, or again and again with --watch.

    继续所有已到时间、事件已发生或已超时的运行：默认一次，加 --watch 则持续检查。
    """
    shown = terminal(context)
    settings = load_settings(Path.cwd(), {"data": data})
    options = Options(model, settings.data, tools or None, mcp, policy, prices)
    return asyncio.run(_wake(shown, options, settings.data, watch=watch))


async def _wake(shown: Terminal, options: Options, data: Path, *, watch: bool) -> ExitCode:
    while True:
        log = open_log(data)
        try:
            names = await due(log, time.time_ns() // 1000)
        finally:
            await log.close()
        looked = [await go_on_with(shown, options, data, name) for name in names]
        told = [each for each in looked if each is not None]
        if not watch:
            if shown.json:
                shown.document(told)
            elif not told:
                shown.say(_NONE)
            return ExitCode.OK if all("error" not in each for each in told) else ExitCode.INTERNAL
        await asyncio.sleep(EVERY)


async def go_on_with(shown: Terminal, options: Options, data: Path, run: str) -> dict[str, Any] | None:
    """Go on with one run that is due, with the files that it was started with, and say so; None where nothing in it
    could move.

    What is wrong with it keeps no other one waiting.
    """
    try:
        log = open_log(data)
        try:
            events = list(await log.read(run))
            machine, others = await pinned(log, events), await pinned_family(log, events)
        finally:
            await log.close()
        project, state = project_again(options, events[0].task), fold_all(events)
        connection = await open_again(project, guards_of(project), machine, others, state.inputs)
        try:
            moved = await connection.engine.resume(run, by="wake")
        finally:
            await connection.close()
    except SopwithError as error:
        if not shown.json:
            shown.say(shown.text(_FAILED).format(run, shown.text(error.message)))
        return {"run": run, "error": shown.text(error.message)}
    if moved.id == run and moved.state.seq == state.seq:
        return None
    went = highest(moved)
    if not shown.json:
        status = shown.text(spoken(went.status))
        shown.out(shown.text(_WENT).format(run, f"{went.id} {status}" if went.id != run else status))
    return {"run": run, "status": went.status, "waits": waits_json(went)}
