"""The audit of a store, offline: its chains, its blobs, its runs, and what signed heads say about them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from sopwith.errors import Text
from sopwith.ir.event import blob_fields
from sopwith.ir.value import Json, digest
from sopwith.log.finding import Finding
from sopwith.log.head import Head, SignedHeads
from sopwith.log.scan import RawEvent, RawRun, Scan
from sopwith.log.status import MARKS, WAITS
from sopwith.log.tampering import tampering


@dataclass(slots=True)
class Report:
    """What was looked at, in numbers, and everything that was found. `heads` is None without a heads file."""

    runs: int = 0
    events: int = 0
    blobs: int = 0
    heads: int | None = None
    collected: int = 0
    """How many runs the heads say were removed on purpose."""
    findings: list[Finding] = field(default_factory=list[Finding])

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    def to_json(self, language: str = "en") -> dict[str, Json]:
        """As the document that `sopwith audit verify --json` prints."""
        return {
            "ok": self.ok, "runs": self.runs, "events": self.events, "blobs": self.blobs, "heads": self.heads,
            "collected": self.collected, "findings": [f.to_json(language) for f in self.findings],
        }  # fmt: skip


def verify(scan: Scan, wanted: Collection[str] | None = None, signed: SignedHeads | None = None) -> Report:
    """Everything that is not as it was written, in the `wanted` runs (None: in all of the store).

    Without `signed` heads, a tail that was cut with care, a run that was rewritten as a whole and one that was removed
    cannot be told.
    """
    report = Report()
    if signed is not None:
        report.heads = len(signed.heads)
        report.findings += signed.findings
    evidence = _Evidence(signed)
    named: dict[str, tuple[str, int]] = {}
    runs = scan.runs()
    for run in runs:
        if wanted is not None and run.run not in wanted:
            continue
        events = scan.events(run)
        report.runs += 1
        report.events += len(events)
        broken = tampering(run, events)
        report.findings += broken
        report.findings += _row(run, events)
        report.findings += evidence.against(run, events, bool(broken))
        for event in events:
            for key in blobs_of(event):
                named.setdefault(key, (run.run, event.seq))
    report.findings += evidence.without(wanted, {run.run for run in runs})
    report.collected = len(evidence.collected)
    _blobs(scan, named, report, wanted is None)
    if wanted is None:
        report.findings += _without_row(scan, {run.number for run in runs})
    report.findings += [Finding("damaged", "", None, said) for said in scan.damage]
    return report


def blobs_of(event: RawEvent) -> list[str]:
    """The digests of the blobs that an event names."""
    fields = blob_fields(event.kind)
    body = _body(event) if fields else {}
    values = (body.get(name) for name in fields)
    return [key for value in values for key in _texts(value)]


def _texts(value: Json) -> list[str]:
    """A text, or those of an object."""
    found = list(cast("dict[str, Json]", value).values()) if isinstance(value, dict) else [value]
    return [one for one in found if isinstance(one, str)]


def status_of(events: Sequence[RawEvent]) -> tuple[str, int]:
    """The status that stored events lead to, and the seq of the event that says so (0: none)."""
    for event in reversed(events):
        if event.kind == "run.finished":
            outcome = _object(_body(event).get("outcome"))
            return str(outcome.get("kind", "")), event.seq
        if event.kind in MARKS:
            return "suspended" if event.kind in WAITS else "running", event.seq
    return "running", 0


class _Evidence:
    """What signed heads say about runs."""

    def __init__(self, signed: SignedHeads | None) -> None:
        self._signed = signed
        self._by_run: dict[str, list[Head]] = defaultdict(list)
        self.collected: set[str] = set()
        for head in signed.heads if signed is not None else ():
            if head.what == "collected":
                self.collected.add(head.run)
            else:
                self._by_run[head.run].append(head)

    def against(self, run: RawRun, events: Sequence[RawEvent], broken: bool) -> Iterator[Finding]:
        """What the heads of a run say against its events; `broken` says that its chain shows changes already."""
        if self._signed is None:
            return
        last = events[-1].seq if events else 0
        hashes = {event.seq: event.hash.hex() for event in events}
        heads = self._by_run.get(run.run, [])
        furthest = max((head.seq for head in heads), default=0)
        if furthest > last:
            why = Text(f"a signed head names event {furthest}", f"已签名的链头指到事件 {furthest}")
            yield Finding("cut tail", run.run, last + 1, why)
        if not broken:
            others = [head.seq for head in heads if head.seq in hashes and hashes[head.seq] != head.hash]
            if others:
                yield Finding("rewritten", run.run, min(others), _OTHER_HASH)
        status, said = status_of(events)
        if status != "running" and furthest < said and not broken:
            yield Finding("unsigned", run.run, said, _UNSIGNED)

    def without(self, wanted: Collection[str] | None, stored: Collection[str]) -> Iterator[Finding]:
        """Runs that have heads and are not in the store, and were not collected."""
        for run, heads in self._by_run.items():
            if run not in stored and run not in self.collected and (wanted is None or run in wanted):
                why = Text("it has a signed head, and is not in the store", "它有已签名的链头，但不在存储中")
                yield Finding("run removed", run, max(head.seq for head in heads), why)


_OTHER_HASH = Text(
    "a signed head has another hash for this event, and the chain fits: all of it was written anew",
    "已签名的链头对该事件的哈希不同，而链条自洽：运行被整体重写",
)
_UNSIGNED = Text(
    "it ended or waits, and no head says so: the heads file was cut, or could not be written then",
    "它已结束或在等待，却没有链头：签名文件被截断，或当时无法写入",
)


def _row(run: RawRun, events: Sequence[RawEvent]) -> Iterator[Finding]:
    """What the row of a run says that its events do not. What its hash covers shows in the chain."""
    if not events:
        why = Text("it has a row and no events", "有运行行，但没有事件")
        yield Finding("cut tail", run.run, 1, why)
        return
    status, _ = status_of(events)
    if status == "running" and run.status != status:
        why = Text(
            f"the row says {run.status}, and no event does", f"运行行写明 {run.status}，但没有相应的事件"
        )
        yield Finding("cut tail", run.run, events[-1].seq + 1, why)
    elif status != run.status:
        why = Text(
            f"the row says {run.status}, the events {status}", f"运行行为 {run.status}，事件为 {status}"
        )
        yield Finding("run changed", run.run, None, why)
    first = events[0]
    procedure = str(_body(first).get("procedure_id", "")) if first.kind == "run.started" else ""
    if run.procedure_id != procedure and first.kind == "run.started":
        why = Text(
            f"the row names the procedure {run.procedure_id!r}, the first event {procedure!r}",
            f"运行行的流程为 {run.procedure_id!r}，首个事件为 {procedure!r}",
        )
        yield Finding("run changed", run.run, None, why)


def _without_row(scan: Scan, known: Collection[int]) -> Iterator[Finding]:
    for number in scan.numbers():
        if number not in known:
            why = Text(
                f"there are events of run number {number}, and no row for it",
                f"有编号 {number} 的事件，却没有其运行行",
            )
            yield Finding("run removed", "", None, why)


def _blobs(scan: Scan, named: dict[str, tuple[str, int]], report: Report, every: bool) -> None:
    """Check the bytes of all blobs, or of those that are named, and that each named one is there."""
    seen: set[str] = set()
    pairs = scan.blobs() if every else ((key, data) for key in named if (data := scan.blob(key)) is not None)
    for key, data in pairs:
        report.blobs += 1
        seen.add(key)
        if digest(data) != key:
            run, seq = named.get(key, ("", None))
            why = Text(f"the blob {key} holds other bytes", f"数据块 {key} 的内容与摘要不符")
            report.findings.append(Finding("blob changed", run, seq, why))
    for key, (run, seq) in named.items():
        if key not in seen:
            why = Text(f"there is no blob {key}", f"没有数据块 {key}")
            report.findings.append(Finding("blob missing", run, seq, why))


def _body(event: RawEvent) -> dict[str, Any]:
    try:
        return _object(json.loads(event.body))
    except ValueError:
        return {}


def _object(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
