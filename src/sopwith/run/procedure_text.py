"""The text of a procedure as a model is shown it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sopwith.errors import ProcedureError
from sopwith.ir.procedure import Step
from sopwith.lang.deed import with_deeds
from sopwith.lang.machine import Machine
from sopwith.lang.numbering import label
from sopwith.models.profile import Shape

_IO_WORDS = {"en": (" Input: {}.", " Output: {}."), "zh": ("输入：{}。", "输出：{}。")}


def routine(machine: Machine, language: str, shape: Shape) -> str:
    """The procedure in the paper's numbering, as Routine text; in a flat shape, or where Routine text cannot say it, as
    one numbered line a step. Where a failure leads is left out: the code goes there."""
    from sopwith.lang.routine_text import write_routine  # its patterns take long to compile

    procedure = with_deeds(machine.procedure, language, approvals=False)
    left_out: dict[str, Any] = {"on_error": ()} | ({} if shape.io_words else {"needs": None, "gives": None})
    plain = {name: step.model_copy(update=left_out) for name, step in procedure.steps.items()}
    procedure = procedure.model_copy(update={"steps": plain})
    if not shape.flat:
        try:
            return write_routine(procedure, language).strip()
        except ProcedureError:
            pass
    lines = (
        f"{label(machine.numbers[step.id], language)}. {_words(step)}".rstrip(": ")
        + "".join(_io_words(step, language) if shape.flat else ())
        for step in procedure.steps.values()
    )
    return "\n".join(lines)


def _words(step: Step) -> str:
    return f"{step.title}: {step.do or step.answer or step.ask or step.tool or ''}"


def _io_words(step: Step, language: str) -> Iterator[str]:
    for form, words in zip(_IO_WORDS[language], (step.needs, step.gives), strict=True):
        if words:
            yield form.format(" ".join(words.split()))
