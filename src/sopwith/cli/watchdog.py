"""`sopwith watchdog`: looks at all runs from outside, and raises alerts for those that are late or left alone."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from sopwith.cli.connection import alerts_of
from sopwith.cli.exit_code import ExitCode
from sopwith.cli.options import AsJson, Data, Lang, new_verb
from sopwith.cli.settings import Settings, load_settings
from sopwith.cli.store import open_log
from sopwith.cli.terminal import Terminal, terminal
from sopwith.errors import Text, UserError
from sopwith.guard.alert import Alert, Webhook
from sopwith.ir.duration import read_duration
from sopwith.run.watchdog import Watchdog

verb = new_verb()

_NOTHING = Text("nothing new", "没有新的告警")
_ONE = Text("{}  run {}  {}  {}", "{}  运行 {}  {}  {}")


@verb.command()
def watchdog(
    context: typer.Context,
    every: Annotated[
        str | None, typer.Option("--every", metavar="60s", help="Look again so often. 每隔多久检查一次")
    ] = None,
    waiting: Annotated[
        str | None,
        typer.Option("--waiting", metavar="1d", help="How long a person may be waited for. 等待人工的时限"),
    ] = None,
    data: Data = None,
    as_json: AsJson = False,
    lang: Lang = "",
) -> int:
    """Look at the runs that have not ended, and raise alerts: once, or again and again with --every.

    检查未结束的运行并发出告警：默认一次，加 --every 则持续检查。
    """
    shown = terminal(context)
    settings = load_settings(Path.cwd(), {"data": data})
    pause, limit = _seconds("--every", every), _seconds("--waiting", waiting)
    return asyncio.run(_watch(shown, settings, pause, limit, as_json=as_json))


async def _watch(
    shown: Terminal, settings: Settings, pause: float | None, limit: float | None, *, as_json: bool
) -> int:
    sinks = alerts_of(settings)
    log = open_log(settings.data)
    try:
        dog = Watchdog(log, sinks, lambda: time.time_ns() // 1000, waiting=limit)
        while True:
            _show(shown, await dog.look(), as_json=as_json, again=pause is not None)
            if pause is None:
                return ExitCode.OK
            await asyncio.sleep(pause)
    finally:
        await log.close()
        for sink in sinks:
            if isinstance(sink, Webhook):
                sink.close()


def _show(shown: Terminal, raised: Sequence[Alert], *, as_json: bool, again: bool) -> None:
    if as_json and not again:
        shown.document([asdict(alert) for alert in raised])
        return
    for alert in raised:
        if as_json:
            shown.line(json.dumps(asdict(alert), ensure_ascii=False))
            continue
        shown.out(shown.text(_ONE).format(alert.code, alert.run, alert.step or "-", alert.message))
    if not raised and not again:
        shown.say(_NOTHING)


def _seconds(option: str, text: str | None) -> float | None:
    if text is None:
        return None
    seconds = read_duration(text)
    if seconds is None or seconds <= 0:
        raise UserError(
            Text(f"{option} {text}: not a duration", f"{option} {text}：不是时长"),
            Text("write 60s, 5m, 12h or 1d", "请写 60s、5m、12h 或 1d"),
        )
    return seconds
