"""A problem found in a file: code, severity, place, sentence and hint in both languages."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict

from sopwith.errors import NO_HINT, Text
from sopwith.ir.value import Json


class Severity(StrEnum):
    """How bad a problem is: an error forbids a run, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


class Place(BaseModel):
    """Where: a file (or "<text>"), a 1-based line and a 1-based column."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    file: str = "<text>"
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Edit(BaseModel):
    """One change of the YAML form, at the `path` of its keys and indices.

    `set` puts `text` there (also where nothing is yet), `remove` takes a key away with its value, `rename` gives a key
    the name `text`, `last` moves an item to the end of its list.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    path: tuple[str | int, ...]
    action: Literal["set", "remove", "rename", "last"] = "set"
    text: str = ""


class Diagnostic(BaseModel):
    """One problem: a stable `code`, its place, the sentence and the remedy.

    SW1xx reading, SW2xx graph, SW3xx names and types, SW4xx tools, SW6xx policies, SW7xx drawings, drafts and skills,
    SW8xx libraries and finding. `step` is the id of the step it is about, if any; `fix` the remedy as edits, where
    there is exactly one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    code: str
    severity: Severity
    place: Place
    message: Text
    hint: Text = NO_HINT
    step: str | None = None
    fix: tuple[Edit, ...] = ()

    def render(self, language: str = "en") -> str:
        """`error[SW201] leave.yaml:31:5 sentence`, and `help: …` on a second line."""
        zh = language == "zh"
        word = {"error": "错误", "warning": "警告"}[self.severity] if zh else str(self.severity)
        text = f"{word}[{self.code}] {self.place} {self.message.in_(language)}"
        hint = self.hint.in_(language)
        return f"{text}\n{'建议' if zh else 'help'}: {hint}" if hint else text

    def to_json(self, language: str = "en") -> dict[str, Json]:
        """The same as an object for `--json`."""
        return {
            "code": self.code,
            "severity": str(self.severity),
            "file": self.place.file,
            "line": self.place.line,
            "column": self.place.column,
            "step": self.step,
            "message": self.message.in_(language),
            "hint": self.hint.in_(language),
            "fixable": bool(self.fix),
        }
