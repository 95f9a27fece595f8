"""A run as one HTML page for auditors: it prints well, needs nothing else, and carries its data as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import Any

from sopwith.cli.details import SAYS
from sopwith.cli.record import open_call
from sopwith.errors import Text
from sopwith.ir.event import CallFinished, CallReconciled, CallStarted, Event, event_json
from sopwith.ir.spoken import spoken
from sopwith.ir.value import Json
from sopwith.lang.machine import Machine
from sopwith.lang.yaml import write_yaml
from sopwith.log.audit import Report
from sopwith.log.finding import WORDS
from sopwith.run.state import State

_STYLE = """
body { font: 11pt/1.45 Georgia, "Songti SC", SimSun, serif; max-width: 60em; margin: 2em auto; padding: 0 1em; }
h1, h2 { font-weight: 600; line-height: 1.2; } h2 { margin-top: 2em; border-bottom: 1px solid #999; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; vertical-align: top; padding: .2em .6em; }
tr { border-bottom: 1px solid #ddd; break-inside: avoid; } td { overflow-wrap: anywhere; }
pre { white-space: pre-wrap; font-size: 9pt; } .bad { font-weight: 700; }
@media print { body { margin: 0; max-width: none; } }
"""
_TITLE = Text("Audit of run {}", "运行 {} 的审计记录")
_FACTS = {
    "run": Text("run", "运行"),
    "procedure": Text("procedure", "流程"),
    "for": Text("for", "主体"),
    "request": Text("request", "请求"),
    "status": Text("outcome", "结局"),
    "began": Text("began", "开始"),
    "ended": Text("last event", "最后事件"),
    "model": Text("model", "模型"),
    "head": Text("chain head", "链头"),
    "signature": Text("signature of the head", "链头签名"),
    "checked": Text("checked", "校验"),
}
_WELL = Text("everything is as it was written", "一切与写入时一致")
_UNSIGNED = Text("no signed head", "没有已签名的链头")
_NOTHING = Text("none", "无")
_COLUMNS = (
    Text("event", "事件"),
    Text("time (UTC)", "时间（UTC）"),
    Text("step", "步骤"),
    Text("what", "内容"),
)
_PATH = Text("Path", "经过")
_SECTIONS: Sequence[tuple[Text, Callable[[str], bool]]] = (
    (_PATH, lambda kind: kind in ("step.entered", "edge.taken", "check.ran", "step.failed")),
    (Text("Judgements", "裁决"), lambda kind: kind in ("request.screened", "call.proposed", "call.judged")),
    (Text("People", "人工"), lambda kind: kind.startswith("human.") or kind in _BY_PEOPLE),
    (
        Text("Calls", "调用"),
        lambda kind: kind in ("call.started", "call.finished", "call.reconciled", "result.late"),
    ),
    (Text("Alerts and limits", "告警与时限"), lambda kind: kind in ("alert.raised", "timeout.passed")),
)
_BY_PEOPLE = ("run.taken_over", "run.handed_back", "cancel.asked", "run.resumed", "feedback.given")
_PINNED = Text("The procedure as pinned", "运行所固定的流程")
_ALL = Text("All events, as data", "全部事件（数据）")


@dataclass(frozen=True, slots=True)
class Audited:
    """A run with what an audit says of it. `signature` is that of its last signed head, if there is one."""

    events: Sequence[Event]
    state: State
    machine: Machine
    report: Report
    signature: str | None


def page(audited: Audited) -> str:
    """The page, in the language of the run. It shows what the log shows: placeholders, never secrets."""
    language = audited.state.language
    title = escape(_TITLE.in_(language).format(audited.state.run))
    parts = [f"<h1>{title}</h1>", _table([], _facts(audited, language))]
    lost = _unanswered(audited.events)
    for heading, holds in _SECTIONS:
        rows = [
            _row(event, language, lost)
            for event in audited.events
            if holds(event.body.kind) or (heading is _PATH and event.seq in lost)
        ]
        parts.append(f"<h2>{heading.in_(language)}</h2>")
        parts.append(
            _table([c.in_(language) for c in _COLUMNS], rows) if rows else f"<p>{_NOTHING.in_(language)}</p>"
        )
    pinned = escape(write_yaml(audited.machine.procedure))
    parts.append(f"<h2>{_PINNED.in_(language)}</h2><p>{audited.machine.hash}</p><pre>{pinned}</pre>")
    lines = "\n".join(json.dumps(event_json(event), ensure_ascii=False) for event in audited.events)
    parts.append(f"<h2>{_ALL.in_(language)}</h2><pre>{escape(lines)}</pre>")
    data = json.dumps(document(audited), ensure_ascii=False).replace("<", "\\u003c")
    parts.append(f'<script type="application/json" id="run">{data}</script>')
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="{language}">\n<head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style></head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def document(audited: Audited) -> dict[str, Any]:
    """The data of the page: the pinned procedure, every event, and what the audit found."""
    return {
        "run": audited.state.run,
        "status": audited.state.status,
        "procedure": audited.machine.procedure.to_data(),
        "hash": audited.machine.hash,
        "head": audited.events[-1].hash,
        "signature": audited.signature,
        "audit": audited.report.to_json(audited.state.language),
        "events": [event_json(event) for event in audited.events],
    }


def _facts(audited: Audited, language: str) -> list[list[str]]:
    state, events = audited.state, audited.events
    found = [
        f"{WORDS[f.what].in_(language)} {f.seq or ''}: {f.why.in_(language)}" for f in audited.report.findings
    ]
    roles = f" ({', '.join(state.principal.roles)})" if state.principal.roles else ""
    told = {
        "run": state.run,
        "procedure": f"{state.procedure_id}  {audited.machine.procedure.name}",
        "for": f"{state.principal.id}{roles}",
        "request": state.request,
        "status": spoken(state.status).in_(language),
        "began": _time(events[0].at),
        "ended": _time(events[-1].at),
        "model": str(events[0].body.model),
        "head": f"{events[-1].seq}  {events[-1].hash}",
        "signature": audited.signature or _UNSIGNED.in_(language),
        "checked": "; ".join(found) or _WELL.in_(language),
    }
    return [[_FACTS[name].in_(language), value] for name, value in told.items()]


def _unanswered(events: Sequence[Event]) -> frozenset[int]:
    """The seqs of the calls that were started, and that nothing is known of since."""
    found: set[int] = set()
    for event in events:
        body = event.body
        if isinstance(body, CallStarted):
            found.add(event.seq)
        elif isinstance(body, CallFinished) and event.cause is not None:
            found.discard(event.cause)
        elif isinstance(body, CallReconciled) and body.happened is not None:
            found.discard(body.started)
    return frozenset(found)


def _row(event: Event, language: str, lost: Collection[int]) -> list[str]:
    said = SAYS[type(event.body)](event.body, language)
    data: Json = event_json(event)["data"]
    text = said[1] if said is not None else ""
    if event.body.kind in ("call.started", "human.asked", "human.answered", "call.judged") or said is None:
        text = f"{text}  {json.dumps(data, ensure_ascii=False)}".strip()
    if isinstance(event.body, CallStarted) and event.seq in lost:
        text = f"{text}  {open_call(event.body, language)}"
    return [str(event.seq), _time(event.at), event.step or "", f"{event.body.kind}: {text}"]


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = f"<tr>{''.join(f'<th>{escape(cell)}</th>' for cell in heads)}</tr>" if heads else ""
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>\n" for row in rows)
    return f"<table>\n{head}{body}</table>"


def _time(at: int) -> str:
    return datetime.fromtimestamp(at / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S")
