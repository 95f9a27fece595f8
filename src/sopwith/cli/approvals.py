"""`sopwith approvals`: the calls that wait for somebody's leave."""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict
from pathlib import Path

import typer

from sopwith.cli.columns import cut
from sopwith.cli.options import AsJson, Data, Lang, new_verb
from sopwith.cli.runs import local_time
from sopwith.cli.settings import load_settings
from sopwith.cli.store import open_log
from sopwith.cli.terminal import Terminal, terminal
from sopwith.errors import Text
from sopwith.run.preview import as_text
from sopwith.run.waiting import Waiting, waiting

verb = new_verb()

CELLS = 120
_NONE = Text("nothing waits for an approval", "没有等待批准的调用")
_RULE = Text("rule: {}", "规则：{}")
_SINCE = Text("since {}", "自 {} 起等待")
_UNTIL = Text("until {}", "有效期至 {}")
_EXPIRED = Text("expired {}: a vote asks for it again", "已于 {} 过期：批准时会重新请求")
_ANYBODY = Text("who may: anybody", "可批准者：任何人")
_ROLES = Text("who may: {}", "可批准者：{}")
_COUNT = Text("{} different people", "需 {} 位不同的人")
_GIVEN = Text("approved so far by {}", "已批准：{}")
_TASK = Text("called by run {}", "由运行 {} 调用")
_NOT = Text("not {}", "{} 除外")


@verb.command()
def approvals(context: typer.Context, data: Data = None, as_json: AsJson = False, lang: Lang = "") -> int:
    """List the calls that wait for somebody's leave: what, for whom, by which rule, since when and until when.

    列出等待批准的调用：内容、主体、规则、起止时间。
    """
    shown = terminal(context)
    settings = load_settings(Path.cwd(), {"data": data})
    found, damage = asyncio.run(_waiting(settings.data))
    if as_json:
        shown.document([asdict(each) | {"principal": each.principal.model_dump()} for each in found])
    elif not found:
        shown.say(_NONE)
    for each in () if as_json else found:
        _print(shown, each)
    return shown.damaged(damage)


async def _waiting(data: Path) -> tuple[list[Waiting], list[Text]]:
    log = open_log(data)
    try:
        return await waiting(log)
    finally:
        await log.close()


def _print(shown: Terminal, each: Waiting) -> None:
    times = [shown.text(_SINCE).format(local_time(each.since))]
    if each.until is not None:
        until = _EXPIRED if _expired(each) else _UNTIL
        times.append(shown.text(until).format(local_time(each.until)))
    of = "" if each.task == each.run else f"  {shown.text(_TASK).format(each.task)}"
    shown.out(f"{each.run}  {each.procedure}  {each.step}  {', '.join(times)}{of}")
    tool = each.tool if each.calls == 1 else f"{each.tool} × {each.calls:,}"
    shown.out("    " + cut(f"{tool} {as_text(dict(each.arguments))}", CELLS - 4))
    shown.out(f"    {shown.text(_RULE).format(each.rule)}  · {who_may(shown, each)}")


def _expired(each: Waiting) -> bool:
    return each.until is not None and each.until < time.time_ns() // 1000


def who_may(shown: Terminal, each: Waiting) -> str:
    """Who may give leave, how many of them, and who has, in one line."""
    said = [shown.text(_ROLES).format(", ".join(each.roles)) if each.roles else shown.text(_ANYBODY)]
    if each.four_eyes:
        said.append(shown.text(_NOT).format(each.principal.id))
    if each.count > 1:
        said.append(shown.text(_COUNT).format(each.count))
    if each.given:
        said.append(shown.text(_GIVEN).format(", ".join(each.given)))
    return ", ".join(said)
