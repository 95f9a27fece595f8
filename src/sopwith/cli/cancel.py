"""`sopwith cancel`: a run ends as cancelled, also one that another process drives."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from sopwith.cli.connection import alerts_of, guards_of, heads_of
from sopwith.cli.exit_code import ExitCode
from sopwith.cli.options import AsJson, By, Data, Lang, PolicyFile, RunId, new_verb
from sopwith.cli.project import Options
from sopwith.cli.resume import project_again
from sopwith.cli.session import acting, reason
from sopwith.cli.settings import load_settings
from sopwith.cli.store import VAULT, find_run, open_log
from sopwith.cli.terminal import Terminal, terminal
from sopwith.cli.wake import go_on_with
from sopwith.errors import Text
from sopwith.guard.vault import SqliteVault
from sopwith.ir.spoken import spoken
from sopwith.run.due import waiting_caller
from sopwith.run.engine import Engine
from sopwith.run.run import Run

verb = new_verb()

_CANCELLED = Text("run {} is cancelled", "运行 {} 已取消")
_CAME_FIRST = Text("run {} had ended before it could be cancelled: {}", "运行 {} 在取消之前已结束：{}")
_OPEN = Text(
    "it is not known whether these have acted: {}\nlook, and have it on record: sopwith takeover {} --happened yes|no",
    "无法确定以下操作是否已执行：{}\n请核实并记录：sopwith takeover {} --happened yes|no",
)


@verb.command()
def cancel(
    context: typer.Context,
    run: RunId,
    why: Annotated[str | None, typer.Option("--why", metavar="TEXT", help="The reason. 原因")] = None,
    by: By = None,
    policy: PolicyFile = None,
    data: Data = None,
    as_json: AsJson = False,
    lang: Lang = "",
) -> int:
    """End a run. Where a process drives it, that process stops what it does first.

    取消一个运行；若有进程正在执行，则先让它停下。
    """
    shown = terminal(context)
    settings = load_settings(Path.cwd(), {"data": data})
    options = Options(data=settings.data, policy=policy)
    done = asyncio.run(_cancel(options, run, acting(by), reason(why)))
    told: dict[str, Any] = {}
    packet = done.outcome.packet if done.outcome is not None else None
    left = packet.open if packet is not None else ()
    if as_json:
        told |= {"run": done.id, "status": done.status, "open": list(left)}
    elif done.status == "cancelled":
        shown.out(shown.text(_CANCELLED).format(done.id))
    else:
        shown.out(shown.text(_CAME_FIRST).format(done.id, shown.text(spoken(done.status))))
    if left and not as_json:
        shown.say(shown.text(_OPEN).format(", ".join(left), done.id))
    caller = asyncio.run(_caller_goes_on(shown, options, settings.data, done))
    if as_json:
        shown.document(told if caller is None else {**told, "called_by": caller})
    return ExitCode.OK


async def _caller_goes_on(shown: Terminal, options: Options, data: Path, ended: Run) -> dict[str, Any] | None:
    """Go on with the run that has called one which was cancelled, where nobody else does."""
    if ended.state.parent is None:
        return None
    log = open_log(data)
    try:
        caller = await waiting_caller(log, ended.id, time.time_ns() // 1000)
    finally:
        await log.close()
    return None if caller is None else await go_on_with(shown, options, data, caller)


async def _cancel(options: Options, wanted: str, by: str, why: str | None) -> Run:
    data = options.data or Path()
    log = open_log(data)
    try:
        run = await find_run(log, wanted)
        project = project_again(options, (await log.read(run))[0].task)
        guards, heads = guards_of(project), heads_of(project.settings)
        vault = SqliteVault(data / VAULT)
    except BaseException:
        await log.close()
        raise
    alerts = alerts_of(project.settings)
    async with Engine(
        [], log=log, vault=vault, redact=guards.redact, budget=guards.budgets, heads=heads, alerts=alerts
    ) as engine:
        return await engine.cancel(run, by=by, why=why, alone=True)
