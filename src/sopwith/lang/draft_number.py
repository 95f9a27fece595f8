"""The numbers of the steps of a draft: each list has its own, and the headings have theirs."""

from __future__ import annotations

from typing import Generic, TypeVar

from sopwith.errors import Text
from sopwith.ir.diagnostic import Place
from sopwith.lang.problem import Problems

T = TypeVar("T")


class StepNumbers(Generic[T]):
    """Which step a number means. `scopes` are the lists around a reference, from outside in, each by its own number.

    A number means the step of the same list, else one of a list around it or a heading, else the only step that has it.
    """

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self.scopes: list[int] = []
        self._whole: dict[str, list[T]] = {}
        self._local: dict[tuple[int, str], list[T]] = {}
        self._headings: dict[str, list[T]] = {}

    def note(self, number: str, scope: int, step: T) -> None:
        """`step` has `number` (`2.1`) in the list `scope`."""
        _put(self._whole.setdefault(number, []), step)
        _put(self._local.setdefault((scope, number.rpartition(".")[2]), []), step)

    def note_heading(self, number: str, step: T) -> None:
        """`step` is the first one below the heading that carries `number`."""
        _put(self._headings.setdefault(number, []), step)

    def find(self, number: str, scopes: tuple[int, ...], place: Place) -> T | None:
        """The step that `number` means; None where there is none or there are several, which is noted."""
        near = [self._local[scope, number] for scope in reversed(scopes) if (scope, number) in self._local]
        found = next(iter(near), None) or self._headings.get(number) or self._whole.get(number)
        if found is None:
            inner = [one for label, one in self._whole.items() if label.endswith(f".{number}")]
            found = [step for steps in inner for step in steps]
        if len(found) > 1:
            self._several(number, place)
        elif not found:
            self.problems.add(
                "SW124",
                place,
                Text(f"there is no step {number}", f"没有步骤 {number}"),
                Text("correct the number", "请更正编号"),
            )
        else:
            others = [step for steps in (*near[1:], self._headings.get(number, [])) for step in steps]
            if any(step is not found[0] for step in others):
                self._doubt(number, place)
            return found[0]
        return None

    def _several(self, number: str, place: Place) -> None:
        self.problems.add(
            "SW715",
            place,
            Text(f"several steps have the number {number}", f"有多个步骤的编号是 {number}"),
            _WHOLE,
        )

    def _doubt(self, number: str, place: Place) -> None:
        self.problems.warn(
            "SW715",
            place,
            Text(
                f"step {number} of the same list is taken; a list or heading around it has that number too",
                f"已取同一列表的第 {number} 步；外层的列表或标题也有这个编号",
            ),
            _WHOLE,
        )


def _put(steps: list[T], step: T) -> None:
    if not any(one is step for one in steps):
        steps.append(step)


_WHOLE = Text(
    "write the whole number, such as 'step 2.3', or number all steps of the document through",
    "请写出完整编号，如“步骤 2.3”，或为全文的步骤连续编号",
)
