"""`sopwith gc`: remove old runs that have ended, so that the store does not grow without bound."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from sopwith.cli.columns import table
from sopwith.cli.connection import heads_of
from sopwith.cli.exit_code import ExitCode
from sopwith.cli.options import AsJson, Data, Lang, new_verb
from sopwith.cli.project import WHERE
from sopwith.cli.runs import local_time
from sopwith.cli.settings import Settings, load_settings
from sopwith.cli.store import VAULT, scan_of, store_file
from sopwith.cli.terminal import Terminal, terminal
from sopwith.errors import LogDamaged, Text, UserError
from sopwith.guard.vault import SqliteVault
from sopwith.ir.duration import read_duration
from sopwith.ir.spoken import spoken
from sopwith.log.collect import Collectable, Collected, collect, collectable
from sopwith.log.port import is_listed

verb = new_verb()

_HEADS = (
    Text("run", "运行"),
    Text("procedure", "流程"),
    Text("status", "状态"),
    Text("last event", "最后事件"),
)
_WOULD = Text(
    "{} runs with {} events would be removed; --yes removes them",
    "将删除 {} 个运行、{} 个事件；加 --yes 才会删除",
)
_DID = Text(
    "removed {} runs, {} events, {} blobs, {} entries of the vault; {:.1f} MB → {:.1f} MB",
    "已删除 {} 个运行、{} 个事件、{} 个数据块、{} 个保险库条目；{:.1f} MB → {:.1f} MB",
)
_SUSPECT = Text(
    "kept, since something was found in it (sopwith audit verify): {}",
    "因发现异常而保留（sopwith audit verify）：{}",
)


@verb.command()
def gc(
    context: typer.Context,
    older_than: Annotated[
        str,
        typer.Option("--older-than", metavar="30d", help="How long ago the last event must be. 最后事件距今"),
    ],
    yes: Annotated[
        bool, typer.Option("--yes", help="Remove them, instead of listing them. 确认删除")
    ] = False,
    data: Data = None,
    as_json: AsJson = False,
    lang: Lang = "",
) -> int:
    """List, and with --yes remove, the runs that ended long ago, with what only they need.

    列出很久以前结束的运行；加 --yes 则连同只属于它们的内容一起删除。
    """
    shown = terminal(context)
    settings = load_settings(Path.cwd(), {"data": data})
    seconds = read_duration(older_than)
    if seconds is None:
        raise UserError(
            Text(f"--older-than {older_than}: not a duration", f"--older-than {older_than}：不是时长"),
            Text("write 30d, 12h or 90m", "请写 30d、12h 或 90m"),
        )
    now = time.time_ns() // 1000
    found = _found(settings, now - round(seconds * 1e6))
    done: Collected | None = None
    entries = 0
    if yes and found.runs:
        done, entries = _remove(settings, found, now)
    _report(shown, found, done, entries)
    return ExitCode.OK


def _found(settings: Settings, before: int) -> Collectable:
    """What may be removed. Raises `LogDamaged` where the store cannot be read as a whole."""
    scan = scan_of(settings.data)
    try:
        found = collectable(scan, before)
    finally:
        scan.close()
    if scan.damage:
        raise LogDamaged(
            scan.damage[0],
            Text("restore the store from a backup before you remove anything", "删除之前请先从备份恢复存储"),
        )
    return found


def _remove(settings: Settings, found: Collectable, now: int) -> tuple[Collected, int]:
    heads = heads_of(settings)
    if heads is not None:
        # First: a run that is said to be collected and is still there misleads nobody.
        asyncio.run(heads.add([old.tombstone(now) for old in found.runs]))
    done = collect(store_file(settings.data), found.runs)
    names = [old.run.run for old in found.runs]
    entries = 0
    if (settings.data / VAULT).is_file():
        vault = SqliteVault(settings.data / VAULT)
        try:
            entries = vault.remove(names)
        finally:
            vault.close()
    for name in names:
        with suppress(OSError):
            (settings.data / WHERE / f"{name}.json").unlink()
    return done, entries


def _report(shown: Terminal, found: Collectable, done: Collected | None, entries: int) -> None:
    suspect = sorted({finding.run for finding in found.suspect})
    runs = [old for old in found.runs if is_listed(old.run.run, accounts=False)]
    if shown.json:
        shown.document(
            {
                "runs": [
                    {
                        "run": old.run.run,
                        "status": old.run.status,
                        "events": old.events,
                        "last_at": old.last_at,
                    }
                    for old in runs
                ],
                "suspect": suspect,
                "removed": None if done is None else {**asdict(done), "vault": entries},
            }
        )
        return
    rows = [
        [o.run.run, o.run.procedure_id, shown.text(spoken(o.run.status)), local_time(o.last_at)] for o in runs
    ]
    if rows:
        for line in table([[shown.text(head) for head in _HEADS], *rows]):
            shown.out(line)
    for run in suspect:
        shown.say(shown.text(_SUSPECT).format(run))
    if done is None:
        shown.say(shown.text(_WOULD).format(len(rows), sum(old.events for old in runs)))
    else:
        sizes = (done.before / 1e6, done.after / 1e6)
        shown.say(shown.text(_DID).format(done.runs, done.events, done.blobs, entries, *sizes))
