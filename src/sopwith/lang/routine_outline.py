"""The outline of a Routine text: its lines by their numbers, which line follows which, and the ids of the
steps."""

from __future__ import annotations

from collections.abc import Iterable

from sopwith.lang.identifier import identifier
from sopwith.lang.routine_line import Line

MAIN = ""


class Outline:
    """The lines of one text. `steps` and `ways` hold them by number (`2-1 1`, `2-1`), in the order of the
    text."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self.steps: dict[str, Line] = {}
        self.ways: dict[str, Line] = {}
        for line in lines:
            (self.ways if line.way else self.steps)[line.number] = line
        self.ids = _ids(self.steps.values())
        self._arms: dict[str, list[int]] = {}
        for branch in dict.fromkeys((*self.ways, *(branch_of(n) for n in self.steps))):
            if branch != MAIN:
                step, n = opened_by(branch)
                self._arms.setdefault(step, []).append(n)

    def arms(self, number: str) -> list[str]:
        """The branches of a step (`2-1`, `2-2`), in their order."""
        return [f"{number}-{n}" for n in sorted(self._arms.get(number, ()))]

    def following(self, number: str) -> str | None:
        """The step to go on with: the next one on the line, else what follows the step that branched."""
        while True:
            branch, i = branch_of(number), index_of(number)
            candidate = f"{branch} {i + 1}".strip()
            if candidate in self.steps:
                return candidate
            if branch == MAIN:
                return None
            number = opened_by(branch)[0]

    def parents(self) -> list[tuple[str, str]]:
        """Each branch with the step that it says it belongs to."""
        return [(f"{step}-{n}", step) for step, found in self._arms.items() for n in found]


def branch_of(number: str) -> str:
    """The branch that a step is on: `2-1` for `2-1 3`, "" for the main line."""
    return number.rpartition(" ")[0]


def index_of(number: str) -> int:
    """The place of a step on its line."""
    return int(number.rpartition(" ")[2])


def opened_by(branch: str) -> tuple[str, int]:
    """The step that a branch belongs to, and which of its branches it is: `4-2 1`, 3 for `4-2 1-3`."""
    step, _, n = branch.rpartition("-")
    return step, int(n)


def _ids(steps: Iterable[Line]) -> dict[str, str]:
    """The id of each step by its number: the one it says, or one of its output, tool or number."""
    ids: dict[str, str] = {}
    taken: set[str] = set()
    for line in steps:
        ids[line.number] = line.id or derived_id(line, taken)
        taken.add(ids[line.number])
    return ids


def derived_id(line: Line, taken: set[str]) -> str:
    """The id of a step that does not say one."""
    words = line.output or (line.tool or "").rpartition(".")[2] or f"step_{line.number}"
    return identifier(words, f"step_{line.number}", taken)
