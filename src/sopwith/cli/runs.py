"""`sopwith runs`: the runs of a data folder."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from sopwith.cli.columns import table
from sopwith.cli.exit_code import ExitCode
from sopwith.cli.options import AsJson, Data, Lang, new_verb
from sopwith.cli.run_changes import Changes, looks
from sopwith.cli.settings import load_settings
from sopwith.cli.store import open_to_read
from sopwith.cli.terminal import Terminal, terminal
from sopwith.errors import Text
from sopwith.ir.spoken import spoken
from sopwith.log.port import RunRow

verb = new_verb()

_HEADS = (
    Text("run", "运行"),
    Text("procedure", "流程"),
    Text("status", "状态"),
    Text("started", "开始"),
    Text("took", "历时"),
    Text("events", "事件"),
)
_NONE = Text("no runs yet", "还没有运行")


@verb.command()
def runs(
    context: typer.Context,
    limit: Annotated[
        int, typer.Option("--limit", min=1, help="At most so many, the latest first. 最多列出几个")
    ] = 20,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on watching them, until Ctrl-C. 持续显示，直到 Ctrl-C")
    ] = False,
    data: Data = None,
    as_json: AsJson = False,
    lang: Lang = "",
) -> int:
    """List the runs, the latest first.

    列出运行，最新的在前。
    """
    shown = terminal(context)
    settings = load_settings(Path.cwd(), {"data": data})
    if watch:
        return asyncio.run(_watch(shown, settings.data, limit))
    rows, damage = asyncio.run(_rows(settings.data, limit))
    if as_json:
        shown.document([asdict(row) for row in rows])
    elif not rows:
        shown.say(_NONE)
    else:
        for line in _table(shown, rows):
            shown.out(line)
    return shown.damaged(damage)


def _table(shown: Terminal, rows: Sequence[RunRow]) -> list[str]:
    return table([[shown.text(head) for head in _HEADS], *(_row(shown, row) for row in rows)])


async def _watch(shown: Terminal, data: Path, limit: int) -> int:
    """Show the runs, and what becomes of them: on a terminal as a table that is drawn again, else a line a change."""
    if not shown.draws or shown.json:
        changes = Changes()
        async for rows in looks(data, limit):
            for row in changes.of(rows):
                shown.line(json.dumps(asdict(row)) if shown.json else "  ".join(_row(shown, row)))
        return ExitCode.OK
    from rich.live import Live

    from sopwith.cli.lines import Lines

    with Live(
        console=shown.screen(), auto_refresh=False, redirect_stdout=False, redirect_stderr=False
    ) as live:
        async for rows in looks(data, limit):
            lines = _table(shown, rows) if rows else [shown.text(_NONE)]
            live.update(Lines(lines), refresh=True)
    return ExitCode.OK


async def _rows(data: Path, limit: int) -> tuple[Sequence[RunRow], Sequence[Text]]:
    log = open_to_read(data)
    try:
        return await log.runs(limit), log.damage
    finally:
        await log.close()


def _row(shown: Terminal, row: RunRow) -> list[str]:
    took = "-" if row.last_at is None else f"{(row.last_at - row.started_at) / 1e6:.1f} s"
    return [
        row.run,
        row.procedure_id,
        shown.text(spoken(row.status)),
        local_time(row.started_at),
        took,
        str(row.events),
    ]


def local_time(at: int) -> str:
    """Microseconds since 1970 as a local time of this machine, to the second."""
    return datetime.fromtimestamp(at / 1e6).isoformat(" ", "seconds")
