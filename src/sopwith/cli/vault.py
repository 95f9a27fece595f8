"""`sopwith vault`: what the vault holds, and how somebody is forgotten."""

from __future__ import annotations

import asyncio
import getpass
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated

import typer

from sopwith.cli.columns import table
from sopwith.cli.exit_code import ExitCode
from sopwith.cli.options import AsJson, Data, Lang, new_verb
from sopwith.cli.settings import load_settings
from sopwith.cli.store import find_run, open_log, open_vault
from sopwith.cli.terminal import Terminal, terminal
from sopwith.errors import PolicyError, Text, UserError
from sopwith.guard.erasure import holding
from sopwith.guard.redact import Redactor
from sopwith.guard.vault import Secret, SqliteVault
from sopwith.ir.event import BudgetReserved, Event, Principal, RunStarted

verb = new_verb()

STDIN = "-"
_ALL = 1 << 60

_HEADS = (Text("run", "运行"), Text("kind", "种类"), Text("entries", "条目"), Text("erased", "已抹除"))
_EMPTY = Text("the vault holds nothing", "保险库中没有条目")
_ASK = Text("value to erase (not shown): ", "要抹除的值（不回显）：")
_ERASED = Text("erased: {} in {}", "已抹除：{}，涉及{}")
_NOTHING = Text(
    "nothing matched that is not erased already; check the spelling of the value, the person or the run, and --data:"
    " `sopwith vault show` counts what there is",
    "没有匹配且尚未抹除的条目；请检查值、主体或运行的写法，以及 --data：sopwith vault show 可查看条目数",
)
_ENTRIES = (Text("1 entry", "1 个条目"), Text("{} entries", "{} 个条目"))
_RUNS = (Text("1 run", "1 个运行"), Text("{} runs", "{} 个运行"))


@verb.callback()
def vault() -> None:
    """See how much the vault holds, and erase from it: the logs stay valid, and keep the placeholders.

    查看保险库中的条目数量，或从中抹除；日志仍然有效，只保留占位符。
    """


@verb.command()
def show(
    context: typer.Context,
    run: Annotated[str | None, typer.Argument(metavar="[RUN]", help="Of this run, or all. 运行编号")] = None,
    data: Data = None,
    as_json: AsJson = False,
    lang: Lang = "",
) -> int:
    """Count the entries by run and kind. No value is shown.

    按运行和种类统计条目，不显示任何值。
    """
    shown = terminal(context)
    folder = load_settings(Path.cwd(), {"data": data}).data
    wanted = None if run is None else asyncio.run(_run_named(folder, run))
    opened = open_vault(folder)
    try:
        rows = [row for row in opened.counts() if wanted is None or row[0] == wanted]
    finally:
        opened.close()
    names = ("run", "kind", "entries", "erased")
    if shown.json:
        shown.document([dict(zip(names, row, strict=True)) for row in rows])
    elif not rows:
        shown.say(_EMPTY)
    else:
        heads = [shown.text(head) for head in _HEADS]
        for line in table([heads, *([str(part) for part in row] for row in rows)]):
            shown.out(line)
    return ExitCode.OK


@verb.command()
def erase(
    context: typer.Context,
    value: Annotated[
        str | None,
        typer.Option(
            "--value", metavar="TEXT", help="This value, in all runs; by default asked for, or stdin. 值"
        ),
    ] = None,
    run: Annotated[
        str | None, typer.Option("--run", metavar="RUN", help="All of this run. 该运行的全部条目")
    ] = None,
    principal: Annotated[
        str | None,
        typer.Option("--principal", metavar="ID", help="All of this person's runs. 该主体的全部运行"),
    ] = None,
    data: Data = None,
    as_json: AsJson = False,
    lang: Lang = "",
) -> int:
    """Erase true values for good: one value in all runs (typed, or from stdin), one run, or one person's runs.

    永久抹除真实值：所有运行中的某个值（键入或取自标准输入）、某个运行，或某个主体的全部运行。
    """
    shown = terminal(context)
    if sum(given is not None for given in (value, run, principal)) > 1:
        raise UserError(
            Text("give one of --value, --run and --principal", "--value、--run 与 --principal 只能给一个")
        )
    folder = load_settings(Path.cwd(), {"data": data}).data
    opened = open_vault(folder)
    try:
        if run is not None:
            erased = _erase_runs(opened, {asyncio.run(_run_named(folder, run))})
        elif principal is not None:
            erased = _erase_runs(opened, asyncio.run(_runs_for(folder, opened, principal)))
        else:
            erased = opened.erase(holding(_value(shown, value)))
    finally:
        opened.close()
    _report(shown, erased)
    return ExitCode.OK


def _erase_runs(opened: SqliteVault, runs: Collection[str]) -> dict[str, int]:
    def of_these(run: str, secret: Secret) -> bool:
        return run in runs

    return opened.erase(of_these)


def _value(shown: Terminal, given: str | None) -> str:
    """The value: on the command line; else typed without an echo, or from stdin, so that no history keeps it."""
    if given is not None and given != STDIN:
        return given
    if given is None and shown.asks:
        return getpass.getpass(shown.text(_ASK))
    return sys.stdin.readline().rstrip("\r\n")


def _report(shown: Terminal, erased: dict[str, int]) -> None:
    total = sum(erased.values())
    if shown.json:
        shown.document({"entries": total, "runs": erased})
        return
    entries = shown.text(_ENTRIES[total != 1]).format(total)
    runs = shown.text(_RUNS[len(erased) != 1]).format(len(erased))
    shown.out(shown.text(_ERASED).format(entries, runs))
    if not total:
        shown.say(_NOTHING)


async def _run_named(data: Path, wanted: str) -> str:
    log = open_log(data)
    try:
        return await find_run(log, wanted)
    finally:
        await log.close()


def _principal_of(events: Sequence[Event]) -> str | None:
    """For whom a run is, or an account; None where that is not said, as where its beginning is gone."""
    for event in events:
        match event.body:
            case BudgetReserved(principal=name) | RunStarted(principal=Principal(id=name)):
                return name
            case _:
                pass
    return None


async def _runs_for(data: Path, opened: SqliteVault, principal: str) -> set[str]:
    """The runs that a person was the principal of, and their accounts."""
    log = open_log(data)
    found: set[str] = set()
    try:
        for row in (*await log.runs(_ALL), *await log.runs(_ALL, accounts=True)):
            told = _principal_of(await log.read(row.run))
            if told is None:
                continue
            try:
                name = Redactor(opened, row.run).reveal(told)
            except PolicyError:  # erased before, or unknown
                continue
            if name == principal:
                found.add(row.run)
    finally:
        await log.close()
    return found
