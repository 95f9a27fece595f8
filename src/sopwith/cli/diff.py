"""`sopwith diff`: what differs between two procedures, by step and in words."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from itertools import groupby
from typing import Annotated, Any

import typer

from sopwith.cli.exit_code import ExitCode
from sopwith.cli.options import AsJson, Data, Lang, Mcp, Tools, new_verb
from sopwith.cli.project import Options
from sopwith.cli.terminal import Terminal, terminal
from sopwith.cli.version import Version, open_version
from sopwith.errors import Text
from sopwith.lang.change_words import TOPIC_WORDS, place, said
from sopwith.lang.diff import TOPICS, Act, Change, diff

verb = new_verb()

_SAME = Text("no differences", "没有差异")
_MARKS: dict[Act, str] = {
    "added": "+",
    "removed": "-",
    "changed": "~",
    "renamed": "=",
    "moved": "↕",
    "reordered": "↕",
}
_HELP = "A file, or run:RUN for what a run is pinned to. 文件或 run:运行编号"


@verb.command("diff")
def differ(
    context: typer.Context,
    before: Annotated[str, typer.Argument(metavar="A", help=_HELP)],
    after: Annotated[str, typer.Argument(metavar="B", help=_HELP)],
    tools: Tools = None,
    mcp: Mcp = None,
    data: Data = None,
    as_json: AsJson = False,
    lang: Lang = "",
) -> int:
    """Say what differs between two procedures, by step: permissions and writes first.

    按步骤说明两个流程的差异：权限和写操作在前。
    """
    shown = terminal(context)
    options = Options(data=data, tools=tools or None, mcp=mcp)
    one, other = asyncio.run(_both(shown, before, after, options))
    changes = diff(one.procedure, other.procedure, one.writes | other.writes)
    if as_json:
        shown.document(_document(one, other, changes))
    else:
        _print(shown, one, other, changes)
    return ExitCode.OK


async def _both(shown: Terminal, before: str, after: str, options: Options) -> tuple[Version, Version]:
    return await open_version(shown, before, options), await open_version(shown, after, options)


def _document(one: Version, other: Version, changes: tuple[Change, ...]) -> dict[str, Any]:
    return {
        "before": _named(one),
        "after": _named(other),
        "same": not changes,
        "changes": [asdict(c) | {"said": {"en": said(c, "en"), "zh": said(c, "zh")}} for c in changes],
    }


def _named(version: Version) -> dict[str, Any]:
    return {"version": version.name, "id": version.procedure.id, "hash": version.procedure.digest()}


def _print(shown: Terminal, one: Version, other: Version, changes: tuple[Change, ...]) -> None:
    for mark, version in (("-", one), ("+", other)):
        shown.out(f"{mark} {version.name}  {version.procedure.id}  {version.procedure.digest()[:12]}")
    if not changes:
        shown.out(_SAME)
    for topic in TOPICS:
        about = [change for change in changes if change.topic == topic]
        if not about:
            continue
        shown.out("\n" + TOPIC_WORDS[topic].in_(shown.language))
        for where, here in groupby(about, lambda change: place(change, shown.language)):
            if where:
                shown.out(f"  {where}")
            for change in here:
                shown.out(f"{'    ' if where else '  '}{_MARKS[change.act]} {said(change, shown.language)}")
