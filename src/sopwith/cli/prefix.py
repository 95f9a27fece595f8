"""`sopwith show --prefix`: how much of each prompt of a run had been sent before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sopwith.cli.columns import table
from sopwith.cli.settings import load_settings
from sopwith.cli.store import find_run, open_to_read
from sopwith.cli.terminal import Terminal
from sopwith.errors import Text
from sopwith.run.sent import Sent, sent_prompts, stable_blobs
from sopwith.run.stored_run import read_state

_HEADS = (
    Text("event", "事件"),
    Text("step", "步骤"),
    Text("for", "用途"),
    Text("characters", "字符"),
    Text("sent before", "先前已发送"),
    Text("new", "新增"),
    Text("tokens read", "读入 token"),
    Text("from a cache", "来自缓存"),
)
_TOTAL = Text(
    "{} model calls, {:,} characters, {} of them sent before; tokens: {:,} read, {:,} from a cache",
    "模型调用 {} 次，共 {:,} 个字符，其中 {} 先前已发送；token：读入 {:,}，来自缓存 {:,}",
)
_ESTIMATED = Text(
    "~ the endpoint counts no tokens: they were counted here, and what it cached is not known",
    "~ 该接口不报告 token：此处自行计数，其缓存情况未知",
)
_NONE = Text("the run has called no model", "该运行没有调用模型")


async def show_prefix(shown: Terminal, data: Path | None, wanted: str) -> int:
    """Print the share of each prompt of the run `wanted` that the same model had been sent before in it."""
    log = open_to_read(load_settings(Path.cwd(), {"data": data}).data)
    try:
        run = await find_run(log, wanted)
        events, _ = await read_state(log, run)
        blobs = {name: await log.blob(name) for name in sorted(stable_blobs(events))}
        prompts = sent_prompts(events, blobs)
        if shown.json:
            shown.document(_as_json(run, prompts))
        elif prompts:
            _print(shown, prompts)
        else:
            shown.say(shown.text(_NONE))
        return shown.damaged(log.damage)
    finally:
        await log.close()


def _as_json(run: str, prompts: list[Sent]) -> dict[str, Any]:
    size, before = sum(each.size for each in prompts), sum(each.before for each in prompts)
    calls = [
        {
            "seq": each.seq,
            "step": each.step,
            "purpose": each.purpose,
            "model": each.model,
            "characters": each.size,
            "sent_before": each.before,
            "share": _share(each.before, each.size),
            "usage": each.usage.model_dump(mode="json"),
        }
        for each in prompts
    ]
    return {
        "run": run,
        "calls": calls,
        "characters": size,
        "sent_before": before,
        "share": _share(before, size),
    }


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def _percent(part: int, whole: int) -> str:
    return f"{_share(part, whole):.0%}"


def _print(shown: Terminal, prompts: list[Sent]) -> None:
    rows = [[shown.text(head) for head in _HEADS]]
    for each in prompts:
        mark = "~" if each.usage.estimated else ""
        rows.append(
            [
                str(each.seq),
                each.step or "",
                each.purpose,
                f"{each.size:,}",
                _percent(each.before, each.size),
                f"{each.size - each.before:,}",
                f"{mark}{each.usage.input + each.usage.cache_write:,}",
                f"{each.usage.cached:,}",
            ]
        )
    for line in table(rows):
        shown.out(line.rstrip())
    size, before = sum(each.size for each in prompts), sum(each.before for each in prompts)
    read = sum(each.usage.input + each.usage.cache_write for each in prompts)
    cached = sum(each.usage.cached for each in prompts)
    shown.out("")
    shown.out(shown.text(_TOTAL).format(len(prompts), size, _percent(before, size), read, cached))
    if any(each.usage.estimated for each in prompts):
        shown.out(shown.text(_ESTIMATED))
