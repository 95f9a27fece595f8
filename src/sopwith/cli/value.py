"""`sopwith value`: the named values of a run, and any part of a long one. Placeholders stay."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Annotated, cast

import typer

from sopwith.cli.columns import table
from sopwith.cli.options import AsJson, Data, Lang, RunId, new_verb
from sopwith.cli.settings import load_settings
from sopwith.cli.store import find_run, open_to_read
from sopwith.cli.terminal import Terminal, terminal
from sopwith.errors import Text, UserError
from sopwith.ir.cut import cut
from sopwith.ir.value import Json
from sopwith.log.salvage import CarefulLog
from sopwith.models.reply import Refused
from sopwith.run.preview import as_stored
from sopwith.run.reading import part_of
from sopwith.run.references import References
from sopwith.run.sketch import sketch
from sopwith.run.state import Reference, State
from sopwith.run.stored_run import read_state
from sopwith.run.value_path import parse_parts, parse_path, spell
from sopwith.run.values import Values

verb = new_verb()

_SHAPE = 60
_RANGE = re.compile(r"(\d*):(\d*)")

_HEADS = (Text("value", "值"), Text("of", "来自"), Text("bytes", "字节"), Text("shape", "结构"))
_EMPTY = Text("the run has no values", "该运行没有任何值")
_PART = Text("{} {}–{} of {}", "{} {}–{}，共 {}")
_UNITS = {
    "items": Text("items", "项"),
    "keys": Text("keys", "键"),
    "characters": Text("characters", "字符"),
    "lines": Text("lines", "行"),
}


@verb.callback()
def value() -> None:
    """List the values of a run, and show any part of one, as models see it: with placeholders.

    列出一次运行的值，或显示其中任意一部分；与模型所见相同，保留占位符。
    """


@verb.command("list")
def list_values(
    context: typer.Context,
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN]", help="The run, or its beginning; else the latest. 运行编号，默认最近一次"
        ),
    ] = None,
    data: Data = None,
    as_json: AsJson = False,
    lang: Lang = "",
) -> int:
    """List the values of a run: name, step, size and shape.

    列出一次运行的值：名称、步骤、大小与结构。
    """
    shown = terminal(context)
    return asyncio.run(_list(shown, load_settings(Path.cwd(), {"data": data}).data, run))


@verb.command()
def show(
    context: typer.Context,
    run: RunId,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name, or a path: orders[3].id. 名称或路径")],
    path: Annotated[
        str, typer.Option("--path", metavar="PATH", help="The way from there: a.b, [3].id. 其中的路径")
    ] = "",
    range_: Annotated[
        str, typer.Option("--range", metavar="FROM:TO", help="Items, keys or characters, from 0. 范围")
    ] = "",
    lines: Annotated[bool, typer.Option("--lines", help="Count the lines of a text. 文本按行计数")] = False,
    data: Data = None,
    as_json: AsJson = False,
    lang: Lang = "",
) -> int:
    """Show a value of a run, or a part of it.

    显示一次运行的某个值，或其中一部分。
    """
    shown = terminal(context)
    bounds = _bounds(range_)
    folder = load_settings(Path.cwd(), {"data": data}).data
    return asyncio.run(_show(shown, folder, run, _joined(name, path), bounds, lines))


def _joined(name: str, path: str) -> str:
    """One path out of a name and the way from there. Raises `UserError` where that is none."""
    rest = path if not path or path[0] in ".[" else f".{path}"
    head, parts = parse_path(name), parse_parts(rest)
    if head is None or parts is None:
        wrong = name if head is None else path
        raise UserError(
            Text(f"'{wrong}' is no path", f"“{wrong}”不是有效的路径"),
            Text("write orders, orders[3].id or table['a b']", "请写 orders、orders[3].id 或 table['a b']"),
        )
    return spell(head[0], (*head[1], *parts))


def _bounds(text: str) -> tuple[int, int | None]:
    found = _RANGE.fullmatch(text)
    if text and found is None:
        raise UserError(
            Text(f"--range {text}: not a range", f"--range {text}：不是有效的范围"),
            Text("write 10:20, 10: or :20", "请写 10:20、10: 或 :20"),
        )
    first, last = ("", "") if found is None else found.groups()
    return int(first or 0), int(last) if last else None


async def _opened(log: CarefulLog, wanted: str | None) -> tuple[State, Values]:
    """The state of a run, and its values with placeholders."""
    _, state = await read_state(log, await find_run(log, wanted))
    blobs = {name: await log.blob(name) for name in state.blobs}
    return state, Values(lambda name: blobs[name], lambda told: told)


async def _list(shown: Terminal, data: Path, wanted: str | None) -> int:
    log = open_to_read(data)
    try:
        state, values = await _opened(log, wanted)
        rows = [_row(name, state, values) for name in state.values]
        if shown.json:
            shown.document({"run": state.run, "values": rows})
        elif not rows:
            shown.say(_EMPTY)
        else:
            told = [
                [str(row["name"]), str(row["step"]), f"{row['bytes']:,}", str(row["shape"])] for row in rows
            ]
            for line in table([[shown.text(head) for head in _HEADS], *told]):
                shown.out(line)
        return shown.damaged(log.damage)
    finally:
        await log.close()


def _row(name: str, state: State, values: Values) -> dict[str, Json]:
    stored = state.values[name]
    whole = values.whole(stored)
    return {
        "name": name,
        "step": state.owners.get(name, ""),
        "bytes": len(as_stored(whole).encode()),
        "stored": isinstance(stored, Reference),
        "shape": cut(sketch(whole), _SHAPE),
    }


async def _show(
    shown: Terminal, data: Path, wanted: str, path: str, bounds: tuple[int, int | None], lines: bool
) -> int:
    log = open_to_read(data)
    try:
        state, values = await _opened(log, wanted)
        try:
            _, _, found = References(state, {}, values).look_up(path)
        except Refused as refused:
            hint = Text(f"sopwith value list {state.run}", f"sopwith value list {state.run}")
            raise UserError(refused.message, hint) from None
        part = _lines(found, *bounds) if lines and isinstance(found, str) else part_of(found, *bounds)
        if shown.json:
            shown.document({"run": state.run, "value": path, **part})
        else:
            text = part["part"]
            shown.out(text if isinstance(text, str) else json.dumps(text, ensure_ascii=False, indent=2))
            if "total" in part and part["to"] - part["from"] < part["total"]:
                unit = shown.text(_UNITS[cast("str", part["unit"])])
                shown.say(shown.text(_PART).format(unit, part["from"], part["to"], part["total"]))
        return shown.damaged(log.damage)
    finally:
        await log.close()


def _lines(text: str, start: int, end: int | None) -> dict[str, Json]:
    found = part_of(text.splitlines(keepends=True), start, end)
    return {**found, "part": "".join(cast("list[str]", found["part"])), "unit": "lines"}
