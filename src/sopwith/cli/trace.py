"""`sopwith trace`: what happened in a run, from its log alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from sopwith.cli.connection import pinned
from sopwith.cli.details import details, step_json
from sopwith.cli.money import dollars
from sopwith.cli.options import AsJson, AsLines, Data, Lang, new_verb
from sopwith.cli.progress import StepLine
from sopwith.cli.record import records, short
from sopwith.cli.runs import local_time
from sopwith.cli.settings import load_settings
from sopwith.cli.store import find_run, open_to_read
from sopwith.cli.terminal import Terminal, terminal
from sopwith.errors import LogDamaged, LogError, Text, UserError
from sopwith.ir.event import Event, ModelReplied, ModelRequested, event_json
from sopwith.ir.spoken import spoken
from sopwith.ir.value import Json
from sopwith.lang.machine import Machine
from sopwith.log.export import to_jsonl
from sopwith.log.port import Log
from sopwith.log.salvage import CarefulLog
from sopwith.log.sqlite_file import RESTORE
from sopwith.run.fold import fold_all
from sopwith.run.preview import preview
from sopwith.run.run import context_view
from sopwith.run.state import State

verb = new_verb()

_HEADS = {
    "run": Text("run", "运行"),
    "procedure": Text("procedure", "流程"),
    "status": Text("status", "状态"),
    "for": Text("for", "主体"),
    "model": Text("model", "模型"),
    "request": Text("request", "请求"),
    "used": Text("used", "用量"),
}
_USED = Text(
    "{} model calls, {} tokens ({} read, {} from a cache, {} written), {} tool calls, {:.1f} s",
    "模型调用 {} 次，{} tokens（读入 {}，缓存 {}，生成 {}），工具调用 {} 次，{:.1f} 秒",
)
_UNPRICED = Text(", at a price that is not known", "，价格未知")
_DRY = Text("DRY RUN", "试运行")
_PATH = Text("path", "经过")
_STATE = Text("state", "状态视图")
_OUTCOME = Text("outcome", "结局")
_OPEN = Text("not ended", "尚未结束")


@dataclass(frozen=True, slots=True)
class Trace:
    """The log of one run, folded, with the machine that it is pinned to."""

    events: list[Event]
    state: State
    machine: Machine
    model: str


@verb.command()
def trace(
    context: typer.Context,
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN]", help="The run, or its beginning; else the latest. 运行编号，默认最近一次"
        ),
    ] = None,
    prompts: Annotated[
        bool, typer.Option("--prompts", help="Each prompt as it was sent, and its reply. 显示提示词与回复")
    ] = False,
    data: Data = None,
    as_json: AsJson = False,
    as_lines: AsLines = False,
    lang: Lang = "",
) -> int:
    """Show what happened in a run: its path, every call and its judgement, tokens, time, and the state at the end.

    显示一次运行的经过：路径、每次调用及其裁决、用量、耗时与最终状态。
    """
    shown = terminal(context)
    settings = load_settings(Path.cwd(), {"data": data})
    return asyncio.run(_trace(shown, settings.data, run, prompts, as_lines))


async def _trace(shown: Terminal, data: Path, wanted: str | None, prompts: bool, lines: bool) -> int:
    log = open_to_read(data)
    try:
        name = await find_run(log, wanted)
        events = list(await log.read(name))
        if not events and log.damage:
            raise LogDamaged(log.damage[0], RESTORE)
        if not events:
            raise UserError(Text(f"the run '{name}' has no event", f"运行“{name}”没有事件"))
        if lines:
            shown.out(to_jsonl(events).removesuffix("\n"))
        elif prompts:
            sent = await _sent(log, events)
            if shown.json:
                shown.document(sent)
            for each in sent if not shown.json else ():
                shown.out(_sent_text(each))
        else:
            await _show(shown, log, events)
        return shown.damaged(log.damage)
    finally:
        await log.close()


async def _show(shown: Terminal, log: CarefulLog, events: list[Event]) -> None:
    """The trace of a run; where what it is pinned to is damaged, its events alone."""
    try:
        machine = await pinned(log, events)
    except LogError as error:
        if error.message not in log.damage:
            log.damage.append(error.message)
        if shown.json:
            shown.document({"run": events[0].run, "events": [event_json(event) for event in events]})
        else:
            shown.out(to_jsonl(events).removesuffix("\n"))
        return
    found = Trace(events, fold_all(events), machine, events[0].body.model)
    shown.document(trace_json(found)) if shown.json else _print(shown, found)


def trace_json(found: Trace) -> dict[str, Json]:
    """A run as the object that `--json` prints."""
    state, numbers = found.state, found.machine.numbers
    steps = records(found.machine.procedure, numbers, "en", found.events)
    return {
        "run": state.run,
        "status": state.status,
        "dry_run": state.dry_run,
        "procedure": state.procedure_id,
        "hash": found.machine.hash,
        "model": found.model,
        "principal": state.principal.model_dump(mode="json"),
        "started_at": state.started_at,
        "seconds": _seconds(state),
        "usage": state.usage.model_dump(mode="json"),
        "path": [step_json(step) for step in steps],
        "context": context_view(state),
        "outcome": None if state.outcome is None else state.outcome.model_dump(mode="json"),
    }


def _seconds(state: State) -> float:
    return round((state.at - state.started_at - state.waited) / 1e6, 3)


def _print(shown: Terminal, found: Trace) -> None:
    for name, value in _head(shown, found):
        shown.out(f"{shown.text(_HEADS[name])}: {value}")
    procedure, numbers = found.machine.procedure, found.machine.numbers
    layout = StepLine(procedure, numbers)
    shown.out(f"\n{shown.text(_PATH)}")
    for record in records(procedure, numbers, shown.language, found.events):
        shown.out(layout.line(record).rstrip())
        for line in details(record, shown.language):
            shown.out(" " * 6 + line)
    shown.out(f"\n{shown.text(_STATE)}")
    shown.out(json.dumps(preview(context_view(found.state)), ensure_ascii=False, indent=2))
    shown.out(f"\n{shown.text(_OUTCOME)}")
    outcome = found.state.outcome
    if outcome is None:
        shown.out(_OPEN)
    else:
        shown.out(
            json.dumps(outcome.model_dump(mode="json", exclude_none=True), ensure_ascii=False, indent=2)
        )


def _head(shown: Terminal, found: Trace) -> list[tuple[str, str]]:
    state, usage = found.state, found.state.usage
    roles = f" ({', '.join(state.principal.roles)})" if state.principal.roles else ""
    used = shown.text(_USED).format(
        usage.model_calls,
        usage.tokens,
        usage.input + usage.cache_write,
        usage.cached,
        usage.output,
        usage.tool_calls,
        _seconds(state),
    )
    if usage.money is None:
        used += shown.text(_UNPRICED)
    elif usage.money:
        used += f", {dollars(usage.money)}" if shown.language == "en" else f"，{dollars(usage.money)}"
    status = shown.text(spoken(state.status))
    return [
        ("run", f"{state.run}  {local_time(state.started_at)}"),
        ("procedure", f"{state.procedure_id}  {found.machine.grip}  {found.machine.hash[:12]}"),
        ("status", f"{status}  {shown.text(_DRY)}" if state.dry_run else status),
        ("for", f"{state.principal.id}{roles}"),
        ("model", found.model),
        ("request", short(state.request, 100)),
        ("used", used),
    ]


async def _sent(log: Log, events: Sequence[Event]) -> list[dict[str, Any]]:
    """Every prompt of a run as it was sent, with its reply."""
    found: list[dict[str, Any]] = []
    for event in events:
        body = event.body
        if isinstance(body, ModelRequested):
            turns: list[list[str]] = json.loads(await log.blob(body.turns)) if body.turns is not None else []
            found.append(
                {
                    "seq": event.seq,
                    "step": event.step,
                    "purpose": body.purpose,
                    "legal": list(body.legal),
                    "prefix": body.prefix,
                    "system": (await log.blob(body.prefix)).decode(),
                    "turns": [{"user": user, "assistant": assistant} for user, assistant in turns],
                    "user": body.tail,
                    "reply": None,
                }
            )
        elif isinstance(body, ModelReplied) and found:
            found[-1]["reply"] = body.text
    return found


def _sent_text(sent: dict[str, Any]) -> str:
    parts = [f"=== {sent['seq']} {sent['step'] or ''} {sent['purpose']} {' '.join(sent['legal'])}".rstrip()]
    parts.append(f"--- system ({sent['prefix'][:12]})\n{sent['system']}")
    for turn in sent["turns"]:
        parts += [f"--- user (example)\n{turn['user']}", f"--- assistant (example)\n{turn['assistant']}"]
    parts.append(f"--- user\n{sent['user']}")
    if sent["reply"] is not None:
        parts.append(f"--- reply\n{sent['reply']}")
    return "\n".join(parts)
