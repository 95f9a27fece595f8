"""What was done to the events of one run, told from its rows alone.

Each stored hash covers the hash before it, so every row says after which other row it was written. Where the rows
do not follow each other as they lie, the true predecessor of each is looked for, and with it its true seq: what is
then missing was removed, what is out of order was reordered, what is there twice was inserted, and what follows
nothing was changed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from sopwith.errors import Text
from sopwith.log.chain import GENESIS, stored_link
from sopwith.log.finding import Finding
from sopwith.log.scan import RawEvent, RawRun

FAR = 64
"""So many events at most may have been removed or inserted in one place for the others to be renumbered."""

TRIES = 100_000
"""So many predecessors at most are tried for one run. What is not found by then counts as changed."""

_NOWHERE = -2
_START = -1


def follows(run: RawRun, events: Sequence[RawEvent]) -> int:
    """How many events from the first on follow each other without a fault."""
    previous = GENESIS
    for expected, event in enumerate(events, 1):
        if event.seq != expected or link_of(run, event, previous, event.seq) != event.hash:
            return expected - 1
        previous = event.hash
    return len(events)


def link_of(run: RawRun, event: RawEvent, previous: bytes, seq: int) -> bytes:
    """The hash that an event would have as number `seq` after `previous`."""
    envelope = (run.task, run.run, seq, event.at, event.phase, event.step, event.cause, event.kind)
    return stored_link(previous, envelope, event.body)


def tampering(run: RawRun, events: Sequence[RawEvent]) -> list[Finding]:
    """What was changed, removed, reordered or inserted in a run; nothing where its chain is whole."""
    if follows(run, events) == len(events):
        return []
    rows = [_Row(event) for event in events]
    _Search(run, rows).place()
    if len(rows) > 1 and all(row.before == _NOWHERE and row.true is None for row in rows):
        why = Text(
            "none of its events belongs to the run that the row describes: its id, task or start was changed",
            "其事件都不属于该行所述的运行：运行标识、任务或开始时间被改动",
        )
        return [Finding("run changed", run.run, None, why)]
    return _judge(run.run, rows)


@dataclass(slots=True)
class _Row:
    """A row, the index of the row it was written after, and the seq it was written under."""

    event: RawEvent
    before: int = _NOWHERE
    true: int | None = None
    new_hash: bytes = b""
    """What its hash should be, where the stored one is not it."""
    hash_changed: bool = False
    above: int = 0
    """How many rows were written after it, in the longest line."""
    extra: bool = field(default=False)


class _Search:
    """Looks up for each row after which other it was written."""

    def __init__(self, run: RawRun, rows: list[_Row]) -> None:
        self._run = run
        self._rows = rows
        self._left = TRIES

    def place(self) -> None:
        """Give each row its predecessor and its true seq, as far as they can be told."""
        for index in range(len(self._rows)):
            self._after_neighbour(index)
        lost = [index for index, row in enumerate(self._rows) if row.before == _NOWHERE]
        while lost and self._left > 0:
            rest = [index for index in lost if not self._placed(index)]
            if len(rest) == len(lost):
                break
            lost = rest  # what was placed now may be what another follows
        for row in self._rows:
            if row.before >= 0 and self._rows[row.before].true is None:
                self._rows[row.before].true = (row.true or 1) - 1
        lines: dict[bytes, int] = {}
        for row in sorted(self._rows, key=lambda row: -(row.true or 0)):
            row.above = lines.get(row.event.hash, 0)
            if row.before >= 0:
                before = self._rows[row.before].event.hash
                lines[before] = max(lines.get(before, 0), row.above + 1)

    def _placed(self, index: int) -> bool:
        return self._after_neighbour(index) or self._shifted(index) or self._anywhere(index)

    def _fits(self, index: int, previous: bytes, seq: int) -> bool:
        self._left -= 1
        row = self._rows[index]
        return link_of(self._run, row.event, previous, seq) == row.event.hash

    def _put(self, index: int, before: int, true: int) -> bool:
        self._rows[index].before = before
        self._rows[index].true = true
        return True

    def _after_neighbour(self, index: int) -> bool:
        """Whether a row follows the one that lies before it, in place or by that one's true seq."""
        row = self._rows[index]
        seq = row.event.seq
        if index == 0:
            fits = seq == 1 and self._fits(index, GENESIS, 1)
            if not fits:
                row.new_hash = link_of(self._run, row.event, GENESIS, seq)
            return fits and self._put(index, _START, 1)
        before = self._rows[index - 1]
        if before.event.seq == seq - 1 and self._fits(index, before.event.hash, seq):
            return self._put(index, index - 1, seq)
        if before.true is not None and self._fits(index, before.event.hash, before.true + 1):
            return self._put(index, index - 1, before.true + 1)
        if before.new_hash and self._fits(index, before.new_hash, seq):
            # Its content is what was hashed: only the stored hash is another one.
            before.hash_changed = True
            before.true = before.event.seq
            return self._put(index, index - 1, seq)
        row.new_hash = link_of(self._run, row.event, before.event.hash, seq)
        return False

    def _shifted(self, index: int) -> bool:
        """Whether a row follows its neighbour under another number: events before both are gone or new."""
        if index == 0:
            return False
        before = self._rows[index - 1]
        for away in range(1, FAR + 1):
            for seq in (self._rows[index].event.seq + away, self._rows[index].event.seq - away):
                if before.true is None and seq > 1 and self._fits(index, before.event.hash, seq):
                    before.true = seq - 1
                    return self._put(index, index - 1, seq)
        return False

    def _anywhere(self, index: int) -> bool:
        """Whether a row follows any other."""
        if self._fits(index, GENESIS, 1):
            return self._put(index, _START, 1)
        for other, before in enumerate(self._rows):
            if self._left <= 0:
                return False
            seq = (before.event.seq if before.true is None else before.true) + 1
            if other != index and self._fits(index, before.event.hash, seq):
                return self._put(index, other, seq)
        return False


def _judge(run: str, rows: list[_Row]) -> list[Finding]:
    """The findings that follow from where each row belongs, in the order of their seqs."""
    found: list[Finding] = []
    _set_apart_doubles(rows)
    kept = [row for row in rows if not row.extra and row.true is not None]
    present = {row.true for row in kept}
    moved = _swapped(kept)
    rest = [row for row in kept if id(row) not in moved]
    in_order = _longest_rising([row.true or 0 for row in rest])
    moved |= {id(row) for index, row in enumerate(rest) if index not in in_order}
    last_true, last_seq = 0, 0
    for row in rows:
        if row.true is None and not row.extra:
            guess = row.event.seq + last_true - last_seq
            if guess in present:
                row.extra = True
            else:
                row.true = guess
                present.add(guess)
        if not row.extra and id(row) not in moved and row.true is not None:
            last_true, last_seq = row.true, row.event.seq
    gone = [seq for seq in range(1, max((seq for seq in present if seq), default=0)) if seq not in present]
    for row in rows:
        finding = _of_row(run, row, id(row) in moved, set(gone))
        if finding is not None:
            found.append(finding)
    found += [_removed(run, seq) for seq in gone]
    return sorted(found, key=lambda finding: finding.seq or 0)


def _of_row(run: str, row: _Row, moved: bool, gone: set[int]) -> Finding | None:
    seq = row.event.seq
    if row.extra:
        return Finding("inserted", run, seq, _INSERTED)
    if moved:
        why = Text(f"it was written as event {row.true}", f"它原本是事件 {row.true}")
        return Finding("reordered", run, seq, why)
    if row.hash_changed:
        return Finding("changed", run, seq, _HASH_CHANGED)
    if row.before == _NOWHERE and (row.true or 1) - 1 not in gone:
        # After a removed event nothing can be told of it: the hash before it is gone.
        return Finding("changed", run, seq, _CHANGED)
    return None


def _removed(run: str, seq: int) -> Finding:
    why = Text(f"the events go on without event {seq}", f"缺少事件 {seq}，后面的事件仍在")
    return Finding("removed", run, seq, why)


_CHANGED = Text(
    "it does not follow from the event before it: it was changed, or the one before was replaced",
    "它与前一事件不相接：它被改动，或前一事件被替换",
)
_HASH_CHANGED = Text("its hash was changed; its content is as written", "其哈希被改动；内容未变")
_INSERTED = Text("the other events follow each other without it", "其余事件彼此相接，不包含它")


def _swapped(rows: Sequence[_Row]) -> set[int]:
    """Rows that lie in each other's places."""
    by_place = {row.event.seq: row for row in rows}
    return {
        id(row)
        for row in rows
        if row.true != row.event.seq
        and (other := by_place.get(row.true or 0)) is not None
        and other.true == row.event.seq
    }


def _set_apart_doubles(rows: list[_Row]) -> None:
    """Of rows with one true seq, all but the one that most others follow are extra."""
    groups: dict[int, list[_Row]] = defaultdict(list)
    for row in rows:
        if row.true is not None:
            groups[row.true].append(row)
    for group in groups.values():
        best = max(group, key=lambda row: (row.above, row.before != _NOWHERE, row.event.seq == row.true))
        for row in group:
            row.extra = row is not best


def _longest_rising(values: Sequence[int]) -> set[int]:
    """The indices of a longest strictly rising part of `values`."""
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for index, value in enumerate(values):
        at = bisect_left(tails, value)
        before.append(ends[at - 1] if at else -1)
        if at == len(tails):
            tails.append(value)
            ends.append(index)
        else:
            tails[at] = value
            ends[at] = index
    found: set[int] = set()
    index = ends[-1] if ends else -1
    while index >= 0:
        found.add(index)
        index = before[index]
    return found
