"""`sopwith budget`: what principals may use, have reserved and have used in the window of now."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import typer

from sopwith.cli.columns import table
from sopwith.cli.exit_code import ExitCode
from sopwith.cli.money import dollars
from sopwith.cli.options import AsJson, Data, Lang, new_verb
from sopwith.cli.runs import local_time
from sopwith.cli.settings import load_settings
from sopwith.cli.store import open_log
from sopwith.cli.terminal import terminal
from sopwith.errors import Text
from sopwith.guard.budget import LIMITS, total
from sopwith.run.account import Ledger, ledger

verb = new_verb()

_HEADS = (
    Text("principal", "主体"),
    Text("limit", "项目"),
    Text("at most", "上限"),
    Text("used", "已用"),
    Text("reserved", "已预留"),
    Text("left", "剩余"),
    Text("until", "截止"),
)
_NONE = Text(
    "no principal has reserved anything in this window; limits stand in the policy, under budgets.principal",
    "当前时间窗口内没有任何主体的预留；上限写在策略文件的 budgets.principal 下",
)
_LATEST = 1000


@verb.command()
def budget(context: typer.Context, data: Data = None, as_json: AsJson = False, lang: Lang = "") -> int:
    """Show what each principal may use in the present window, has used, and has reserved for runs that go on.

    显示每个主体在当前时间窗口内的上限、已用和已预留的用量。
    """
    shown = terminal(context)
    settings = load_settings(Path.cwd(), {"data": data})
    found = asyncio.run(_ledgers(settings.data))
    if as_json:
        shown.document([_json(each) for each in found])
    elif not found:
        shown.say(_NONE)
    else:
        heads = [shown.text(head) for head in _HEADS]
        for line in table([heads, *(row for each in found for row in _rows(each))]):
            shown.out(line)
    return ExitCode.OK


async def _ledgers(data: Path) -> Sequence[Ledger]:
    log = open_log(data)
    try:
        rows = await log.runs(_LATEST, accounts=True)
        found = [ledger(await log.read(row.run)) for row in rows]
    finally:
        await log.close()
    now = time.time_ns() // 1000
    return sorted((each for each in found if each.until > now), key=lambda each: each.principal)


def _json(found: Ledger) -> dict[str, Any]:
    return {
        "principal": found.principal,
        "since": found.since,
        "until": found.until,
        "limits": found.limits.model_dump(mode="json", exclude_none=True),
        "used": found.used.model_dump(mode="json") | {"seconds": round(found.seconds, 3)},
        "reserved": {
            run: held.model_dump(mode="json", exclude_none=True) for run, held in found.held.items()
        },
        "left": found.left(found.limits).model_dump(mode="json", exclude_none=True),
    }


def _rows(found: Ledger) -> Iterator[list[str]]:
    held = total(found.limits, found.held.values())
    left = found.left(found.limits)
    for name in LIMITS:
        limit = getattr(found.limits, name)
        if limit is not None:
            used = found.seconds if name == "seconds" else getattr(found.used, name)
            numbers = (limit, used, getattr(held, name), getattr(left, name))
            yield [
                found.principal,
                name,
                *(_shown(name, number) for number in numbers),
                local_time(found.until),
            ]


def _shown(name: str, number: Any) -> str:
    if number is None:
        return "?"
    if name == "money":
        return dollars(Decimal(number))
    return f"{number:.1f}" if name == "seconds" else str(number)
