"""What became of a run that was killed: read from its ledger and its log by plain SQL, without the engine."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.ledger import Entry, Ledger
from benchmarks.victim import RUN, Case, tool_of

_EVENTS = "SELECT kind, step, data FROM events WHERE run = ? ORDER BY seq"


class Row(NamedTuple):
    """One event of the log."""

    kind: str
    step: str
    data: dict[str, Any]


class Intent(NamedTuple):
    """A write that was started."""

    step: str
    key: str


@dataclass(frozen=True, slots=True)
class Kill:
    """One kill -9: of which process, when (ns since 1970), and which writes had no outcome in the log then."""

    actor: str
    at: int
    intents: tuple[Intent, ...]


def read_log(path: Path, query: str = _EVENTS, run: tuple[str, ...] = (RUN,)) -> list[Any]:
    """The rows of a store, none where a kill came before its tables."""
    if not path.exists():
        return []
    with closing(sqlite3.connect(path, timeout=30)) as db:
        if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            return []
        return db.execute(query, run).fetchall()


def events(case: Case) -> list[Row]:
    """The events of the case."""
    return [Row(kind, step or "", json.loads(data)) for kind, step, data in read_log(case.log)]


def entries(case: Case) -> list[Entry]:
    """The effects of the case."""
    ledger = Ledger(case.ledger)
    try:
        return ledger.entries()
    finally:
        ledger.close()


@dataclass(slots=True)
class Story:
    """What the log says about the writes of a run, event by event."""

    open: dict[str, Intent] = field(default_factory=dict[str, Intent])
    """The writes without an outcome, by step or item."""
    recorded: list[Intent] = field(default_factory=list[Intent])
    outcome: str = ""
    reconciled: int = 0
    called_again: int = 0
    unhandled: int = 0
    _resumed: set[str] = field(default_factory=set[str])

    def tell(self, row: Row) -> None:
        """One more event. Going on while an outcome is unknown is what must not be."""
        match row.kind:
            case "run.resumed":
                self._resumed = set(self.open)
            case "call.started" if row.data.get("effect", "read") != "read":
                self._started(Intent(row.step, row.data["key"]))
            case "call.reconciled":
                self.reconciled += 1
                if row.data.get("happened") is False:
                    self._close(row.step)
            case "call.finished" if row.step in self.open and not row.data.get("unknown"):
                if "error" not in row.data:
                    self.recorded.append(self.open[row.step])
                self._close(row.step)
            case "edge.taken" | "step.entered" | "items.ended":
                self.unhandled += len(self.open)
            case "run.finished":
                self.outcome = row.data["outcome"]["kind"]
                self.unhandled += 0 if self.outcome == "escalated" else len(self.open)
            case _:
                pass

    def _started(self, intent: Intent) -> None:
        before = self.open.get(intent.step)
        if before is not None and intent.step in self._resumed:
            same = intent == before and tool_of(intent.step) == "post"
            self.called_again += same
            self.unhandled += not same
        self.open[intent.step] = intent
        self._resumed.discard(intent.step)

    def _close(self, step: str) -> None:
        self.open.pop(step, None)
        self._resumed.discard(step)


def story(rows: Sequence[Row]) -> Story:
    """The story of a log."""
    told = Story()
    for row in rows:
        told.tell(row)
    return told


def place(kill: Kill, done: Sequence[Entry]) -> str:
    """Where a kill fell: `window` where the killed process had acted and not recorded it; `unknown` where one before
    it had, and nobody knew it yet; `before_act` between the intent and the act; else `outside`."""
    if not kill.intents:
        return "outside"
    keys = {intent.key for intent in kill.intents}
    of_call = [entry for entry in done if entry.key in keys]
    if any(entry.actor == kill.actor for entry in of_call):
        return "window"
    return "unknown" if any(entry.at < kill.at for entry in of_call) else "before_act"


def judge(case: Case, kills: Sequence[Kill]) -> Counter[str]:
    """The counts of one case that has been driven to its end."""
    done, told = entries(case), story(events(case))
    per_step = Counter(entry.step for entry in done)
    keys = {entry.key for entry in done}
    missing = [step for step in case.effects if not per_step[step]] if told.outcome == "completed" else []
    missing += [intent.step for intent in told.recorded if intent.key not in keys]
    counts = Counter(place(kill, done) for kill in kills)
    counts.update(
        runs=1,
        kills=len(kills),
        lost=len(set(missing)),
        twice=sum(count > 1 for count in per_step.values()),
        unhandled=told.unhandled + (told.outcome not in ("completed", "escalated")),
        reconciled=told.reconciled,
        called_again=told.called_again,
    )
    counts[told.outcome] += 1
    if told.outcome == "escalated":
        counts["needless"] += not _honest(told, kills)
    return counts


def _honest(told: Story, kills: Sequence[Kill]) -> bool:
    """Whether an escalated run could not know: kills left writes open, and their tool cannot be asked."""
    left = {intent for kill in kills for intent in kill.intents}
    return bool(told.open) and all(
        tool_of(intent.step) == "send" and intent in left for intent in told.open.values()
    )


def judge_naive(case: Case, kills: Sequence[Kill]) -> Counter[str]:
    """The counts of a case that the naive loop has driven to its end."""
    per_step = Counter(entry.step for entry in entries(case))
    return Counter(
        runs=1,
        kills=len(kills),
        twice=sum(count > 1 for count in per_step.values()),
        lost=sum(not per_step[step] for step in case.effects),
    )
