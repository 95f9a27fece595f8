"""A procedure written in one of its forms, and what of it that form leaves out."""

from __future__ import annotations

from sopwith.errors import ProcedureError
from sopwith.ir.procedure import Procedure
from sopwith.lang.dot import write_dot
from sopwith.lang.mermaid import draw
from sopwith.lang.read import read
from sopwith.lang.routine_text import differences, write_routine
from sopwith.lang.yaml import write_yaml

SUFFIXES = {"yaml": ".yaml", "routine": ".routine", "mermaid": ".mmd", "dot": ".dot"}
"""The forms of one text, each with the suffix of its files."""


def write(procedure: Procedure, form: str, language: str = "en") -> str:
    """`procedure` as a text in a form of `SUFFIXES`; `language` ("en" or "zh") is that of its own words.

    Raises `ProcedureError` where Routine text would be read as something else.
    """
    if form == "routine":
        return write_routine(procedure, language)
    if form == "mermaid":
        return draw(procedure, full=True, language=language)
    if form == "dot":
        return write_dot(procedure, full=True, language=language)
    return write_yaml(procedure)


def left_out(procedure: Procedure, form: str, text: str) -> tuple[str, ...]:
    """The paths of what `text`, which `write` has made, does not say: `steps.submit.with`, `output`."""
    try:
        again = read(text, f"{procedure.id}{SUFFIXES[form]}").procedure
    except ProcedureError:
        return ("steps",)
    return differences(procedure, again)
